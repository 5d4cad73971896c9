"""The instructions of bytecode: their names, operands and sizes."""

from __future__ import annotations

from collections.abc import Iterator

from jvmti.classfile.reading import MalformedClassFile, Reader
from jvmti.interface.frozen import frozen

# In the order of their numbers. After a colon the operands of an instruction:
# c, C: a constant, its number in one byte or two; b, s: a number of one byte or two; l: a local;
# j, J: a jump target, two bytes or four; the others are handled by name.
_NAMES = """
nop aconst_null iconst_m1 iconst_0 iconst_1 iconst_2 iconst_3 iconst_4 iconst_5 lconst_0 lconst_1
fconst_0 fconst_1 fconst_2 dconst_0 dconst_1 bipush:b sipush:s ldc:c ldc_w:C ldc2_w:C
iload:l lload:l fload:l dload:l aload:l iload_0 iload_1 iload_2 iload_3 lload_0 lload_1 lload_2
lload_3 fload_0 fload_1 fload_2 fload_3 dload_0 dload_1 dload_2 dload_3 aload_0 aload_1 aload_2
aload_3 iaload laload faload daload aaload baload caload saload
istore:l lstore:l fstore:l dstore:l astore:l istore_0 istore_1 istore_2 istore_3 lstore_0 lstore_1
lstore_2 lstore_3 fstore_0 fstore_1 fstore_2 fstore_3 dstore_0 dstore_1 dstore_2 dstore_3 astore_0
astore_1 astore_2 astore_3 iastore lastore fastore dastore aastore bastore castore sastore
pop pop2 dup dup_x1 dup_x2 dup2 dup2_x1 dup2_x2 swap
iadd ladd fadd dadd isub lsub fsub dsub imul lmul fmul dmul idiv ldiv fdiv ddiv irem lrem frem drem
ineg lneg fneg dneg ishl lshl ishr lshr iushr lushr iand land ior lor ixor lxor iinc:i
i2l i2f i2d l2i l2f l2d f2i f2l f2d d2i d2l d2f i2b i2c i2s lcmp fcmpl fcmpg dcmpl dcmpg
ifeq:j ifne:j iflt:j ifge:j ifgt:j ifle:j if_icmpeq:j if_icmpne:j if_icmplt:j if_icmpge:j
if_icmpgt:j if_icmple:j if_acmpeq:j if_acmpne:j goto:j jsr:j ret:l tableswitch:t lookupswitch:t
ireturn lreturn freturn dreturn areturn return getstatic:C putstatic:C getfield:C putfield:C
invokevirtual:C invokespecial:C invokestatic:C invokeinterface:n invokedynamic:n new:C newarray:a
anewarray:C arraylength athrow checkcast:C instanceof:C monitorenter monitorexit wide:w
multianewarray:m ifnull:j ifnonnull:j goto_w:J jsr_w:J
""".split()

OPCODES: tuple[tuple[str, str], ...] = tuple(
    (name, takes) for name, _, takes in (entry.partition(":") for entry in _NAMES)
)
"""The name and operands of each opcode."""

ARRAY_TYPES = {
    4: "boolean",
    5: "char",
    6: "float",
    7: "double",
    8: "byte",
    9: "short",
    10: "int",
    11: "long",
}
"""The element types of ``newarray``."""


@frozen
class Instruction:
    """An instruction in the code of a method.

    Attributes:
        location: where it is, as a bytecode index.
        name: its name: ``invokevirtual``; ``iload_w`` for what ``wide`` makes of ``iload``.
        size: how many bytes it takes.
        constant: the number of the constant that it refers to, if any.
        local: the slot of its local variable, if it has one as an operand.
        target: the location that it may jump to, if any; the default of a switch.
        value: another number: a constant to push or add, a count or the number of dimensions.
        array_type: the element type of ``newarray``.
        cases: the locations of a switch by value.
    """

    location: int
    name: str
    size: int
    constant: int | None = None
    local: int | None = None
    target: int | None = None
    value: int | None = None
    array_type: str | None = None
    cases: dict[int, int] | None = None


def instructions(code: bytes) -> Iterator[Instruction]:
    """The instructions of a method, in the order of their locations.

    Args:
        code: the bytecodes of the whole method.

    Raises:
        MalformedClassFile: one is unknown, or the last one is truncated.
    """
    reader = Reader(code)
    while reader.at < reader.end:
        yield _instruction(reader)


_SIZES = {
    "": 1, "b": 2, "s": 3, "c": 2, "C": 3, "l": 2, "i": 3, "j": 3, "J": 5, "n": 5, "m": 4, "a": 2,
}  # fmt: skip
"""The bytes of an instruction by the letter of what it takes, where they are always as many."""
_SIZE = [_SIZES.get(takes, 0) for _, takes in OPCODES]


def starts(code: bytes) -> Iterator[tuple[int, int | None]]:
    """Where instructions begin, and of switches the number of cases; quicker than `instructions`.

    Args:
        code: the bytecodes of the whole method.

    Raises:
        MalformedClassFile: one is unknown, or the last one is truncated.
    """
    at, end, sizes = 0, len(code), _SIZE
    while at < end:
        opcode = code[at]
        size = sizes[opcode] if opcode < len(sizes) else 0
        if size:
            yield at, None
            at += size
            continue
        reader = Reader(code)
        reader.at = at
        one = _instruction(reader)
        yield at, None if one.cases is None else len(one.cases)
        at += one.size
    if at > end:
        raise MalformedClassFile(f"the code ends within an instruction, at {end}")


def _instruction(reader: Reader) -> Instruction:
    at = reader.at
    opcode = reader.u1()
    if opcode >= len(OPCODES):
        raise MalformedClassFile(f"no instruction has the opcode 0x{opcode:02x}, at {at}")
    name, takes = OPCODES[opcode]
    constant = local = target = value = None
    array_type = cases = None
    match takes:
        case "":
            return Instruction(at, name, 1)
        case "b":
            value = reader.s1()
        case "s":
            value = reader.s2()
        case "c":
            constant = reader.u1()
        case "C":
            constant = reader.u2()
        case "l":
            local = reader.u1()
        case "i":
            local, value = reader.u1(), reader.s1()
        case "j":
            target = at + reader.s2()
        case "J":
            target = at + reader.s4()
        case "n":
            constant, value = reader.u2(), reader.u1()
            reader.u1()
        case "m":
            constant, value = reader.u2(), reader.u1()
        case "a":
            kind = reader.u1()
            array_type = ARRAY_TYPES.get(kind, f"unknown type {kind}")
        case "w":
            wide = reader.u1()
            name, takes = OPCODES[wide] if wide < len(OPCODES) else ("?", "")
            if takes not in ("l", "i"):
                raise MalformedClassFile(f"{name} cannot be wide, at {at}")
            name, local = f"{name}_w", reader.u2()
            value = reader.s2() if takes == "i" else None
        case "t":
            reader.take(-(at + 1) % 4)
            target = at + reader.s4()
            cases = _cases(reader, at, name)
    return Instruction(at, name, reader.at - at, constant, local, target, value, array_type, cases)


def _cases(reader: Reader, at: int, name: str) -> dict[int, int]:
    if name == "tableswitch":
        low, high = reader.s4(), reader.s4()
        return {low + i: at + reader.s4() for i in range(high - low + 1)}
    return {reader.s4(): at + reader.s4() for _ in range(reader.s4())}


__all__ = ["ARRAY_TYPES", "OPCODES", "Instruction", "instructions", "starts"]
