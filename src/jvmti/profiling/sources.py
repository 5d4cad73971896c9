"""Where the samples of a running JVM come from."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from jvmti.interface.errors import NotAvailable
from jvmti.layouts.profiles import ProfiledKind, ProfileEngine
from jvmti.profile.tables import Frames, Kind, Samples, Stacks, Threads
from jvmti.profiling.park_probes import ParkProbes
from jvmti.profiling.parts import Parts
from jvmti.profiling.profiled_vm import ProfiledVM
from jvmti.text.quantities import quantity

_FEW = 32
"""Threads that may have no sample: those that just began, and carriers of virtual threads."""
_MONITORS_LATE = 23
"""From here on HotSpot's structures have no owner of a monitor that gets its first waiter."""
_FIRST_WAITER = (
    f" From Java {_MONITORS_LATE} on HotSpot does not name who has a monitor that gets its first "
    "waiter, and there is time to ask for some of these only."
)

Tables = tuple[Samples, Stacks, Frames, Threads]


class SampleSource(Protocol):
    """A source of the samples of one profile.

    Attributes:
        engine: its name.
        reason: why it is this one, and not a better one.
    """

    engine: str
    reason: str

    def __len__(self) -> int:
        """How many samples were read."""

    def read(self) -> None:
        """Take the samples over that there are."""

    def stop(self) -> None:
        """Take no more samples; those that there are can still be read."""

    def close(self) -> None:
        """Release what it has in the target."""

    def rename_threads(self, names: dict[int, str]) -> None:
        """Give threads these names, by their numbers."""

    def tables(self) -> Tables:
        """The samples that were read."""

    def limits(self) -> dict[str, Any]:
        """Further fields of `jvmti.profile.limits.Limits`."""


class AgentSource:
    """The agent's samples.

    Args:
        vm: the VM.
        kind: what is sampled.
        engine: what takes the samples; ``None`` is the best that works.
        interval: nanoseconds or bytes from one sample to the next.
        depth: frames of a stack at most.
        exact: have inlined methods right, where the VM must compile anew for that.
        threads: patterns for the names of the threads to look at; ``None`` for all.

    Raises:
        NotAvailable: no engine works, or another profile has what it needs.
    """

    def __init__(
        self,
        vm: ProfiledVM,
        kind: Kind,
        engine: str | None,
        interval: int,
        depth: int,
        exact: bool,
        threads: str | Sequence[str] | None = None,
    ) -> None:
        self._vm = vm
        self._kind = kind
        self._interval = interval
        self._parts = Parts()
        if isinstance(threads, str):
            threads = [threads]
        self._patterns = threads
        asked = ProfileEngine.BEST if engine is None else ProfileEngine[engine.upper()]
        patterns = None if threads is None else "\n".join(threads)
        opened = vm._agent.open_profile(
            *(ProfiledKind(kind), asked, interval, depth, exact, patterns)
        )
        self._number = opened.number
        self._engine = ProfileEngine(opened.engine)
        self.engine = self._engine.name.lower()
        self.reason = opened.reason
        self._exact_asked = exact
        self._began = time.time_ns()
        self._parking: ParkProbes | None = None
        self._no_parking = ""
        if kind is Kind.LOCK:
            self._add_parking()

    def _add_parking(self) -> None:
        try:
            self._parking = ParkProbes(self._vm, self._number, self._interval)
        except NotAvailable as refused:
            self._no_parking = f"Locks of java.util.concurrent are not among the samples: {refused}"
        except BaseException:
            self.close()
            raise

    @cached_property
    def _inlined_exact(self) -> bool | None:
        if self._engine not in (ProfileEngine.PERF, ProfileEngine.TIMER):
            return True  # there is debug information for every safepoint
        if "interpreted" in (self._vm.env.get_system_property("java.vm.info") or ""):
            return True  # with -Xint nothing is inlined
        # HotSpot up to 17 is made to compile with debug information.
        if self._exact_asked and self._vm.version.major <= 17:
            return True
        # A flag that is not among them is diagnostic, and off.
        return any(
            flag.name == "DebugNonSafepoints" and flag.value is True
            for flag in self._vm.flags.all()
        )

    @property
    def _virtual_threads(self) -> bool | None:
        if self._vm.version.major < 21:
            return None
        by_signals = self._engine in (ProfileEngine.PERF, ProfileEngine.TIMER)
        return bool(self._parts.apart) if by_signals else True

    def __len__(self) -> int:
        return len(self._parts)

    def read(self) -> None:
        """Take the samples over that there are."""
        while self._parts.add(self._vm._agent.read_profile(self._number)):
            pass

    def stop(self) -> None:
        """Take no more samples."""
        if self._parking is not None:
            self._parking.close()
        self._vm._agent.stop_profile(self._number)

    def close(self) -> None:
        """Release the profile in the agent."""
        self._vm._agent.close_profile(self._number)

    def rename_threads(self, names: dict[int, str]) -> None:
        """Give threads these names, by their numbers."""
        self._parts.rename_threads(names)

    def tables(self) -> Tables:
        """The samples that were read."""
        samples, stacks, frames, threads = self._parts.tables(self._kind)
        weight: NDArray[Any] = samples.weight
        if self._parts.lost and self._engine is ProfileEngine.EVENTS:
            weight = numpy.rint(weight * self._parts.stands_for()).astype(numpy.int64)
        if weight is not samples.weight:
            samples = Samples(**{**samples.columns(), "weight": weight})
        return samples, stacks, frames, threads

    def limits(self) -> dict[str, Any]:
        """The fields that say what the samples lack."""
        parts = self._parts
        notes = []
        if parts.unfollowed:
            notes.append(
                f"{parts.unfollowed:,} threads have no samples: the kernel gave nothing to follow "
                "them by (see ulimit -n and ulimit -i)."
            )
        if parts.carried:
            notes.append(
                f"{parts.carried:,} samples of virtual threads appear as their carriers': there "
                "were too many to keep apart."
            )
        if parts.unresolved:
            has = "has" if parts.unresolved == 1 else "have"
            methods = quantity(parts.unresolved, "method")
            notes.append(
                f"{methods} {has} no name: the class was unloaded, or changed during their run."
            )
        if parts.renamed:
            its = "its name: all of its" if parts.renamed == 1 else "their names: all of their"
            threads = quantity(parts.renamed, "thread")
            notes.append(f"{threads} changed {its} samples have the last one.")
        if parts.faults:
            notes.append(
                f"{parts.faults:,} walks met a fault, which was caught; their samples have no "
                "stack."
            )
        if parts.changes:
            notes.append(
                "Another profiler set its own handler of the signal; the samples of some 100 ms "
                f"are missing, {parts.changes:,} times."
            )
        if parts.ended:
            notes.append(
                "There are no samples after the "
                f"{max(parts.ended - self._began, 0) / 1e9:.1f}th second: other profilers have "
                "the handlers of SIGPROF and SIGSTKFLT."
            )
        if parts.lost and self._engine is ProfileEngine.EVENTS:
            notes.append("The weight of dropped samples is given to those of the same half second.")
        known = self._owners_known() if self._kind is Kind.LOCK else 1.0
        if known < 0.995:
            notes.append(
                f"The owner of the lock is known for {known:.0%} of the waiting time; a lock that "
                "several readers have has none, nor one whose next owner has not yet run."
                + (_FIRST_WAITER if self._vm.version.major >= _MONITORS_LATE else "")
            )
        if self._no_parking:
            notes.append(self._no_parking)
        if self._kind is Kind.LOCK and parts.span > self._interval:
            notes.append(
                f"There were many: of waits below {parts.span / 1e6:.3g} ms some are samples, by "
                "chance in proportion to their length."
            )
        if self._kind is Kind.LIVE and len(parts) and not parts.looks:
            notes.append(
                "There was no collection, until which objects count as alive; "
                "jcmd PID GC.run makes one."
            )
        if self._kind is Kind.WALL and self._patterns is None and parts.unseen > _FEW:
            notes.append(
                f"{parts.unseen:,} of {parts.alive:,} threads have no samples: there was no time "
                "to look at each. A longer profile has more of them, or a longer interval."
            )
        if self._patterns is not None and not len(parts):
            names = ", ".join(self._patterns)
            notes.append(f"No thread was found whose name matches {names}.")
        if self._engine is ProfileEngine.DELTAS and self._kind is Kind.CPU:
            notes.append("Threads of the VM itself, such as collectors, have no samples.")
        return {
            "inlined_exact": self._inlined_exact,
            "safepoint_biased": self._engine is ProfileEngine.DELTAS,
            "failed": parts.failed,
            "truncated": parts.truncated,
            "cut": parts.cut,
            "lost": parts.lost,
            "virtual_threads": self._virtual_threads,
            "effective": parts.span / parts.looks / 1e9
            if self._kind is Kind.WALL and parts.looks
            else None,
            "notes": tuple(notes),
        }

    def _owners_known(self) -> float:
        samples = self._parts.tables(self._kind)[0]
        if not len(samples):
            return 1.0
        return float(samples.weight[samples.owner >= 0].sum() / max(samples.weight.sum(), 1))


__all__ = ["AgentSource", "SampleSource", "Tables"]
