"""Code from ``-c``, files or standard input.

It runs as a Python program with the names of the prompt. It may contain lines such as ``%threads
main``, as in a notebook.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from jvmti.agents.script import print_error
from jvmti.shell import magics

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_MAGIC = re.compile(r"^(\s*)%(\w+)[ \t]*(.*)$", re.MULTILINE)

FAILED = 1


class Commands:
    """The result of ``get_ipython()`` without IPython: the shell's own commands."""

    def __init__(self, vm: VM, names: Mapping[str, Any]) -> None:
        self._vm = vm
        self._names = names

    def run_line_magic(self, magic_name: str, line: str) -> None:
        """Run one of the shell's commands, as ``%NAME LINE`` does.

        Raises:
            UsageError: there is no such command, or its line is invalid.
        """
        magics.run(self._vm, self._names, magic_name, line)


def predefined_names(vm: VM, names: dict[str, Any]) -> dict[str, Any]:
    """Add the predefined variables of a prompt or script."""
    import jvmti

    commands = Commands(vm, names)
    names |= {"vm": vm, "jvmti": jvmti, "env": vm.env, "jni": vm.jni}
    names["get_ipython"] = lambda: commands
    return names


def compiled(source: str, file: str) -> CodeType:
    """Code of a script, with calls in place of lines that begin with a percent sign.

    Raises:
        SyntaxError: it is still not valid Python.
    """
    failed: SyntaxError
    for text in (source, _MAGIC.sub(_call, source)):
        try:
            return compile(text, file, "exec")
        except SyntaxError as error:
            failed = error
    # Raised here, it does not say what is wrong with the lines that are none of Python's.
    raise _explained(failed)


def _explained(failed: SyntaxError) -> SyntaxError:
    """The error of a line that begins with an unknown command says which there are."""
    found = _MAGIC.match(failed.text or "")
    if found is None or found[2] in magics.MAGICS:
        return failed
    return SyntaxError(
        magics.missing(found[2]), (failed.filename, failed.lineno, failed.offset, failed.text)
    )


def _call(match: re.Match[str]) -> str:
    indent, name, text = match.groups()
    if name not in magics.MAGICS:
        return match[0]
    return f"{indent}get_ipython().run_line_magic({name!r}, {text!r})"


def run(
    vm: VM | None,
    source: str,
    file: str,
    arguments: Sequence[str],
    names: Mapping[str, Any] | None = None,
) -> int:
    """Run a script to its end.

    Args:
        vm: the JVM, if there is one.
        source: its text.
        file: its name in tracebacks and as ``sys.argv[0]``.
        arguments: the rest of ``sys.argv``.
        names: more variables.

    Returns:
        An exit code: 1 for an exception, which it prints, or that of `sys.exit`.
    """
    main = ModuleType("__main__")
    if vm is not None:
        predefined_names(vm, main.__dict__)
    main.__dict__.update(names or {})
    beside = ""
    if os.path.isfile(file):
        main.__file__ = file
        beside = os.path.dirname(os.path.abspath(file))
    before = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"], sys.argv = main, [file, *arguments]
    sys.path.insert(0, beside)
    # So that a traceback shows source lines of code without a file.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        exec(compiled(source, file), main.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return FAILED
    except Exception as error:
        print_error(error)
        return FAILED
    finally:
        sys.stdout.flush()
        sys.modules["__main__"], sys.argv, sys.path[:] = before
    return 0


__all__ = ["Commands", "compiled", "predefined_names", "run"]
