"""The chapter "Field", against reflection and javap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jvmti
import programs
from conformance.class_file import ClassFile
from conformance.evidence import Evidence
from conformance.finding import field_named, loaded_class


def test_fields_are_what_reflection_says(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_field_name", "get_field_modifiers")
    everything = loaded_class(env, "Witness$Everything")
    found = []
    for field in env.get_class_fields(everything):
        name = env.get_field_name(everything, field)
        modifiers = env.get_field_modifiers(everything, field)
        found.append(f"{modifiers}:{name.name}:{name.signature}")
    assert sorted(found) == sorted(witness.ask("fields Everything").split())


def test_generic_signatures_are_those_of_the_class_file(
    env: jvmti.Env, java_classes: Callable[..., Path]
) -> None:
    everything = loaded_class(env, "Witness$Everything")
    parsed = ClassFile.parse(java_classes("Witness") / "Witness$Everything.class")
    for field, member in zip(env.get_class_fields(everything), parsed.fields, strict=True):
        declared = [one.data for one in member.attributes if one.name == "Signature"]
        generic = parsed.text(int.from_bytes(declared[0], "big")) if declared else None
        assert env.get_field_name(everything, field).generic == generic
    assert env.get_field_name(everything, field_named(env, everything, "generic")).generic


def test_a_field_is_declared_where_reflection_finds_it(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_field_declaring_class")
    derived, base = loaded_class(env, "Witness$Derived"), loaded_class(env, "Witness$Base")
    inherited = field_named(env, base, "initialized")
    for field, name in ((field_named(env, derived, "depth"), "depth"), (inherited, "initialized")):
        declaring = env.get_class_signature(env.get_field_declaring_class(derived, field))
        assert declaring.signature[1:-1] == witness.ask(f"declaring Derived {name}")


def test_the_reference_to_the_outer_object_is_synthetic(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("is_field_synthetic")
    for name in ("Generic$Inner", "Everything"):
        cls = loaded_class(env, f"Witness${name}")
        synthetic = {
            env.get_field_name(cls, field).name
            for field in env.get_class_fields(cls)
            if env.is_field_synthetic(cls, field)
        }
        witnessed = set(witness.ask(f"synthetic Witness${name}").split())
        assert synthetic == witnessed == ({"this$0"} if "Inner" in name else set())
