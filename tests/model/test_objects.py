"""Fields, calls, arrays, views, identity, monitors and tags of objects in a real program."""

from __future__ import annotations

import gc
import itertools
import re
import threading
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import jvmti
from interrupts import interrupted_at
from jvmti.interface.errors import CallTimeout, InvalidFieldID, InvalidObject
from jvmti.model.classes.ancestry import Ancestry
from jvmti.model.objects.layouts import layout_of
from jvmti.model.objects.reading import Contents, read_fields, read_linked
from jvmti.model.values.shown import ITEMS, shown_variables
from jvmti.model.values.views import short_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module")
def program(shared_java_program: JavaPrograms) -> JavaProgram:
    started = shared_java_program("Values")
    started.expect("ready")
    return started


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid, timeout=30) as attached:
        # Made at their first use, and kept.
        attached.tag_env  # noqa: B018
        attached.bootstrap_class("java/lang/Class")
        yield attached
    assert program.running()


@pytest.fixture
def kept(vm: jvmti.VM) -> Callable[[str], Any]:
    """An object of the program by its name."""
    return lambda name: vm.find_class("Values")["kept"].call("get", name)


# ---- fields ----------------------------------------------------------------------------------


def test_a_java_name_as_an_attribute_says_how_it_is_read(vm: jvmti.VM, kept: Any) -> None:
    derived = kept("derived")
    cls = derived.cls

    def said(item: Any, name: str) -> str:
        assert not hasattr(item, name)
        with pytest.raises(AttributeError) as caught:
            getattr(item, name)
        return str(caught.value)

    start = "an object of Values$Derived has no Python attribute "
    assert said(derived, "small") == f"""{start}'small'; in Java it is the field obj["small"]"""
    assert said(derived, "toString").endswith("""in Java it is the method obj.call("toString")""")
    assert said(derived, "secret").endswith("""in Java it is the method obj.call("secret", …)""")
    assert said(derived, "smal").startswith(f"{start}'smal'; did you mean the field obj")
    assert said(derived, "to_sting").startswith(f"{start}'to_sting'; did you mean 'to_string'")
    assert said(derived, "zqzqzq") == f"{start}'zqzqzq'"
    assert said(derived, "_small") == "'Object' object has no attribute '_small'"
    assert said(derived["array"], "length").endswith("in Java it is len(obj)")
    assert """the field cls["made"]""" in said(cls, "made")
    assert "cls[" not in said(cls, "small")  # the class has no value of it
    assert "class Values$Derived has no Python attribute 'nam'; did you mean 'name'" in said(
        cls, "nam"
    )
    # An error of a property's own is what it was, and what is gone has no names to tell.
    stale = vm.jni.new_string("stale")
    stale.release()
    with pytest.raises(InvalidObject):
        stale.cls  # type: ignore[attr-defined]  # noqa: B018
    assert said(stale, "zqzqzq") == "this String has no Python attribute 'zqzqzq'"


def test_each_field_of_a_message_is_checked_to_be_one_of_the_object(
    vm: jvmti.VM, kept: Any
) -> None:
    derived, stranger = kept("derived"), vm.find_class("Values")["kept"]
    own, other = layout_of(derived.cls), layout_of(stranger.cls)
    assert len({place.owner for place in own.places}) > 1
    for foreign in other.fields:
        # Behind and between fields that are the object's, of the same class and of another.
        for fields in (
            [foreign],
            [*own.fields, foreign],
            [own.fields[0], foreign, own.fields[0]],
            [other.fields[0], foreign],
        ):
            with pytest.raises(InvalidFieldID, match="not one of the object"):
                read_fields(vm, derived, fields)
    first, last = own.fields[0], own.fields[-1]
    values = read_fields(vm, derived, [first, last, first])
    assert values == [derived.fields()[own.names[at]] for at in (0, -1, 0)]
    # The objects of a chain are looked at one by one.
    nodes = vm.find_class("java.util.HashMap$Node")
    link = layout_of(nodes).find("next").field
    table = stranger["table"]
    with pytest.raises(InvalidFieldID, match="not one of the object"):
        read_linked(vm, table, link, [layout_of(nodes).find("key").field, first], 100)


ARRAYS = ("ints", "booleans", "bytes", "chars", "shorts", "longs", "floats", "doubles")
OTHERS = ("strings", "mixed", "matrix", "ArrayList", "circle", "LinkedList", "colour")


def test_values_to_show_come_with_how_arrays_and_lists_begin(vm: jvmti.VM, kept: Any) -> None:
    names = ARRAYS + OTHERS
    values = [kept(name) for name in names]
    array = vm.jni.new_object_array(len(values) + 1, vm.find_class("java.lang.Object"))
    for at, value in enumerate(values):
        vm.jni.set_object_array_element(array, at, value)
    assert [repr(one) for one in values]
    before = vm.stats.messages
    found = dict(zip(names, shown_variables(vm, array), strict=False))
    assert vm.stats.messages - before == 2  # one of them asks for the count
    bare = {name for name, (_, contents) in found.items() if contents is None}
    assert bare == {"LinkedList", "colour"}
    for name, (value, contents) in found.items():
        if contents is not None:
            assert short_with(value, contents) == repr(kept(name))
    long = vm.jni.new_object_array(1000, vm.find_class("java.lang.Object"))
    vm.jni.set_object_array_element(array, 0, long)
    first, contents = shown_variables(vm, array)[0]
    assert (first, contents) == (long, Contents(1000, [None] * ITEMS))


def test_fields_are_read_in_one_message_and_are_what_reflection_says(
    vm: jvmti.VM, program: JavaProgram, kept: Any
) -> None:
    derived = kept("derived")
    derived.fields()
    before = vm.stats.messages
    fields = derived.fields()
    assert vm.stats.messages - before == 2  # one of them asks for the count
    plain = {
        name: value for name, value in fields.items() if isinstance(value, bool | int | float | str)
    }
    assert len(plain) == 12
    for key, value in plain.items():
        owner, _, name = key.rpartition(".")
        owner = owner or ("Values$Base" if name in ("name", "fixed") else "Values$Derived")
        reported = program.ask(f"field {owner} {name} derived")
        assert reported == (str(value).lower() if isinstance(value, bool) else str(value)), key
        assert derived[key] == value
    assert fields["nothing"] is None
    assert fields["boxed"].value == 42
    assert list(fields)[:3] == ["Values$Base.total", "name", "fixed"]
    assert not {"made", "PREFIX"} & set(fields)


def test_a_field_that_is_declared_twice_has_two_names(vm: jvmti.VM, kept: Any) -> None:
    derived = kept("derived")
    assert derived["total"] == 2
    assert derived["Base.total"] == derived["Values$Base.total"] == 1
    derived["Base.total"] = 11
    assert (derived["total"], derived.call("secret", 5)) == (2, "secret 5 11")
    derived["Base.total"] = 1


def test_static_fields_are_read_and_written_on_classes(vm: jvmti.VM, program: JavaProgram) -> None:
    cls = vm.find_class("Values")
    assert (cls["counter"], cls["text"], cls["FIXED"]) == (7, "static", 3)
    cls["counter"], cls["text"] = 8, None
    assert program.ask("field Values counter") == "8"
    assert program.ask("field Values text") == "null"
    cls["counter"], cls["text"] = 7, "static"
    derived = vm.find_class("Values$Derived")
    assert (derived["made"], derived["PREFIX"]) == (5, "named ")
    with pytest.raises(TypeError, match="FIXED is final"):
        cls["FIXED"] = 4
    with pytest.raises(KeyError, match="is not static: each object has a value of its own"):
        derived["total"]
    with pytest.raises(KeyError, match="did you mean 'counter'"):
        cls["countr"]


def test_an_error_about_a_name_says_what_was_likely_meant(vm: jvmti.VM) -> None:
    # A part of the name, as somebody types who remembers half of it.
    with pytest.raises(KeyError, match="did you mean 'counter'"):
        vm.find_class("Values")["oun"]
    [found] = vm.find_class("java.util.concurrent.ConcurrentHashMap").instances(limit=1)
    with pytest.raises(KeyError, match="no field 'a key'.*to read the entries"):
        found["a key"]


def test_an_object_is_no_sequence(vm: jvmti.VM, kept: Any) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(kept("derived"))
    with pytest.raises(TypeError, match="takes the name of a field"):
        kept("HashMap")[0]
    with pytest.raises(TypeError, match="a field has a name, a str; got int 7"):
        vm.find_class("Values")[7]


# ---- calls -----------------------------------------------------------------------------------


def test_methods_of_all_kinds_are_called(vm: jvmti.VM, kept: Any) -> None:
    derived = kept("derived")
    assert derived.call("total") == 2
    assert derived.call("secret", 3) == "secret 3 1"
    assert derived.call("greet", "you") == "hello you"
    assert derived.call("hashCode") == derived.identity_hash
    assert kept("HashMap").call("get", "a").value == 1
    assert kept("ArrayList").call("size") == 4
    assert kept("strings").call("getClass") == kept("strings").cls
    named = vm.find_class("Values$Named")
    assert named.call("ofInterface") == "static of Named"
    assert kept("Base0") is None
    base = vm.jni.find_class("Values$Base").new()  # type: ignore[attr-defined]
    assert base.to_string() == "Base 1"


def test_calls_run_on_the_thread_that_the_page_describes(vm: jvmti.VM) -> None:
    thread = vm.bootstrap_class("java/lang/Thread").call("currentThread")
    assert thread in vm.service_threads()
    assert thread.call("getName") == "jvmti channel"
    assert thread.call("isDaemon") is True
    # Up to JDK 18 `new Thread` locks the group, so there is one that the program does not use.
    has_lock = int(str(vm.process.java_version).partition(".")[0]) < 19
    assert thread.group.name == ("jvmti" if has_lock else "system")
    assert thread.call("getContextClassLoader") is None


def test_what_java_throws_arrives_and_can_be_looked_at(vm: jvmti.VM, kept: Any) -> None:
    with pytest.raises(jvmti.JavaException, match="nobody may call this") as thrown:
        kept("derived").to_string()
    throwable = thrown.value.throwable
    assert throwable.message == "nobody may call this"
    assert throwable.cause is None
    top = throwable.stack_trace[0]
    assert (top.class_name, top.method, top.file) == ("Values$Derived", "toString", "Values.java")
    assert str(top) == f"Values$Derived.toString(Values.java:{top.line})"
    outer = kept("exception")
    assert repr(outer) == "<java.lang.IllegalStateException: outer>"
    assert outer.cause.message == "inner"
    assert "caused by <java.lang.RuntimeException: inner>" in str(outer)


def test_constructors_make_objects(vm: jvmti.VM) -> None:
    made: Any = vm.jni.find_class("Values$Made")
    assert made.new()["how"] == "nothing"
    assert made.new(5)["how"] == "int 5"
    assert made.new("x")["how"] == "String x"
    assert made.new(1.5)["how"] == "double 1.5"
    assert made.new(5, signature="double")["how"] == "double 5.0"
    with pytest.raises(jvmti.JavaException, match="IllegalArgumentException: as asked: true"):
        made.new(True)
    with pytest.raises(
        TypeError, match=r"no Values\$Made takes \(int 1, int 2\); there are Values"
    ):
        made.new(1, 2)
    unmade: Any = vm.jni.find_class("Values$Unmade")
    with pytest.raises(TypeError, match="is abstract"):
        unmade.new()
    with pytest.raises(LookupError, match="has no constructor"):
        vm.find_class("Values$Named").new()


def test_misspelt_and_misused_methods_are_reported(vm: jvmti.VM, kept: Any) -> None:
    derived = kept("derived")
    with pytest.raises(LookupError, match="no method 'gret'; did you mean 'greet'"):
        derived.call("gret", "you")
    with pytest.raises(LookupError, match="not static: call it on an object"):
        derived.cls.call("total")
    with pytest.raises(TypeError, match=r"secret\(int\) takes 1 argument, not 2"):
        derived.call("secret", 1, 2)
    with pytest.raises(LookupError, match=r"signature 'long'; there are secret\(int\)"):
        derived.call("secret", 1, signature="long")


# ---- arrays ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("booleans", "?"),
        ("bytes", "i1"),
        ("chars", "u2"),
        ("shorts", "i2"),
        ("ints", "i4"),
        ("longs", "i8"),
        ("floats", "f4"),
        ("doubles", "f8"),
    ],
)
def test_primitive_arrays_are_numpy_arrays(vm: jvmti.VM, kept: Any, name: str, dtype: str) -> None:
    array = kept(name)
    before = vm.stats.messages
    whole = array.numpy()
    assert vm.stats.messages - before == 2
    assert whole.dtype == numpy.dtype(dtype)
    assert len(array) == len(whole)
    assert (numpy.asarray(array) == whole).all()
    assert list(array[::-1]) == list(whole[::-1])
    last = chr(whole[-1]) if name == "chars" else whole[-1]
    assert array[-1] == array[len(array) - 1] == last
    array[0], array[1] = array[1], array[0]
    assert list(array.numpy()[:2]) == [whole[1], whole[0]]
    array[:2] = whole[:2]
    assert (array.numpy() == whole).all()
    assert len(array[5:]) == len(whole[5:])
    with pytest.raises(IndexError, match=f"index 9 of an array with {len(whole)} elements"):
        array[9]
    with pytest.raises(ValueError, match="arrays do not grow"):
        array[:2] = whole[:1]


def test_slices_are_written_where_java_sees_them(
    vm: jvmti.VM, program: JavaProgram, kept: Any
) -> None:
    array = kept("ints")
    array[1:3] = [7, 8]
    assert program.ask("show ints") == "[3, 7, 8, 1, 5]"
    array[::2] = 0
    assert program.ask("show ints") == "[0, 7, 0, 1, 0]"
    array[:] = numpy.array([3, 1, 4, 1, 5])
    assert program.ask("show ints") == "[3, 1, 4, 1, 5]"
    with pytest.raises(OverflowError, match="does not fit int"):
        array[0] = 2**31
    with pytest.raises(TypeError, match="expected elements of int, got float64"):
        array[:2] = numpy.array([0.5, 1])
    chars = kept("chars")
    chars[:] = "ho"
    assert chars.value == "ho"
    chars[1] = "i"
    assert program.ask("show chars").startswith("[C@")
    assert chars.value == "hi"


def test_arrays_of_references_are_like_lists(vm: jvmti.VM, program: JavaProgram, kept: Any) -> None:
    strings, mixed = kept("strings"), kept("mixed")
    assert list(strings) == strings.value == ["one", None, "three"]
    assert (strings[0], strings[-1], strings[::2]) == ("one", "three", ["one", "three"])
    assert mixed.value[:3] == ["one", 2, None]
    assert mixed[1].value == 2
    strings[1] = "two"
    assert program.ask("show strings") == "[one, two, three]"
    strings[:2] = [None, "zwei"]
    assert program.ask("show strings") == "[null, zwei, three]"
    strings[:] = ["one", None, "three"]
    assert [row.value.tolist() for row in kept("matrix")] == [[1, 2], [3]]
    with pytest.raises(TypeError, match=r"expected java.lang.String, got int 5"):
        strings[0] = 5
    with pytest.raises(TypeError, match=r"expected java.lang.String, got int 5"):
        strings[:1] = [5]
    with pytest.raises(IndexError):
        strings[3]


# ---- views -----------------------------------------------------------------------------------

MAPS = ("HashMap", "LinkedHashMap", "TreeMap", "Hashtable", "ConcurrentHashMap", "Map0", "Map1")
MAPS += ("MapN", "UnmodifiableMap", "SingletonMap", "Odd")
LISTS = ("ArrayList", "Arrays.asList", "List0", "List1", "List2", "ListN", "UnmodifiableList")
LISTS += ("LinkedList", "Vector", "ArrayDeque", "PriorityQueue", "CopyOnWriteArrayList", "subList")
SETS = ("HashSet", "LinkedHashSet", "TreeSet", "Set1", "Set2", "SetN", "keySet")


def in_java(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def test_maps_are_dicts(vm: jvmti.VM, program: JavaProgram, kept: Any) -> None:
    for name in MAPS:
        found = kept(name).value
        assert isinstance(found, dict), name
        entries = sorted(f"{key}={in_java(value)}" for key, value in found.items())
        assert " ".join(entries) == program.ask(f"show {name}"), name
    assert list(kept("LinkedHashMap").value) == ["a", "b"]


def test_collections_are_lists_and_sets(vm: jvmti.VM, program: JavaProgram, kept: Any) -> None:
    for name in LISTS:
        found = kept(name).value
        assert isinstance(found, list), name
        assert " ".join(map(in_java, found)) == program.ask(f"show {name}"), name
    for name in SETS:
        found = kept(name).value
        assert isinstance(found, set), name
        assert found == set(program.ask(f"show {name}").split()), name


def test_a_map_of_thousands_comes_in_a_few_messages(vm: jvmti.VM, kept: Any) -> None:
    thousands = kept("thousands")
    thousands.value  # noqa: B018 - the classes of its inside are known then
    before = vm.stats.messages
    found = thousands.value
    assert vm.stats.messages - before <= 4
    assert found == {f"key {i}": f"value {i}" for i in range(10_000)}
    colliding = kept("colliding").value
    assert sorted(colliding.values()) == list(range(40))
    assert {key["number"]: value for key, value in colliding.items()} == {i: i for i in range(40)}


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("colour", "RED", "<Values$Colour RED>"),
        ("bodied", "GREEN", "<Values$Colour GREEN>"),
        ("Optional", "there", "<java.util.Optional of 'there'>"),
        ("empty", None, "<java.util.Optional, empty>"),
        ("OptionalInt", 5, "<java.util.OptionalInt of 5>"),
        ("BigInteger", 1 << 100, f"<java.math.BigInteger {1 << 100}>"),
        ("HashMap", {"a": 1, "b": 2}, "<java.util.HashMap, 2 entries: {'a': 1, 'b': 2}>"),
        ("ints", None, "<int[5] [3, 1, 4, 1, 5]>"),
        ("mixed", None, "<java.lang.Object[4] ['one', 2, null, <int[]>]>"),
        ("circle", None, "<java.util.ArrayList, 1 element: [<java.util.ArrayList>]>"),
        ("TreeMap", {"a": 1, "b": 2}, "<java.util.TreeMap, 2 entries: {'a': 1, 'b': 2}>"),
    ],
)
def test_an_object_is_shown_as_what_it_is(
    vm: jvmti.VM, kept: Any, name: str, value: Any, shown: str
) -> None:
    found = kept(name)
    if value is not None or name == "empty":
        assert found.value == value
    assert repr(found) == shown


def test_boxes_have_values_and_strings_are_text(
    vm: jvmti.VM, program: JavaProgram, kept: Any
) -> None:
    shown: dict[str, Any] = {
        name: kept(name)
        for name in ("Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double")
    }
    for name, box in shown.items():
        assert in_java(box.value) == program.ask(f"show {name}")
        assert repr(box).startswith(f"<java.lang.{name} ")
    assert kept("String") == "text with ä and 😀"
    made: Any = vm.string("ä 😀 " + "x" * 100)
    assert (str(made), made.value) == ("ä 😀 " + "x" * 100,) * 2
    assert len(made) == 105  # UTF-16 units
    assert repr(made).startswith("<java.lang.String 'ä 😀 xxx")
    assert repr(made).endswith("x'…>")


@pytest.mark.since(21)
def test_records_are_shown_by_their_components(java_program: JavaPrograms) -> None:
    program = java_program("Point")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        point = vm.find_class("Point")["point"]
        assert point.value == {"x": 1, "name": "one", "boxed": 2}
        assert repr(point) == "<Point(x=1, name='one', boxed=2)>"


def test_printing_runs_no_java_code_and_never_fails(vm: jvmti.VM, kept: Any) -> None:
    derived = kept("derived")
    assert re.fullmatch(r"<Values\$Derived@[0-9a-f]+>", repr(derived))
    assert "  number = " in str(derived)
    assert "  self = <Values$Derived@" in str(derived)
    assert "9,800 more" in kept("thousands").table()
    with pytest.raises(TypeError, match="has no Python value"):
        derived.value  # noqa: B018
    derived.release()
    assert repr(derived) == str(derived) == "<Object, released>"


def test_objects_print_when_the_session_is_over(program: JavaProgram) -> None:
    with jvmti.attach(program.pid, timeout=30) as vm:
        kept_map = vm.find_class("Values")["kept"]
    assert repr(kept_map) == "<Object>"
    assert str(kept_map) == repr(kept_map)


# ---- identity --------------------------------------------------------------------------------


def test_the_same_java_object_is_the_same_python_object(vm: jvmti.VM, kept: Any) -> None:
    derived = kept("derived")
    assert derived["self"] is derived
    assert kept("derived") is derived
    assert derived.fields()["self"] is derived
    assert any(one is derived for one in vm.find_class("Values$Derived").instances())
    assert derived.cls is vm.find_class("Values$Derived")
    assert kept("circle").value[0] is kept("circle")
    assert kept("mixed") != derived
    again = hash(derived)
    del derived
    gc.collect()
    assert kept("derived") in {kept("derived"): again}


def test_what_comes_by_the_thousand_is_equal_though_not_identical(vm: jvmti.VM, kept: Any) -> None:
    derived = kept("derived")
    cls = vm.jni.find_class("java/lang/Object")
    array: Any = vm.jni.new_object_array(1500, cls, derived)
    found = array.value
    assert len(found) == 1500
    assert found[700] == derived
    assert hash(found[700]) == hash(derived)
    assert array[:10][3] is derived


# ---- monitors and tags -----------------------------------------------------------------------


def test_a_monitor_is_held_for_the_block_and_no_longer(
    vm: jvmti.VM, program: JavaProgram, kept: Any
) -> None:
    holder = kept("holder")
    assert holder.monitor.owner is None
    with holder.locked():
        owner: Any = holder.monitor.owner
        assert owner in vm.service_threads()
        assert holder.call("guarded") == "guarded"
        program.send("locks")
        program.expect("false")  # the program's own thread does not have it, and waits for it
        while not holder.monitor.waiters:
            pass
        assert [thread.name for thread in holder.monitor.waiters] == ["main"]
    program.expect("entered")
    while holder.monitor.owner is not None:
        pass  # the program says so before it leaves
    with pytest.raises(RuntimeError, match="on purpose"), holder.locked():
        raise RuntimeError("on purpose")
    assert holder.monitor.owner is None


def test_ctrl_c_at_any_line_leaves_no_monitor_held(vm: jvmti.VM, kept: Any) -> None:
    holder = kept("holder")

    def out_of_reach(frame: FrameType) -> bool:
        # Python interrupts calls and loops; after a reply has come, a channel has neither.
        return frame.f_code.co_name == "__exit__" or frame.f_code.co_filename.endswith("channel.py")

    for moment in itertools.count():
        try:
            with interrupted_at(moment, out_of_reach), holder.locked():
                pass
        except KeyboardInterrupt:
            while holder.monitor.owner is not None:
                pass
        else:
            break
    assert moment > 50


def test_a_tag_is_that_of_the_models_environment(vm: jvmti.VM, kept: Any) -> None:
    derived = kept("derived")
    assert derived.tag == 0
    derived.tag = 17
    assert (derived.tag, kept("derived").tag) == (17, 17)
    assert vm.tag_env.get_objects_with_tags([17]).objects == [derived]
    assert not vm.env.get_capabilities()
    derived.tag = 0
    assert derived.tag == 0


# ---- what may block --------------------------------------------------------------------------


@pytest.fixture
def blocked(java_program: JavaPrograms) -> Iterator[tuple[jvmti.VM, JavaProgram]]:
    """A program of its own, one of whose threads has the monitor of `holder`."""
    program = java_program("Values")
    program.expect("ready")
    program.send("hold")
    program.expect("holding")
    with jvmti.attach(program.pid, timeout=30) as vm:
        yield vm, program
    assert program.ask("end") == "ended"
    assert program.running()


def test_a_call_that_waits_for_a_suspended_thread_says_so_and_the_vm_lives_on(
    blocked: tuple[jvmti.VM, JavaProgram],
) -> None:
    vm, program = blocked
    holder = vm.find_class("Values")["holder"]
    thread: Any = vm.threads["holds"]
    vm.env.add_capabilities({"can_suspend"})
    vm.env.suspend_thread(thread)
    with pytest.raises(CallTimeout, match=r"'holds' has, which is suspended: resume it") as late:
        holder.call("guarded", timeout=0.2)
    assert "guarded() did not return within 0.2 s and still runs in the VM" in str(late.value)
    with pytest.raises(CallTimeout, match="'holds' has"), holder.locked(timeout=0.2):
        pytest.fail("the monitor is another's")
    # Fields and printing need no lock.
    assert vm.find_class("Values")["counter"] == 7
    assert repr(holder)
    assert program.ask("show colour") == "RED"
    vm.env.resume_thread(thread)
    assert program.ask("release") == "released"
    # What was given up goes on now, and gives back what it has waited for.
    assert holder.call("guarded") == "guarded"
    while vm.stats.running or holder.monitor.owner is not None:
        pass
    with holder.locked():
        assert holder.monitor.owner is not None


def test_a_method_that_never_returns_costs_its_thread_only(
    blocked: tuple[jvmti.VM, JavaProgram],
) -> None:
    vm, _ = blocked
    holder = vm.find_class("Values")["holder"]
    with pytest.raises(CallTimeout, match=r"it is in (Values\$Holder.endless|java.*Wait)"):
        holder.call("endless", timeout=0.2)
    assert vm.find_class("Values").call("show", "still there") == "still there"
    assert len(vm.stats.running) == 1
    vm.find_class("Values")["running"] = False
    while vm.stats.running:
        pass


def test_calls_run_while_all_threads_of_the_program_are_suspended(
    blocked: tuple[jvmti.VM, JavaProgram],
) -> None:
    vm, _ = blocked
    vm.env.add_capabilities({"can_suspend"})
    threads: list[Any] = list(vm.threads)
    vm.env.suspend_thread_list(threads)
    try:
        cls = vm.find_class("Values$Overloads")
        assert cls.call("intOrLong", 5) == "int"
        assert vm.find_class("Values")["kept"].value["HashMap"].value == {"a": 1, "b": 2}
    finally:
        vm.env.resume_thread_list(threads)


def test_several_python_threads_call_at_once(vm: jvmti.VM, kept: Any) -> None:
    derived = kept("derived")
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for number in range(20):
                assert derived.call("secret", number) == f"secret {number} 1"
                assert derived.fields()["total"] == 2
                assert kept("HashMap").value == {"a": 1, "b": 2}
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- classes as objects ----------------------------------------------------------------------


def test_a_class_is_an_object_of_java_lang_class(vm: jvmti.VM, kept: Any) -> None:
    cls = vm.find_class("Values$Derived")
    class_object = cls.class_object
    assert class_object.call("getSimpleName") == "Derived"
    assert class_object.call("getSuperclass") == cls.superclass
    assert class_object.call("isInstance", kept("derived")) is True
    assert class_object.call("cast", kept("derived")) is kept("derived")
    assert class_object.call("isAssignableFrom", cls.superclass) is False
    named = class_object.call("forName", "java.util.Map", signature="java.lang.String")
    assert named == vm.find_class("java.util.Map")
    assert (
        class_object["module"] == class_object.fields()["module"] == class_object.call("getModule")
    )
    assert class_object.cls.name == "java.lang.Class"
    assert cls.to_string() == class_object.to_string() == "class Values$Derived"
    assert vm.find_class("java.util.Map").to_string() == "interface java.util.Map"
    assert vm.find_class("int[]").class_object.call("getName") == "[I"
    assert class_object == cls.class_object != vm.find_class("Values").class_object
    assert {class_object: 1}[cls.class_object] == 1
    assert repr(class_object) == "<java.lang.Class Values$Derived>"
    with pytest.raises(LookupError, match="getSimpleNam.*getSimpleName"):
        class_object.call("getSimpleNam")
    with pytest.raises(KeyError, match="no field 'modul'; did you mean 'module'"):
        class_object["modul"]


def test_what_only_the_class_object_can_do_is_said_of_calls_of_a_class(vm: jvmti.VM) -> None:
    cls = vm.find_class("Values$Derived")
    with pytest.raises(
        LookupError, match=r"no method 'getName'; .* cls\.class_object\.call\('getName'"
    ):
        cls.call("getName")
    with pytest.raises(LookupError, match=r"hashCode is not static; .* cls\.class_object\.call"):
        cls.call("hashCode")


# ---- what printing costs ---------------------------------------------------------------------


@pytest.mark.parametrize("shown", [repr, str, lambda item: item._repr_html_()])
def test_a_list_of_texts_is_shown_with_a_handful_of_messages(vm: jvmti.VM, shown: Any) -> None:
    made = vm.find_class("java.util.ArrayList").new()
    for number in range(8):
        made.call("add", f"text {number}", signature="java.lang.Object")
    del made._class  # nobody has looked at the class
    vm._bootstrap_classes.pop("java/util/ArrayList", None)
    before = vm.stats.messages
    first = shown(made)
    unknown = vm.stats.messages - before - 1  # one of them asks for the count
    again = shown(made)
    known = vm.stats.messages - before - 2 - unknown
    assert "text 5" in first
    assert first == again
    assert unknown <= 16
    assert known <= 7


def test_the_ancestors_of_a_class_are_those_that_reflection_names(vm: jvmti.VM) -> None:
    for name in ("java.util.ArrayList", "java.util.concurrent.ConcurrentHashMap", "java.util.List"):
        cls = vm.find_class(name)
        found = Ancestry(cls)
        above = {one.signature for one in [cls, *cls.superclasses, *cls.all_interfaces]}
        assert set(found.signatures) == above
        assert len(found.signatures) == len(above)
        assert [found.classes[place] for place in found.chain()] == [cls, *cls.superclasses]
        assert [found.classes[place] for place in found.interfaces(0)] == cls.interfaces
        for place, signature in enumerate(found.signatures):
            assert (
                found.classes[place].class_object.call("getName").replace(".", "/")
                == signature[1:-1]
            )
    assert Ancestry(vm.find_class("java.lang.Integer")["TYPE"]).signatures == ["I"]
