"""Where the samples of a running JVM come from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

from jvmti.layouts.profiles import ProfiledKind, ProfileEngine
from jvmti.profile.tables import Frames, Kind, Samples, Stacks, Threads
from jvmti.profiling.parts import Parts
from jvmti.profiling.profiled_vm import ProfiledVM

Tables = tuple[Samples, Stacks, Frames, Threads]


class SampleSource(Protocol):
    """A source of the samples of one profile.

    Attributes:
        engine: its name.
        reason: why it is this one, and not a better one.
    """

    engine: str
    reason: str

    def read(self) -> None:
        """Take the samples over that there are."""

    def stop(self) -> None:
        """Take no more samples; those that there are can still be read."""

    def close(self) -> None:
        """Release what it has in the target."""

    def tables(self) -> Tables:
        """The samples that were read."""

    def limits(self) -> dict[str, Any]:
        """Further fields of `jvmti.profile.limits.Limits`."""


ENGINES = {
    None: ProfileEngine.BEST,
    "perf": ProfileEngine.PERF,
    "timer": ProfileEngine.TIMER,
    "deltas": ProfileEngine.DELTAS,
}
_NAMES = {number: name for name, number in ENGINES.items()}


class AgentSource:
    """The agent's samples of processor time or passed time.

    Args:
        vm: the VM.
        kind: what is sampled.
        engine: what takes the samples; ``None`` is the best that works.
        interval: nanoseconds from one sample to the next.
        depth: frames of a stack at most.
        exact: have inlined methods right, where the VM must compile anew for that.
        threads: patterns for the names of the threads to look at; ``None`` for all.

    Raises:
        NotAvailable: no engine works, or another profile has what it needs.
        ValueError: there is no such engine.
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
        if engine not in ENGINES:
            known = ", ".join(map(str, ENGINES))
            raise ValueError(f"engine={engine!r} is none of {known}")
        self._vm = vm
        self._kind = kind
        self._parts = Parts()
        if isinstance(threads, str):
            threads = [threads]
        patterns = None if threads is None else "\n".join(threads)
        opened = vm._agent.open_profile(
            *(ProfiledKind(kind), ENGINES[engine], interval, depth, exact, patterns)
        )
        self._number = opened.number
        self._engine = ProfileEngine(opened.engine)
        self.engine = _NAMES[self._engine] or ""
        self.reason = opened.reason
        self._exact_asked = exact

    @cached_property
    def _inlined_exact(self) -> bool | None:
        if self._engine is ProfileEngine.DELTAS:
            return True  # there is debug information for every safepoint
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
        return self._engine is ProfileEngine.DELTAS

    def read(self) -> None:
        """Take the samples over that there are."""
        while self._parts.add(self._vm._agent.read_profile(self._number)):
            pass

    def stop(self) -> None:
        """Take no more samples."""
        self._vm._agent.stop_profile(self._number)

    def close(self) -> None:
        """Release the profile in the agent."""
        self._vm._agent.close_profile(self._number)

    def tables(self) -> Tables:
        """The samples that were read."""
        return self._parts.tables(self._kind)

    def limits(self) -> dict[str, Any]:
        """The fields that say what the samples lack."""
        parts = self._parts
        notes = []
        if parts.unfollowed:
            notes.append(
                f"{parts.unfollowed:,} threads have no samples: the kernel gave nothing to follow "
                "them by (see ulimit -n and ulimit -i)."
            )
        if parts.unresolved:
            notes.append(
                f"{parts.unresolved:,} methods have no name: their class was unloaded too early."
            )
        if self._engine is ProfileEngine.DELTAS and self._kind is Kind.CPU:
            notes.append("Threads of the VM itself, such as collectors, have no samples.")
        return {
            "inlined_exact": self._inlined_exact,
            "safepoint_biased": self._engine is ProfileEngine.DELTAS,
            "failed": parts.failed,
            "truncated": parts.truncated,
            "lost": parts.lost,
            "virtual_threads": self._virtual_threads,
            "notes": tuple(notes),
        }


__all__ = ["ENGINES", "AgentSource", "SampleSource", "Tables"]
