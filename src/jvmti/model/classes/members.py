"""Lists of methods and fields that are also indexed by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from jvmti.interface.signatures import parameters_of
from jvmti.text.names import suggestion

if TYPE_CHECKING:
    from typing import SupportsIndex

    from jvmti.model.classes.java_class import Field, Method  # noqa: F401 - named in quotes

M = TypeVar("M")


class Members(list[M]):
    """Methods or fields in the order of the VM: a list that can be indexed by name as well."""

    _what = "member"

    def __init__(self, members: Iterable[M], owner: str) -> None:
        super().__init__(members)
        self._owner = owner

    def named(self, name: str) -> list[M]:
        """All members of that name, such as overloads; may be empty."""
        return [one for one in self if one.name == name]  # type: ignore[attr-defined]

    def _ipython_key_completions_(self) -> list[str]:
        return [one.name for one in self]  # type: ignore[attr-defined]

    @overload
    def __getitem__(self, which: SupportsIndex | str) -> M: ...
    @overload
    def __getitem__(self, which: slice) -> list[M]: ...
    def __getitem__(self, which: Any) -> Any:
        if not isinstance(which, str):
            return super().__getitem__(which)
        found = self._find(which)
        if len(found) == 1:
            return found[0]
        if found:
            raise KeyError(_Described(self._several(which, found)))
        raise KeyError(_Described(self._missing(which)))

    def __contains__(self, which: object) -> bool:
        return bool(self._find(which)) if isinstance(which, str) else super().__contains__(which)

    def _find(self, which: str) -> list[M]:
        return self.named(which)

    def _several(self, which: str, found: list[M]) -> str:
        where = "\n".join(f"  {one} of {_class_of(one)}" for one in found)
        return f"{self._owner} has {len(found)} {self._what}s {which!r}:\n{where}"

    def _missing(self, which: str) -> str:
        names = [one.name for one in self]  # type: ignore[attr-defined]
        hint = suggestion(which.partition("(")[0], names)
        return f"{self._owner} has no {self._what} {which!r}{hint}"


class Methods(Members["Method"]):
    """Methods by number, or by name if it is unique.

    Parameter types choose among overloads: ``methods["put(Object,Object)"]``, with or without
    packages, or as the VM writes them, ``methods["put(Ljava/lang/Object;)V"]``.
    """

    _what = "method"

    def _find(self, which: str) -> list[Method]:
        name, bracket, rest = which.partition("(")
        found = self.named(name.strip())
        if not bracket:
            return found
        types, _, result = rest.rpartition(")")
        if result.strip():
            return [one for one in found if one.signature == f"({types}){result.strip()}"]
        wanted = [one.strip().replace("...", "[]") for one in types.split(",") if one.strip()]
        return [one for one in found if _match(wanted, parameters_of(one.signature))]

    def _several(self, which: str, found: list[Method]) -> str:
        each = "\n".join(
            f"  {one.name}({', '.join(one.parameter_types)})   of {one.class_name}"
            f"   {one.name}{one.signature}"
            for one in found
        )
        return f"{self._owner} has {len(found)} methods {which!r}; say which:\n{each}"

    def _missing(self, which: str) -> str:
        name = which.partition("(")[0].strip()
        overloads = self.named(name)
        if not overloads:
            return super()._missing(which)
        each = ", ".join(f"{name}({', '.join(one.parameter_types)})" for one in overloads)
        return f"{self._owner} has no method {which!r}, but {each}"


class Fields(Members["Field"]):
    """Fields by number or by name."""

    _what = "field"


class _Described(str):
    """A message of a `KeyError`, which Python would otherwise show in quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _match(wanted: list[str], types: list[str]) -> bool:
    return len(wanted) == len(types) and all(map(_matches, wanted, types))


def _matches(wanted: str, kind: str) -> bool:
    return kind == wanted or kind.endswith(("." + wanted, "$" + wanted))


def _class_of(member: Any) -> str:
    name: str = member.declaring_class.name
    return name


__all__ = ["Fields", "Members", "Methods"]
