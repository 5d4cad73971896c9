"""The handles that Python objects own, and their release once the objects are gone.

Python loses a Ctrl-C that arrives in a finalizer, because no caller can catch it. So no Python code
runs when a wrapper or a column is collected. A weak reference that knows what it owned goes into a
queue, through a callback written in C; the next request of the session empties the queue and
informs the agent.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, final

from jvmti.deferred import is_array, numpy
from jvmti.interface.errors import ProtocolError
from jvmti.wire.protocol import RELEASED

RELEASE = RELEASED.struct
"""A handle to release, and how often the controller received it."""

_ROWS = [("handle", "<u8"), ("count", "<u4")]
_ISSUED = 32
"""Kinds from here on live in the agent's tables and have no owner."""
_FIRST_ISSUED = _ISSUED << 56
_MANY = 10_000
"""Handles of a column from which NumPy is worth its import."""
_SOME = 50
"""The same where it is imported already."""
_new: Any = object.__new__


def block_of(handles: Any) -> bytes:
    """Releases handles that were received once each; skips those without an owner.

    Args:
        handles: an array of NumPy, or a memory view.
    """
    if not is_array(handles) and len(handles) < (_SOME if "numpy" in sys.modules else _MANY):
        return b"".join([RELEASE.pack(one, 1) for one in handles if 0 < one < _FIRST_ISSUED])
    handles = numpy.asarray(handles)
    owned = handles[(handles != 0) & (handles >> numpy.uint64(56) < _ISSUED)]
    if not owned.size:
        return b""
    block = numpy.ones(owned.size, _ROWS)
    block["handle"] = owned
    return block.tobytes()


class _Wrapper(weakref.ref[Any]):
    """Knows the handle of a wrapper, and how often the agent has sent it."""

    __slots__ = ("count", "handle")
    count: int
    handle: int


@final
class ColumnOwner(weakref.ref[Any]):
    """Knows the handles of a column."""

    __slots__ = ("handles",)
    handles: Any
    """An array of NumPy, or a memory view."""


class Ownership:
    """The wrappers and columns of a session.

    Args:
        session: what wrappers are made for.
        classes: the class of handle for each kind.
    """

    def __init__(self, session: Any, classes: dict[int, Any]) -> None:
        self._session = session
        self._classes = classes
        # The collector may run a foreign finalizer in here, which makes calls.
        self._lock = threading.RLock()
        # The callback of a weak reference runs only while the weak reference itself is alive.
        self._wrappers: dict[int, _Wrapper] = {}
        self._columns: dict[int, ColumnOwner] = {}
        """Keyed by identity: columns made one after the other have equal hashes."""
        self._issued: dict[int, Any] = {}
        """Wrappers of what is never released: method and field ids."""
        self._gone: deque[_Wrapper | ColumnOwner] = deque()
        self._notify: Any = self._gone.append
        self._blocks: deque[bytes] = deque()

    def wrap(self, handle: int) -> Any:
        """The Python object for a handle that the agent sent, counted."""
        issued = self._issued.get(handle)
        if issued is not None:
            return issued
        with self._lock:
            return self._wrap(handle)

    def wrap_all(self, handles: Sequence[int]) -> list[Any]:
        """The Python objects for handles that the agent sent, counted; ``None`` for each 0."""
        issued = list(map(self._issued.get, handles))
        if all(issued):
            return issued  # the methods of a stack, most of them known
        found = []
        with self._lock:
            for handle in handles:
                found.append(self._wrap(handle) if handle else None)
        return found

    def _wrap(self, handle: int) -> Any:
        reference = self._wrappers.get(handle)
        if reference is not None:
            known = reference()
            # A call that began earlier may still return a handle that was released here.
            if known is not None and known._handle:
                reference.count += 1
                return known
        if handle >= _FIRST_ISSUED and handle in self._issued:
            return self._issued[handle]
        cls = self._classes.get(handle >> 56)
        if cls is None:
            raise ProtocolError(f"the agent sent a handle of unknown kind: {handle:#x}")
        # Inlines `__init__`, which would cost one more call for each.
        made = _new(cls)
        made._session = self._session
        made._handle = handle
        if cls.LASTING:
            self._issued[handle] = made
            return made
        reference = _Wrapper(made, self._notify)
        reference.handle = handle
        reference.count = 1
        self._wrappers[handle] = reference
        return made

    def wrap_again(self, known: Any) -> bool:
        """Count a handle that the agent has sent again; false if it was released."""
        with self._lock:
            reference = self._wrappers.get(known._handle)
            if reference is None or reference() is not known:
                return False
            reference.count += 1
            return True

    def release(self, wrapper: Any) -> None:
        """Release what a wrapper owns; the wrapper itself lives on."""
        reference = self._wrappers.get(wrapper._handle)
        if reference is not None and reference() is wrapper:
            self._gone.append(reference)

    def own(self, column: Any, handles: Any) -> ColumnOwner:
        """The record of a column's handles; change it when they change."""
        owner = ColumnOwner(column, self._notify)
        owner.handles = handles
        self._columns[id(owner)] = owner
        return owner

    def give_up(self, block: bytes) -> None:
        """Note encoded handles to release; the next request informs the agent."""
        self._blocks.append(block)

    def owes(self) -> bool:
        """Whether there are releases to report to the agent."""
        return bool(self._gone or self._blocks)

    def settle(self) -> bytes:
        """The releases since the last call, for the agent."""
        parts: list[bytes] = []
        single: list[tuple[int, int]] = []
        wrappers = self._wrappers
        try:
            with self._lock:
                while self._gone:
                    gone = self._gone.popleft()
                    if type(gone) is ColumnOwner:
                        parts.append(self._given_up(gone))
                        continue
                    try:
                        handle = gone.handle
                        # An object that was released explicitly owns nothing when it is collected.
                        count, gone.count = gone.count, 0
                    except AttributeError:
                        continue  # Ctrl-C came while it was made
                    if wrappers.get(handle) is gone:  # another may have taken its place
                        del wrappers[handle]
                    if count and handle < _FIRST_ISSUED:
                        single.append((handle, count))
                while self._blocks:
                    parts.append(self._blocks.popleft())
        except BaseException:
            self._blocks.extend(parts)
            self._blocks.extend(itertools.starmap(RELEASE.pack, single))
            raise
        return b"".join([*parts, *itertools.starmap(RELEASE.pack, single)])

    def _given_up(self, gone: ColumnOwner) -> bytes:
        """The handles that a column owned; the second call returns nothing."""
        self._columns.pop(id(gone), None)
        try:
            handles, gone.handles = gone.handles, gone.handles[:0]
        except AttributeError:
            return b""  # Ctrl-C came while it was made
        return block_of(handles)

    def forget(self) -> None:
        """The session is over: forget the releases."""
        self._wrappers.clear()
        self._columns.clear()
        self._gone.clear()
        self._blocks.clear()


__all__ = ["RELEASE", "ColumnOwner", "Ownership", "block_of"]
