"""One program and one session on each JVM for all of JNI's tests, which change no class of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jvms
import jvmti
import programs
from conformance import conftest
from conformance.recorder import java_object
from jvmti.refs import Class, Object


@pytest.fixture(scope="package")
def witness(
    jvm: jvms.Jvm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[programs.JavaProgram]:
    """The program Witness, ready for commands, with the agent's reservation."""
    started = programs.JavaPrograms(jvm, tmp_path_factory.mktemp(f"jni-{jvm}"))
    yield conftest.reserved(jvm, started)
    started.close()


@pytest.fixture(scope="package")
def vm(witness: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session with every available capability."""
    yield from conftest.session(witness)


@pytest.fixture(scope="module")
def everything(vm: jvmti.VM) -> Object:
    """An object with a field of every type."""
    found: Object = java_object(vm, "everything")
    return found


@pytest.fixture(scope="module")
def cls(vm: jvmti.VM) -> Class:
    """Its class, which has a static field of every type too."""
    return vm.jni.find_class("Witness$Everything")
