"""Lines of a source in classes that number them otherwise: by their source maps.

Kotlin's compiler puts inlined functions into the classes that call them, and numbers their lines
behind the end of the caller's file; of a page, a class has the lines of the Java code in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from jvmti.adapter.code.source_places import declared_in
from jvmti.interface.errors import Error

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.vm import VM

_PAGES = "*_jsp\n*_tag\n*_jspf"
"""Classes that servlet containers make of pages."""
_KOTLIN = (".kt", ".kts")


class MappedLines:
    """The lines of a source that classes have by way of their source maps.

    Args:
        vm: the JVM.
        path: the path of the source.

    Attributes:
        patterns: the classes that may have some: of Kotlin those of packages that begin as the
            source's does.
    """

    def __init__(self, vm: VM, path: str) -> None:
        self._vm = vm
        self._path = Path(path)
        self._package: str | None = None
        self.patterns = _PAGES
        if self._path.suffix in _KOTLIN:
            self._package, _ = declared_in(path)
            first = (self._package or "").split(".")[:2]
            self.patterns = f"{'.'.join(first)}.*" if first != [""] else "*"

    @staticmethod
    def may_have(path: str) -> bool:
        """Whether classes may have lines of a source otherwise: compilers of Java write no map."""
        return Path(path).suffix not in ("", ".java")

    def numbers(self, cls: Class, line: int) -> list[int]:
        """The numbers with which a class has a line of the source by way of its map."""
        found = self._vm.source_path.source_map(cls)
        if found is None or not any(map(self._is_it, found.files)):
            return []
        return found.numbers(self._path.name, line)

    def _is_it(self, file: tuple[str, str | None]) -> bool:
        name, path = file
        if name != self._path.name:
            return False
        if path is None or self._path.suffix not in _KOTLIN or self._package is None:
            return True
        # Kotlin's paths name a class of the file.
        return path.rpartition("/")[0].replace("/", ".") == self._package

    def line(self, method: Method, number: int) -> int | None:
        """The line of the source that a number of a method means; ``None`` if it is of another."""
        found = self._vm.source_path.original(method, number)
        if found is None:
            return number if method.source_file == self._path.name else None
        return found.line if self._is_it((found.file, found.path)) else None

    def classes(self) -> Iterator[Class]:
        """The loaded classes that have lines of the source by way of their maps."""
        for cls in self._vm.classes(self.patterns):
            try:
                found = None if cls.is_array else self._vm.source_path.source_map(cls)
            except Error:
                continue  # it has been unloaded meanwhile
            if found is not None and any(map(self._is_it, found.files)):
                yield cls


__all__ = ["MappedLines"]
