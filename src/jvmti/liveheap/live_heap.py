"""The heap of a running VM: ``vm.heap``."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.heap.files import map_descriptor
from jvmti.heap.histogram import Histogram, inspected
from jvmti.heap.library import Dump, References
from jvmti.heap.names import Patterns, matching
from jvmti.interface.errors import InHeapCallback, WrongPhase
from jvmti.layouts.heap_passes import SCAN, UNITS
from jvmti.liveheap import passes
from jvmti.liveheap.dumping import dump
from jvmti.liveheap.live_objects import LiveObjects
from jvmti.liveheap.live_snapshot import LiveSnapshot
from jvmti.liveheap.loaders import LoadedClasses, ages
from jvmti.liveheap.passes import PassMemory, PassOverran, Progress
from jvmti.liveheap.pauses import Pauses
from jvmti.liveheap.referrers import ReferrerQueries, Referrers, Retained, RootPath
from jvmti.liveheap.scan import Instances, LiveRows, Scan, Where
from jvmti.operations.agent import AgentOperations
from jvmti.operations.functions import Operations
from jvmti.target import hotspot
from jvmti.target.errors import (
    AttachDisabled,
    AttachRefused,
    NoSuchProcess,
    NotPermitted,
    SuspiciousFile,
)
from jvmti.target.processes.search import performance_data

if TYPE_CHECKING:
    from jvmti.liveheap.running_vm import RunningVM
_SPARE_ROWS = 4096
_ATTEMPTS = 5
"""How often to repeat a scan, with more memory each time, while the program allocates."""
_MOST_WANTED = 20_000
"""Rows that one pass looks for; GetObjectsWithTags takes quadratic time."""
_UNATTACHABLE = (AttachDisabled, AttachRefused, NotPermitted, SuspiciousFile)
_STRING = "java.lang.String"
_PRIMITIVE_ARRAYS = frozenset(
    f"{name}[]" for name in ("boolean", "byte", "char", "short", "int", "long", "float", "double")
)


class LiveHeap:
    """The heap of a running VM.

    Every method stops the program for a moment that grows with the heap; its description says how
    long, and its result has the actual time.
    """

    def __init__(self, vm: RunningVM) -> None:
        self._vm = vm
        self._loaders: dict[int, str] = {}
        self.pauses = Pauses(vm)
        self._referrer_queries = ReferrerQueries(vm)

    # ---- histogram -------------------------------------------------------------------------

    def histogram(
        self,
        live: bool = False,
        classes: Patterns | None = None,
        *,
        loaders: bool = True,
        timeout: float = 60.0,
        max_pause: float | None = None,
    ) -> Histogram:
        """The number of objects of each class, and their bytes.

        The VM counts, as for ``jmap -histo``, which stops the program for about 13 ms per million
        objects.  If the VM accepts no attach commands, the agent walks over the heap instead, at
        about 30 ms per million objects.

        Args:
            live: count only reachable objects. This **forces a full garbage collection**, which
                stops the program for its whole duration. Otherwise unreachable objects that have
                not been collected yet count as well.
            classes: only classes whose names match this shell pattern, or one of these:
                ``"java.util.*"``, ``"byte[]"``.
            loaders: look up the class loaders, too: a few messages; the program keeps running.
            timeout: total seconds.
            max_pause: refuse in advance if the program would stop for more seconds, as estimated,
                without the collection that `live` forces.

        Raises:
            NoSuchClass: a pattern matches no class that has objects.
            AttachError: the VM does not accept attach commands in time.
            PauseTooLong: it would take longer than `max_pause`.
            WrongPhase: the VM is not live yet.

        JVM TI: none; the attach command ``inspectheap``, or else IterateThroughHeap.
        """
        self._check("histogram")
        if max_pause is not None:
            self.pauses.check("count", "a histogram", max_pause)
        found = self._histogram(live, timeout)
        if loaders and found.source == "attach":
            found.loaders = self._loaders_by_name(found.names)
        return found if classes is None else found.matching(classes)

    def with_loaders(
        self,
        found: Histogram,
        names: Collection[str] | None = None,
        *,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
    ) -> Histogram:
        """Look up the loaders of rows whose class name several loaders have.

        The VM's own count does not have them. So the agent walks over the heap, which stops the
        program for about 30 ms per million objects, but only if there are such rows.

        Args:
            found: a result of `histogram`.
            names: only classes of these names; all by default.
            timeout: seconds after which the walk ends.
            max_pause: refuse in advance if the program would stop for more seconds, as estimated.

        Returns:
            The same with the loaders of these rows, and with their age: ``oldest of 2``.

        Raises:
            PauseTooLong: it would take longer than `max_pause`.
            PassOverran: the passes overran the timeout.

        JVM TI: IterateThroughHeap, GetLoadedClasses, GetClassLoader.
        """
        self._check("with_loaders")
        rows: dict[str, list[int]] = {}
        for at in range(len(found)):
            name = found.names[at]
            if found.loaders[at] is None and (names is None or name in names):
                rows.setdefault(name, []).append(at)
        loaded = LoadedClasses(self._vm)
        try:
            several = {name for name, count in Counter(loaded.names).items() if count > 1}
            loaded.keep([name in several and name in rows for name in loaded.names])
            if not len(loaded):
                return found
            self.pauses.check(
                "scan", "looking up class loaders", max_pause, objects=found.total_count
            )
            counted = passes.run(
                self._vm._session, Operations.count_heap, (loaded.handles,), timeout=timeout
            )
            texts = loaded.loaders(self._loaders)
        finally:
            loaded.release()
        if not counted.whole:
            raise PassOverran("with_loaders", timeout)
        made = found.taken(numpy.arange(len(found)))
        made.pause += counted.stopped / 1e9
        for name, places in rows.items():
            of_name = [at for at, one in enumerate(loaded.names) if one == name]
            by_size = sorted(of_name, key=lambda at: -counted.bytes[at + 1])
            places.sort(key=lambda at: -int(found.bytes[at]))
            for row, at in zip(places, by_size, strict=False):
                made.loaders[row] = texts[at]
        made.ages = {**found.ages, **ages(loaded.names, texts)}
        return made

    def _histogram(self, live: bool, timeout: float) -> Histogram:
        began = time.monotonic()
        try:
            # No file for the text, and a thread for each processor that the VM may use: its default
            # # is three eighths of them. Older VMs ignore these arguments.
            text = hotspot.command(
                self._vm.process,
                "inspectheap",
                "-live" if live else "-all",
                "",
                str(_processors(self._vm.process.pid)),
                timeout=timeout,
            )
        except _UNATTACHABLE:
            return self._counted(live, timeout)
        pause = time.monotonic() - began
        rows = inspected(text)
        nothing = [None] * len(rows.names)
        made = Histogram(
            rows.names, nothing, rows.modules, rows.count, rows.bytes, pause=pause, source="attach"
        )
        if not live:
            self.pauses.learn("count", made.total_count, pause)
        return made.top(len(made))

    def _counted(self, live: bool, timeout: float | None) -> Histogram:
        """The same by a walk of the agent."""
        if live:
            self._vm.env.with_timeout(timeout).force_garbage_collection()
        loaded = LoadedClasses(self._vm)
        try:
            counted = passes.run(
                self._vm._session, Operations.count_heap, (loaded.handles,), timeout=timeout
            )
            texts = loaded.loaders(self._loaders)
        finally:
            loaded.release()
        if not counted.whole:
            raise PassOverran("histogram", timeout)
        names = ["?", *(name or "?" for name in loaded.names)]
        count = numpy.array(counted.counts, numpy.int64)
        made = Histogram(
            names,
            [None, *texts],
            [None] * len(names),
            count,
            numpy.array(counted.bytes, numpy.int64),
            pause=counted.stopped / 1e9,
            source="walk",
            ages=ages(loaded.names, texts),
        )
        self.pauses.learn("scan", made.total_count, made.pause)
        return made.taken(numpy.flatnonzero(count)).top(len(made))

    # ---- scan ------------------------------------------------------------------------------

    def scan(
        self,
        classes: Patterns | None = None,
        strings: bool = False,
        fields: bool = False,
        arrays: bool = False,
        *,
        timeout: float | None = 120.0,
        max_pause: float | None = None,
        progress: Progress | None = None,
    ) -> Scan:
        """All objects, or those of some classes, as columns.

        One pass over the heap writes class, size and array length of each object to memory that
        this process allocates up front, by a histogram. The agent tags only classes, in an
        environment of its own. Nothing remains in the VM, except that from Java 25 on every object
        that a JVM TI walk visits gets a permanent identity hash. The pass also visits unreachable
        objects that have not been collected yet.

        This stops the program for about 40 ms per million objects in the heap, whatever the
        classes, and 13 ms for the histogram; `Scan.pause` is the actual time.

        Args:
            classes: only objects of classes whose names match this shell pattern, or one of these.
            strings: the texts of strings, too.
            fields: the values of primitive fields, too.
            arrays: the elements of primitive arrays, too.
            timeout: seconds after which the pass ends; ``None`` is no limit.
            max_pause: refuse in advance if the program would stop for more seconds, as estimated.
            progress: called regularly with the number of objects visited, from another thread.

        Raises:
            NoSuchClass: a pattern matches no loaded class.
            NotEnoughMemory: there is not enough memory here.
            PauseTooLong: it would take longer than `max_pause`.
            CallTimeout: it overran the timeout.
            WrongPhase: the VM is not live yet.

        JVM TI: IterateThroughHeap.
        """
        self._check("scan")
        if max_pause is not None:
            self.pauses.check("scan", "a scan", max_pause)
        loaded = LoadedClasses(self._vm)
        try:
            if classes is not None:
                loaded.keep(matching(loaded.names, classes, "that is loaded"))
            return self._scan(
                loaded,
                classes is None,
                frozenset(
                    name
                    for name, wished in (
                        ("strings", strings),
                        ("fields", fields),
                        ("arrays", arrays),
                    )
                    if wished
                ),
                timeout=timeout,
                max_pause=max_pause,
                progress=progress,
            )
        except BaseException:
            loaded.release()
            raise

    def _scan(
        self,
        loaded: LoadedClasses,
        everything: bool,
        wishes: frozenset[str],
        *,
        timeout: float | None,
        max_pause: float | None,
        progress: Progress | None,
    ) -> Scan:
        counted = self._histogram(False, 60.0 if timeout is None else max(timeout, 10.0))
        self.pauses.check("scan", "a scan", max_pause, objects=counted.total_count)
        chosen = set(loaded.names)
        scale = 1.125
        for attempt in range(1, _ATTEMPTS + 1):
            capacities = _capacity(counted, None if everything else chosen, wishes, scale)
            memory = PassMemory(SCAN.offsets(capacities)["end"])
            try:
                scanned = passes.run(
                    self._vm._session,
                    Operations.scan_heap,
                    (
                        loaded.handles,
                        everything,
                        loaded.names.index(_STRING) + 1
                        if "strings" in wishes and _STRING in chosen
                        else 0,
                        "fields" in wishes,
                        _primitive_arrays(loaded) if "arrays" in wishes else [],
                        [capacities[one] for one in SCAN.counts],
                    ),
                    memory=memory,
                    timeout=timeout,
                    progress=progress,
                )
            finally:
                memory.close()
            made = Scan(
                self,
                loaded,
                capacities,
                memory,
                scanned,
                collections=self._collections(),
                wishes=wishes,
            )
            if not scanned.whole:
                raise PassOverran("scan", timeout)
            visited = counted.total_count if not everything else len(made) + made.missed
            self.pauses.learn("scan", visited, made.pause)
            if not made.missed or attempt == _ATTEMPTS:
                break
            # A program that goes on making objects may outrun a fixed margin again and again.
            scale *= (attempt + 0.5) * (len(made) + made.missed) / max(len(made), 1)
        return made

    def _find(
        self, scan: Scan, rows: Any, timeout: float | None, progress: Progress | None
    ) -> LiveRows:
        """Finds rows of a scan again; see `Scan.live`."""
        began = time.monotonic()
        self._check("live")
        loaded = scan._loaded
        if loaded is None:
            raise ValueError("the scan is closed")
        if not len(rows):
            return LiveRows(rows, [], 1.0, 0.0, 0)
        numbers = scan.class_number[rows]
        ordinals = numpy.zeros(len(rows), numpy.int64)
        for number in numpy.unique(numbers).tolist():
            of_class = numbers == number
            ordinals[of_class] = numpy.searchsorted(
                numpy.flatnonzero(scan.class_number == number), rows[of_class]
            )
        known = numbers > 0  # classes loaded during the scan have no handle
        order = numpy.flatnonzero(known)[numpy.lexsort((ordinals[known], numbers[known]))]
        sizes = scan._units[rows].astype(numpy.int64) * UNITS.SIZE
        # Only their classes: the pass skips objects of others.
        wanted, places = numpy.unique(numbers[order], return_inverse=True)
        found, pause = self._find_objects(
            [loaded.handles[number - 1] for number in wanted.tolist()],
            places + 1,
            ordinals[order],
            sizes[order],
            scan.length[rows][order],
            timeout,
            began,
            progress,
        )
        if progress is not None:
            progress(len(rows))
        objects: list[Any] = [None] * len(rows)
        for at, one in zip(order.tolist(), found, strict=True):
            objects[at] = one
        now = self._collections()
        before = scan._collections
        return LiveRows(
            rows,
            objects,
            sum(one is not None for one in objects) / len(rows),
            pause,
            None if now is None or before is None else now - before,
        )

    def instances(
        self,
        cls: Any,
        where: Where | None = None,
        limit: int | None = None,
        *,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
    ) -> list[Any]:
        """The instances of a class, without subclasses; see ``cls.instances``."""
        self._check("instances")
        if limit is not None and limit < 0:
            raise ValueError(f"a limit is not negative: {limit}")
        self.pauses.check(
            "scan", "looking for instances", max_pause, passes=1 if where is None else 2
        )
        if where is None and cls.name == "java.lang.Class":
            return self._only_loaded(self._instances(cls, None, timeout))[:limit]
        if where is None:
            return self._instances(cls, limit, timeout)
        loaded = LoadedClasses.only(self._vm, [cls])
        scan = self._scan(
            loaded,
            False,
            frozenset(("strings", "fields", "arrays")),
            timeout=timeout,
            max_pause=None,
            progress=None,
        )
        all_of_them = Instances(scan, numpy.arange(len(scan)))
        chosen = all_of_them.where(where(all_of_them))
        if limit is not None:
            chosen = Instances(scan, chosen.row[:limit])
        return list(scan.live(chosen, timeout=timeout))

    def _only_loaded(self, classes: list[Any]) -> list[Any]:
        """Leave out classes of the VM's archive that are not loaded."""
        status = self._vm.env.map.get_class_loader(classes).status
        return [cls for cls, code in zip(classes, status, strict=True) if code == 0]

    def _instances(self, cls: Any, limit: int | None, timeout: float | None) -> list[Any]:
        taken = passes.run(
            self._vm._session,
            Operations.take_instances,
            ([cls], (1 << 31) - 1 if limit is None else limit),
            timeout=timeout,
        )
        if not taken.whole and (limit is None or len(taken.objects) < limit):
            raise PassOverran("instances", timeout)
        objects: list[Any] = taken.objects
        return objects

    # ---- the whole graph -------------------------------------------------------------------

    def snapshot(
        self,
        *,
        gc: bool = False,
        unreachable: str = "drop",
        timeout: float = 300.0,
        max_pause: float | None = None,
        report: Any = None,
    ) -> LiveSnapshot:
        """The whole heap as a graph, as of this moment.

        The VM dumps its heap into memory of this process, without a file, and the package reads it
        like any other dump.  This stops the program for about 100 ms per million objects;
        ``snapshot.pause`` is the actual time.  It forces no collection: reachability from the roots
        decides which objects count.

        References of controllers of this package, this one and others, and of the agent's threads
        are not roots. An object that only they hold counts as unreachable.

        Args:
            gc: **force a full garbage collection** first.
            unreachable: ``"drop"`` leaves unreachable objects out of all answers, ``"keep"``
                includes them.
            timeout: seconds for the dump.
            max_pause: refuse in advance if the program would stop for more seconds, as estimated.
            report: called now and then with the reading step, the amount done, and the total.

        Raises:
            NotEnoughMemory: the machine, or the target's memory limit, lacks memory for the dump.
            PauseTooLong: it would take longer than `max_pause`.
            HeapError: the VM could not write the dump.
            AttachError: the VM does not accept attach commands.
            WrongPhase: the VM is not live yet.

        JVM TI: none; the diagnostic command ``GC.heap_dump``.
        """
        self._check("snapshot")
        self.pauses.check("dump", "a heap dump", max_pause)
        # With G1 the order of the heap is that of addresses, otherwise that of one thread.
        by_address = self._collector().startswith("G1")
        used = self.pauses.bytes_in_use()
        own = [self._agent_references()]
        descriptor, pause = dump(
            self._vm,
            gc=gc,
            used=used,
            timeout=timeout,
            threads=_processors(self._vm.process.pid) if by_address else 1,
        )
        try:
            # The dump may have references that appeared or disappeared meanwhile.
            own.append(self._agent_references())
            mapped = map_descriptor(descriptor, "the dump")
        finally:
            os.close(descriptor)
        left_out = References(
            *(numpy.unique(numpy.concatenate(part)) for part in zip(*own, strict=True))
        )
        made = LiveSnapshot(
            Dump(mapped.data, 0, report, left_out), unreachable=unreachable, report=report
        )
        made.pause = pause
        made._live = LiveObjects(self, made, by_address, self._collections())
        self.pauses.learn("dump", len(made), pause)
        return made

    def _agent_references(self) -> References:
        """The references that the agent holds, of all sessions."""
        found = AgentOperations(self._vm._session).agent_references()
        return References(
            *(numpy.array(column, numpy.int64).view(numpy.uint64) for column in found)
        )

    def _find_objects(
        self,
        classes: Any,
        numbers: Any,
        ordinals: Any,
        sizes: Any,
        lengths: Any,
        timeout: float | None,
        began: float,
        progress: Progress | None,
    ) -> tuple[list[Any], float]:
        """Objects by class (from 1), position among those of their class, size and length.

        They are in order of class and position; many need several passes, until the time since
        `began` is over. The second result is how long all passes stopped the VM.
        """
        objects: list[Any] = [None] * len(numbers)
        stopped = 0
        for begin in range(0, len(numbers), _MOST_WANTED):
            if begin and progress is not None:
                progress(begin)
            part = slice(begin, begin + _MOST_WANTED)
            columns = (numbers, ordinals, sizes, lengths)
            left = None if timeout is None else max(began + timeout - time.monotonic(), 0.0)
            found = passes.run(
                self._vm._session,
                Operations.find_in_heap,
                (classes, *(column[part].tolist() for column in columns)),
                timeout=left,
            )
            if not found.whole:
                raise PassOverran("live", timeout)
            for one, place in zip(found.objects, found.places, strict=True):
                objects[begin + place] = one
            stopped += found.stopped
        return objects, stopped / 1e9

    # ---- referrers -------------------------------------------------------------------------

    def referrers(
        self,
        item: Any,
        limit: int = 1000,
        *,
        weak: bool = True,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
        progress: Progress | None = None,
    ) -> Referrers:
        """The referrers of an object; see ``obj.referrers``."""
        self._check("referrers")
        self.pauses.check("follow", "looking for referrers", max_pause)
        return self._referrer_queries.referrers(item, limit, weak, timeout, progress)

    def path_to_root(
        self,
        item: Any,
        *,
        weak: bool = False,
        most: int = 100_000,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
        progress: Progress | None = None,
    ) -> RootPath:
        """A shortest path from a root to an object; see ``obj.path_to_root``."""
        self._check("path_to_root")
        self.pauses.check("follow", "each pass of the search for a path", max_pause)
        return self._referrer_queries.path_to_root(item, weak, most, timeout, progress)

    def retained_size(
        self,
        item: Any,
        *,
        most: int = 1_000_000,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
        progress: Progress | None = None,
    ) -> Retained:
        """The retained size of an object; see ``obj.retained_size``."""
        self._check("retained_size")
        self.pauses.check("follow", "measuring a retained size", max_pause)
        return self._referrer_queries.retained_size(item, most, timeout, progress)

    # ---- what all of them need -------------------------------------------------------------

    def _check(self, name: str) -> None:
        """Check that the heap is available."""
        session = self._vm._session
        session.check_open()
        if session.held:
            raise WrongPhase(None, name, "the VM is held in OnLoad and has no objects yet")
        conversation = session._local.conversation
        if conversation is not None and conversation.stopped:
            raise InHeapCallback(name)

    def _collector(self) -> str:
        """The name of the VM's first collector, if its counters have it."""
        return str(self._performance_data().get("sun.gc.collector.0.name", ""))

    def _performance_data(self) -> dict[str, str | int]:
        process = self._vm.process
        if process.needs_helper():
            return {}
        try:
            return performance_data(process)
        except NoSuchProcess:
            return {}  # as the next call says, in its own words

    def _collections(self) -> int | None:
        """The number of garbage collections so far, if the VM counts it."""
        data = self._performance_data()
        counts = [
            value
            for name, value in data.items()
            if name.startswith("sun.gc.collector.") and name.endswith(".invocations")
        ]
        numbers = [value for value in counts if isinstance(value, int)]
        return sum(numbers) if numbers else None

    def _loaders_by_name(self, names: list[str]) -> list[str | None]:
        """The class loader of each class whose name is unique."""
        loaded = LoadedClasses(self._vm)
        try:
            wanted = set(names)
            loaded.keep([name in wanted for name in loaded.names])
            by_name: dict[str | None, set[str]] = {}
            for name, loader in zip(loaded.names, loaded.loaders(self._loaders), strict=True):
                by_name.setdefault(name, set()).add(loader)
        finally:
            loaded.release()
        return [
            next(iter(by_name[name])) if len(by_name.get(name, ())) == 1 else None for name in names
        ]


def _processors(pid: int) -> int:
    """How many processors a process may use."""
    try:
        return max(len(os.sched_getaffinity(pid)), 1)
    except OSError:
        return 1


def _primitive_arrays(loaded: LoadedClasses) -> list[int]:
    """The numbers of their classes."""
    return [at for at, name in enumerate(loaded.names, 1) if name in _PRIMITIVE_ARRAYS]


def _capacity(
    counted: Histogram, chosen: set[str | None] | None, wishes: frozenset[str], scale: float
) -> dict[str, int]:
    """The sizes that the columns of a scan need for a histogram; ``None`` for all classes."""
    rows = strings = text = values = elements = 0
    headers = 8
    for name, count, size in zip(
        counted.names, counted.count.tolist(), counted.bytes.tolist(), strict=True
    ):
        if name in ("byte[]", "char[]"):
            text += size  # the classes of strings' arrays
        if chosen is not None and name not in chosen:
            continue
        rows += count
        if name == _STRING:
            strings += count
        if name in _PRIMITIVE_ARRAYS:
            elements += size
        elif not name.endswith("[]"):
            values += max(size - headers * count, 0)

    def scaled(number: int, wish: str) -> int:
        return int(number * scale) + 64 * _SPARE_ROWS if wish in wishes else 0

    return {
        "rows": int(rows * scale) + _SPARE_ROWS,
        "strings": int(strings * scale) + _SPARE_ROWS if "strings" in wishes else 0,
        "text": scaled(text if strings else 0, "strings"),
        "values": scaled(values, "fields"),
        "elements": scaled(elements, "arrays"),
    }


__all__ = ["LiveHeap"]
