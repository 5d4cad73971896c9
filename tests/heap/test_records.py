"""Files in every form of the format, and files that are damaged."""

from __future__ import annotations

import gzip
import random
import struct
from pathlib import Path

import numpy
import pytest

import jvmti.heap
from heap.hprof import CHAR, INT, OBJECT, Writer, small

FORMS = {
    "1.0.2": {},
    "1.0.1": {"version": 1, "segment": None},
    "4 bytes": {"id_size": 4},
    "4 bytes, 1.0.1": {"id_size": 4, "version": 1, "segment": None},
    "many segments": {"segment": 1},
}


@pytest.fixture(params=FORMS, ids=str)
def form(request: pytest.FixtureRequest) -> dict[str, int | None]:
    found: dict[str, int | None] = FORMS[request.param]  # type: ignore[assignment]
    return found


def opened(path: Path, data: bytes, **options: str) -> jvmti.heap.Snapshot:
    path.write_bytes(data)
    return jvmti.heap.open(path, **options)  # type: ignore[arg-type]


def test_everything_in_a_dump_is_found(tmp_path: Path, form: dict[str, int]) -> None:
    snapshot = opened(tmp_path / "dump", small(**form))
    assert snapshot.fault is None
    assert snapshot.time == 1234567.89
    customers = snapshot.objects("com.acme.Customer")
    assert len(customers) == 3
    assert customers["name"].strings() == ["Ada", "Grüße 🌍", None]
    assert customers["age"].tolist() == [36, 41, 7]
    assert customers["credit"].tolist() == [2.5, -1.0, 0.0]
    assert customers["next"].nulls.tolist() == [False, False, True]
    assert customers["next"]["age"].tolist() == [41, 36, None]
    assert customers["next"]["name"].strings() == ["Grüße 🌍", "Ada", None]
    [cls] = snapshot.classes["com.acme.Customer"]
    assert (cls["LIMIT"], cls["OPEN"], cls["FIRST"]) == (-7, True, customers[0])
    assert [above.name for above in cls.superclasses] == ["com.acme.Person", "java.lang.Object"]
    [array] = snapshot.objects("com.acme.Customer[]")
    assert array is not None
    assert isinstance(array.array, jvmti.heap.Objects)
    assert list(array.array) == [customers[0], None, customers[2], customers[0]]
    assert list(array.references) == [customers[0], customers[2], customers[0]]
    [numbers] = snapshot.objects("long[]")
    assert numbers is not None
    assert numpy.asarray(numbers.array).tolist() == [1, -2, 3]
    assert (numbers.length, array.length) == (3, 4)
    last = customers[2]
    assert last is not None
    assert [obj.cls.name for obj in last.referrers if obj is not None] == [
        "com.acme.Customer[]",
        "java.lang.ref.WeakReference",
    ]


def test_garbage_is_left_out_unless_it_is_asked_for(tmp_path: Path) -> None:
    dropped = opened(tmp_path / "dump", small())
    kept = opened(tmp_path / "dump", small(), unreachable="keep")
    assert len(dropped.objects("com.acme.Person")) == 0
    [person] = kept.objects("com.acme.Person")
    assert person is not None
    assert not kept.reachable[person.index]
    assert len(kept) - len(dropped) == kept.unreachable_count
    assert kept.size > dropped.size


def test_threads_have_stacks_and_locals(tmp_path: Path, form: dict[str, int]) -> None:
    snapshot = opened(tmp_path / "dump", small(**form))
    [thread] = snapshot.threads
    assert thread.name == "Ada"
    assert [str(frame) for frame in thread.frames] == [
        "com.acme.Person.run(Person.java:12)",
        "?.main(?)",
    ]
    assert thread.frames[0].locals.class_names == ["com.acme.Customer[]"]
    assert {root.kind for root in snapshot.roots} == {
        *("system class", "thread", "local variable", "JNI global", "other"),
        "class of a loader of the VM",
    }


def test_a_compressed_dump_is_unpacked(tmp_path: Path) -> None:
    data = small()
    half = len(data) // 2
    # As HotSpot writes them: several members, one behind the other.
    packed = gzip.compress(data[:half]) + gzip.compress(data[half:])
    snapshot = opened(tmp_path / "dump.gz", packed)
    assert snapshot.fault is None
    assert len(snapshot.objects("com.acme.Customer")) == 3
    damaged = opened(tmp_path / "dump.gz", packed[:-20])
    assert damaged.fault is not None
    assert "compressed" in damaged.fault.message


def test_strings_of_old_releases_are_read(tmp_path: Path) -> None:
    writer = Writer(id_size=4)
    java_object = writer.class_(0x1000, "java/lang/Object")
    string = writer.class_(0x1100, "java/lang/String", [("value", OBJECT)], super_=java_object)
    writer.primitive_array(0x2000, CHAR, [ord("j"), 0xD83C, 0xDF0D, 0xD800])
    writer.instance(0x2020, string, 0x2000)
    writer.root(0xFF, 0x2020)
    snapshot = opened(tmp_path / "dump", writer.finish())
    assert snapshot.objects("java.lang.String").strings() == ["j🌍\ud800"]


def test_addresses_may_be_anything(tmp_path: Path) -> None:
    """A bitmap of such addresses would be larger than the machine."""
    writer = Writer()
    node = writer.class_(2, "Node", [("next", OBJECT), ("value", INT)])
    addresses = [1, 3, 5, 1 << 62, (1 << 63) + 7, (1 << 64) - 1, 1 << 40]
    for address, following in zip(addresses, [*addresses[1:], 0], strict=True):
        writer.instance(address, node, following, address & 0xFFFF)
    writer.root(0xFF, 1)
    snapshot = opened(tmp_path / "dump", writer.finish())
    nodes = snapshot.objects("Node")
    assert len(nodes) == 7
    assert nodes["next"].addresses.tolist() == [*addresses[1:], 0]
    assert nodes.addresses.tolist() == addresses
    assert nodes[0] is not None
    assert nodes[0].retained == sum(nodes.sizes.tolist())


def test_records_need_not_be_in_the_order_of_addresses(tmp_path: Path) -> None:
    writer = Writer(segment=100)
    node = writer.class_(0x20, "Node", [("next", OBJECT), ("number", INT)])
    addresses = [0x10000 + 64 * at for at in range(5000)]
    following = dict(zip(addresses, [*addresses[1:], 0], strict=True))
    shuffled = list(addresses)
    random.Random(1).shuffle(shuffled)
    for address in shuffled:
        writer.instance(address, node, following[address], (address - 0x10000) // 64)
    writer.root(0xFF, addresses[0])
    snapshot = opened(tmp_path / "dump", writer.finish())
    nodes = snapshot.objects("Node")
    numbers = nodes["number"]
    assert sorted(numbers.tolist()) == list(range(5000))
    behind = nodes["next"]
    at_end = behind.nulls
    assert (behind[~at_end]["number"] == numbers[~at_end] + 1).all()
    first = snapshot.at(addresses[0])
    assert first is not None
    assert first.retained == 5000 * first.size


@pytest.mark.parametrize(
    "data", [b"", b"x", b"hello" * 100, b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 3, 0)]
)
def test_something_else_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(jvmti.heap.NotADump):
        opened(tmp_path / "dump", data)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(jvmti.heap.NotADump, match="directory"):
        jvmti.heap.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        jvmti.heap.open(tmp_path / "nothing")


def test_a_dump_without_objects_is_empty(tmp_path: Path) -> None:
    snapshot = opened(tmp_path / "dump", Writer().finish())
    assert len(snapshot) == 0
    assert snapshot.size == snapshot.dominators().total == 0
    assert list(snapshot.histogram()) == []


@pytest.mark.parametrize("form_name", FORMS)
def test_a_file_cut_anywhere_gives_what_comes_before(tmp_path: Path, form_name: str) -> None:
    form = FORMS[form_name]
    data = small(**form)  # type: ignore[arg-type]
    whole = opened(tmp_path / "dump", data, unreachable="keep")
    positions = whole._dump.positions.tolist()
    for end in range(31, len(data), 3):
        snapshot = opened(tmp_path / "dump", data[:end], unreachable="keep")
        if form.get("segment", 1) is not None or end < len(data):
            boundary = snapshot.fault is None
            assert boundary or snapshot.fault.offset <= end
        # All but the last of the records that begin before the cut are there.
        begun = sum(position < end for position in positions)
        assert len(snapshot._dump.class_of) >= begun - 1
        assert len(snapshot) >= 0
        snapshot.dominators()


def test_a_dump_whose_length_was_not_written_is_read_to_its_end(tmp_path: Path) -> None:
    data = small(segment=None)
    # The first part is a class, and it stands right behind the head of the record.
    at = int(opened(tmp_path / "dump", data)._dump.positions[0]) - 9
    assert data[at] == 0x0C
    snapshot = opened(tmp_path / "dump", data[: at + 5] + bytes(4) + data[at + 9 :])
    assert snapshot.fault is not None
    assert snapshot.fault.offset == at
    assert "not finished" in snapshot.fault.message
    assert len(snapshot.objects("com.acme.Customer")) == 3


def test_damage_in_a_segment_leaves_the_others(tmp_path: Path) -> None:
    data = bytearray(small(segment=1))
    whole = opened(tmp_path / "dump", bytes(data), unreachable="keep")
    [numbers] = whole.objects("long[]")
    assert numbers is not None
    at = int(whole._dump.positions[numbers.index])
    data[at] = 0x77
    snapshot = opened(tmp_path / "dump", bytes(data), unreachable="keep")
    assert len(snapshot) == len(whole) - 1
    assert snapshot.fault is not None
    assert snapshot.fault.offset == at
    assert "0x77" in snapshot.fault.message


def test_a_class_may_not_be_above_itself(tmp_path: Path) -> None:
    writer = Writer()
    writer.class_(0x1000, "A", [("one", OBJECT)], super_=0x1100)
    writer.class_(0x1100, "B", [("two", OBJECT)], super_=0x1000)
    snapshot = opened(tmp_path / "dump", writer.finish())
    assert snapshot.fault is not None
    assert "superclass" in snapshot.fault.message


def test_an_unknown_name_is_reported_with_others(tmp_path: Path) -> None:
    snapshot = opened(tmp_path / "dump", small())
    with pytest.raises(jvmti.heap.NoSuchClass, match=r"com\.acme\.Customer"):
        snapshot.objects("org.acme.Customer")
    with pytest.raises(jvmti.heap.NoSuchClass):
        snapshot.objects("org.*")
    with pytest.raises(jvmti.heap.NoSuchField, match="credit"):
        snapshot.objects("com.acme.Customer")["credits"]
    assert len(snapshot.objects("com.acme.C*")) == 4
    assert len(snapshot.objects("*[]")) == 4
    assert len(snapshot.objects("com.acme.Person", subclasses=True)) == 3


def test_sizes_can_be_given(tmp_path: Path) -> None:
    snapshot = opened(tmp_path / "dump", small())
    snapshot.set_sizes({"com.acme.Customer": 4096, "no.such.Class": 8})
    assert snapshot.objects("com.acme.Customer").sizes.tolist() == [4096] * 3
    first = snapshot.at(0x4000)
    assert first is not None
    assert first.retained >= 4096


def test_a_snapshot_goes_to_parquet_and_back(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    snapshot = opened(tmp_path / "dump", small())
    snapshot.to_parquet(tmp_path / "tables")
    with pytest.raises(FileExistsError):
        snapshot.to_parquet(tmp_path / "tables")
    again = jvmti.heap.open(tmp_path / "tables")
    assert list(again.histogram()) == list(snapshot.histogram())
    assert again.objects("com.acme.Customer")["name"].strings()[0] == "Ada"
    objects = parquet.read_table(tmp_path / "tables" / "objects.parquet").to_pydict()
    assert objects["retained"] == snapshot.retained.tolist()
    references = parquet.read_table(tmp_path / "tables" / "references.parquet")
    assert len(references) == len(snapshot._dump.targets)
    table = snapshot.objects("com.acme.Customer").to_arrow().to_pydict()
    assert table["class"] == ["com.acme.Customer"] * 3
