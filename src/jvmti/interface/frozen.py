"""Frozen dataclasses that cost little to make.

`dataclasses.dataclass` compiles six functions for each frozen class, half a millisecond before
Python 3.13, and this package has more than a hundred of them.  Here only ``__init__`` is
compiled, once for each number of fields; all classes share the functions that compare, hash and
print by fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """For type checkers; `typing` has it from Python 3.11 on."""
        return lambda decorator: decorator


T = TypeVar("T")


@overload
def frozen(cls: type[T]) -> type[T]: ...
@overload
def frozen(*, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True)
def frozen(cls: type[Any] | None = None, *, eq: bool = True) -> Any:
    """Make a class a dataclass whose instances cannot be changed.

    As `dataclasses.dataclass` with ``frozen=True``, for fields with plain defaults or none:
    `dataclasses.fields`, `replace` and `asdict` work.

    Args:
        cls: the class.
        eq: compare and hash instances by their fields, otherwise by identity.
    """
    return _made(cls, eq) if cls is not None else lambda given: _made(given, eq)


def _made(cls: type[T], eq: bool) -> type[T]:
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    functions: dict[str, Any] = {"__repr__": _repr}
    if eq:
        functions |= {"__eq__": _equal, "__hash__": _hash}
    functions = {name: made for name, made in functions.items() if name not in cls.__dict__}
    functions |= {"__init__": _init_of(cls)}
    functions |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    for name, made in functions.items():
        setattr(cls, name, made)
    return cls


def _init_of(cls: Any) -> Callable[..., None]:
    fields = dataclasses.fields(cls)
    names = tuple(field.name for field in fields)
    made = FunctionType(_init(names, hasattr(cls, "__post_init__")), _SCOPE)
    defaults = [field.default for field in fields]
    needed = defaults.count(dataclasses.MISSING)
    if dataclasses.MISSING in defaults[needed:]:
        raise TypeError(f"a field of {cls.__name__} without a default follows one with a default")
    made.__defaults__ = tuple(defaults[needed:])
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    made.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    return made


_SCOPE = {"put": object.__setattr__}


def _init(names: tuple[str, ...], has_more: bool) -> CodeType:
    """The code of a constructor, for fields of these names."""
    code, places = _compiled_init(len(names), has_more)
    constants = [names[place] if place >= 0 else one for one, place in places]
    return code.replace(co_varnames=("self", *names), co_consts=tuple(constants))


@cache
def _compiled_init(count: int, has_more: bool) -> tuple[CodeType, list[tuple[Any, int]]]:
    """The code for a number of fields; with each constant the field that it names, or -1."""
    names = [f"_{number}" for number in range(count)]
    lines = [f"    put(self, {name!r}, {name})" for name in names]
    if has_more:
        lines.append("    self.__post_init__()")
    scope: dict[str, Any] = {}
    exec("\n".join([f"def __init__({', '.join(['self', *names])}):", *lines, "    return"]), scope)
    code: CodeType = scope["__init__"].__code__
    places = {name: number for number, name in enumerate(names)}
    return code, [(one, places.get(one, -1)) for one in code.co_consts]


def _values(thing: Any) -> tuple[Any, ...]:
    return tuple([getattr(thing, name) for name in thing.__match_args__])


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({fields})"


def _equal(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


__all__ = ["frozen"]
