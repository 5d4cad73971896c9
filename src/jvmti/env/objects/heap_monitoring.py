"""Sampling of allocations."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import ONLOAD, function
from jvmti.interface.types import Int


class HeapMonitoringFunctions(Calling):
    """The functions of the chapter "Heap Monitoring"."""

    __slots__ = ()

    @function(
        156,
        phase=ONLOAD,
        since="11",
        capabilities=("can_generate_sampled_object_alloc_events",),
        errors=("ILLEGAL_ARGUMENT",),
        record="set_heap_sampling_interval",
    )
    def set_heap_sampling_interval(self, sampling_interval: Int) -> None:
        """Set how many bytes a thread allocates on average between ``SampledObjectAlloc`` events.

        It takes effect after some more allocations, applies to the whole VM, and is restored when
        the controller leaves.

        Args:
            sampling_interval: bytes; 0 samples every allocation, a small number costs much time.

        Raises:
            IllegalArgument: it is negative.
            MustPossessCapability: ``can_generate_sampled_object_alloc_events`` has not been added.

        Example:
            >>> env.set_heap_sampling_interval(64 * 1024)  # bytes between events

        JVM TI: SetHeapSamplingInterval.
        """
