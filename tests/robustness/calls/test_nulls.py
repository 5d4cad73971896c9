"""A null at every place that has one in C, one at a time, in each phase: no JVM follows it.

The places are found in the declarations, so that those of a later function are tried too.  Nulls
travel as bytes, past the checks of the Python side; all else is as good as possible.
"""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import compiler
import jvmti
from jvmti.env.interface import FUNCTIONS
from jvmti.interface import shapes
from jvmti.interface.constants import EventMode
from jvmti.interface.declaration import Declaration
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.operations.functions import OPERATIONS
from jvmti.refs import handles
from jvmti.wire.channel import Request
from jvmti.wire.codecs import codec_of
from jvmti.wire.protocol import Kind
from robustness import steady
from robustness.calls import random_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jvms
    import programs

pytestmark = [pytest.mark.stress, pytest.mark.timeout(300)]

NEVER = {
    "suspend_all_virtual_threads": "with an empty list it stops the carriers' scheduler",
    "define_class": "class files of the VM's own loader, which null stands for, are not verified",
    "open_stream": "takes a descriptor, which the test has none for",
}
"""Functions that a null is not given to, and why."""

EVERY = [
    one
    for one in [*FUNCTIONS.values(), *JNI_FUNCTIONS.values(), *OPERATIONS.values()]
    if one.name not in NEVER
]
LIVE = 4


def null_forms(shape: Any) -> list[bytes]:
    """The ways in which a parameter, or something in it, can be null; each as bytes."""
    match shape:
        case shapes.Reference() | shapes.Token():
            return [bytes(8)]
        case shapes.Text():
            return [struct.pack("<i", -1)]
        case shapes.Callback():
            return [b"\0"]
        case shapes.Unicode() | shapes.Bytes() | shapes.ElementBlock():
            return [bytes(4)]
        case shapes.Arguments():
            return [bytes(4), struct.pack("<I", 1) + b"L" + bytes(8)]
        case shapes.List(item, _, _):
            return [bytes(4), *(struct.pack("<I", 1) + form for form in null_forms(item))]
    return []


class Careful(random_calls.Fuzzer):
    """Arguments that are as good as they can be."""

    def handle(self, wanted: int, targets_only: bool) -> int:
        pools = self.pools.prey
        same = pools[wanted] or pools[handles.Object.KIND]
        return self.random.choice(same) if same else 0

    def number(self, shape: shapes.Number, name: str, function: str) -> bytes:
        if shape.python is EventMode:
            return struct.pack("<i", EventMode.ENABLE)  # the handlers of this test stay
        if shape.code in "fd?" or shape.python is not None:
            return super().number(shape, name, function)
        return self.random.randrange(3).to_bytes(struct.calcsize(shape.code), "little")

    def good(self, shape: Any, name: str, function: str) -> bytes:
        match shape:
            case shapes.Callback():
                return b"\0"  # nobody would answer it
            case shapes.Text():
                text = random_calls.modified(self.random.choice(random_calls._TEXTS[2:12]))
                return struct.pack("<i", len(text)) + text + b"\0"
            case shapes.Structure(_, c, fields) if c != "jvmtiClassDefinition":
                return b"".join(self.good(one, name, function) for _, one in fields)
        return self.value(shape, name, function, True)

    def cases(self, declaration: Declaration) -> Iterator[tuple[str, bytes]]:
        """Each place of a function with the arguments that have a null there."""
        inputs = codec_of(declaration).inputs
        for at, (name, shape) in enumerate(inputs):
            forms = [(name, form) for form in null_forms(shape)]
            if isinstance(shape, shapes.Structure):
                forms += self.fields(shape, name, declaration.name)
            if isinstance(shape, shapes.List) and isinstance(shape.item, shapes.Structure):
                one = struct.pack("<I", 1)
                found = self.fields(shape.item, name, declaration.name)
                forms += [(place, one + form) for place, form in found]
            for place, form in forms:
                parts = [self.good(one, named, declaration.name) for named, one in inputs]
                parts[at] = form
                yield place, b"".join(parts)

    def fields(self, shape: shapes.Structure, name: str, function: str) -> list[tuple[str, bytes]]:
        found = []
        for at, (member, one) in enumerate(shape.fields):
            for form in null_forms(one):
                parts = [self.good(other, name, function) for _, other in shape.fields]
                parts[at] = form
                found.append((f"{name}.{member}", b"".join(parts)))
        return found


def give_nulls(vm: jvmti.VM, careful: Careful, times: int = 1) -> Counter[int]:
    """Call everything with a null at each place; count the answers by their status."""
    answers: Counter[int] = Counter()
    for declaration in EVERY:
        for _ in range(times):
            for place, payload in careful.cases(declaration):
                name = f"{declaration.name}({place}=null)"
                reply = vm._session.request(
                    Request(Kind.CALL, declaration.number, 1, payload, name, 30.0)
                )
                answers[reply.status] += 1
    return answers


def test_there_are_places_for_nulls() -> None:
    careful = Careful(1)
    careful.pools = random_calls.Pools()
    careful.spare = 0
    places = {(one.name, place) for one in EVERY for place, _ in careful.cases(one)}
    assert {("set_system_property", "value"), ("redefine_classes", "class_definitions.klass")} <= (
        places
    )
    assert len(places) > 400


def test_nulls_in_the_live_phase(java_program: programs.JavaPrograms) -> None:
    target = steady.launch(java_program)
    careful = Careful(7)
    classes = compiler.classes("Steady")
    careful.template = (classes / "Steady$Spare.class").read_bytes()
    vm = jvmti.attach(target.pid)
    careful.begin(vm)
    for _ in range(3):
        answers = give_nulls(vm, careful)
        careful.heal()
    assert vm.env.get_phase() == LIVE
    assert answers[0] > 30
    vm.detach(timeout=60)
    assert target.goes_on()
    assert target.prey_runs(), target.program.ask("stacks")
    assert target.locks_are_free()


@pytest.mark.parametrize("early", [False, True], ids=["usual", "early"])
def test_nulls_in_onload_and_in_the_start_phase(jvm: jvms.Jvm, early: bool) -> None:
    output = subprocess.DEVNULL
    vm = jvmti.launch(
        [jvm.java, *jvm.args, "-XX:-CreateCoredumpOnCrash", "-version"],
        hold=True,
        stdin=output,
        stdout=output,
        stderr=output,
    )
    careful = Careful(7)
    careful.pools = random_calls.Pools()
    careful.spare = 0
    answers = {}

    def started(event: Any) -> None:
        if event.thread is not None:
            careful.pools.prey[handles.Thread.KIND].append(event.thread._handle)
        answers[type(event).__name__] = give_nulls(vm, careful)
        # The null of suspend_thread is the thread of the handler, which stops as this returns.
        vm.env.resume_thread(event.thread)

    def begun(event: Any) -> None:
        answers["VMStart"] = give_nulls(vm, careful)

    try:
        vm.env.add_capabilities(vm.env.get_potential_capabilities())
        if not early:
            vm.env.relinquish_capabilities({"can_generate_early_vmstart"})
        vm.env.on("VMStart", begun, timeout=None)
        vm.env.on("VMInit", started, timeout=None)
        answers["OnLoad"] = give_nulls(vm, careful)
        vm.proceed(60)
        assert vm.popen is not None
        assert vm.popen.wait(100) == 0
    finally:
        vm.detach()
    assert set(answers) == {"OnLoad", "VMStart", "VMInit"}
