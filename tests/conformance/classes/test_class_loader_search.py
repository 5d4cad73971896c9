"""The chapter "Class Loader Search": more places to look for classes."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import jvms
import jvmti
import programs
from conformance.class_file import ClassFile
from conformance.evidence import Evidence
from conformance.finding import loaded_class

FUNCTIONS = ["add_to_bootstrap_class_loader_search", "add_to_system_class_loader_search"]


@pytest.fixture
def jar(tmp_path: Path, java_classes: Callable[..., Path]) -> Callable[[str], Path]:
    """Make a JAR file with one class: `jar("Added")`."""

    def make(name: str) -> Path:
        made = ClassFile.parse(java_classes("Idle") / "Idle.class")
        made.replace_text("Idle", name)
        path = tmp_path / f"{name} é.jar"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{name}.class", made.to_bytes())
        return path

    return make


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_class_is_found_in_a_jar_file_once_it_is_added(
    function: str,
    env: jvmti.Env,
    witness: programs.JavaProgram,
    jar: Callable[[str], Path],
    evidence: Evidence,
) -> None:
    evidence.proves(function)
    name = "AddedToBoot" if "bootstrap" in function else "AddedToSystem"
    path = jar(name)
    assert "ClassNotFoundException" in witness.ask(f"load {name}")
    getattr(env, function)(str(path))
    assert witness.ask(f"load {name}") == name
    loader = env.get_class_loader(loaded_class(env, name))
    assert (loader is None) == ("bootstrap" in function)
    assert (witness.ask(f"loader {name}") == "null") == ("bootstrap" in function)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_there_must_be_a_jar_file_in_the_live_phase(
    function: str, env: jvmti.Env, tmp_path: Path, evidence: Evidence
) -> None:
    evidence.provokes(function, "ILLEGAL_ARGUMENT")
    no_jar = tmp_path / "no.jar"
    no_jar.write_text("this is no JAR file")
    for segment in (tmp_path / "absent.jar", no_jar, tmp_path):
        with pytest.raises(jvmti.errors.IllegalArgument):
            getattr(env, function)(str(segment))


def test_a_system_class_loader_may_take_no_additions(
    jvm: jvms.Jvm,
    java_program: programs.JavaPrograms,
    jar: Callable[[str], Path],
    evidence: Evidence,
) -> None:
    evidence.provokes("add_to_system_class_loader_search", "CLASS_LOADER_UNSUPPORTED")
    program = java_program("CustomLoader", jvm_args=["-Djava.system.class.loader=CustomLoader"])
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        with pytest.raises(jvmti.errors.ClassLoaderUnsupported):
            vm.env.add_to_system_class_loader_search(str(jar("Never")))
