"""Types and static members that a class uses by their simple names.

A class file has no imports.  The source says them, where ``vm.source_path`` finds it; otherwise the
constants of the class name every type and member that its code uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jvmti.classfile.constant_pool import constants
from jvmti.interface.errors import Error
from jvmti.sources.source import SourceNotFound

if TYPE_CHECKING:
    from jvmti.expressions.running import Running
    from jvmti.expressions.values.types import Types
    from jvmti.model.classes.java_class import Class

_IMPORT = re.compile(r"^\s*import\s+(static\s+)?([\w.]+?)(\.\*)?\s*;", re.M)
_METHODS = ("Methodref", "InterfaceMethodref")


@lru_cache(maxsize=8)
def _referred(pool: bytes, count: int) -> list[tuple[str, Any]]:
    """The types and members in a constant pool; the next evaluation is in the same class."""
    wanted = ("Class", "Fieldref", *_METHODS)
    return [(one.kind, one.value) for one in constants(pool, count).values() if one.kind in wanted]


class Imports:
    """The types and static members that the class of a frame knows by simple names.

    Args:
        running: the evaluation.
        types: the types that the class sees.
    """

    def __init__(self, running: Running, types: Types) -> None:
        self._vm = running.vm
        self._types = types
        self._loaded: frozenset[str] | None = None
        self._constants: list[tuple[str, Any]] | None = None
        self._declared: list[tuple[bool, str, bool]] | None = None

    @property
    def loaded(self) -> frozenset[str]:
        """The names of all loaded classes."""
        if self._loaded is None:
            self._loaded = frozenset(self._vm.classes.names().names)
        return self._loaded

    def may_exist(self, name: str) -> bool:
        """Whether a class of a name is loaded, or named by the frame's class."""
        if name in self.loaded:
            return True
        internal = name.replace(".", "/")
        return any(kind == "Class" and value == internal for kind, value in self.constants)

    @property
    def constants(self) -> list[tuple[str, Any]]:
        """The types and members that the code of the class refers to."""
        if self._constants is None:
            try:
                raw = self._vm.lookup_env.get_constant_pool(self._types.home)
                found = _referred(bytes(raw.constant_pool_bytes), raw.constant_pool_count)
            except Error:
                found = []  # a class without, such as a hidden one of some releases
            self._constants = found
        return self._constants

    @property
    def declared(self) -> list[tuple[bool, str, bool]]:
        """The imports of the source: whether static, of what, and whether of all that is in it."""
        if self._declared is None:
            try:
                text = self._types.home.source.text
            except SourceNotFound:
                text = ""
            self._declared = [
                (bool(static), name, bool(every)) for static, name, every in _IMPORT.findall(text)
            ]
        return self._declared

    # ---- types -----------------------------------------------------------------------------

    def type_named(self, name: str) -> Class | None:
        """A type by its simple name, as the class would find it outside of itself."""
        for candidate in self._candidates(name):
            found = self.qualified(candidate)
            if found is not None:
                return found
        ending = re.compile(rf"(?:.*[.$])?{re.escape(name)}\Z")
        alike = [one for one in self.loaded if ending.match(one)]
        return self._types.named(alike[0]) if len(alike) == 1 else None

    def _candidates(self, name: str) -> Iterator[str]:
        for static, imported, every in self.declared:
            if not every and not static and imported.rpartition(".")[2] == name:
                yield imported
        for kind, value in self.constants:
            if kind == "Class" and value.rpartition("/")[2].rpartition("$")[2] == name:
                yield value.replace("/", ".")
        package = self._types.home.package
        yield f"{package}.{name}" if package else name
        yield f"java.lang.{name}"
        for static, imported, every in self.declared:
            if every and not static:
                yield f"{imported}.{name}"

    def qualified(self, name: str) -> Class | None:
        """A type by its whole name, in which a nested one may be joined by a dot."""
        while True:
            found = self._types.named(name)
            if found is not None or "." not in name:
                return found
            outer, _, inner = name.rpartition(".")
            if not outer.rpartition(".")[2][:1].isupper():
                return None
            name = f"{outer}${inner}"

    def static_owners(self, name: str, *, is_method: bool) -> Iterator[Class]:
        """Classes that a static member of a simple name may be of."""
        seen = set()
        for owner in self._static_owners(name, is_method):
            if owner not in seen:
                seen.add(owner)
                found = self.qualified(owner)
                if found is not None:
                    yield found

    def _static_owners(self, name: str, is_method: bool) -> Iterator[str]:
        for static, imported, every in self.declared:
            if static and every:
                yield imported
            elif static and imported.rpartition(".")[2] == name:
                yield imported.rpartition(".")[0]
        if self.declared:
            return
        kinds = _METHODS if is_method else ("Fieldref",)
        for kind, value in self.constants:
            if kind in kinds and value.name == name and not value.class_name.startswith("["):
                yield value.class_name.replace("/", ".")


__all__ = ["Imports"]
