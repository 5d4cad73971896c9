"""The running program gets the code of changed sources: the request ``redefineClasses`` of our own.

A source is compiled with the ``javac`` of the program's JDK, or the one on PATH, or with ECJ, and
the program's class path. Classes that the VM refuses to change keep their code, and the response
says why.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jvmti.adapter.code.source_places import declared_in
from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.conversation import explained
from jvmti.adapter.protocol.requests import answers
from jvmti.classfile.structure import ClassFile
from jvmti.deferred import shutil, subprocess, tempfile
from jvmti.interface.errors import Error
from jvmti.text.printable import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jvmti.adapter.debug_session import DebugSession

_MAJOR_OF_0 = 44
"""Release 1 of Java had the version 45 of class files, and so on."""
_QUICK = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:TieredStopAtLevel=1")
"""Options for the compiler's VM: javac has compiled a source of 200 lines before the VM's second
compiler pays, which takes two fifths of the processor time."""
_WITHIN = 120.0
"""Seconds that a compilation may take."""


class ReplacementRequests:
    """Answers requests that change the program's code.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._changing = threading.Lock()

    @answers("redefineClasses")
    def redefine_classes(self, given: Arguments) -> dict[str, Any]:
        """Replace the code of loaded classes by that of sources, or of class files."""
        vm = self._session.vm
        if vm.held:
            raise RequestFailed("the program has not started: its classes are loaded anew anyway")
        sources, files = given.texts("sources"), given.texts("classFiles")
        if not sources and not files:
            raise RequestFailed("redefineClasses: sources is missing, or classFiles")
        return {"classes": self.replace(sources, files, given.text("javac", ""))}

    def replace(
        self, sources: list[str], files: Sequence[str] = (), javac: str = ""
    ) -> list[dict[str, Any]]:
        """Compile sources, and replace the code of the loaded classes in them and in class files.

        Args:
            sources: paths of source files.
            files: paths of class files.
            javac: the compiler; by default the one of the configuration, or of the program's JDK.

        Returns:
            For each class its ``name``, whether it was ``redefined``, and the VM's ``message`` if
            it refuses.

        Raises:
            RequestFailed: a source does not compile, or no class of it is loaded.
        """
        with self._changing, tempfile.TemporaryDirectory(prefix="jvmti-classes-") as place:
            if sources:
                self._compile(sources, Path(place), javac)
            found = [Path(one) for one in files]
            found += sorted(Path(place).rglob("*.class"))
            results = [result for one in found for result in self._redefine(one)]
        changed = [one["name"] for one in results if one["redefined"]]
        if changed:
            self._session.halted.forget_shown_frames()
            self._session.conversation.output(f"redefined: {', '.join(changed)}\n")
        return results

    def _compile(self, sources: list[str], place: Path, chosen: str) -> None:
        vm = self._session.vm
        home = vm.source_path.java_home
        own = None if home is None else home / "bin" / "javac"
        javac = chosen or self._session.configuration.text("javac", "")
        javac = javac or (
            str(own) if own is not None and own.is_file() else shutil.which("javac") or ""
        )
        if not javac:
            raise RequestFailed(
                "there is no javac, neither in the program's JDK nor on PATH; javac names one"
            )
        path = ":".join(map(str, vm.source_path.class_path))
        command = [*self._started(javac), "-g", "-nowarn", "-proc:none", "-d", str(place)]
        release = str(self._release(sources))
        home = vm.source_path.java_home
        if javac.endswith(".jar") and home is not None:
            # Its --release needs a file that runtime images leave out.
            command += ["-source", release, "-target", release, "--system", str(home)]
        else:
            command += ["--release", release]
        try:
            done = subprocess.run(
                [*command, "-cp", path, *sources],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_WITHIN,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except OSError as error:
            raise RequestFailed(f"{javac} cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise RequestFailed(f"{javac} has not ended within {_WITHIN:.0f} seconds") from None
        if done.returncode != 0:
            text = printable_lines((done.stderr or done.stdout)[:4000].strip())
            raise RequestFailed(f"the source does not compile:\n{text}")

    def _started(self, compiler: str) -> list[str]:
        """The beginning of the command that runs a compiler; ECJ is a jar."""
        if not compiler.endswith(".jar"):
            return [compiler, *(f"-J{option}" for option in _QUICK)]
        home = self._session.vm.source_path.java_home
        own = None if home is None else home / "bin" / "java"
        java = str(own) if own is not None and own.is_file() else shutil.which("java") or ""
        if not java:
            raise RequestFailed(f"there is no java to run {compiler} with")
        return [java, *_QUICK, "-jar", compiler]

    def _release(self, sources: list[str]) -> int:
        """The release of Java that the sources were compiled for: class files say it."""
        vm = self._session.vm
        patterns = "\n".join(one for source in sources for one in declared_in(source)[1])
        # Those of lambdas have the VM's own.
        loaded = [one for one in vm.classes(patterns) if not one.is_array and not one.is_hidden]
        if not loaded:
            raise RequestFailed("no class of these sources is loaded: there is nothing to redefine")
        _, major = vm.lookup_env.get_class_version_numbers(loaded[0])
        return int(major) - _MAJOR_OF_0

    def _redefine(self, file: Path) -> Iterator[dict[str, Any]]:
        try:
            data = file.read_bytes()
        except OSError as error:
            raise RequestFailed(f"{file} cannot be read: {error.strerror}") from None
        name = ClassFile(data).name.replace("/", ".")
        for cls in self._session.vm.classes.named(name):
            result: dict[str, Any] = {"name": printable(name), "redefined": True}
            try:
                cls.redefine(data)
            except Error as error:
                result |= {"redefined": False, "message": explained(error)}
            yield result


__all__ = ["ReplacementRequests"]
