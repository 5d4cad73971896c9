"""Columns of objects: fields, comparisons, groups, elements."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import jvmti.heap
from heap.conftest import Dumped
from heap.hprof import BYTE, INT, LONG, OBJECT, Writer, small
from jvmti.heap import Objects, Snapshot


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """Ada and Grüße are each other's next, the third customer has neither name nor next."""
    (tmp_path / "dump").write_bytes(small())
    return jvmti.heap.open(tmp_path / "dump")


@pytest.fixture
def customers(snapshot: Snapshot) -> Objects:
    return snapshot.objects("com.acme.Customer")


@pytest.fixture(scope="module")
def dumped(shared_dump: Dumped) -> Snapshot:
    return jvmti.heap.open(shared_dump.path)


def numbers(objects: Objects) -> list[int]:
    return [int(number) for number in objects.indices]


def test_a_mask_does_not_choose_what_is_masked(customers: Objects) -> None:
    ages = customers["next"]["age"]
    assert ages.tolist() == [41, 36, None]
    # The value beneath the mask is 0.
    assert len(customers[ages < 100]) == 2
    assert len(customers[~(ages > 40)]) == 1
    assert customers.where(ages < 100)["age"].tolist() == [36, 41]
    assert customers.where(lambda them: them["age"] > 10)["age"].tolist() == [36, 41]
    assert customers[[2, 0]]["age"].tolist() == [7, 36]
    assert len(customers[[]]) == 0
    with pytest.raises(ValueError, match="true or false"):
        customers.where(ages)


def test_columns_are_compared_row_by_row(customers: Objects, snapshot: Snapshot) -> None:
    assert (customers["name"] == "Ada").tolist() == [True, False, False]
    assert (customers["name"] != "Ada").tolist() == [False, True, True]
    assert (customers["name"] == "Grüße 🌍").tolist() == [False, True, False]
    for other in ("Ad", "Adam", "", "Grüße", "Grüße 🌍!", "ada"):
        assert not (customers["name"] == other).any(), other
    assert (customers["next"] == customers[0]).tolist() == [False, True, False]
    assert (customers["next"]["next"] == customers).tolist() == [True, True, False]
    assert (customers["next"] == None).tolist() == [False, False, True]  # noqa: E711
    assert customers[0] in customers
    with pytest.raises(ValueError, match="isin"):
        customers == customers[:2]  # noqa: B015
    assert customers["next"].isin(customers[:1]).tolist() == [False, True, False]
    assert customers["name"].isin(["Ada", "Grüße 🌍"]).tolist() == [True, True, False]
    assert customers["name"].isin("Ada").tolist() == [True, False, False]


def test_texts_are_searched(tmp_path: Path) -> None:
    writer = Writer()
    base = writer.class_(0x1000, "java/lang/Object")
    string = writer.class_(
        0x1200, "java/lang/String", [("value", OBJECT), ("coder", BYTE)], super_=base
    )
    texts = ["", "aXb", "baa", "aab", "", "abaab", "aX"]
    strings = []
    for at, text in enumerate(texts):
        writer.primitive_array(0x2000 + at * 0x100, BYTE, list(text.encode()))
        strings.append(writer.instance(0x2050 + at * 0x100, string, 0x2000 + at * 0x100, 0))
        writer.root(0xFF, strings[-1])
    (tmp_path / "dump").write_bytes(writer.finish())
    column = jvmti.heap.open(tmp_path / "dump").objects("java.lang.String")
    assert column.strings() == texts
    for text in ("a", "aa", "b", "aab", "ba", "bb", "X", "aX", "Xa", "aaab", "q"):
        assert column.containing(text).tolist() == [text in one for one in texts], text
        assert (column == text).tolist() == [text == one for one in texts], text
    assert (column == "").tolist() == [not one for one in texts]
    with pytest.raises(ValueError, match="text to look for is empty"):
        column.containing("")


def test_a_field_that_a_subclass_hides_has_its_class(tmp_path: Path) -> None:
    writer = Writer()
    above = writer.class_(0x1000, "com/acme/Base", [("number", INT)])
    below = writer.class_(0x1100, "com/acme/Derived", [("number", LONG)], super_=above)
    writer.instance(0x2000, below, 1 << 40, 7)
    writer.root(0xFF, 0x2000)
    (tmp_path / "dump").write_bytes(writer.finish())
    derived = jvmti.heap.open(tmp_path / "dump").objects("com.acme.Derived")
    assert derived["number"].tolist() == [1 << 40]
    assert derived["com.acme.Base.number"].tolist() == [7]
    with pytest.raises(jvmti.heap.NoSuchField):
        derived["com.acme.Other.number"]


def test_fields_are_followed_over_subclasses(dumped: Snapshot) -> None:
    orders = dumped.objects("Dumped$Order", subclasses=True)
    assert len(orders) == 20100
    two = orders["two"]  # which only Dumped$Wide has
    assert numpy.ma.count(two) == 100
    assert set(two.compressed().tolist()) == {2}
    assert orders["three"].present().class_names == ["Dumped$Wide"] * 100
    assert len(orders[orders["two"] == 2]) == 100
    adas = orders[orders["customer"]["name"] == "Ada"]
    assert len(adas) == len(range(0, 20000, 3)) + 100


def test_objects_are_grouped_by_what_they_have(dumped: Snapshot) -> None:
    orders = dumped.objects("Dumped$Order")
    by_name = orders.group_by(orders["customer"]["name"])
    assert len(by_name) == 3
    assert dict(zip(by_name.keys, by_name.count.tolist(), strict=True)) == {
        "Ada": 6667, "Grüße 🌍": 6667, None: 6666
    }  # fmt: skip
    at = by_name.keys.index("Ada")
    assert by_name.sum("number")[at] == sum(range(0, 20000, 3))
    assert by_name.bytes.sum() == orders.sizes.sum()
    for key, members in by_name:
        assert set(members["customer"]["name"].strings()) == {key}
    assert by_name[at][0] == "Ada"
    assert len(by_name[at][1]) == by_name.count[at]
    by_customer = orders.group_by("customer")
    assert by_customer.count.tolist() == by_name.count.tolist()
    paid = orders.group_by("paid")
    assert sorted(paid.keys) == [False, True]
    assert paid.count.tolist() == [10000, 10000]
    remainders = orders.group_by(lambda them: (them["number"] % 7).tolist())
    assert remainders.count.tolist() == sorted(
        (len(range(at, 20000, 7)) for at in range(7)), reverse=True
    )
    masked = dumped.objects("Dumped$Order", subclasses=True).group_by("two")
    assert dict(zip(masked.keys, masked.count.tolist(), strict=True)) == {None: 20000, 2: 100}
    with pytest.raises(ValueError, match="3 values for 20,000"):
        orders.group_by([1, 2, 3])


def test_what_a_group_retains_is_freed_with_it(customers: Objects, snapshot: Snapshot) -> None:
    groups = customers.group_by("name")
    assert groups.count.tolist() == [1, 1, 1]
    expected = [snapshot.retained_size(members) for _, members in groups]
    assert groups.retained().tolist() == expected


def test_the_largest_are_those_with_most_of_something(dumped: Snapshot) -> None:
    orders = dumped.objects("Dumped$Order")
    assert orders.largest(3, by="number")["number"].tolist() == [19999, 19998, 19997]
    assert orders.largest(2, by=orders["amounts"].lengths)["amounts"].lengths.tolist() == [6, 6]
    assert orders.largest(1, by=lambda them: -them["number"])["number"].tolist() == [0]
    retained = orders.largest(5).retained.tolist()
    assert retained == sorted(orders.retained.tolist(), reverse=True)[:5]
    # The first of equal ones come first, and what is masked last.
    paid = orders[orders["paid"]]
    assert numbers(orders.largest(2, by="paid")) == numbers(paid[:2])
    every = dumped.objects("Dumped$Order", subclasses=True)
    assert every.largest(101, by="two").class_names == ["Dumped$Wide"] * 100 + ["Dumped$Order"]
    with pytest.raises(jvmti.heap.HeapError, match="no order"):
        orders.largest(by="customer")


def test_elements_of_arrays_come_with_their_row(dumped: Snapshot) -> None:
    orders = dumped.objects("Dumped$Order")[:20]
    rows, values = orders["amounts"].elements()
    lengths = (orders["number"] % 7).tolist()
    assert numpy.bincount(rows, minlength=20).tolist() == lengths
    assert values.dtype == numpy.int32
    assert not values.any()
    locals_ = dumped.objects("char[]")
    rows, values = locals_.elements()
    texts = ["".join(map(chr, values[rows == row])) for row in range(len(locals_))]
    assert "local" in texts
    lists = dumped.static("Dumped.ORDERS")["elementData"]
    rows, found = dumped.column([lists]).elements()
    assert len(found) == 20100
    assert set(rows.tolist()) == {0}
    with pytest.raises(jvmti.heap.HeapError, match=r"several types: .*char, .*int"):
        dumped.objects("*[]").elements()
    nulls = dumped.column([jvmti.heap.NONE, int(locals_.indices[0])])
    assert set(nulls.elements()[0].tolist()) <= {1}


def test_static_fields_are_found_by_name(snapshot: Snapshot, dumped: Snapshot) -> None:
    first = snapshot.objects("com.acme.Customer")[0]
    assert snapshot.static("com.acme.Customer.LIMIT") == -7
    assert snapshot.static("com.acme.Customer.FIRST") == first
    assert dumped.static("Dumped.LIMIT") == -17
    with pytest.raises(jvmti.heap.NoSuchField, match="LIMIT"):
        snapshot.static("com.acme.Customer.LIMITS")
    with pytest.raises(jvmti.heap.NoSuchClass, match=r"com\.acme\.Customer"):
        snapshot.static("com.acme.Customers.LIMIT")
    with pytest.raises(ValueError, match="such as"):
        snapshot.static("LIMIT")
    with pytest.raises(jvmti.heap.HeapError, match="2 classes are called"):
        dumped.static("Dumped$Customer.NAME")


def test_neighbours_are_given_once(customers: Objects, snapshot: Snapshot) -> None:
    texts = [one for one in customers.references.strings() if one is not None]
    assert texts == ["Ada", "Grüße 🌍"]
    assert customers["name"].referrers.of_class("com.acme.Customer").indices.tolist() == numbers(
        customers[:2]
    )
    both = customers["next"]  # two of them, and null
    counted = {row.name: row.count for row in both.histogram()}
    assert counted == {"com.acme.Customer": 2}


def test_packages_and_loaders_retain(dumped: Snapshot) -> None:
    by_class = dumped.histogram()
    for by in ("package", "loader"):
        rows = dumped.histogram(by=by, retained=True)
        assert rows.total_count == by_class.total_count
        assert rows.total_bytes == by_class.total_bytes
        assert all((row.retained or 0) <= dumped.dominators().total for row in rows)
    packages = {row.name: row for row in dumped.histogram(by="package")}
    assert packages["java.util"].count == sum(
        row.count for row in by_class if row.name.startswith("java.util.")
        and "." not in row.name.removeprefix("java.util.")
    )  # fmt: skip
    assert packages["java.util"].retained is None
    loaders = {row.name.partition(" @")[0]: row for row in dumped.histogram(by="loader")}
    assert loaders["java.net.URLClassLoader"].count == 1
    assert loaders["bootstrap"].count > 1000
    with pytest.raises(ValueError, match="'package'"):
        dumped.histogram(by="colour")


def test_what_a_package_retains_has_its_static_fields(snapshot: Snapshot) -> None:
    [acme] = [
        row for row in snapshot.histogram(by="package", retained=True) if row.name == "com.acme"
    ]
    everything = snapshot.objects("com.acme.*")
    classes = [cls.object for cls in snapshot.classes["com.acme.*"]]
    together = numpy.append(everything.indices, [one.index for one in classes if one is not None])
    assert acme.retained is not None
    assert acme.retained <= snapshot.column(together.tolist()).retained_size()
    assert acme.retained > acme.bytes
