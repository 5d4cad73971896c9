"""Memory that an intercepted JNI call passes: arrays to read and, if C may write, to write.

Nothing is copied up front. It is the program's own memory; the waiting thread of the call reads and
writes it. It becomes invalid when the call continues.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, TypeAlias

from jvmti.deferred import numpy
from jvmti.interface.signatures import DTYPES
from jvmti.operations.agent import AgentOperations
from jvmti.text.printable import escaped

if TYPE_CHECKING:
    from jvmti.wire.session import Session

Array: TypeAlias = "numpy.ndarray[Any, Any]"

_TYPES = {**DTYPES, "c": "|u1"}
"""Those of elements, and of bytes of text in C."""


class JniBuffer:
    """The elements behind a pointer of an intercepted JNI call, while the call lasts.

    ``buffer[i]`` and ``buffer[i:j]`` read (a number, a NumPy array) and, if the function may write
    there, assign.  ``numpy.asarray(buffer)`` copies all of it.

    Attributes:
        address: its address in the target.
        dtype: the type of an element, as NumPy names it; `uint16` for ``jchar``.
        writable: whether C may write there.
    """

    def __init__(
        self, session: Session, letter: str, writable: bool, number: int, length: int, address: int
    ) -> None:
        self.address = address
        self.dtype = numpy.dtype(_TYPES[letter])
        self.writable = writable
        self._number = number
        self._length = length
        self._operations = AgentOperations(session)

    def __len__(self) -> int:
        """How many elements there are."""
        return self._length

    def __getitem__(self, index: Any) -> Any:
        """An element, or a copy of several as an array.

        Raises:
            IndexError: there is no such element.
            IllegalArgument: the call is over.
        """
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step != 1:
                return self[:][index]
            return self._read(start, max(stop - start, 0))
        return self._read(self._place(index), 1)[0]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write an element or several; a ``str`` stands for characters.

        Raises:
            TypeError: C may not write there.
            IndexError: there is no such element.
            ValueError: there are more or fewer values than elements.
            IllegalArgument: the call is over.
        """
        if not self.writable:
            raise TypeError("the function only reads this; call the original with other values")
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step != 1:
                raise ValueError("elements are written one after the other, without a step")
            count = max(stop - start, 0)
        else:
            start, count = self._place(index), 1
        if isinstance(value, str) and self.dtype == numpy.uint16:
            value = numpy.frombuffer(value.encode("utf-16-le", "surrogatepass"), "<u2")
        elif isinstance(value, bytes) and self.dtype.itemsize == 1:
            value = numpy.frombuffer(value, self.dtype)
        data = numpy.broadcast_to(numpy.asarray(value, self.dtype), (count,))
        if count:
            at = start * self.dtype.itemsize
            self._operations.write_jni_buffer(self._number, at, data.tobytes())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All elements, as an array: a copy."""
        found = self._read(0, self._length)
        return found if dtype is None else found.astype(dtype)

    def tolist(self) -> list[Any]:
        """All elements as numbers of Python."""
        return self._read(0, self._length).tolist()  # type: ignore[no-any-return]

    def _read(self, start: int, count: int) -> Array:
        size = self.dtype.itemsize
        data = self._operations.read_jni_buffer(self._number, start * size, count * size)
        return numpy.frombuffer(bytearray(data), self.dtype)

    def _place(self, index: Any) -> int:
        place = operator.index(index)
        if place < 0:
            place += self._length
        if not 0 <= place < self._length:
            raise IndexError(f"index {index} is out of range: there are {self._length} elements")
        return place

    @escaped
    def __repr__(self) -> str:
        return f"<{self._length} × {self.dtype.name} at {self.address:#x}>"


__all__ = ["JniBuffer"]
