"""What is a table, is one for pandas, polars and pyarrow, and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars
import pyarrow
import pytest

import jvmti
from jvmti import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram

pytestmark = pytest.mark.oldest_and_newest


@pytest.fixture(scope="module")
def attached(witness: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=30) as vm:
        yield vm


def tables(vm: jvmti.VM) -> dict[str, Any]:
    scan = vm.heap.scan("java.lang.String")
    return {
        "threads": vm.threads,
        "snapshot": vm.threads.snapshot(),
        "stacks": vm.threads.stacks(),
        "classes": vm.classes,
        "some classes": vm.classes("java.util.*"),
        "names": vm.classes.names(details=True),
        "histogram": vm.heap.histogram(),
        "scan": scan,
        "properties": vm.properties,
    }


def test_each_table_is_taken_by_those_who_take_tables(attached: jvmti.VM) -> None:
    found = tables(attached)
    for name, table in found.items():
        assert isinstance(table, display.Tabular), name
        arrow = pyarrow.RecordBatchReader.from_stream(table).read_all()
        assert arrow.num_rows > 0, name
        if not isinstance(table, list | dict):  # which are taken for such
            assert pyarrow.table(table).num_rows == arrow.num_rows, name
            assert polars.DataFrame(table).columns == arrow.column_names, name
    named = polars.from_arrow(found["properties"].to_arrow())
    assert set(named["name"]) == set(found["properties"])
    assert len(polars.DataFrame(found["snapshot"].to_arrow())) == len(found["snapshot"])
    assert attached.properties["java.vm.name"]


def test_whatever_has_arrow_has_the_interface() -> None:
    """A class that says `to_arrow` and gives no dictionary of tables is `Tabular`."""
    import sys

    checked = 0
    for name, module in list(sys.modules.items()):
        if not name.startswith("jvmti."):
            continue
        for thing in vars(module).values():
            if (
                isinstance(thing, type)
                and "to_arrow" in vars(thing)
                and thing.__name__ != "Snapshot"
            ):
                assert issubclass(thing, display.Tabular), thing
                assert hasattr(thing, "__arrow_c_stream__")
                checked += 1
    assert checked >= 10


def test_pandas_takes_them(attached: jvmti.VM) -> None:
    pandas = pytest.importorskip("pandas")
    snapshot = attached.threads.snapshot()
    frame = pandas.DataFrame(snapshot)
    assert set(frame["name"]) == {one.name for one in snapshot}
    assert len(frame) == len(snapshot)
    assert list(snapshot.to_pandas()["name"]) == [one.name for one in snapshot]
    for name, table in tables(attached).items():
        assert len(table.to_pandas()) > 0, name
        if hasattr(pandas.DataFrame, "from_arrow") and not isinstance(table, list | dict):
            assert len(pandas.DataFrame.from_arrow(table)) > 0, name


def test_a_notebook_shows_them(attached: jvmti.VM) -> None:
    vm = attached
    frame = next(one for one in vm.threads["main"].frames if not one.is_native)
    for name, thing in {
        "properties": vm.properties,
        "classes": vm.classes("java.util.*"),
        "scan": vm.heap.scan("java.lang.String"),
        "locals": frame.locals,
        "capabilities": vm.env.get_potential_capabilities(),
    }.items():
        html = thing._repr_html_()
        assert html, name
        assert "jvmti" in html
    method = vm.find_class("Witness").methods["main"]
    shown = method.disassemble()
    assert repr(shown) == str(shown)
    assert "\n" in repr(shown)


def test_completion_offers_what_is_for_people(attached: jvmti.VM) -> None:
    thread = attached.threads["main"]
    for thing in (thread, thread.cls, attached.properties, thread.frames[0].method):
        assert not {"C_TYPE", "ERROR", "KIND", "LASTING", "LETTER"} & set(dir(thing))
    assert {"frames", "name"} <= set(dir(thread))
