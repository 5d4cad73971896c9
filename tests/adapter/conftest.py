"""Sessions with the program `Debugged`: launched, or attached to while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import compiler
import jvms
from adapter.client import SOURCE, Client

if TYPE_CHECKING:
    from jvms import Jvm
    from programs import JavaPrograms

Begin = Callable[..., Client]


@pytest.fixture
def command(jvm: Jvm) -> list[str]:
    """The command that runs the program."""
    classes = compiler.classes("Debugged")
    return [str(jvm.java), *jvm.args, "-cp", str(classes), "Debugged"]


def compiler_named(name: str) -> str:
    """The ``javac`` that configurations name, or the jar of ECJ; skips where there is none."""
    home = compiler.javac_home(11)
    place = jvms.INSTALLED / "ecj" / "ecj.jar"
    if name == "javac":
        place = Path() if home is None else home / "bin" / "javac"
    if not place.is_file():
        pytest.skip(f"{name} is not installed")
    return str(place)


@pytest.fixture
def client() -> Iterator[Client]:
    """A client whose adapter ends with the test."""
    made = Client()
    yield made
    made.close()


@pytest.fixture(params=["launched", "late"])
def way(request: pytest.FixtureRequest) -> str:
    """How a session begins."""
    return str(request.param)


@pytest.fixture
def begin(
    way: str, command: list[str], java_program: JavaPrograms, client: Client
) -> Callable[..., Client]:
    """Begin a session with the program: it is launched, or attached to while it runs.

    With lines, and the compiler of the program where a test depends on it.
    """

    sources = [str(SOURCE.parent)]

    def begun(
        *lines: int | dict[str, Any], compiled_by: str | None = None, supports: Sequence[str] = ()
    ) -> Client:
        if way == "launched":
            classes = compiler.classes("Debugged", compiler=compiled_by)
            started = [str(classes) if one == command[-2] else one for one in command]
            client.launch(*lines, command=started, supports=supports, sourcePaths=sources)
        else:
            program = java_program("Debugged", compiled_by=compiled_by)
            program.expect("ready")
            client.attach(program.pid, *lines, supports=supports, sourcePaths=sources)
        return client

    return begun
