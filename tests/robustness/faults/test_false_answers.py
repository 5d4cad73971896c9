"""Success with nothing in it: whatever the VM answers, the agent neither believes nor follows it.

The VM's own tables are changed under the agent, one function and one lie at a time, while what of
the interface and of the agent comes to that function is called (a first pass, with a VM that tells
the truth, finds it), a stream records and a handler looks around.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import compiler
import jvmti
from jvmti.target.agent_library import library_for_executable
from robustness import steady
from robustness.calls import random_calls
from robustness.faults import false_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import programs
    from jvmti.interface.declaration import Declaration

# What lies is compiled, and what comes to whom is found, for each JVM anew.
pytestmark = [
    pytest.mark.file_in_turn,
    pytest.mark.stress,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


BELIEVED = (
    "set_local_", "force_early_return_", "pop_frame", "set_breakpoint", "install_breakpoint",
    "call_", "new_object", "set_static_", "redefine_classes", "retransform_classes",
)  # fmt: skip
"""What changes the program after a look at what the VM says of it: slots, bytecodes, signatures.
With a false one of these it does what it must not; none of them is lied about itself."""


BELIEVED_ON_11 = ("get_local_", "local_objects")
"""What crashes that VM where the thread runs, which a false state of it conceals."""

ROUNDS = 10
"""How often a lie is tried at most until somebody gets it."""


class Target:
    """The program with both agents in it: the one that is tried, and the one that lies."""

    def __init__(
        self, java_program: programs.JavaPrograms, directory: Path, headers: list[Path]
    ) -> None:
        self.liar = false_answers.Liar(directory / "page")
        library = false_answers.build(directory, headers)
        argument = f"-agentpath:{library}={directory / 'page'}"
        self.program = steady.launch(java_program, calm=True, jvm_args=[argument])
        self.fuzzer = random_calls.Fuzzer(7)
        spare = compiler.classes("Steady") / "Steady$Spare.class"
        self.fuzzer.template = spare.read_bytes()
        self.vm = jvmti.attach(self.program.pid)
        self.release = java_program.jvm.feature
        self.fuzzer.begin(self.vm)
        self.liar.lie_to(self.program.pid, str(library_for_executable(java_program.jvm.java)))
        self.reaching = self.find_reaching()
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

    def call(self, chosen: list[Declaration]) -> None:
        """Call these with random arguments, most of them good."""
        self.fuzzer.choose = lambda count: chosen  # type: ignore[method-assign]
        self.fuzzer.batch(len(chosen))

    def find_reaching(self) -> dict[int, list[Declaration]]:
        """Which functions come to which of the VM's, by its place."""
        reaching = defaultdict(list)
        believed = BELIEVED + (BELIEVED_ON_11 if self.release == 11 else ())
        for one in self.fuzzer.functions:
            if one.name.startswith(believed):
                continue
            before = self.liar.reached
            self.call([one] * max(2, round(20 * random_calls.HEAVY.get(one.name, 1))))
            for place, (then, now) in enumerate(zip(before, self.liar.reached, strict=True)):
                if now > then:
                    reaching[place].append(one)
        self.fuzzer.heal()
        return reaching

    def reach(self, about: Declaration, places: list[int]) -> bool:
        """Call what comes to these places, until they are come to; and let a handler look."""
        found = {one.number: one for place in places for one in self.reaching[place]}
        others = self.fuzzer.random.sample([*found.values()], min(len(found), 20))
        before, seen = self.asked(places), self.seen
        for _ in range(ROUNDS):
            self.call([about] * 10 + others * 2)
            if self.asked(places) > before:
                break
        steady.wait_until(lambda: self.seen > seen, 0.05)
        return self.asked(places) > before

    def asked(self, places: list[int]) -> int:
        reached = self.liar.reached
        return sum(reached[place] for place in places)

    def lives(self) -> bool:
        assert self.program.program.crash() is None
        # No count of the VM's makes the agent take gigabytes.
        assert peak_memory(self.program.pid) < 1 << 21
        return bool(self.vm.env.get_phase() == 4) and self.program.program.running()


def peak_memory(pid: int) -> int:
    """The most that a process has had, in kilobytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


@pytest.fixture(scope="module")
def target(
    shared_java_program: programs.JavaPrograms,
    tmp_path_factory: pytest.TempPathFactory,
    jdk_headers: list[Path],
) -> Iterator[Target]:
    made = Target(shared_java_program, tmp_path_factory.mktemp("false"), jdk_headers)
    yield made
    made.vm.detach(timeout=60)


def lied_about(target: Target, lies: list[tuple[Declaration, int]], *, jni: bool) -> set[str]:
    """Tell the lies while what gets them is called, and name the functions that were asked."""
    reached = set()
    for number, (declaration, lie) in enumerate(lies):
        with target.liar.lying(declaration, lie, jni=jni):
            if target.reach(declaration, false_answers.places(declaration, jni=jni)):
                reached.add(declaration.name)
        assert target.lives(), (declaration.name, lie)
        if number % 20 == 0:
            target.fuzzer.heal()
    assert target.program.goes_on()
    return reached


@pytest.mark.oldest_and_newest  # it is the agent that is lied to, whatever the VM
@pytest.mark.parametrize("lie", false_answers.LIES, ids=false_answers.LIES.values())
def test_what_jvm_ti_answers_is_not_believed(target: Target, lie: int) -> None:
    every = false_answers.lied_about()
    reached = lied_about(target, [(one, lie) for one in every], jni=False)
    # The others are of a later version than this VM's, or need what the program never has.
    assert len(reached) > len(every) * 0.8, {one.name for one in every} - reached


def test_null_of_jni_without_an_exception_is_not_followed(target: Target) -> None:
    every = false_answers.jni_lied_about()
    reached = lied_about(target, [(one, 2) for one in every], jni=True)
    # Those that call methods are seldom given arguments that come so far.
    assert len(reached) > len(every) * 0.25, {one.name for one in every} - reached
    assert {"find_class", "get_object_class", "new_global_ref", "get_array_length"} <= reached


def test_a_thread_that_ends_has_no_frames(target: Target) -> None:
    """As HotSpot answers for a single thread that just ends: success, and null."""
    declaration = false_answers.FUNCTIONS["get_thread_list_stack_traces"]
    thread = target.vm.threads["prey-0"]
    with target.liar.lying(declaration, 2):
        (trace,) = target.vm.env.get_thread_list_stack_traces([thread], 10)
    assert trace.thread == thread
    assert trace.frame_buffer == []


def test_a_stack_that_fills_any_space_does_not_get_ever_more(target: Target) -> None:
    """The agent doubled the space until the machine had no more memory."""
    thread = target.vm.threads["prey-0"]
    declaration = false_answers.FUNCTIONS["get_stack_trace"]
    for lie in false_answers.LIES:
        with target.liar.lying(declaration, lie), contextlib.suppress(jvmti.Error):
            target.vm._agent.locate_stack(thread, 2**31 - 1, False)
        assert target.lives()


def test_a_region_of_a_string_that_is_said_to_be_empty_is_not_written(target: Target) -> None:
    """The VM was asked to refuse the region, into the room of one character, and did not."""
    jni = target.vm.jni
    text = jni.new_string("a" * 1000)
    declaration = false_answers.JNI_FUNCTIONS["get_string_length"]
    for read in (jni.get_string_region, jni.get_string_utf_region):
        with target.liar.lying(declaration, 2, jni=True), contextlib.suppress(Exception):
            read(text, 0, 1000)
        assert target.lives()


@pytest.mark.newest
def test_a_loader_without_a_class_matches_no_pattern(target: Target) -> None:
    """The VM followed the null in the agent's next question: what its superclass is."""
    prey = target.vm.find_class("Steady$Prey")
    declaration = false_answers.JNI_FUNCTIONS["get_object_class"]
    for lie, chosen in ((0, b"\1"), (2, b"\0")):
        with target.liar.lying(declaration, lie, jni=True):
            assert target.vm._agent.select_classes([prey], None, "app", None) == chosen
    assert target.lives()


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
