"""Calls of methods, recorded by probes."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from jvmti import display
from jvmti.text.printable import escaped, printable
from jvmti.text.quantities import quantity
from jvmti.tracing.records.held_objects import TIME_LIMIT, HeldObjects
from jvmti.tracing.records.sites import RecordedObject

_LONGEST = 120


def value_text(value: object) -> str:
    """A value of a record, as in Java's source code if possible."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{printable(value)}"'
    return printable(str(value))


def spent(nanoseconds: int) -> str:
    """A duration with three digits: ``850 ns``, ``12.3 µs``, ``1.20 ms``."""
    value = float(nanoseconds)
    for unit in ("ns", "µs", "ms"):
        if value < 999.5:
            return f"{value:.0f} {unit}" if unit == "ns" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} s"


def local_time(monotonic: int) -> datetime.datetime:
    """The local time of a time in nanoseconds of ``CLOCK_MONOTONIC``."""
    since = (time.monotonic_ns() - monotonic) / 1e9
    return datetime.datetime.fromtimestamp(time.time() - since)


class Call(NamedTuple):
    """One completed call of a method.

    Its values are numbers, truth values, strings, ``None``, or `RecordedObject` for all else.
    """

    time: int
    """When it ended, in nanoseconds of ``CLOCK_MONOTONIC``."""
    duration: int
    """Nanoseconds that it took."""
    thread: str
    """The name of the thread, or its number if it has ended."""
    thread_id: int
    """Its ``Thread.threadId``."""
    class_name: str
    """The class that has the method."""
    method: str
    """The method's name."""
    descriptor: str
    """Its descriptor."""
    line: int
    """The line where it returned; 0 if unknown, or if an exception ended it."""
    arguments: tuple[Any, ...]
    """Its arguments."""
    omitted: int
    """The number of arguments without space in the record."""
    value: Any
    """Its result."""
    exception: RecordedObject | None
    """The exception that ended it."""
    stack: tuple[str, ...] = ()
    """Its callers, the nearest first, as ``com.acme.Server.sell:42``; as many as the trace was
    opened for."""
    objects: HeldObjects | None = None
    """Its argument objects, if the trace holds the objects of calls."""

    @property
    def name(self) -> str:
        """The class and the method, with a dot between them."""
        return f"{self.class_name}.{self.method}"

    @property
    def moment(self) -> datetime.datetime:
        """When it ended, in local time."""
        return local_time(self.time)

    @property
    def outcome(self) -> str:
        """Its result or exception: ``= 42``, ``! java.io.IOException: closed``, or nothing."""
        if self.exception is not None:
            return f"! {printable(str(self.exception))}"
        return "" if self.descriptor.endswith(")V") else f"= {value_text(self.value)}"

    def again(self, timeout: float | None = TIME_LIMIT) -> Any:
        """Make the call once more, with the same objects, on a thread of ours.

        It gets the objects in their present state, and has all of its effects again.

        Args:
            timeout: seconds; ``None`` waits for ever.

        Returns:
            What the call returns; of a constructor the new object.

        Raises:
            JavaException: the call threw it.
            LookupError: the objects of this call are not held: `jvmti.VM.trace` holds those of the
                last ``objects=`` calls until they are read.
            CallTimeout: it did not return in time, and still runs.

        JNI: CallNonvirtual<Type>MethodA, CallStatic<Type>MethodA, NewObjectA.
        """
        if self.objects is None:
            raise LookupError(
                "the objects of this call are not held; vm.trace(…, objects=100) holds those of "
                "the last 100 calls until they are read"
            )
        return self.objects.call(timeout)

    @escaped
    def __str__(self) -> str:
        handed = self.arguments if self.objects is None else self.objects.recorded
        listed = ", ".join([*map(value_text, handed), *["…"] * bool(self.omitted)])
        outcome = f" {self.outcome}" if self.outcome else ""
        return f"{self.name}({listed}){outcome}  {spent(self.duration)}"


class Calls(display.Rows[Call], display.Tabular):
    """Calls in the order in which they ended: a list, and a table.

    `to_arrow` has the columns ``time``, ``duration`` (both in nanoseconds), ``thread``,
    ``thread_id``, ``class``, ``method``, ``descriptor``, ``line``, ``arguments``, ``value`` and
    ``exception``, values as text, and ``stack``.
    """

    def to_arrow(self) -> Any:
        """The calls as a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        import pyarrow

        texts = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())

        def words(values: Sequence[str | None]) -> Any:
            return pyarrow.array(values, pyarrow.string()).dictionary_encode().cast(texts)

        return pyarrow.table(
            {
                "time": pyarrow.array([one.time for one in self], pyarrow.int64()),
                "duration": pyarrow.array([one.duration for one in self], pyarrow.int64()),
                "thread": words([one.thread for one in self]),
                "thread_id": pyarrow.array([one.thread_id for one in self], pyarrow.int64()),
                "class": words([one.class_name for one in self]),
                "method": words([one.method for one in self]),
                "descriptor": words([one.descriptor for one in self]),
                "line": pyarrow.array([one.line or None for one in self], pyarrow.int32()),
                "arguments": pyarrow.array(
                    [[value_text(value) for value in one.arguments] for one in self],
                    pyarrow.list_(pyarrow.string()),
                ),
                "value": pyarrow.array(
                    [
                        None
                        if one.exception is not None or one.descriptor.endswith(")V")
                        else value_text(one.value)
                        for one in self
                    ],
                    pyarrow.string(),
                ),
                "exception": pyarrow.array(
                    [None if one.exception is None else str(one.exception) for one in self],
                    pyarrow.string(),
                ),
                "stack": pyarrow.array(
                    [list(one.stack) for one in self], pyarrow.list_(pyarrow.string())
                ),
            }
        )


class CallNode:
    """A method in a tree of calls: its time, and that of the calls below it.

    Attributes:
        name: the class and the method; for the root, the subject of the tree.
        calls: how often it was called from there.
        failures: how many of these calls an exception ended.
        total: nanoseconds, including calls below.
        children: the methods that it called, by name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0
        self.failures = 0
        self.total = 0
        self.children: dict[str, CallNode] = {}

    @property
    def own(self) -> int:
        """Nanoseconds, without the traced methods below."""
        return max(self.total - sum(one.total for one in self.children.values()), 0)

    def child(self, name: str) -> CallNode:
        """The node of a method that it called."""
        if name not in self.children:
            self.children[name] = CallNode(name)
        return self.children[name]

    def lines(self, depth: int = 0) -> list[str]:
        """The tree as text, the most expensive first."""
        found = []
        for one in sorted(self.children.values(), key=lambda node: -node.total):
            failed = f", {one.failures:,} failed" if one.failures else ""
            times = quantity(one.calls, "call")
            own = f" ({spent(one.own)} itself)" if one.children else ""
            found.append(
                f"{'  ' * depth}{spent(one.total)}{own}  {printable(one.name)}  {times}{failed}"
            )
            found += one.lines(depth + 1)
        return found

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<CallNode {self.name}: {quantity(self.calls, 'call')}>"


def tree_of(calls: Sequence[Call]) -> CallNode:
    """The calls as a tree: each below the traced call of the same thread that encloses it."""
    root = CallNode("all")
    by_thread: dict[int, list[Call]] = {}
    for one in calls:
        by_thread.setdefault(one.thread_id, []).append(one)
    for listed in by_thread.values():
        # Outer calls begin first; of two that begin together the outer one ends last.
        listed.sort(key=lambda one: (one.time - one.duration, -one.time))
        path: list[tuple[int, CallNode]] = []
        for one in listed:
            while path and path[-1][0] < one.time:
                path.pop()
            node = (path[-1][1] if path else root).child(one.name)
            node.calls += 1
            node.failures += one.exception is not None
            node.total += one.duration
            path.append((one.time, node))
    root.calls = sum(one.calls for one in root.children.values())
    root.total = sum(one.total for one in root.children.values())
    return root


__all__ = ["Call", "CallNode", "Calls", "local_time", "value_text", "spent", "tree_of"]
