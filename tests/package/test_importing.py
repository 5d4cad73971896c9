"""Importing: no two modules need each other, so threads may import in any order."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import jvmti

_SOURCES = Path(jvmti.__file__).parent
_REEXPORTING = [
    "jvmti",
    "jvmti.classfile",
    "jvmti.errors",
    "jvmti.heap",
    "jvmti.instrumentation",
    "jvmti.profile",
    "jvmti.refs",
    "jvmti.sources",
]

# Imports its arguments at once, a thread each. A short switch interval has them meet.
_IMPORTS_AT_ONCE = """
import importlib, sys, threading
sys.setswitchinterval(1e-6)
barrier = threading.Barrier(len(sys.argv) - 1)
def imports(name):
    barrier.wait()
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        getattr(module, public)
threads = [threading.Thread(target=imports, args=(name,)) for name in sys.argv[1:]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def _modules() -> dict[str, Path]:
    found = {}
    for path in _SOURCES.rglob("*.py"):
        parts = ["jvmti", *path.relative_to(_SOURCES).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _run_at_import(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        elif isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            yield from _run_at_import(statement.orelse)
        else:
            for part in ("body", "orelse", "finalbody", "handlers"):
                yield from _run_at_import(getattr(statement, part, []))


def _needs(modules: dict[str, Path]) -> dict[str, set[str]]:
    """For each module those that importing it imports: its package is one of them."""
    needs = {}
    for name, path in modules.items():
        found = {name.rpartition(".")[0]}
        for statement in _run_at_import(ast.parse(path.read_text()).body):
            if isinstance(statement, ast.ImportFrom):
                assert statement.module, f"{path}: a relative import"
                found.add(statement.module)
                found.update(f"{statement.module}.{alias.name}" for alias in statement.names)
            else:
                found.update(alias.name for alias in statement.names)
        needs[name] = (found & modules.keys()) - {name}
    return needs


def _reached(start: str, needs: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [*needs[start]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(needs[name])
    return reached


def test_no_module_needs_itself_to_be_imported() -> None:
    needs = _needs(_modules())
    assert "jvmti.heap.classes" in needs["jvmti.heap.snapshot"]  # the graph has edges
    # Whatever a thread imports first, Python imports `jvmti` with these two before it.
    for below in ("jvmti.display", "jvmti.reexports"):
        assert needs[below] == {"jvmti"}
        needs["jvmti"].remove(below)
    # A command line is imported by the main thread of its process.
    in_circles = {
        name
        for name in needs
        if name in _reached(name, needs) and not name.startswith("jvmti.commands")
    }
    assert not in_circles


@pytest.mark.parametrize(
    "package", ["classfile", "heap", "instrumentation", "profile", "refs", "sources"]
)
def test_threads_import_a_package_and_its_modules_at_once(package: str) -> None:
    package = f"jvmti.{package}"
    inside = sorted(
        name
        for name in _modules()
        if name.startswith(f"{package}.") and "arrow" not in name and "parquet" not in name
    )
    for names in (
        [package, *inside],
        [*reversed(inside), package],
        [inside[-1], package, "jvmti", *_REEXPORTING],
    ):
        ended = subprocess.run(
            [sys.executable, "-c", _IMPORTS_AT_ONCE, *names],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("package", _REEXPORTING)
def test_a_package_has_every_name_that_it_offers(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is getattr(module, name)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_such'"):
        module.no_such  # noqa: B018
