"""The chapter "Class": what classes there are and what they declare."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import jvms
import jvmti
import programs
from conformance import javap
from conformance.class_file import Attribute, ClassFile
from conformance.evidence import Evidence
from conformance.finding import kept, loaded_class
from jvmti.interface.constants import ClassStatus
from jvmti.refs import Class

NAMES = ["Everything", "Generic", "Derived", "Constants", "Colour", "Marked"]


@pytest.fixture(scope="module")
def classes(java_classes: Callable[..., Path]) -> Path:
    """The directory of the Witness's class files."""
    return java_classes("Witness")


@pytest.fixture(scope="module")
def initialized(witness: programs.JavaProgram) -> None:
    """The classes of `NAMES` have been initialised."""
    for name in NAMES:
        assert witness.ask(f"initialize {name}") == f"Witness${name}"


@pytest.fixture
def integer(vm: jvmti.VM) -> Class:
    """The class of the primitive type int."""
    jni = vm.jni
    boxed = jni.find_class("java/lang/Integer")
    field = jni.get_static_field_id(boxed, "TYPE", "Ljava/lang/Class;")
    found = jni.get_static_object_field(boxed, field)
    assert isinstance(found, Class)
    return found


def plain_program(vm: jvmti.VM, java_classes: Callable[..., Path]) -> Class:
    """A class without debug information, defined anew."""
    data = (java_classes("Idle", debug=False) / "Idle.class").read_bytes()
    try:
        return loaded_class(vm.env, "Idle")
    except StopIteration:
        return vm.jni.define_class("Idle", None, data)


def test_a_class_is_listed_once_it_is_loaded(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_loaded_classes")

    def listed(name: str) -> int:
        found = env.map.get_class_signature(env.get_loaded_classes()).signature
        return list(found).count(f"L{name.replace('.', '/')};")

    assert listed("java.util.concurrent.Exchanger") == 0
    assert witness.ask("load java.util.concurrent.Exchanger") == "java.util.concurrent.Exchanger"
    assert listed("java.util.concurrent.Exchanger") == 1
    bean = int(witness.ask("classes"))
    arrays = sum(env.map.is_array_class(env.get_loaded_classes()).value)
    assert abs(len(env.get_loaded_classes()) - arrays - bean) <= 30  # some may come and go


def test_a_class_loader_finds_its_own_classes(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_class_loader_classes", "get_class_loader")
    ours = loaded_class(env, "Witness$Derived")
    loader = env.get_class_loader(ours)
    assert loader is not None
    assert witness.ask("loader Derived").split("@")[0].endswith("AppClassLoader")
    found = [env.get_class_signature(cls).signature for cls in env.get_class_loader_classes(loader)]
    assert "LWitness$Derived;" in found
    of_boot = env.map.get_class_signature(env.get_class_loader_classes(None)).signature
    assert "Ljava/lang/Object;" in of_boot
    assert "LWitness$Derived;" not in of_boot
    assert witness.ask("loader java.lang.String") == "null"
    assert env.get_class_loader(loaded_class(env, "java.lang.String")) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_class_is_what_reflection_and_javap_say(
    name: str,
    env: jvmti.Env,
    initialized: None,
    witness: programs.JavaProgram,
    classes: Path,
    jdk: Path,
    evidence: Evidence,
) -> None:
    evidence.proves(
        "get_class_signature",
        "get_class_modifiers",
        "get_class_version_numbers",
        "get_source_file_name",
        "is_interface",
        "get_class_fields",
        "get_class_methods",
        "get_implemented_interfaces",
        "get_constant_pool",
    )
    path = classes / f"Witness${name}.class"
    printed = javap.read(jdk, path)
    cls = loaded_class(env, f"Witness${name}")
    signature = env.get_class_signature(cls)
    assert signature.signature == witness.ask(f"signature {name}")
    assert signature.generic == printed.generic
    # Reflection leaves out ACC_SUPER, which HotSpot has set for every class since Java 8.
    assert env.get_class_modifiers(cls) & ~0x20 == int(witness.ask(f"modifiers {name}"))
    version = env.get_class_version_numbers(cls)
    assert (version.minor_version, version.major_version) == printed.version
    assert env.get_source_file_name(cls) == printed.source_file == "Witness.java"
    assert env.is_interface(cls) == (witness.ask(f"status {name}").split()[2] == "true")
    fields = [env.get_field_name(cls, one).name for one in env.get_class_fields(cls)]
    assert fields == printed.fields
    methods = [tuple(env.get_method_name(one)[:2]) for one in env.get_class_methods(cls)]
    assert methods == [(one.name, one.descriptor) for one in printed.methods]
    interfaces = [
        env.get_class_signature(one).signature[1:-1].replace("/", ".")
        for one in env.get_implemented_interfaces(cls)
    ]
    assert interfaces == witness.ask(f"interfaces {name}").split()


@pytest.mark.parametrize("name", NAMES)
def test_the_constant_pool_is_that_of_the_class_file(
    name: str, env: jvmti.Env, initialized: None, classes: Path, jdk: Path
) -> None:
    path = classes / f"Witness${name}.class"
    pool = env.get_constant_pool(loaded_class(env, f"Witness${name}"))
    assert pool.constant_pool_count == javap.read(jdk, path).constants
    # The VM may have renumbered nothing, so that the bytes are the file's.
    assert pool.constant_pool_bytes == ClassFile.parse(path).pool_bytes


def test_a_class_goes_from_loaded_to_initialized(
    env: jvmti.Env, witness: programs.JavaProgram, integer: Class, evidence: Evidence
) -> None:
    evidence.proves("get_class_status")
    assert witness.ask("load Untouched") == "Witness$Untouched"
    untouched = loaded_class(env, "Witness$Untouched")
    assert not env.get_class_status(untouched) & ClassStatus.INITIALIZED
    assert witness.ask("untouched") == "null"
    assert witness.ask("initialize Untouched") == "Witness$Untouched"
    assert witness.ask("untouched") == "initialised"
    done = ClassStatus.VERIFIED | ClassStatus.PREPARED | ClassStatus.INITIALIZED
    assert env.get_class_status(untouched) == done
    assert env.get_class_status(loaded_class(env, "[I")) == ClassStatus.ARRAY
    assert env.get_class_status(integer) == ClassStatus.PRIMITIVE


def test_arrays_and_primitive_types_declare_nothing(
    env: jvmti.Env, integer: Class, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("is_array_class", "is_modifiable_class")
    ints = loaded_class(env, "[I")
    assert env.is_array_class(ints) == (witness.ask("status [I").split()[0] == "true")
    assert not env.is_array_class(integer)
    assert env.get_class_signature(integer).signature == "I"
    for cls in (ints, integer):
        assert env.get_class_methods(cls) == []
        assert env.get_class_fields(cls) == []
        assert env.get_implemented_interfaces(cls) == []
        assert not env.is_modifiable_class(cls)
    ours = loaded_class(env, "Witness$Derived")
    assert env.is_modifiable_class(ours)
    env.retransform_classes([ours])  # which it could not if it were not modifiable


def test_hidden_classes_are_not_modifiable(vm: jvmti.VM, env: jvmti.Env, jvm: jvms.Jvm) -> None:
    hidden = vm.jni.get_object_class(kept(vm, "lambda"))
    assert "Lambda" in env.get_class_signature(hidden).signature
    assert not env.is_modifiable_class(hidden)


@pytest.mark.parametrize(
    "function",
    [
        "get_source_file_name",
        "get_class_version_numbers",
        "get_constant_pool",
        "get_source_debug_extension",
    ],
)
def test_what_arrays_and_primitive_types_do_not_have(
    function: str, env: jvmti.Env, integer: Class, evidence: Evidence
) -> None:
    evidence.provokes(function, "ABSENT_INFORMATION")
    for cls in (loaded_class(env, "[I"), integer):
        with pytest.raises(jvmti.errors.AbsentInformation):
            getattr(env, function)(cls)


def test_a_class_file_without_its_source(
    vm: jvmti.VM, env: jvmti.Env, java_classes: Callable[..., Path]
) -> None:
    with pytest.raises(jvmti.errors.AbsentInformation):
        env.get_source_file_name(plain_program(vm, java_classes))


def test_the_source_debug_extension_is_the_attribute_of_the_class_file(
    vm: jvmti.VM, env: jvmti.Env, java_classes: Callable[..., Path], evidence: Evidence
) -> None:
    evidence.proves("get_source_debug_extension")
    text = "SMAP\nPage.java\nJSP\n*E é\n"
    made = ClassFile.parse(java_classes("Idle") / "Idle.class")
    made.replace_text("Idle", "Extended")
    made.attributes.append(Attribute("SourceDebugExtension", text.encode()))
    cls = vm.jni.define_class("Extended", None, made.to_bytes())
    assert env.get_source_debug_extension(cls) == text
    with pytest.raises(jvmti.errors.AbsentInformation):
        env.get_source_debug_extension(loaded_class(env, "Witness"))


def test_the_pool_count_of_class_files_counts_from_one(classes: Path, jdk: Path) -> None:
    """The two readings of class files that the tests rely on agree with each other."""
    for name in NAMES:
        path = classes / f"Witness${name}.class"
        (count,) = struct.unpack_from(">H", path.read_bytes(), 8)
        assert javap.read(jdk, path).constants == count
