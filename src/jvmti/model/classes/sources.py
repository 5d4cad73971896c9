"""Sources of a running program: of its classes, and around its frames.

`jvmti.sources` finds them; this adds what the VM knows: the class path, where a class was loaded
from, and which lines of other files its line numbers mean.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from jvmti.interface.errors import (
    AbsentInformation,
    Error,
    JavaException,
    NativeMethod,
    NotAvailable,
    UnmodifiableClass,
)
from jvmti.sources.finder import SourceFinder
from jvmti.sources.source import Source, SourceNotFound
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.threads.frames import Frame
    from jvmti.model.vm import VM
    from jvmti.sources.disassembly import Disassembly
    from jvmti.sources.places import Place
    from jvmti.sources.strata import OriginalLine, SourceMap

log = logging.getLogger("jvmti")

_PAGES = "_jsp.java"
"""How Tomcat and Jetty name the Java file that a page becomes."""

_ASK = 5.0
"""Seconds that Java code may take to say where a class was loaded from."""


class SourcePath(SourceFinder):
    """Where to search for the sources of a VM's classes: a list of directories, jars and zip files.

    A place has sources by package, ``com/acme/Order.java``, below any other folders. If none of the
    places has a file, these may: the sources beside the program's class files, the ``-sources``
    jars of Maven, Gradle and others for its jars, and the JDK's ``lib/src.zip``. They are not
    searched if the program has another file system, as in a container.
    """

    def __init__(self, vm: VM, places: Iterable[Place] = ()) -> None:
        super().__init__(places)
        self._vm = vm
        self._entries: list[Path] | None = None
        self._loaded_from: weakref.WeakKeyDictionary[Class, str | None]
        self._loaded_from = weakref.WeakKeyDictionary()
        self._maps: weakref.WeakKeyDictionary[Class, SourceMap | None]
        self._maps = weakref.WeakKeyDictionary()
        self._disassemblies: weakref.WeakKeyDictionary[Class, Disassembly]
        self._disassemblies = weakref.WeakKeyDictionary()

    @property
    def _shares_files(self) -> bool:
        """Whether a path of the program's is the same file here."""
        process = self._vm.process
        return not process.changed_root and "mnt" not in process.foreign_namespaces

    @property
    def class_path(self) -> Sequence[Path]:
        """The jars and folders of the program's class path, without the modules of the JDK."""
        if self._entries is None:
            properties = self._vm.properties
            paths = [properties.get("java.class.path"), properties.get("jdk.module.path")]
            found = [one for path in paths if path for one in path.split(os.pathsep) if one]
            self._entries = [path for path in map(self._here, found) if path is not None]
        return self._entries

    def _here(self, entry: str) -> Path | None:
        """A path of the program's; only the name of a jar where its files are others."""
        path = Path(entry.removesuffix(f"{os.sep}*"))
        if not self._shares_files:
            return Path(path.name) if path.name.endswith(".jar") else None
        if path.is_absolute():
            return path
        try:
            return Path(os.readlink(f"/proc/{self._vm.process.pid}/cwd"), path)
        except OSError:
            return None  # another user's, or it has ended

    @property
    def java_home(self) -> Path | None:
        """The folder of the program's JDK, if it can be read here."""
        home = self._vm.properties.get("java.home")
        return Path(home) if home and self._shares_files else None

    # ---- classes ---------------------------------------------------------------------------

    def of(self, cls: Class, *, disassembly: bool = True) -> Source:
        """The source file of a class, or its disassembly.

        Args:
            cls: the class.
            disassembly: where there is no source, disassemble the class.

        Raises:
            SourceNotFound: there is none, and no disassembly is wanted or possible.
            OSError: one of the places cannot be read.

        JVM TI: GetSourceFileName.  JNI: CallObjectMethod.
        """
        name, file = cls.name, cls.source_file
        try:
            return self._file_of(cls, name, file)
        except SourceNotFound:
            if not disassembly:
                raise
        return self.disassembly(cls)

    def _file_of(self, cls: Class, name: str, file: str | None) -> Source:
        try:
            # Without asking Java code, if the places that are known have it.
            if self:
                return self.find(name, file)
        except SourceNotFound:
            pass
        return self.find(name, file, self.loaded_from(cls))

    def disassembly(self, cls: Class, first: Method | None = None) -> Disassembly:
        """The disassembly of a class as a source; kept while you hold the class.

        Args:
            cls: the class.
            first: the method that comes before all else.

        Raises:
            SourceNotFound: it has no code: it is an array class or a primitive type.

        JVM TI: RetransformClasses, GetBytecodes.
        """
        if first is not None:
            return self._disassembled(cls, (first.name, first.signature))
        found = self._disassemblies.get(cls)
        if found is None:
            found = self._disassemblies[cls] = self._disassembled(cls, None)
        return found

    def line_in_disassembly(self, method: Method, location: int) -> int | None:
        """The number of the line in a disassembly that has an instruction of its first method.

        It is there before the text is, which takes long.

        Args:
            method: the method.
            location: the bytecode index in the code without our probes.

        Raises:
            JvmtiError: the class has been unloaded.

        JVM TI: GetBytecodes, GetLineNumberTable.
        """
        from jvmti.classfile.opcodes import starts
        from jvmti.sources.disassembly import line_in_first

        try:
            code = self._vm.lookup_env.get_bytecodes(method)
        except NativeMethod:
            return None
        lines = [(one.start_location, one.line_number) for one in method.lines]
        last = max((at for at, _ in starts(code)), default=0)
        if list(self._vm._agent.locate_before_probes([method], [last])) != [last]:
            file = method.declaring_class.class_file_before_probes
            its = file.method(method.name, method.signature).code
            if its is not None:
                code, lines = its.bytecodes, its.lines
        return line_in_first(method.source_file, code, lines, location)

    def forget_code(self, cls: Class) -> None:
        """Disassemble a class anew: it has been redefined."""
        self._disassemblies.pop(cls, None)

    @staticmethod
    def _disassembled(cls: Class, first: tuple[str, str] | None) -> Disassembly:
        # Imported at their first use, as in other places here: a prompt appears sooner.
        from jvmti.classfile.disassembly import Row, code_rows
        from jvmti.sources.disassembly import disassembled, whole_class, with_lines

        try:
            return disassembled(cls.class_file_before_probes, first)
        except (UnmodifiableClass, NotAvailable):
            if cls.is_array or cls.is_primitive:
                raise SourceNotFound(f"{cls.name} has no code", []) from None
        # The VM shows the files of hidden classes to nobody, but their methods.
        rows: list[Any] = []
        pool = cls.constant_pool
        methods = sorted(cls.methods, key=lambda one: (one.name, one.signature) != first)
        for method in methods:
            rows += [("", None), (f"  {method};", None)]
            try:
                code = list(code_rows(method.bytecodes, pool, cls.signature[1:-1], "    "))
            except Error as error:
                log.debug("no code of %s: %s", method, error)
                continue
            lines = [(one.start_location, one.line_number) for one in method.lines]
            rows.append(("    Code:", None))
            rows += with_lines(method.name, method.signature, map(Row._make, code), lines)
        return whole_class(cls.name, cls.source_file, f"class {cls.name}", rows)

    def loaded_from(self, cls: Class) -> str | None:
        """The path of the jar or folder that a class was loaded from, as its code source says.

        Of a jar within others it is the path within the outermost: ``app.jar!/lib/order-1.2.jar``.
        ``None`` for classes of the JDK, generated ones, and those loaded over a network.

        JNI: CallObjectMethod.
        """
        if cls not in self._loaded_from:
            self._loaded_from[cls] = self._ask_where(cls)
        return self._loaded_from[cls]

    def _ask_where(self, cls: Class) -> str | None:
        if cls.is_array or cls.is_primitive or cls.loader is None:
            return None
        try:
            domain = cls.class_object.call("getProtectionDomain", timeout=_ASK)
            source = None if domain is None else domain["codesource"]
            location = None if source is None else source["location"]
            url = None if location is None else location.to_string(timeout=_ASK)
        except (JavaException, LookupError, Error) as error:
            log.info("where %s was loaded from is unknown: %s", printable(cls.name), error)
            return None
        return None if url is None else self._path_of(url)

    def _path_of(self, url: str) -> str | None:
        """The path that a URL of a jar or folder names."""
        while url.startswith(("jar:", "nested:")):
            url = url.partition(":")[2]
        path = unquote(url.removeprefix("file:").removeprefix("//"))
        if "://" in url or not path.startswith("/"):
            return None
        # `/app.jar!/lib/order-1.2.jar!/`, and Spring's `/app.jar/!lib/order-1.2.jar!/`
        path = path.rstrip("/").removesuffix("!").rstrip("/")
        if self._shares_files:
            return path
        return os.path.basename(path) if path.endswith(".jar") else None

    # ---- lines -----------------------------------------------------------------------------

    def source_map(self, cls: Class) -> SourceMap | None:
        """The source map of a class, which compilers of other languages than Java write.

        JVM TI: GetSourceDebugExtension.
        """
        if cls not in self._maps:
            self._maps[cls] = self._read_map(cls)
        return self._maps[cls]

    def _read_map(self, cls: Class) -> SourceMap | None:
        from jvmti.sources.strata import MalformedSourceMap, SourceMap

        # The JDK's classes are Java's, also where a small runtime has left out their files' names.
        if cls.loader is None or is_of_java(cls.source_file):
            return None
        try:
            env = self._vm.env_with("can_get_source_debug_extension")
            return SourceMap(env.get_source_debug_extension(cls))
        except AbsentInformation:
            return None
        except (MalformedSourceMap, NotAvailable) as error:
            log.info("the source map of %s is not read: %s", printable(cls.name), error)
            return None

    def original(self, method: Method, line: int | None) -> OriginalLine | None:
        """The line that a line number of a method means, if it is one of another file or language.

        Args:
            method: the method.
            line: the number in the class file.

        Returns:
            The line; ``None`` if the number is the line of the class's own source file.

        JVM TI: GetSourceDebugExtension.
        """
        source_map = None if line is None else self.source_map_of(method)
        return None if source_map is None or line is None else source_map.original(line)

    def source_map_of(self, method: Method) -> SourceMap | None:
        """The source map of a method's class, as `source_map`; of Java's own without a call.

        JVM TI: GetSourceDebugExtension.
        """
        if is_of_java(method.source_file):
            return None
        return self.source_map(method.declaring_class)

    def at(self, frame: Frame) -> Source:
        """The source file of a frame with its current line marked, or the disassembly.

        Raises:
            SourceNotFound: there is neither; the message lists the searched places.
            OSError: one of the places cannot be read.

        JVM TI: GetSourceFileName, GetSourceDebugExtension.
        """
        return self.of_location(frame.method, frame.location, frame.line)

    def of_location(self, method: Method, location: int, line: int | None) -> Source:
        """The source file of a method with a line marked, or the disassembly.

        Args:
            method: the method.
            location: the bytecode index in it; -1 in a native method.
            line: the line number in the class file, if it has one.

        Raises:
            SourceNotFound, OSError: as for `at`.
        """
        try:
            return self.file_of(method, line)
        except SourceNotFound as error:
            log.debug("%s", error)
        return self.code_at(method, location)

    def file_of(self, method: Method, line: int | None) -> Source:
        """The source file of a method with a line marked.

        Args:
            method: the method.
            line: the line number in the class file, if it has one.

        Raises:
            SourceNotFound: there is none, or no line number.
            OSError: one of the places cannot be read.

        JVM TI: GetSourceFileName, GetSourceDebugExtension.
        """
        if line is None:
            raise SourceNotFound(f"{method.class_name}.{method.name} has no line number here", [])
        cls = method.declaring_class
        original = self.original(method, line)
        if original is None:
            return replace(self.of(cls, disassembly=False), marked=line)
        return replace(self._original_file(cls, original), marked=original.line)

    def code_at(self, method: Method, location: int) -> Disassembly:
        """The disassembly of a method's class with the line of an instruction marked.

        It has no probes of ours, and the line is that of the instruction where it was before them.

        Args:
            method: the method.
            location: the bytecode index in it, as frames have it.

        Raises:
            SourceNotFound: it has no code.

        JVM TI: RetransformClasses, GetBytecodes.
        """
        found = self.disassembly(method.declaring_class)
        [before] = self._vm._agent.locate_before_probes([method], [max(location, 0)])
        return replace(found, marked=found.number_of(method.name, method.signature, before))

    def _original_file(self, cls: Class, original: OriginalLine) -> Source:
        path = original.path or ""
        # Kotlin's paths name a class of the file, those of pages the file.
        folder = path.rpartition("/")[0].strip("/").replace("/", ".")
        if not path:
            folder = cls.package or ""
        sought = f"{cls.name}, {original.file}"
        return self.find_file(folder, [original.file], sought, self.loaded_from(cls))


def is_of_java(file: str | None) -> bool:
    """Whether a source file is one that no other compiler than Java's reads."""
    return file is not None and file.endswith(".java") and not file.endswith(_PAGES)


__all__ = ["SourcePath", "is_of_java"]
