"""Collections and other values of the JDK, in every state that a program leaves them in.

The program Containers keeps them and says what Java itself finds in each.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import jvmti
from jvmti.model.values.containers import Reader, contents_of
from model.conftest import held

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx64m"]
OPEN = ["--add-opens=java.base/java.util.concurrent=ALL-UNNAMED"]
OPEN += ["--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED"]

BY_JAVA_CODE = (
    "asList subList",
    "descendingMap",
    "descendingSet",
    "headMap keys",
    "linked subList",
    "own list",
    "own map",
    "skip list subMap",
    "subMap",
    "unmodifiableMap keys",
    "by long, own",
)
"""What is not read from fields."""
CODE_IN_PART = (
    "Hashtable",
    "ConcurrentLinkedDeque",
    "LinkedTransferQueue",
    "IdentityHashMap",
    "ConcurrentSkipListMap",
    "WeakHashMap",
    "TreeMap reversed",
    "EnumMap",
    "synchronized",
    "checked",
)
"""The same of what begins with these, for their views."""


WITHOUT_ORDER = ("Hashtable", "IdentityHashMap", "twins", "WeakHashMap", "Map.", "Set.")


@pytest.fixture(scope="module")
def program(shared_java_program: JavaPrograms) -> JavaProgram:
    started = shared_java_program("Containers", jvm_args=[*QUICK, *OPEN])
    started.expect("ready", timeout=60)
    return started


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid, timeout=30) as attached:
        attached.tag_env  # noqa: B018 - made at its first use, and kept
        yield attached


@pytest.fixture(scope="module")
def kept(vm: jvmti.VM) -> dict[str, Any]:
    found: dict[str, Any] = vm.find_class("Containers")["kept"].value
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """What the tests of this module share learns its classes from test to test."""


def test_reading_leaves_nothing_behind(vm: jvmti.VM, kept: dict[str, Any]) -> None:
    def read_all() -> dict[str, int]:
        for name, item in kept.items():
            if name not in ("twins", "value far", "value never", "plain"):
                item.value  # noqa: B018
                repr(item)
        return held(vm)

    read_all()
    assert read_all() == read_all()


def java_text(value: Any) -> str:
    """A value in the words of the program."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, jvmti.refs.Object):
        kinds = ("Integer", "Long", "Double", "Float", "Boolean", "Character", "Byte", "Short")
        if value.cls.name in [f"java.lang.{kind}" for kind in kinds]:  # type: ignore[attr-defined]
            return java_text(value.value)  # type: ignore[attr-defined]
        return f"<{value.cls.name}>"  # type: ignore[attr-defined]
    return str(value)


def pieces(item: Any) -> list[str]:
    """All that is in an object, from its iteration."""
    found = list(item)
    return [
        f"{java_text(one[0])}={java_text(one[1])}" if isinstance(one, tuple) else java_text(one)
        for one in found
    ]


def test_each_collection_holds_what_java_says(
    vm: jvmti.VM, kept: dict[str, Any], program: JavaProgram
) -> None:
    wrong = []
    for name, item in kept.items():
        if name.startswith(("value", "changing", "plain", "entry")):
            continue
        answer = program.ask(f"tell {name}")
        said = answer.split("|") if answer else []
        found = pieces(item)
        ordered = not name.startswith(WITHOUT_ORDER)
        same = found == said if ordered else sorted(found) == sorted(said)
        if not same or len(item) != len(said):
            wrong.append(f"{name} ({item.cls.name}): {len(item)} {found[:9]} for {said[:9]}")
        if name == "twins":
            with pytest.raises(ValueError, match=r"list\(obj\)"):
                item.value  # noqa: B018
            continue
        value = item.value
        if isinstance(value, dict):
            values = [f"{java_text(key)}={java_text(one)}" for key, one in value.items()]
        else:
            values = [java_text(one) for one in value]
        if sorted(values) != sorted(found):
            wrong.append(f"value of {name}: {len(values)} for {len(found)} elements")
        shown = repr(item)
        assert shown.startswith(f"<{item.cls.name}"), shown
        assert "\n" not in str(item)
    assert not wrong, "\n".join(wrong)


def test_the_collections_of_the_jdk_need_no_java_code(kept: dict[str, Any], vm: jvmti.VM) -> None:
    code = []
    for name, item in kept.items():
        if name in BY_JAVA_CODE or name.startswith(("value", "plain", "entry", "own")):
            continue
        if contents_of(Reader(vm), item) is None:
            if not name.startswith(CODE_IN_PART):
                code.append(f"{name}: {item.cls.name}")
    assert not code, "\n".join(code)


def test_a_map_that_threads_fight_for_counts_in_parts(kept: dict[str, Any]) -> None:
    contended = kept["ConcurrentHashMap contended"]
    assert contended["counterCells"] is not None
    assert len(contended) == contended.call("size") == len(contended.value) > 0
    assert f", {contended.call('size'):,} entries: {{" in repr(contended)


def test_a_table_that_grows_is_read_where_its_entries_are(
    vm: jvmti.VM, kept: dict[str, Any]
) -> None:
    growing = kept["ConcurrentHashMap resizing"]
    assert growing["nextTable"] is not None
    kinds = {one.cls.name.rpartition("$")[2] for one in growing["table"] if one is not None}
    assert "ForwardingNode" in kinds
    assert kinds & {"ReservationNode", "Node"}
    found = contents_of(Reader(vm), growing)
    assert found is not None
    assert dict(found.items) == growing.value
    bins = [one for one in kept["ConcurrentHashMap colliding"]["table"] if one is not None]
    trees = {one.cls.name for one in bins}
    assert "java.util.concurrent.ConcurrentHashMap$TreeBin" in trees


def test_what_changes_meanwhile_is_read_all_the_same(
    kept: dict[str, Any], program: JavaProgram
) -> None:
    changing = {name: item for name, item in kept.items() if name.startswith("changing")}
    assert len(changing) == 10
    assert program.ask("churn on") == "churning on"
    try:
        for _ in range(12):
            for name, item in changing.items():
                value = item.value
                assert len(item) >= 0
                assert repr(item).startswith(f"<{item.cls.name}"), name
                assert item.table().startswith(f"<{item.cls.name}"), name
                if "Concurrent" in name and "Map" in name:  # a constant part is always there
                    assert {-1 - at for at in range(50)} <= set(value), name
    finally:
        program.ask("churn off")


def test_a_map_is_a_dict_and_a_collection_a_list(kept: dict[str, Any]) -> None:
    small = kept["HashMap small"]
    expected = {f"key{at}": at for at in range(5)}
    assert dict(small) == small.value == expected
    assert {key for key, _ in small} == set(expected)
    assert "key3" in small
    assert "key9" not in small
    assert len(small) == 5
    assert list(kept["ArrayList small"]) == [0, 2, 4, 1, 3]
    assert 4 in kept["ArrayList small"]
    # An empty one is there all the same.
    assert kept["HashMap empty"]
    assert len(kept["HashMap empty"]) == 0
    with pytest.raises(TypeError, match=r"Containers\$Waiting has no len\(\)"):
        len(kept["plain"])
    with pytest.raises(TypeError, match=r"Containers\$Waiting is not iterable"):
        list(kept["plain"])
    assert kept["entry of"].value == ("k", 5)
    assert kept["entry"].value == (0, "long 0")


def test_keys_that_python_takes_for_the_same_are_not_lost(kept: dict[str, Any]) -> None:
    value = kept["numbers"].value
    assert {(java_text(key), one) for key, one in value.items()} == {
        ("1", "int"), ("1", "long"), ("true", "boolean"), ("1.0", "double"), ("2", "two")
    }  # fmt: skip
    assert value[2] == "two"  # all others are what they always are
    assert len(value) == len(kept["numbers"]) == 5
    assert len(kept["numbers as a set"].value) == 5
    assert sorted(kept["twins"]) == [("twin", 1), ("twin", 2)]


EAST = datetime.timezone(datetime.timedelta(hours=2))
WEST = datetime.timezone(datetime.timedelta(hours=-3))
UTC = datetime.timezone.utc
VALUES: dict[str, Any] = {
    "uuid": uuid.UUID("ffffffff-ffff-fffb-0000-000000000011"),
    "date": datetime.date(2024, 2, 29),
    "time": datetime.time(23, 59, 58, 123456),
    "datetime": datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
    "instant": datetime.datetime(1969, 12, 31, 23, 59, 59, 1, UTC),
    "offset": datetime.datetime(2024, 1, 1, tzinfo=WEST),
    "zoned": datetime.datetime.fromtimestamp(1_700_000_000, EAST),
    "duration": datetime.timedelta(milliseconds=-1500),
    "old date": datetime.datetime.fromtimestamp(1_700_000_000.123, UTC),
    "big": -(10**40),
    "zero": 0,
    "decimal": decimal.Decimal("-12.340"),
    "large decimal": decimal.Decimal("123456789012345678901234567890.5E-7"),
    "exponent": decimal.Decimal("1E+3"),
    "optional": "x",
    "nothing": None,
    "optional int": 0,
    "atomic boolean": True,
    "atomic long": 1 << 40,
    "atomic reference": "held",
    "adder": 42,
    "builder": "built\u00e4",
    "buffer": "\u65e5\u672c",
    "enum": "GREEN",
}


def test_numbers_dates_and_the_like_are_python_values(kept: dict[str, Any]) -> None:
    for name, expected in VALUES.items():
        item = kept[f"value {name}"]
        value = item.value
        assert value == expected, name
        assert type(value) is type(expected), name
        assert str(value) == str(expected), name
        shown = repr(item)
        assert item.cls.name.partition("$")[0] in shown
        if not isinstance(expected, str | None | bool):
            assert str(expected) in shown
    assert kept["value atomic array"].value.tolist() == [1, 2]
    assert kept["value contended adder"]["cells"] is not None
    assert kept["value contended adder"].value == kept["value contended adder"].call("sum")
    assert kept["BitSet"].value == {0, 63, 64, 65, 1000}
    assert repr(kept["BitSet"]) == "<java.util.BitSet, 5 elements: {0, 63, 64, 65, 1000}>"
    for beyond in ("far", "never"):
        with pytest.raises(ValueError, match=r"Python has no value .* to_string\(\)"):
            kept[f"value {beyond}"].value  # noqa: B018
        assert repr(kept[f"value {beyond}"]).startswith("<java.time.")


def test_print_shows_a_collection_in_a_line_and_a_table_where_it_is_asked_for(
    kept: dict[str, Any],
) -> None:
    large = kept["HashMap drained"]
    assert str(large) == repr(large)
    assert str(large).startswith("<java.util.HashMap, 100 entries: {")
    lines = large.table().splitlines()
    assert len(lines) == 101
    assert "  'key2900': 2900" in lines
    assert large.table(10).splitlines()[-1] == "  … 90 more"
    assert len(large.table(10).splitlines()) == 12
    array = kept["mixed"].call("toArray")
    assert str(array) == repr(array)
    assert len(array.table().splitlines()) == 8
    numbers = array.cls._vm.jni.new_int_array(3000)
    assert "\n" not in str(numbers)


def test_one_object_has_one_name_in_print(vm: jvmti.VM, kept: dict[str, Any]) -> None:
    plain = kept["plain"]
    expected = f"<Containers$Waiting@{plain.call('hashCode'):x}>"
    assert repr(plain) == expected
    again = vm.find_class("Containers")["kept"].call("get", "plain")
    assert repr(again) == repr(plain)
    columns = vm.jni.new_global_ref(plain)  # the same by another handle
    assert repr(columns) == expected


def test_a_number_is_boxed_as_the_keys_of_the_map_are(vm: jvmti.VM, kept: dict[str, Any]) -> None:
    by_long = kept["by long"]
    assert by_long.call("get", 5) == "long 5"
    assert by_long.call("containsKey", 5) is True
    assert by_long.call("getOrDefault", 5, None) == "long 5"
    assert by_long.call("get", 50) is None
    assert kept["by byte"].call("get", 5) == "byte 5"
    assert kept["by long, own"].call("get", 5) == "long 5"
    # What is put has keys like those that are there.
    assert by_long.call("put", 77, "long 77") is None
    assert by_long.call("remove", 77) == "long 77"
    assert len(by_long) == 10
    assert kept["of floats"].call("contains", 1.5) is True
    assert kept["of floats"].call("indexOf", 1.5) == 1
    # Keys of several kinds say nothing: a number is what Java makes of it.
    assert kept["numbers"].call("get", 1) == "int"
    assert kept["numbers"].call("get", 1.0) == "double"
    assert kept["HashMap small"].call("get", 5) is None
    # A number of a given kind stays one.
    assert by_long.call("get", numpy.int32(5)) is None
    assert by_long.call("get", numpy.int64(5)) == "long 5"
