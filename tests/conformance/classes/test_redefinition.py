"""The chapter "Class", redefinition: what classes may become, by us and by another agent.

Variants of a class are made by changing its class file.  For retransformation they are handed to
the program's own Java agent, which replaces the class while our call runs.
"""

from __future__ import annotations

import copy
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance.class_file import ClassFile
from conformance.conftest import NO_SIGNAL
from conformance.evidence import Evidence
from conformance.finding import loaded_class, method_named, thread_named
from jvmti.env.structures import ClassDefinition
from jvmti.refs import Class
from jvmti.target.agent_library import library_for_executable

FINAL, SYNCHRONIZED, PUBLIC = 0x0010, 0x0020, 0x0001
ARETURN, IRETURN = b"\xb0", b"\xac"


@pytest.fixture(scope="module")
def classes(java_classes: Callable[..., Path]) -> Path:
    """The directory of the program's class files."""
    return java_classes("Transforming")


@pytest.fixture(scope="module")
def transforming(
    jvm: jvms.Jvm,
    classes: Path,
    shared_java_program: programs.JavaPrograms,
    tmp_path_factory: pytest.TempPathFactory,
) -> programs.JavaProgram:
    """The program, as a Java agent too."""
    jar = tmp_path_factory.mktemp("agent") / "transforming.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(
            "META-INF/MANIFEST.MF",
            "Manifest-Version: 1.0\nPremain-Class: Transforming\nCan-Retransform-Classes: true\n\n",
        )
    library = library_for_executable(jvm.java)
    program = shared_java_program(
        "Transforming",
        jvm_args=[f"-javaagent:{jar}", f"-agentpath:{library}=reserve", *NO_SIGNAL],
    )
    program.expect("ready", timeout=60)
    return program


@pytest.fixture(scope="module")
def vm(transforming: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session on that program."""
    with jvmti.attach(transforming.pid, capabilities="all", timeout=30) as attached:
        yield attached
        assert transforming.running()


@pytest.fixture
def changing(env: jvmti.Env) -> Class:
    """The class that is redefined."""
    return loaded_class(env, "Transforming$Changing")


@pytest.fixture
def original(classes: Path) -> ClassFile:
    """Its class file."""
    return ClassFile.parse(classes / "Transforming$Changing.class")


def another_text(made: ClassFile) -> None:
    made.replace_text("one", "two")


def newer_version(made: ClassFile) -> None:
    made.major = 200


def another_name(made: ClassFile) -> None:
    made.replace_text("Transforming$Changing", "Transforming$Chanting")


def its_own_superclass(made: ClassFile) -> None:
    made.super_class = made.this_class


def its_subclass_as_superclass(made: ClassFile) -> None:
    made.super_class = made.class_index("Transforming$Subclass")


def method_added(made: ClassFile) -> None:
    added = copy.deepcopy(made.method("spare"))
    added.name, added.access = "added", PUBLIC
    made.methods.append(added)


def method_deleted(made: ClassFile) -> None:
    made.methods.remove(made.method("spare"))


def field_added(made: ClassFile) -> None:
    added = copy.deepcopy(made.fields[0])
    added.name = "added"
    made.fields.append(added)


def field_removed(made: ClassFile) -> None:
    made.fields.pop()


def field_type_changed(made: ClassFile) -> None:
    made.fields[0].descriptor = "J"


def interface_added(made: ClassFile) -> None:
    made.interfaces.append(made.class_index("java/lang/Cloneable"))


def superclass_changed(made: ClassFile) -> None:
    made.super_class = made.class_index("java/util/Observable")


def class_made_final(made: ClassFile) -> None:
    made.access |= FINAL


def method_made_synchronized(made: ClassFile) -> None:
    made.method("version").access |= SYNCHRONIZED


def nest_host_removed(made: ClassFile) -> None:
    made.attributes = [one for one in made.attributes if one.name != "NestHost"]


def wrong_return(made: ClassFile) -> None:
    version = made.method("version")
    version.code = version.code.replace(ARETURN, IRETURN)


CHANGES = [
    (newer_version, "UNSUPPORTED_VERSION"),
    (another_name, "NAMES_DONT_MATCH"),
    # Not CIRCULAR_CLASS_DEFINITION: HotSpot finds the present class and compares.
    (its_own_superclass, "UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED"),
    (its_subclass_as_superclass, "UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED"),
    (wrong_return, "FAILS_VERIFICATION"),
    (method_added, "UNSUPPORTED_REDEFINITION_METHOD_ADDED"),
    (method_deleted, "UNSUPPORTED_REDEFINITION_METHOD_DELETED"),
    (field_added, "UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED"),
    (field_removed, "UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED"),
    (field_type_changed, "UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED"),
    (interface_added, "UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED"),
    (superclass_changed, "UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED"),
    (class_made_final, "UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED"),
    (method_made_synchronized, "UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED"),
    (nest_host_removed, "UNSUPPORTED_REDEFINITION_CLASS_ATTRIBUTE_CHANGED"),
]


def variant(original: ClassFile, change: Callable[[ClassFile], None]) -> bytes:
    made = copy.deepcopy(original)
    change(made)
    return made.to_bytes()


def test_a_class_file_survives_being_taken_apart(classes: Path) -> None:
    for path in classes.glob("*.class"):
        assert ClassFile.parse(path).to_bytes() == path.read_bytes()


@pytest.mark.parametrize(("change", "error"), CHANGES)
def test_a_change_that_redefinition_does_not_take(
    change: Callable[[ClassFile], None],
    error: str,
    env: jvmti.Env,
    changing: Class,
    original: ClassFile,
    transforming: programs.JavaProgram,
    evidence: Evidence,
) -> None:
    with pytest.raises(jvmti.JvmtiError) as caught:
        env.redefine_classes([ClassDefinition(changing, variant(original, change))])
    assert caught.value.name == error
    assert "[class Transforming$Changing]" in str(caught.value)
    assert transforming.ask("version") == "one"
    evidence.provokes("redefine_classes", error)


@pytest.mark.parametrize(("change", "error"), CHANGES)
def test_a_change_that_retransformation_does_not_take(
    change: Callable[[ClassFile], None],
    error: str,
    env: jvmti.Env,
    changing: Class,
    original: ClassFile,
    transforming: programs.JavaProgram,
    tmp_path: Path,
    evidence: Evidence,
) -> None:
    path = tmp_path / "Changing.class"
    path.write_bytes(variant(original, change))
    assert transforming.ask(f"use {path}") == "ok"
    try:
        with pytest.raises(jvmti.JvmtiError) as caught:
            env.retransform_classes([changing])
        assert caught.value.name == error
    finally:
        assert transforming.ask("use") == "ok"
    assert transforming.ask("version") == "one"
    evidence.provokes("retransform_classes", error)


def test_bytes_that_are_no_class_file(
    env: jvmti.Env,
    changing: Class,
    original: ClassFile,
    transforming: programs.JavaProgram,
    tmp_path: Path,
    evidence: Evidence,
) -> None:
    whole = original.to_bytes()
    for data in (b"", b"\xca\xfe\xba\xbe", b"garbage", whole[:-1], whole + b"\0"):
        with pytest.raises(jvmti.errors.InvalidClassFormat):
            env.redefine_classes([ClassDefinition(changing, data)])
    evidence.provokes("redefine_classes", "INVALID_CLASS_FORMAT")
    path = tmp_path / "Changing.class"
    path.write_bytes(whole[:-1])
    assert transforming.ask(f"use {path}") == "ok"
    try:
        with pytest.raises(jvmti.errors.InvalidClassFormat):
            env.retransform_classes([changing])
    finally:
        assert transforming.ask("use") == "ok"
    evidence.provokes("retransform_classes", "INVALID_CLASS_FORMAT")


@pytest.mark.parametrize("name", ["[I", "[Ljava/lang/String;"])
def test_arrays_are_not_modifiable(name: str, env: jvmti.Env, evidence: Evidence) -> None:
    klass = loaded_class(env, name)
    assert not env.is_modifiable_class(klass)
    with pytest.raises(jvmti.errors.UnmodifiableClass):
        env.redefine_classes([ClassDefinition(klass, b"\xca\xfe\xba\xbe")])
    with pytest.raises(jvmti.errors.UnmodifiableClass):
        env.retransform_classes([klass])
    evidence.provokes("redefine_classes", "UNMODIFIABLE_CLASS")
    evidence.provokes("retransform_classes", "UNMODIFIABLE_CLASS")


def test_either_all_classes_change_or_none(
    env: jvmti.Env, changing: Class, original: ClassFile, transforming: programs.JavaProgram
) -> None:
    other = loaded_class(env, "Transforming$Unrelated")
    good = ClassDefinition(changing, variant(original, another_text))
    both = r"one of the classes Transforming\$Changing, Transforming\$Unrelated"
    with pytest.raises(jvmti.errors.InvalidClassFormat, match=both):
        env.redefine_classes([good, ClassDefinition(other, b"garbage")])
    assert transforming.ask("version") == "one"


def test_what_is_too_long_together_is_refused_before_it_is_sent(
    changing: Class, env: jvmti.Env
) -> None:
    half = bytes(33 << 20)
    with pytest.raises(ValueError, match="a request takes at most"):
        env.redefine_classes([ClassDefinition(changing, half)] * 2)
    assert env.get_phase() == 4


def test_a_running_method_becomes_obsolete_when_its_class_is_redefined(
    env: jvmti.Env,
    changing: Class,
    original: ClassFile,
    transforming: programs.JavaProgram,
    evidence: Evidence,
) -> None:
    evidence.proves("redefine_classes", "is_method_obsolete")
    lingering = thread_named(env, "lingering")

    def running() -> str:
        for frame in env.get_stack_trace(lingering, 0, 20):
            if env.is_method_obsolete(frame.method):
                return "obsolete"
        return "current"

    assert running() == "current"
    env.redefine_classes([ClassDefinition(changing, variant(original, another_text))])
    try:
        assert transforming.ask("version") == "two"
        assert running() == "obsolete"
        assert not env.is_method_obsolete(method_named(env, changing, "linger"))
    finally:
        env.redefine_classes([ClassDefinition(changing, original.to_bytes())])
    assert transforming.ask("version") == "one"


def test_retransformation_installs_what_the_other_agent_makes(
    env: jvmti.Env,
    changing: Class,
    original: ClassFile,
    transforming: programs.JavaProgram,
    tmp_path: Path,
    evidence: Evidence,
) -> None:
    evidence.proves("retransform_classes")
    path = tmp_path / "Changing.class"
    path.write_bytes(variant(original, another_text))
    assert transforming.ask(f"use {path}") == "ok"
    assert transforming.ask("version") == "one"
    env.retransform_classes([changing])
    assert transforming.ask("version") == "two"
    assert transforming.ask("use") == "ok"
    env.retransform_classes([changing])
    assert transforming.ask("version") == "one"


def test_classes_of_the_platform_can_be_redefined(vm: jvmti.VM, env: jvmti.Env) -> None:
    """No module is closed to redefinition: UNMODIFIABLE_MODULE is never given."""
    jni: Any = vm.jni
    klass = jni.find_class("java/util/StringJoiner")
    loader = jni.find_class("java/lang/ClassLoader")
    find = jni.get_static_method_id(
        loader, "getSystemResourceAsStream", "(Ljava/lang/String;)Ljava/io/InputStream;"
    )
    name = jni.new_string_utf("java/util/StringJoiner.class")
    stream = jni.call_static_object_method(loader, find, [name])
    read = jni.get_method_id(jni.find_class("java/io/InputStream"), "readAllBytes", "()[B")
    data = jni.get_byte_array_elements(jni.call_object_method(stream, read)).tobytes()
    changed = ClassFile.parse(data)
    changed.replace_text("The prefix must not be null", "redefined")
    text = "Ljava/lang/CharSequence;"
    make = jni.get_method_id(klass, "<init>", f"({text}{text}{text})V")

    def refused() -> str:
        """What the class says of a joiner without a prefix."""
        with pytest.raises(jvmti.JavaException) as caught:
            jni.new_object(klass, make, [name, None, name])
        return str(caught.value)

    assert "The prefix must not be null" in refused()
    env.redefine_classes([ClassDefinition(klass, changed.to_bytes())])
    try:
        assert "redefined" in refused()
    finally:
        env.redefine_classes([ClassDefinition(klass, data)])
    assert "The prefix must not be null" in refused()
