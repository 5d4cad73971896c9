"""Whether a callback's code shows that it does not write its tag.

The VM reads a tag when its call for the object returns, so the agent waits for a callback that may
write one, object by object. The calls of one that cannot travel in blocks, about twenty times as
fast. The code of the callback decides: it may read ``tag.value``, and must not pass the cell to
anything else.
"""

from __future__ import annotations

import dis
import types
from typing import Any

from jvmti.env.callbacks import TagCell

_BY_NAME = frozenset({"locals", "vars", "eval", "exec", "_getframe", "currentframe", "f_locals"})
"""Instructions that load several variables, each of which may be the argument."""
_LOADS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
_TWO_LOADS = (
    "LOAD_FAST_LOAD_FAST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    "STORE_FAST_LOAD_FAST",
)


class ReadTag(TagCell):
    """The tag of an object that the VM has left."""

    __slots__ = ("_value",)

    def __init__(self, value: int) -> None:
        self._value = value

    @property
    def value(self) -> int:
        """The tag."""
        return self._value

    @value.setter
    def value(self, value: int) -> None:
        raise RuntimeError(
            "the callback's code does not show that it writes tags, so the VM did not wait; "
            "write the tag by an assignment to the parameter's value"
        )


class SpentTag(TagCell):
    """The tag of a callback that has returned: the VM has read it."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError(
            "the callback with this tag has returned, so the VM would not read it; write "
            "it in the callback, or use set_tag after the walk"
        )


def only_reads_tag(function: Any, position: int) -> bool:
    """Whether a function's code only reads the ``value`` of an argument.

    Args:
        function: any callable.
        position: the argument's, 0 for the first that the caller passes.

    Returns:
        False if unknown.
    """
    if isinstance(function, types.MethodType):
        function, position = function.__func__, position + 1
    elif not isinstance(function, types.FunctionType):
        function, position = vars(type(function)).get("__call__"), position + 1
    if not isinstance(function, types.FunctionType):
        return False
    code = function.__code__
    if not _BY_NAME.isdisjoint(code.co_names):
        return False
    if position >= code.co_argcount or code.co_varnames[position] in code.co_cellvars:
        return False
    name = code.co_varnames[position]
    instructions = [one for one in dis.get_instructions(code) if one.opname != "CACHE"]
    for one, following in zip(instructions, [*instructions[1:], None], strict=True):
        used = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        if name not in used or one.opcode not in dis.haslocal:
            continue
        last = (one.opname in _LOADS and used == (name,)) or (
            one.opname in _TWO_LOADS and used[-1] == name and name not in used[:-1]
        )
        if not last or following is None:
            return False
        if following.opname != "LOAD_ATTR" or following.argval != "value":
            return False
    return True
