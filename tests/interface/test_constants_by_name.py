"""Constants by their names: wherever a number of an enumeration is taken, its name is taken too."""

from __future__ import annotations

import typing
from typing import Any

import pytest

import jvmti
import programs
from jvmti.env.interface import FUNCTIONS as JVMTI
from jvmti.interface import constants
from jvmti.interface.capabilities import ALL, Capabilities
from jvmti.interface.constants import Constant, Event, EventMode, Flags, constant_named
from jvmti.interface.shapes import Number, inputs_of
from jvmti.jni.interface import FUNCTIONS as JNI
from jvmti.wire import codecs

CLASSES = [
    cls
    for cls in vars(constants).values()
    if isinstance(cls, type) and issubclass(cls, Constant | Flags) and cls.__members__
]
TAKEN = [
    pytest.param(function, name, shape.python, id=f"{function.name}.{name}")
    for function in [*JVMTI.values(), *JNI.values()]
    for name, shape in inputs_of(function)
    if isinstance(shape, Number)
    and isinstance(shape.python, type)
    and issubclass(shape.python, Constant | Flags)
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_constant_has_its_names_in_every_spelling(cls: Any) -> None:
    for name, member in cls.__members__.items():
        spellings = {name, name.lower(), name.replace("_", ""), cls.__prefix__ + name}
        assert {int(constant_named(cls, one)) for one in spellings} == {int(member)}


def test_an_event_has_the_name_of_its_callback_and_of_its_constant() -> None:
    for name in ("Breakpoint", "BREAKPOINT", "JVMTI_EVENT_BREAKPOINT"):
        assert constant_named(Event, name) is Event.BREAKPOINT
    assert constant_named(Event, "VMObjectAlloc") is Event.VM_OBJECT_ALLOC


def test_bits_are_joined() -> None:
    states = constants.ThreadState
    assert constant_named(states, "ALIVE|SUSPENDED") == states.ALIVE | states.SUSPENDED


def test_a_wrong_name_gets_near_ones() -> None:
    with pytest.raises(ValueError, match=r"no Event 'Breakpont'; did you mean 'BREAKPOINT'"):
        constant_named(Event, "Breakpont")


@pytest.mark.parametrize(("function", "name", "cls"), TAKEN)
def test_a_parameter_that_takes_a_constant_takes_its_name(
    function: Any, name: str, cls: Any
) -> None:
    [annotation] = [one.annotation for one in function.parameters if one.name == name]
    options: list[Any] = []
    for option in typing.get_args(annotation):
        options += [option, *typing.get_args(option)]
    assert str in options, f"{function.name}({name}) is not annotated to take a name"
    [shape] = [shape for other, shape in inputs_of(function) if other == name]
    member_name, member = next(iter(cls.__members__.items()))
    by_name: list[bytes] = []
    by_number: list[bytes] = []
    put = codecs.encoder_of(shape, name)
    put(member_name, by_name, None)
    put(int(member), by_number, None)
    assert by_name == by_number


def test_capabilities_are_named() -> None:
    some = Capabilities.of("can_suspend", "can_pop_frame")
    assert str(some) == f"{some}" == "can_pop_frame|can_suspend"
    assert str(Capabilities(0)) == "0"
    assert str(ALL).split("|") == list(Capabilities.__members__)
    assert f"{some:#x}" == hex(some)


@pytest.mark.oldest_and_newest
def test_a_jvm_is_asked_by_names(java_program: programs.JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        reported: list[Any] = []
        vm.env.set_event_callbacks({"ClassPrepare": reported.append})
        vm.env.set_event_notification_mode("ENABLE", "ClassPrepare")
        vm.jni.find_class("java/util/concurrent/Phaser")
        vm.env.set_event_notification_mode(EventMode.DISABLE, "CLASS_PREPARE")
        vm.env.set_event_callbacks(None)
        assert "Ljava/util/concurrent/Phaser;" in [
            event.klass.signature for event in reported if event.klass.signature
        ]
        with pytest.raises(ValueError, match="no EventMode 'ON'; there are"):
            vm.env.set_event_notification_mode("ON", "ClassPrepare")
        vm.env.generate_events("DynamicCodeGenerated")
