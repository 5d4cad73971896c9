"""Classes as text, the way ``javap -c -p`` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from jvmti.classfile.constant_pool import Constant, describe
from jvmti.classfile.generic import class_signature, method_signature, type_signature
from jvmti.classfile.opcodes import Instruction, instructions
from jvmti.classfile.structure import ClassFile, Code, FieldInfo, MethodInfo
from jvmti.interface.modifiers import ClassModifiers, MethodModifiers, flag_names
from jvmti.interface.signatures import java_name
from jvmti.text.printable import printable

_COMMENT = 40
"""The column in which the comment behind an instruction begins."""

_LABELS = {
    "Class": "class",
    "Fieldref": "Field",
    "Methodref": "Method",
    "InterfaceMethodref": "InterfaceMethod",
    "Integer": "int",
    "Float": "float",
    "Long": "long",
    "Double": "double",
}


class Row(NamedTuple):
    """A line of a disassembly."""

    text: str
    location: int | None = None
    """The bytecode index of the instruction that begins here, if one does."""


# ---- declarations -----------------------------------------------------------------------------


def class_declaration(file: ClassFile) -> str:
    """A class as it is declared: ``public class java.util.HashMap<K, V> extends …``."""
    flags = file.modifiers
    is_interface = bool(flags & ClassModifiers.INTERFACE)
    words = [word for word in str(flags).split() if word in ("public", "final", "abstract")]
    if is_interface:
        words = [word for word in words if word != "abstract"]
    words.append("interface" if is_interface else "class")
    name = java_name(f"L{file.name};")
    if file.generic_signature is not None:
        generic = class_signature(file.generic_signature)
        superclass, interfaces = generic.superclass, ", ".join(generic.interfaces)
        if generic.type_parameters:
            name += f"<{', '.join(generic.type_parameters)}>"
    else:
        superclass = java_name(f"L{file.superclass};") if file.superclass else "java.lang.Object"
        # Without a blank: javap has it only if the interfaces have type parameters.
        interfaces = ",".join(java_name(f"L{interface};") for interface in file.interfaces)
    text = f"{' '.join(words)} {name}"
    if superclass != "java.lang.Object" and not is_interface:
        text += f" extends {superclass}"
    if interfaces:
        text += f" {'extends' if is_interface else 'implements'} {interfaces}"
    return text


def field_declaration(modifiers: object, name: str, signature: str) -> str:
    """A field as it is declared: ``transient int size``.

    Args:
        modifiers: its access flags.
        name: its name.
        signature: its generic signature, or else its descriptor.
    """
    return f"{modifiers} {type_signature(signature)} {name}".lstrip()


def method_declaration(
    modifiers: MethodModifiers,
    class_name: str,
    name: str,
    signature: str,
    exceptions: list[str],
    *,
    in_interface: bool = False,
) -> str:
    """A method as it is declared: ``public V put(K, V) throws …``.

    Args:
        modifiers: its access flags.
        class_name: the Java name of the class, for a constructor.
        name: its name.
        signature: its generic signature, or else its descriptor.
        exceptions: the Java names of its exceptions, if the signature does not have them.
        in_interface: whether it belongs to an interface.
    """
    if name == "<clinit>":
        return "static {}"
    generic = method_signature(signature)
    words = str(modifiers).split()
    plain = MethodModifiers.STATIC | MethodModifiers.ABSTRACT | MethodModifiers.PRIVATE
    if in_interface and not modifiers & plain:
        words.append("default")
    if generic.type_parameters:
        words.append(f"<{', '.join(generic.type_parameters)}>")
    parameters = list(generic.parameters)
    if modifiers & MethodModifiers.VARARGS and parameters and parameters[-1].endswith("[]"):
        parameters[-1] = parameters[-1][:-2] + "..."
    if name == "<init>":
        words.append(f"{class_name}({', '.join(parameters)})")
    else:
        words.append(f"{generic.result} {name}({', '.join(parameters)})")
    throws = generic.throws or exceptions
    if throws:
        words.append(f"throws {', '.join(throws)}")
    return " ".join(words)


def _method(file: ClassFile, method: MethodInfo) -> str:
    return method_declaration(
        method.modifiers,
        java_name(f"L{file.name};"),
        method.name,
        method.generic_signature or method.descriptor,
        [java_name(f"L{name};") for name in method.exceptions],
        in_interface=bool(file.modifiers & ClassModifiers.INTERFACE),
    )


def _field(field: FieldInfo) -> str:
    return field_declaration(
        field.modifiers, field.name, field.generic_signature or field.descriptor
    )


# ---- code -------------------------------------------------------------------------------------


def disassemble(file: ClassFile, *, verbose: bool = False) -> str:
    """A whole class, the way ``javap -c -p`` writes it.

    Args:
        file: the class.
        verbose: include what ``javap -v`` adds: versions, flags, constants, lines, local variables.
    """
    lines = []
    source = file.source_file
    if verbose:
        lines += [f'  Compiled from "{source}"'] if source else []
        lines += [class_declaration(file), *_verbose_head(file), "{"]
    else:
        lines += [f'Compiled from "{source}"'] if source else []
        lines += [class_declaration(file) + " {"]
    for field in file.fields:
        lines += [*field_lines(field, verbose=verbose), ""]
    for place, method in enumerate(file.methods):
        lines += [""] if place else []
        lines += _method_lines(file, method, verbose)
    lines.append("}")
    return _text(lines)


def disassemble_method(file: ClassFile, method: MethodInfo, *, verbose: bool = False) -> str:
    """A method, the way ``javap -c -p`` writes it."""
    return _text(_method_lines(file, method, verbose))


def disassemble_code(bytecodes: bytes, pool: Mapping[int, Constant], within: str | None) -> str:
    """Only instructions, one a line.

    Args:
        bytecodes: those of a whole method.
        pool: the constants of its class.
        within: the internal name of its class.
    """
    return _text(row.text for row in code_rows(bytecodes, pool, within))


def code_rows(
    bytecodes: bytes, pool: Mapping[int, Constant], within: str | None, margin: str = ""
) -> Iterator[Row]:
    """Only instructions, with their locations.

    Args:
        bytecodes: those of a whole method.
        pool: the constants of its class.
        within: the internal name of its class.
        margin: blanks before each line.
    """
    return instruction_rows(instructions(bytecodes), pool, within, margin)


def instruction_rows(
    found: Iterable[Instruction], pool: Mapping[int, Constant], within: str | None, margin: str = ""
) -> Iterator[Row]:
    """The same of instructions that have been read."""
    for one in found:
        location: int | None = one.location
        for line in _instruction(one, pool, within):
            yield Row(margin + line, location)
            location = None


def _text(lines: Iterable[str]) -> str:
    """The lines as one text, in which a name cannot end a line or control a terminal."""
    return "\n".join(map(printable, lines))


def field_lines(field: FieldInfo, *, verbose: bool = False) -> Iterator[str]:
    """A field, the way ``javap -p`` writes it, without the empty line behind it."""
    yield f"  {_field(field)};"
    if verbose:
        yield f"    descriptor: {field.descriptor}"
        yield f"    flags: {_flags(field.modifiers)}"
        if field.constant_value is not None:
            yield f"    ConstantValue: {field.constant_value!r}"
        yield from (f"    {annotation}" for annotation in field.annotations)


def _method_lines(file: ClassFile, method: MethodInfo, verbose: bool) -> Iterator[str]:
    return (row.text for row in method_rows(file, method, verbose=verbose))


def method_rows(file: ClassFile, method: MethodInfo, *, verbose: bool = False) -> Iterator[Row]:
    """The lines of `disassemble_method`, with the locations of the instructions."""
    yield Row(f"  {_method(file, method)};")
    code = method.code
    if verbose:
        yield Row(f"    descriptor: {method.descriptor}")
        yield Row(f"    flags: {_flags(method.modifiers)}")
        yield from (Row(f"    {annotation}") for annotation in method.annotations)
    if code is None:
        return
    yield Row("    Code:")
    margin = "    "
    if verbose:
        yield Row(f"      stack={code.max_stack}, locals={code.max_locals}")
        margin = "      "
    yield from code_rows(code.bytecodes, file.pool, file.name, margin)
    yield from (Row(margin + line) for line in _exceptions(code))
    if verbose:
        yield from (Row(f"      {line}") for line in _tables(code))


def _instruction(
    one: Instruction, pool: Mapping[int, Constant], within: str | None
) -> Iterator[str]:
    start = f"{one.location:4d}: "
    if one.cases is not None:
        ends = f"{min(one.cases)} to {max(one.cases)}" if one.cases else ""
        yield f"{start}{one.name:13s} {{ // " + (
            ends if one.name == "tableswitch" else str(len(one.cases))
        )
        for value, target in one.cases.items():
            yield f"{value:18d}: {target}"
        yield f"{'default':>18s}: {one.target}"
        yield "      }"
        return
    operands = ""
    comment = ""
    if one.constant is not None:
        operands = f"#{one.constant}"
        if one.value is not None:
            operands += f",  {one.value}"
        elif one.name == "invokedynamic":
            operands += ",  0"
        constant = pool[one.constant]
        label = _LABELS.get(constant.kind, constant.kind)
        comment = f"// {label} {describe(constant, within)}"
    elif one.local is not None:
        operands = str(one.local) if one.value is None else f"{one.local}, {one.value}"
    elif one.target is not None:
        operands = str(one.target)
    elif one.value is not None:
        operands = str(one.value)
    elif one.array_type is not None:
        operands = f" {one.array_type}"
    text = f"{start}{one.name:13s} {operands}"
    yield f"{text:{_COMMENT}s}{comment}" if comment else text.rstrip()


def _exceptions(code: Code) -> Iterator[str]:
    if code.exception_table:
        yield "Exception table:"
        yield "   from    to  target type"
        for start, end, handler, catches in code.exception_table:
            kind = "any" if catches is None else f"Class {catches}"
            yield f"{start:>8d} {end:>5d} {handler:>5d}   {kind}"


def _tables(code: Code) -> Iterator[str]:
    if code.lines:
        yield "LineNumberTable:"
        for location, line in code.lines:
            yield f"  line {line}: {location}"
    if code.local_variables:
        yield "LocalVariableTable:"
        yield "  Start  Length  Slot  Name   Signature"
        for variable in code.local_variables:
            yield (
                f"  {variable.start:5d} {variable.length:7d} {variable.slot:5d} "
                f"{variable.name:>5s}   {variable.descriptor}"
            )


def _verbose_head(file: ClassFile) -> Iterator[str]:
    major, minor = file.version
    yield f"  minor version: {minor}"
    yield f"  major version: {major}"
    yield f"  flags: {_flags(file.modifiers)}"
    yield from (f"  {annotation}" for annotation in file.annotations)
    if file.nest_host:
        yield f"  NestHost: {file.nest_host}"
    yield from (f"  NestMember: {name}" for name in file.nest_members)
    yield from (f"  PermittedSubclass: {name}" for name in file.permitted_subclasses)
    for inner in file.inner_classes:
        words = f"{inner.modifiers} ".lstrip()
        yield f"  InnerClass: {words}{inner.simple_name or '(anonymous)'} = {inner.name}"
    for component in file.record_components:
        kind = type_signature(component.generic_signature or component.descriptor)
        yield f"  Record component: {kind} {component.name}"
    for number, bootstrap in enumerate(file.bootstrap_methods):
        yield f"  Bootstrap method {number}: {describe(bootstrap.method)}"
        yield from (f"    {describe(argument)}" for argument in bootstrap.arguments)
    yield "Constant pool:"
    width = len(str(file.pool.count)) + 1
    for constant in file.pool.values():
        yield _constant(constant, width)


def _constant(constant: Constant, width: int) -> str:
    """An entry of the constant pool: its references, and their meaning."""
    start = f"  {'#' + str(constant.index):>{width}s} = {constant.kind:18s} "
    if not constant.refers_to:
        return (start + describe(constant)).rstrip()
    first, *rest = constant.refers_to
    match constant.kind:
        case "MethodHandle":
            raw = f"{first}:#{rest[0]}"
        case "Dynamic" | "InvokeDynamic":
            raw = f"#{first}:#{rest[0]}"
        case "NameAndType":
            raw = f"#{first}:#{rest[0]}"
        case _:
            raw = ".".join(f"#{index}" for index in constant.refers_to)
    return f"{start}{raw:14s} // {describe(constant)}".rstrip()


def _flags(flags: object) -> str:
    number = int(flags)  # type: ignore[call-overload]
    return f"(0x{number:04x}) {', '.join(flag_names(flags))}".rstrip()  # type: ignore[arg-type]


__all__ = [
    "Row",
    "class_declaration",
    "code_rows",
    "disassemble",
    "disassemble_code",
    "disassemble_method",
    "field_declaration",
    "field_lines",
    "method_declaration",
    "method_rows",
]
