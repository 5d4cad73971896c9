"""Success with nothing in it: whatever the VM answers, the agent neither believes nor follows it.

The VM's own tables are changed under the agent, one function and one lie at a time, while every
function of the interface and of the agent is called, a stream records and a handler looks around.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import false_answers
import pytest
import random_calls
import steady

import compiler
import jvmti
from jvmti.target.agent_library import library_for_executable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import programs

pytestmark = [pytest.mark.stress, pytest.mark.slow, pytest.mark.timeout(600)]


BELIEVED = (
    "set_local_", "force_early_return_", "pop_frame", "set_breakpoint", "place_breakpoint", "call_",
    "new_object", "set_static_", "redefine_classes", "retransform_classes",
)  # fmt: skip
"""What changes the program after a look at what the VM says of it: slots, bytecodes, signatures.
With a false one of these it does what it must not; none of them is lied about itself."""


class Target:
    """The program with both agents in it: the one that is tried, and the one that lies."""

    def __init__(
        self, java_program: programs.JavaPrograms, directory: Path, headers: list[Path]
    ) -> None:
        self.liar = false_answers.Liar(directory / "page")
        library = false_answers.build(directory, headers)
        argument = f"-agentpath:{library}={directory / 'page'}"
        self.program = steady.launch(java_program, jvm_args=[argument])
        self.fuzzer = random_calls.Fuzzer(7)
        spare = compiler.classes("Steady") / "Steady$Spare.class"
        self.fuzzer.template = spare.read_bytes()
        self.vm = jvmti.attach(self.program.pid)
        self.fuzzer.begin(self.vm)
        self.liar.lie_to(self.program.pid, str(library_for_executable(java_program.jvm.java)))
        self.seen = 0
        prey = self.vm.find_class("Steady$Prey")
        self.streams = [
            self.vm.env.stream(["MethodEntry", "Exception"], classes="Steady*", stack=4),
            self.vm.env.stream(["ThreadStart", "VMObjectAlloc", "ClassPrepare"]),
        ]
        deeper = prey.methods["deeper"]
        self.stops = deeper.breakpoint(hits="every 100", do=self.stopped)
        self.vm.env.on("MethodExit", self.stopped, self.vm.threads["prey-1"], timeout=1)

    def stopped(self, event: Any) -> None:
        """Called while the VM lies: it may get anything, but answers."""
        self.seen += 1
        try:
            event.thread.frames  # noqa: B018
        except (jvmti.Error, ValueError, LookupError, TypeError, AttributeError):
            pass

    def call_everything(self, about: Any) -> None:
        """Call the function that is lied about some times, and a part of all the others."""
        fuzzer = self.fuzzer
        others = [one for one in fuzzer.functions if not one.name.startswith(BELIEVED)]
        chosen = [about] * 20 + fuzzer.random.sample(others, min(60, len(others)))
        fuzzer.choose = lambda count: chosen  # type: ignore[method-assign]
        fuzzer.batch(len(chosen))

    def lives(self) -> bool:
        assert self.program.program.crash() is None
        return bool(self.vm.env.get_phase() == 4) and self.program.program.running()


@pytest.fixture(scope="module")
def target(
    shared_java_program: programs.JavaPrograms,
    tmp_path_factory: pytest.TempPathFactory,
    jdk_headers: list[Path],
) -> Iterator[Target]:
    made = Target(shared_java_program, tmp_path_factory.mktemp("false"), jdk_headers)
    yield made
    made.vm.detach(timeout=60)


def told_about(target: Target, lies: list[tuple[Any, int]], *, jni: bool) -> set[str]:
    """Tell the lies while everything is called, and name the functions that were asked."""
    heard = set()
    for number, (declaration, lie) in enumerate(lies):
        before = target.liar.told
        with target.liar.lying(declaration, lie, jni=jni):
            target.call_everything(declaration)
        assert target.lives(), (declaration.name, lie)
        if target.liar.told > before:
            heard.add(declaration.name)
        if number % 20 == 0:
            target.fuzzer.heal()
    assert target.program.goes_on()
    return heard


@pytest.mark.parametrize("lie", false_answers.LIES, ids=false_answers.LIES.values())
def test_what_jvm_ti_answers_is_not_believed(target: Target, lie: int) -> None:
    every = false_answers.lied_about()
    heard = told_about(target, [(one, lie) for one in every], jni=False)
    # The others are of a later version than this VM's, or need what the program never has.
    assert len(heard) > len(every) * 0.8, {one.name for one in every} - heard


def test_null_of_jni_without_an_exception_is_not_followed(target: Target) -> None:
    every = false_answers.jni_lied_about()
    heard = told_about(target, [(one, 2) for one in every], jni=True)
    # Those that call methods are seldom given arguments that come so far.
    assert len(heard) > len(every) * 0.25, {one.name for one in every} - heard
    assert {"find_class", "get_object_class", "new_global_ref", "get_array_length"} <= heard


def test_a_thread_that_ends_has_no_frames(target: Target) -> None:
    """As HotSpot answers for a single thread that just ends: success, and null."""
    declaration = false_answers.FUNCTIONS["get_thread_list_stack_traces"]
    thread = target.vm.threads["prey-0"]
    with target.liar.lying(declaration, 2):
        (trace,) = target.vm.env.get_thread_list_stack_traces([thread], 10)
    assert trace.thread == thread
    assert trace.frame_buffer == []


def test_a_field_of_unknown_type_is_not_given(target: Target) -> None:
    """It was taken for a reference, and the number in it for the address of an object."""
    vm = target.vm
    held = vm.find_class("java.util.ArrayList").new()
    declaration = false_answers.FUNCTIONS["get_field_name"]
    for lie in false_answers.LIES:
        with target.liar.lying(declaration, lie), pytest.raises(jvmti.Error):
            vm.env.get_class_fields(held.cls)
    for field in vm.env.get_class_fields(held.cls):
        if vm.env.get_field_modifiers(held.cls, field) & 0x8 == 0:
            vm._agent.read_fields(held, [field], True, -1, False)
    assert target.lives()


def test_a_tree_is_followed_by_fields_that_its_objects_have(target: Target) -> None:
    """Those of another class led to whatever lies beside the object."""
    vm = target.vm
    node = vm.find_class("Steady")["prey"]

    def references(name: str) -> list[Any]:
        cls = vm.find_class(name)
        return [
            field
            for field in vm.env.get_class_fields(cls)
            if vm.env.get_field_name(cls, field).signature[0] in "L["
            and vm.env.get_field_modifiers(cls, field) & 0x8 == 0
        ]

    right = references("Steady$Prey")[0]
    strange = references("java.lang.Thread") + references("java.lang.Class")
    assert len(strange) > 10
    for left in strange:
        vm._agent.read_tree(node, left, right, [right], 10, False, -1, False)
    assert target.lives()


def test_a_success_with_nothing_is_an_error_that_says_so(target: Target) -> None:
    klass = target.vm.find_class("Steady")
    declaration = false_answers.FUNCTIONS["get_class_signature"]
    with target.liar.lying(declaration, 2):
        with pytest.raises(jvmti.errors.Internal, match="succeeded, and answers nothing"):
            target.vm.env.get_class_signature(klass)
    assert target.vm.env.get_class_signature(klass).signature == "LSteady;"
