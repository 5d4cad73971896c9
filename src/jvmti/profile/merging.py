"""Several profiles as one: of several JVMs, or of several times."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from jvmti.profile.tables import Frames, Samples, Stacks, Threads, within

if TYPE_CHECKING:
    from jvmti.profile.limits import Limits

__all__ = ["Merged"]

Column = NDArray[numpy.int32]


class Merged:
    """Tables that take those of one profile after the other; equal rows are there once.

    Attributes:
        limits: the limits of all.
    """

    def __init__(self) -> None:
        self._frames: dict[tuple[Any, ...], int] = {}
        self._stacks: dict[bytes, int] = {}
        self._threads: dict[tuple[Any, ...], int] = {}
        self._labels: dict[str, int] = {}
        self._samples: list[dict[str, NDArray[Any]]] = []
        self.limits: list[Limits] = []

    def add(
        self,
        samples: Samples,
        stacks: Stacks,
        frames: Frames,
        threads: Threads,
        limits: Sequence[Limits],
        labels: Sequence[str],
        process: str | None = None,
    ) -> None:
        """Add the tables of a profile.

        Args:
            samples: its samples.
            stacks: its stacks; only those that samples have are taken.
            frames: its frames.
            threads: its threads.
            limits: its limits.
            labels: its labels.
            process: the process of its threads; ``None`` leaves what they have.

        Raises:
            ProfileError: a sample has a stack that is not there.
        """
        within("stack", samples.stack, len(stacks))
        used = numpy.flatnonzero(numpy.bincount(samples.stack))
        frame = _numbers(
            self._frames,
            zip(
                frames.class_name,
                frames.method,
                frames.descriptor,
                frames.line.tolist(),
                frames.kind.tolist(),
                strict=True,
            ),
        )
        stack = numpy.full(len(stacks), -1, numpy.int32)
        inside = frame[stacks.frames] if len(frame) else stacks.frames
        begins, ends = stacks.offsets[used].tolist(), stacks.offsets[used + 1].tolist()
        stack[used] = _numbers(
            self._stacks,
            (inside[begin:end].tobytes() for begin, end in zip(begins, ends, strict=True)),
        )
        processes = threads.process if process is None else [process] * len(threads)
        thread = _numbers(
            self._threads,
            zip(
                threads.id.tolist(),
                threads.name,
                threads.group,
                threads.virtual.tolist(),
                processes,
                strict=True,
            ),
        )
        # The last number is that of -1.
        label = numpy.append(_numbers(self._labels, labels), numpy.int32(-1))
        owner = numpy.append(thread, numpy.int32(-1))
        has_owners = bool(len(samples)) and samples.owner.max() >= 0
        self._samples.append(
            samples.columns()
            | {
                "stack": stack[samples.stack],
                "thread": thread[samples.thread] if len(thread) else samples.thread,
                "label": label[samples.label] if labels else samples.label,
                "owner": owner[samples.owner] if has_owners else samples.owner,
            }
        )
        self.limits += (
            limits
            if process is None
            else [dataclasses.replace(one, process=process) for one in limits]
        )

    def tables(self) -> tuple[Samples, Stacks, Frames, Threads, list[Limits], list[str]]:
        """The arguments of a `jvmti.profile.Profile`."""
        columns = {
            name: numpy.concatenate([one[name] for one in self._samples])
            for name in Samples.__dataclass_fields__
        }
        frames = [list(column) for column in zip(*self._frames, strict=True)] or [[]] * 5
        threads = [list(column) for column in zip(*self._threads, strict=True)] or [[]] * 5
        lengths = [len(one) // 4 for one in self._stacks]
        return (
            Samples(**columns),
            Stacks(
                numpy.concatenate([[0], numpy.cumsum(lengths)]),
                numpy.frombuffer(b"".join(self._stacks), numpy.int32),
            ),
            Frames(*frames),
            Threads(*threads),
            self.limits,
            list(self._labels),
        )


def _numbers(known: dict[Any, int], rows: Any) -> Column:
    return numpy.array([known.setdefault(row, len(known)) for row in rows], numpy.int32)
