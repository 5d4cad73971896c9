"""What can go wrong with heaps.

::

    HeapError            (jvmti.Error)
     ├─ NotADump         the file is something else (also ValueError)
     ├─ NoSuchClass      a pattern matches no class of the heap (also LookupError)
     ├─ NoSuchField      no object in a column has the field (also LookupError)
     ├─ TooManyObjects   more than indices of 32 bits can number
     └─ Cancelled        a long step was cancelled
"""

from __future__ import annotations

from jvmti.spec.errors import Error

__all__ = ["Cancelled", "HeapError", "NoSuchClass", "NoSuchField", "NotADump", "TooManyObjects"]


class HeapError(Error):
    """Something about a heap dump or a snapshot."""


class NotADump(HeapError, ValueError):
    """The file is not a heap dump in the HPROF format."""


class NoSuchClass(HeapError, LookupError):
    """A name or pattern matches no class of the heap; the message names some that are near."""


class NoSuchField(HeapError, LookupError):
    """No object of a column has a field of this name; the message names those that there are."""


class TooManyObjects(HeapError):
    """The dump has more objects than can be numbered."""


class Cancelled(HeapError):
    """A long step was cancelled."""
