"""Where this process and those that it starts may run."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def one_processor() -> Iterator[None]:
    """Keep the current thread, and processes that it starts, on one processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


PLACES = (one_processor, nullcontext)
"""On one processor nobody waits for another one to wake, on all nobody has to make room."""
