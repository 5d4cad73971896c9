"""Probes in the locks of ``java.util.concurrent``, which report threads that were parked."""

from __future__ import annotations

from jvmti.instrumentation.probes import Operand, Probe
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site as Where
from jvmti.profiling.profiled_vm import ProfiledVM
from jvmti.tracing.call_probes import RecordShape, noting, place_of
from jvmti.tracing.probe_set import ProbeSet

__all__ = ["ParkProbes"]

_LOCKS = "java.util.concurrent.locks."
_PARKS = [
    f"call {_LOCKS}LockSupport.park* in {_LOCKS}{name}.*"
    for name in ("AbstractQueuedSynchronizer", "AbstractQueuedLongSynchronizer", "StampedLock")
]
"""Where a lock parks the thread that it is for.

Probes in ``LockSupport`` would see all that park for something else, such as for work of their
pool, and in a server these are nearly all. A ``Condition`` parks in another class.
"""
_SET = Operand(Kind.NUMBER, "I", 0)
_LOCK = Operand(Kind.PASSED, "L", 0)


def _probes(number: int, pattern: str) -> list[Probe]:
    """The probes around a call that parks: who has the lock is known only when the wait begins."""
    place = place_of(pattern)
    began, owner = f"began {number}", f"owner {number}"
    asked = noting(owner) | {"name": "owner", "operands": (_SET, _LOCK)}
    kept = (Operand(Kind.KEPT, "J", text=began), Operand(Kind.KEPT, "J", text=owner))
    return [
        Probe(**place, **asked, site=Where.CALL),
        Probe(**place, **noting(began), site=Where.CALL),
        Probe(**place, site=Where.CALLED, name="waited", operands=(_SET, _LOCK, *kept)),
    ]


class ParkProbes(ProbeSet):
    """Reports waits for locks of ``java.util.concurrent`` to a profile in the agent.

    Args:
        vm: the VM.
        profile: the number of the profile.
        shortest: the shortest wait, in nanoseconds.

    Raises:
        NotAvailable: the VM lets no probes into its classes.

    JVM TI: RetransformClasses.
    """

    def __init__(self, vm: ProfiledVM, profile: int, shortest: int) -> None:
        self._profile = profile
        self._shortest = shortest
        probes = [one for number, call in enumerate(_PARKS) for one in _probes(number, call)]
        super().__init__(vm, probes, RecordShape(0, 0))
        try:
            self._arm(None)
        except BaseException:
            self.close()
            raise

    def _open(self, plan: bytes, over: float) -> int:
        return int(self._vm._agent.open_park_probes(plan, self._profile, self._shortest))
