"""Sources: from a path to the classes in it, and from a method to the source that has it."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jvmti.adapter.arguments import Arguments, RequestFailed
from jvmti.adapter.requests import answers
from jvmti.interface.errors import Error
from jvmti.model.classes.sources import SourceNotFound
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.model.classes.java_class import Method

_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)", re.MULTILINE)
_TYPE = re.compile(r"\b(?:class|interface|enum|record|object|trait)\s+(\w+)")
_JVM_NAME = re.compile(r"@file\s*:\s*JvmName\(\s*\"(\w+)\"\s*\)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class SourcePlaces:
    """Finds sources, and answers requests for their text.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._found: dict[tuple[str, str], dict[str, Any] | None] = {}
        self._texts: list[str] = []
        self._paths: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def classes_in(self, path: str) -> list[str]:
        """The names, or patterns, of the classes that a source file may have.

        Those that the file declares, with what is nested in them; where the file cannot be read,
        those of its name in any package.
        """
        file = Path(path)
        try:
            text = _COMMENT.sub(" ", file.read_text("utf-8", "replace"))
        except OSError:
            return [file.stem, f"*.{file.stem}", f"{file.stem}$*", f"*.{file.stem}$*"]
        package = _PACKAGE.search(text)
        before = f"{package[1]}." if package else ""
        with self._lock:
            self._paths[package[1] if package else "", file.name] = path
            self._found.clear()
        names = {file.stem: None, f"{file.stem}Kt": None}
        names |= dict.fromkeys(_JVM_NAME.findall(text))
        names |= dict.fromkeys(_TYPE.findall(text))
        return [f"{before}{name}{inner}" for name in names for inner in ("", "$*")]

    def of(self, method: Method) -> dict[str, Any] | None:
        """The source of a method, as the protocol has it; ``None`` where there is none."""
        class_name, file = method.class_name, method.source_file
        package = class_name.rpartition(".")[0]
        key = package, file or class_name
        with self._lock:
            if key in self._found:
                return self._found[key]
        found = self._look_up(package, class_name, file)
        with self._lock:
            self._found[key] = found
        return found

    def _look_up(self, package: str, class_name: str, file: str | None) -> dict[str, Any] | None:
        known = self._paths.get((package, file or ""))
        if known is not None:
            return {"name": printable(file), "path": known}
        try:
            source = self._session.vm.source_path.find(class_name, file)
        except (SourceNotFound, OSError, Error):
            return None
        if "!" not in source.path:
            return {"name": printable(file or Path(source.path).name), "path": source.path}
        with self._lock:
            self._texts.append(source.text)
            number = len(self._texts)
        return {
            "name": printable(file or source.path.rpartition("/")[2]),
            "path": source.path,
            "sourceReference": number,
            "origin": source.path.partition("!")[0],
        }

    @answers("source")
    def source(self, given: Arguments) -> dict[str, Any]:
        """The text of a source that is no file."""
        self._session.vm  # noqa: B018 - files are for those who may debug
        number = given.number("sourceReference", 0)
        if not number and given.has("source"):
            number = given.inner("source").number("sourceReference", 0)
        if 0 < number <= len(self._texts):
            return {"content": self._texts[number - 1], "mimeType": "text/x-java"}
        path = given.inner("source").text("path", "")
        if number or not path:
            raise RequestFailed(f"there is no source {number}")
        try:
            return {"content": Path(path).read_text("utf-8", "replace")}
        except OSError as error:
            raise RequestFailed(f"{path} cannot be read: {error.strerror}") from None


__all__ = ["SourcePlaces"]
