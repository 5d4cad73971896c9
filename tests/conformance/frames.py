"""The program Frames under a session of its own: threads to pop, to return from, to change.

A test module makes its fixture of it::

    @pytest.fixture(scope="module")
    def stage(jvm, shared_java_program):
        yield from frames.stage(jvm, shared_java_program)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

import jvms
import jvmti
import programs
from jvmti.refs import Object, Thread
from jvmti.target.agent_library import library_for_executable

on_both_kinds = pytest.mark.parametrize("virtual", [False, True], ids=["platform", "virtual"])

_names = (f"act-{number}" for number in itertools.count(1))


class Actor:
    """One thread of the program, in the method that its kind names."""

    def __init__(self, stage: Stage, name: str, thread: Thread) -> None:
        self.stage = stage
        self.name = name
        self.thread = thread

    def result(self) -> str:
        """Let the thread go on; what it got in the end."""
        return self.stage.program.ask(f"result {self.name}", timeout=40)

    def outcome(self) -> str:
        """What it got in the end, without letting it go on."""
        return self.stage.program.ask(f"outcome {self.name}", timeout=40)

    def progress(self) -> tuple[int, int]:
        """How often its method was called, and what that saw last."""
        calls, seen = self.stage.program.ask(f"progress {self.name}").split()
        return int(calls), int(seen)

    def called(self, times: int) -> tuple[int, int]:
        """The same, once its method has been called so often."""
        calls, seen = self.stage.program.ask(f"await {self.name} {times}").split()
        return int(calls), int(seen)

    @contextmanager
    def suspended(self) -> Iterator[Thread]:
        """The thread, suspended meanwhile."""
        env = self.stage.vm.env
        env.suspend_thread(self.thread)
        try:
            yield self.thread
        finally:
            env.resume_thread(self.thread)


class Stage:
    """The program and a session on it that has every capability."""

    def __init__(self, program: programs.JavaProgram, vm: jvmti.VM) -> None:
        self.program = program
        self.vm = vm
        self.env = vm.env
        self.main = vm.jni.find_class("Frames")
        self._latest = vm.jni.get_static_field_id(self.main, "latest", "Ljava/lang/Thread;")

    def act(self, kind: str, virtual: bool = False) -> Actor:
        """Start a thread that calls the method of a kind and stays in it."""
        name = next(_names)
        answer = self.program.ask(f"{'virtual' if virtual else 'run'} {name} {kind}")
        if virtual and "NoSuchMethod" in answer:
            pytest.skip("this release has no virtual threads")
        assert answer == "running", answer
        thread = self.vm.jni.get_static_object_field(self.main, self._latest)
        assert isinstance(thread, Thread)
        return Actor(self, name, thread)

    def passing(self, *, impostor: bool) -> Object:
        """A new object of Frames.Passing, or of the class that another loader made of its bytes."""
        own = self.env.get_class_loader(self.main)
        for klass in self.env.get_loaded_classes():
            named = self.env.get_class_signature(klass).signature == "LFrames$Passing;"
            if named and (self.env.get_class_loader(klass) != own) == impostor:
                return self.vm.jni.alloc_object(klass)
        raise LookupError("no such class is loaded")


def stage(
    jvm: jvms.Jvm,
    shared_java_program: programs.JavaPrograms,
    *,
    debug: bool = True,
    jvm_args: Sequence[str] = (),
    emulate: bool = False,
) -> Iterator[Stage]:
    """Start the program with all capabilities reserved, and attach.

    With `emulate`, nothing is reserved: what the VM then does not give is emulated.
    """
    reserving = [] if emulate else [f"-agentpath:{library_for_executable(jvm.java)}=reserve"]
    program = shared_java_program("Frames", jvm_args=[*jvm_args, *reserving], debug=debug)
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, capabilities="all", timeout=30, emulate=emulate) as vm:
        vm.timeout = 60
        yield Stage(program, vm)
        assert program.ask("echo alive") == "alive"
