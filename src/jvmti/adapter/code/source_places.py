"""Sources: from a path to the classes in it, and from a frame to the source that shows it."""

from __future__ import annotations

import logging
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.interface.errors import Error
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.threads.frames import Frame
    from jvmti.sources.disassembly import Disassembly
    from jvmti.sources.source import Source

log = logging.getLogger("jvmti")

_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)", re.MULTILINE)
_TYPE = re.compile(r"\b(?:class|interface|enum|record|object|trait)\s+(\w+)")
_JVM_NAME = re.compile(r"@file\s*:\s*JvmName\(\s*\"(\w+)\"\s*\)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Shown:
    """A source that the client knows.

    Attributes:
        body: its description, as the protocol has it.
        is_disassembly: whether the disassembly stands in for it.
    """

    def __init__(self, body: dict[str, Any], method: Method, source: Source | None) -> None:
        self.body = body
        self.is_disassembly = source is None
        self._method = method
        self._source = source

    @property
    def source(self) -> Source:
        """Its text; a disassembly is made when it is asked for, because that takes long."""
        return self._source or self.disassembly

    @property
    def cls(self) -> Class:
        """A class in it."""
        return self._method.declaring_class

    @property
    def disassembly(self) -> Disassembly:
        """The disassembly of its class, with the method of the frame first."""
        return self.cls._vm.source_path.disassembly(self.cls, self._method)


class SourcePlaces:
    """Finds sources, and answers requests for their text.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._known: dict[tuple[str, str], Shown] = {}
        """Source files, by package and name."""
        self._code: dict[Method, Shown] = {}
        """Disassemblies, by the method that is first in them."""
        self._numbered: list[Shown] = []
        self._paths: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def classes_in(self, path: str) -> list[str]:
        """The names, or patterns, of the classes that a source file may have; see `declared_in`.

        Frames of these classes have that file as their source from now on.
        """
        package, patterns = declared_in(path)
        if package is not None:
            with self._lock:
                self._paths[package, Path(path).name] = path
                self._known.clear()
                self._code.clear()
            self._session.halted.forget_shown_frames()
        return patterns

    def at(self, frame: Frame, place: int) -> tuple[dict[str, Any] | None, int | None]:
        """The source of a frame, as the protocol has it, and the line in it.

        Where there is no source, the disassembly stands in for it.

        Args:
            frame: the frame.
            place: its bytecode index in the code without our probes.
        """
        method, line = frame.method, frame.line
        original = self._session.vm.source_path.original(method, line)
        if original is None:
            file = method.source_file or method.class_name
        else:
            file, line = original.file, original.line
        key = method.class_name.rpartition(".")[0], file
        if key in self._paths:
            return {"name": printable(file), "path": self._paths[key]}, line
        shown = self._find(key, file, method, frame)
        if shown.is_disassembly:
            try:
                line = self._session.vm.source_path.line_in_disassembly(method, max(place, 0))
            except (Error, LookupError, ValueError) as error:
                log.debug("no code of %s: %s", method, error)
                return None, None
        return shown.body, line

    def _find(self, key: tuple[str, str], file: str, method: Method, frame: Frame) -> Shown:
        with self._lock:
            found = self._known.get(key) or self._code.get(method)
        if found is not None:
            return found
        source: Source | None = None
        try:
            source = self._session.vm.source_path.file_of(method, frame.line)
        except LookupError as error:
            log.debug("%s", error)
        except (Error, OSError) as error:
            log.debug("the source of %s is unknown: %s", method, error)
        shown = self._described(file, source, method)
        with self._lock:
            if source is None:
                self._code[method] = shown
            else:
                self._known[key] = shown
        return shown

    def _described(self, file: str, source: Source | None, method: Method) -> Shown:
        if source is not None and source.file is not None:
            path = str(source.file)
            return Shown({"name": printable(file), "path": path}, method, source)
        body: dict[str, Any] = {}
        if source is None:
            body["name"] = printable(f"{method.class_name.rpartition('.')[2]}.class")
            body |= {"origin": "disassembly", "presentationHint": "deemphasize"}
        else:
            body["name"] = printable(source.path.rpartition("/")[2])
            body |= {"path": source.path, "origin": source.path.partition("!")[0]}
        with self._lock:
            body["sourceReference"] = len(self._numbered) + 1
            shown = Shown(body, method, source)
            self._numbered.append(shown)
        return shown

    def numbered(self, number: int) -> Shown:
        """A source that is no file, by its number.

        Raises:
            RequestFailed: there is none.
        """
        if not 0 < number <= len(self._numbered):
            raise RequestFailed(f"there is no source {number}")
        return self._numbered[number - 1]

    @answers("source")
    def source(self, given: Arguments) -> dict[str, Any]:
        """The text of a source that is no file."""
        self._session.vm  # noqa: B018 - files are for those who may debug
        inner = given.inner("source")
        number = given.number("sourceReference", 0) or inner.number("sourceReference", 0)
        path = inner.text("path", "")
        if number or not path:
            found = self.numbered(number).source
            return {"content": found.text, "mimeType": "text/x-java"}
        try:
            return {"content": Path(path).read_text("utf-8", "replace")}
        except OSError as error:
            raise RequestFailed(f"{path} cannot be read: {error.strerror}") from None

    def files(self) -> list[str]:
        """The paths of the source files that have breakpoints or were shown."""
        with self._lock:
            found = list(self._paths.values())
            for one in self._known.values():
                if one.source.file is not None:
                    found.append(str(one.source.file))
        return list(dict.fromkeys(found))

    @answers("loadedSources")
    def loaded_sources(self, given: Arguments) -> dict[str, Any]:
        """The sources that frames have shown so far."""
        with self._lock:
            bodies = [one.body for one in [*self._known.values(), *self._code.values()]]
            files = [{"name": name, "path": path} for (_, name), path in self._paths.items()]
        return {"sources": files + bodies}


def declared_in(path: str) -> tuple[str | None, list[str]]:
    """The package of a source file, and patterns for the classes that it may have.

    Those that the file declares, with what is nested in them. Where the file cannot be read, the
    package is unknown, and they are those of the file's name in any package.
    """
    file = Path(path)
    try:
        text = _COMMENT.sub(" ", file.read_text("utf-8", "replace"))
    except (OSError, ValueError):
        return None, [file.stem, f"*.{file.stem}", f"{file.stem}$*", f"*.{file.stem}$*"]
    package = _PACKAGE.search(text)
    before = f"{package[1]}." if package else ""
    names = {file.stem: None, f"{file.stem}Kt": None}
    names |= dict.fromkeys(_JVM_NAME.findall(text))
    names |= dict.fromkeys(_TYPE.findall(text))
    patterns = [f"{before}{name}{inner}" for name in names for inner in ("", "$*")]
    return package[1] if package else "", patterns


__all__ = ["Shown", "SourcePlaces", "declared_in"]
