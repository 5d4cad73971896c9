"""The running program gets the code of changed sources: the request ``redefineClasses`` of our own.

A source is compiled with the ``javac`` of the program's JDK, or the one on PATH, or with ECJ, and
the program's class path. Classes that the VM refuses to change keep their code, and the response
says why.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jvmti.adapter.code.changed_members import changed_members
from jvmti.adapter.code.source_places import declared_in
from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.conversation import explained
from jvmti.adapter.protocol.requests import answers
from jvmti.deferred import shutil, subprocess, tempfile
from jvmti.interface.errors import Error, JvmtiError
from jvmti.text.printable import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jvmti.adapter.debug_session import DebugSession
    from jvmti.classfile.structure import ClassFile
    from jvmti.model.classes.java_class import Class

_MAJOR_OF_0 = 44
"""Release 1 of Java had the version 45 of class files, and so on."""
_QUICK = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:TieredStopAtLevel=1")
"""Options for the compiler's VM: javac has compiled a source of 200 lines before the VM's second
compiler pays, which takes two fifths of the processor time."""
_WITHIN = 120.0
"""Seconds that a compilation may take."""
_TOO_NEW = "UnsupportedClassVersionError"
"""Words of the launcher about a compiler for newer VMs."""


class ReplacementRequests:
    """Answers requests that change the program's code.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._changing = threading.Lock()
        self._last: dict[Class, bytes] = {}
        """Class files that have replaced others, by their classes."""

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
            it refuses. One that has this code already is left alone, and ``unchanged``.

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
            if self._session.client.flag("supportsInvalidatedEvent"):
                # Stopped threads are in the code from before, which no source shows any more.
                self._session.conversation.event("invalidated", areas=["stacks"])
            self._session.conversation.output(f"redefined: {', '.join(changed)}\n")
        elif results and all(one.get("unchanged") for one in results):
            names = ", ".join(one["name"] for one in results)
            self._session.conversation.output(f"not redefined, because unchanged: {names}\n")
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
        options = ["-g", "-nowarn", "-proc:none", "-encoding", "UTF-8", "-d", str(place)]
        release = str(self._release(sources))
        home = vm.source_path.java_home
        if javac.endswith(".jar") and home is not None:
            # Its --release needs a file that runtime images leave out.
            options += ["-source", release, "-target", release, "--system", str(home)]
        else:
            options += ["--release", release]
        failed, said = True, ""
        for beginning in self._started(javac):
            failed, said = _run([*beginning, *options, "-cp", path, *sources], javac)
            if _TOO_NEW not in said:
                break
        else:
            raise RequestFailed(
                f"{javac} needs a newer Java than the program's, and there is none on PATH"
            )
        if failed:
            raise RequestFailed(f"the source does not compile:\n{said}")

    def _started(self, compiler: str) -> list[list[str]]:
        """The beginnings of commands that may run a compiler, the best first; ECJ is a jar."""
        if not compiler.endswith(".jar"):
            return [[compiler, *(f"-J{option}" for option in _QUICK)]]
        home = self._session.vm.source_path.java_home
        own = None if home is None else home / "bin" / "java"
        javas = [str(own)] if own is not None and own.is_file() else []
        if on_path := shutil.which("java"):
            javas.append(on_path)
        if not javas:
            raise RequestFailed(f"there is no java to run {compiler} with")
        return [[java, *_QUICK, "-jar", compiler] for java in javas]

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
        from jvmti.classfile.structure import ClassFile

        try:
            data = file.read_bytes()
        except OSError as error:
            raise RequestFailed(f"{file} cannot be read: {error.strerror}") from None
        content = ClassFile(data)
        name = content.name.replace("/", ".")
        for cls in self._session.vm.classes.named(name):
            result: dict[str, Any] = {"name": printable(name), "redefined": True}
            try:
                if self._is_unchanged(cls, content):
                    yield result | {"redefined": False, "unchanged": True}
                    continue
                cls.redefine(data)
                self._last[cls] = data
            except JvmtiError as error:
                why = explained(error)
                with contextlib.suppress(JvmtiError):  # the class has been unloaded
                    why += changed_members(cls, content)
                result |= {"redefined": False, "message": why}
            except Error as error:
                result |= {"redefined": False, "message": explained(error)}
            yield result

    def _is_unchanged(self, cls: Class, content: ClassFile) -> bool:
        """Whether a class has the code of a class file already.

        Who saves a source with twenty classes has changed one of them. To redefine the others would
        make their compiled code, and all that it is inlined into, start anew.
        """
        from jvmti.classfile.comparison import is_same_class

        last = self._last.get(cls)
        if last is not None:  # the VM has numbered its constants anew
            return last == bytes(content)
        return is_same_class(content, cls.class_file_before_probes)


def _run(command: list[str], compiler: str) -> tuple[bool, str]:
    """Run a compiler; whether it failed, and what it said."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_WITHIN,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise RequestFailed(f"{compiler} cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise RequestFailed(f"{compiler} has not ended within {_WITHIN:.0f} seconds") from None
    return done.returncode != 0, printable_lines((done.stderr or done.stdout)[:4000].strip())


__all__ = ["ReplacementRequests"]
