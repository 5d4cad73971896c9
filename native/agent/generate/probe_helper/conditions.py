"""Methods by which probes begin, and test conditions: stack, locals and code of each, by name."""

from __future__ import annotations

from probe_helper.assembler import where_it_holds

# Follows a path of fields from local 3: `paths` has, by set and step, the classes of the objects on
# the way, and behind them the offsets of the fields there and what the last one is: one of _WHOLE
# and those behind it, 0 for a reference, -1 where the path met a null when it was found. What is
# asked about a class has the answer in place of an offset. The last one is the same for objects of
# other classes, or null.
# Locals: 7 those, 8 where on the path, 9 the offsets, 10 how many references, 11 the object there,
# 12 what the last one is.
_PATH = """
iload_0
ifeq off
{{is_gone_1}}
aload_3
ifnull {null}
getstatic THIS.paths [[[Ljava/lang/Object;
iload_1
sipush {{last_set}}
iand
aaload
astore 7
aload 7
ifnull ask
iload_2
aload 7
arraylength
if_icmpge ask
aload 7
iload_2
aaload
astore 7
one:
aload 7
ifnull ask
aload 7
arraylength
iconst_2
isub
istore 10
aload 7
iload 10
aaload
checkcast [J
astore 9
aload 9
iload 10
laload
lstore 12
lload 12
lconst_0
lcmp
ifle references
iload 10
iconst_1
isub
istore 10
references:
iconst_0
istore 8
aload_3
astore 11
next:
aload 11
ifnull {null}
iload 8
iload 10
if_icmpge there
{is_class}
getstatic THIS.unsafe L{{unsafe}};
aload 11
aload 9
iload 8
laload
invokevirtual {{unsafe}}.{{get_reference}} (Ljava/lang/Object;J)Ljava/lang/Object;
astore 11
iload 8
iconst_1
iadd
istore 8
goto next
there:
{there}
other:
aload 7
aload 7
arraylength
iconst_1
isub
aaload
checkcast [Ljava/lang/Object;
astore 7
goto one
ask:
iload_1
iload_2
aload_3
invokestatic THIS.test (IILjava/lang/Object;)I
ireturn
off:
iconst_0
ireturn
"""
_IS_CLASS = """
aload 11
invokevirtual java/lang/Object.getClass ()Ljava/lang/Class;
aload 7
iload 8
aaload
if_acmpne other
"""
_LAST = """
aload 11
aload 9
iload 8
laload
lload 12
"""
_WHOLE = {
    1: "{unsafe}.getInt (Ljava/lang/Object;J)I",
    2: "{unsafe}.getLong (Ljava/lang/Object;J)J",
    3: "{unsafe}.getBoolean (Ljava/lang/Object;J)Z",
    4: "{unsafe}.getByte (Ljava/lang/Object;J)B",
    5: "{unsafe}.getChar (Ljava/lang/Object;J)C",
    6: "{unsafe}.getShort (Ljava/lang/Object;J)S",
}
_ARRAY_LENGTH, _FLOAT, _ANSWER = 7, 9, 11
"""Behind these are the length of a text, and a double."""
_TO_TEXT = f"""
lload 12
lconst_0
lcmp
ifgt known
lload 12
lconst_0
lcmp
iflt other
aload 11
aload 4
iload 5
invokestatic THIS.test (Ljava/lang/Object;Ljava/lang/String;I)I
ireturn
known:
{_IS_CLASS}
lload 12
ldc2_w {_ANSWER}
lcmp
ifne character
aload 9
iload 8
laload
l2i
ireturn
character:
{_LAST}
invokestatic THIS.whole (Ljava/lang/Object;JJ)J
aload 4
invokestatic THIS.character (Ljava/lang/String;)J
iload 5
invokestatic THIS.test (JJI)I
ireturn
"""
_TO_NULL = """
lload 12
lconst_0
lcmp
iflt other
aload 11
iload 4
invokestatic THIS.test (Ljava/lang/Object;I)I
ireturn
null:
aconst_null
iload 4
invokestatic THIS.test (Ljava/lang/Object;I)I
ireturn
"""
_IS_NUMBER = f"""
lload 12
lconst_0
lcmp
ifle other
{_IS_CLASS}
lload 12
ldc2_w {_FLOAT}
lcmp
"""
_TO_WHOLE = f"""
{_IS_NUMBER}
ifge real
{_LAST}
invokestatic THIS.whole (Ljava/lang/Object;JJ)J
lload 4
iload 6
invokestatic THIS.test (JJI)I
ireturn
real:
{_LAST}
invokestatic THIS.real (Ljava/lang/Object;JJ)D
lload 4
l2d
iload 6
invokestatic THIS.test (DDI)I
ireturn
"""
_TO_REAL = f"""
{_IS_NUMBER}
ifne double
dload 4
d2f
f2d
dstore 4
double:
{_LAST}
invokestatic THIS.real (Ljava/lang/Object;JJ)D
dload 4
iload 6
invokestatic THIS.test (DDI)I
ireturn
"""


def _path(null: str, there: str) -> str:
    return _PATH.format(null=null, is_class=_IS_CLASS, there=there)


def _read(kind: int, method: str) -> str:
    """Reads a field of that kind; falls through where it is of another."""
    widen = "" if method.endswith("J") else "i2l"
    return f"""
        lload_3
        ldc2_w {kind}
        lcmp
        ifne other{kind}
        getstatic THIS.unsafe L{{unsafe}};
        aload_0
        lload_1
        invokevirtual {method}
        {widen}
        lreturn
        other{kind}:
        """


CONDITIONS: dict[str, tuple[int, int, str]] = {
    "test (IIILjava/lang/Object;Ljava/lang/String;I)I": (8, 14, _path("off", _TO_TEXT)),
    "test (IIILjava/lang/Object;JI)I": (8, 14, _path("off", _TO_WHOLE)),
    "test (IIILjava/lang/Object;DI)I": (8, 14, _path("off", _TO_REAL)),
    "test (IIILjava/lang/Object;I)I": (8, 14, _path("null", _TO_NULL)),
    # A whole number in a field of an object, or a length.
    "whole (Ljava/lang/Object;JJ)J": (
        5,
        5,
        "".join(_read(*one) for one in _WHOLE.items())
        + f"""
        lload_3
        ldc2_w {_ARRAY_LENGTH}
        lcmp
        ifne text
        aload_0
        invokestatic java/lang/reflect/Array.getLength (Ljava/lang/Object;)I
        i2l
        lreturn
        text:
        aload_0
        checkcast java/lang/String
        invokevirtual java/lang/String.length ()I
        i2l
        lreturn
        """,
    ),
    # Any number.
    "real (Ljava/lang/Object;JJ)D": (
        5,
        5,
        f"""
        lload_3
        ldc2_w {_FLOAT}
        lcmp
        ifeq float
        lload_3
        ldc2_w {_FLOAT}
        lcmp
        ifgt double
        aload_0
        lload_1
        lload_3
        invokestatic THIS.whole (Ljava/lang/Object;JJ)J
        l2d
        dreturn
        float:
        getstatic THIS.unsafe L{{unsafe}};
        aload_0
        lload_1
        invokevirtual {{unsafe}}.getFloat (Ljava/lang/Object;J)F
        f2d
        dreturn
        double:
        getstatic THIS.unsafe L{{unsafe}};
        aload_0
        lload_1
        invokevirtual {{unsafe}}.getDouble (Ljava/lang/Object;J)D
        dreturn
        """,
    ),
    # What a text of one character stands for; -1 for any other.
    "character (Ljava/lang/String;)J": (
        2,
        1,
        """
        aload_0
        invokevirtual java/lang/String.length ()I
        iconst_1
        if_icmpne none
        aload_0
        iconst_0
        invokevirtual java/lang/String.charAt (I)C
        i2l
        lreturn
        none:
        ldc2_w -1
        lreturn
        """,
    ),
    # What the class needs to know once.
    "<clinit> ()V": (
        5,
        0,
        """
        invokestatic {unsafe}.getUnsafe ()L{unsafe};
        putstatic THIS.unsafe L{unsafe};
        getstatic THIS.unsafe L{unsafe};
        ldc_w class java/lang/Thread
        ldc_w string tid
        invokevirtual {unsafe}.objectFieldOffset (Ljava/lang/Class;Ljava/lang/String;)J
        putstatic THIS.tid J
        getstatic THIS.unsafe L{unsafe};
        ldc_w class java/util/concurrent/locks/AbstractOwnableSynchronizer
        ldc_w string exclusiveOwnerThread
        invokevirtual {unsafe}.objectFieldOffset (Ljava/lang/Class;Ljava/lang/String;)J
        putstatic THIS.owner J
        invokestatic THIS.control ()J
        putstatic THIS.control J
        sipush {sets}
        anewarray [[Ljava/lang/Object;
        putstatic THIS.paths [[[Ljava/lang/Object;
        return
        """,
    ),
    # The time, which an entry keeps; 0 while the set does nothing.
    "start (I)J": (
        6,
        1,
        """
        {is_gone}
        invokestatic java/lang/System.nanoTime ()J
        lreturn
        off:
        lconst_0
        lreturn
        """,
    ),
    **where_it_holds("start", "(I)J"),
    # How long ago a call began; -1 where nobody knows.
    "elapsed (J)J": (
        4,
        2,
        """
        lload_0
        lconst_0
        lcmp
        ifeq unknown
        invokestatic java/lang/System.nanoTime ()J
        lload_0
        lsub
        lreturn
        unknown:
        ldc2_w -1
        lreturn
        """,
    ),
    # Whether a comparison holds for the outcome: the bits of 1 less, 2 equal, 4 greater.
    "test (JJI)I": (
        5,
        5,
        """
        iload 4
        lload_0
        lload_2
        lcmp
        iconst_1
        iadd
        ishr
        iconst_1
        iand
        ireturn
        """,
    ),
    # What is no number is neither less nor equal nor greater.
    "test (DDI)I": (
        5,
        5,
        """
        dload_0
        dload_2
        dcmpl
        dload_0
        dload_2
        dcmpg
        if_icmpne unordered
        iload 4
        dload_0
        dload_2
        dcmpl
        iconst_1
        iadd
        ishr
        iconst_1
        iand
        ireturn
        unordered:
        iload 4
        iconst_5
        if_icmpeq different
        iconst_0
        ireturn
        different:
        iconst_1
        ireturn
        """,
    ),
    # Whether it is null is asked for equality only.
    "test (Ljava/lang/Object;I)I": (
        2,
        2,
        """
        iload_1
        iconst_1
        ishr
        aload_0
        ifnull null
        iconst_1
        ixor
        null:
        iconst_1
        iand
        ireturn
        """,
    ),
    # Whether a step that the agent looks at holds, if what is before it does.
    **where_it_holds("test", "(IILjava/lang/Object;)I"),
    # Null has no text: neither an equal one nor another.
    "test (Ljava/lang/Object;Ljava/lang/String;I)I": (
        3,
        3,
        """
        aload_0
        ifnull none
        iload_2
        aload_1
        aload_0
        invokevirtual java/lang/String.equals (Ljava/lang/Object;)Z
        ishr
        iconst_1
        iand
        ireturn
        none:
        iconst_0
        ireturn
        """,
    ),
}


__all__ = ["CONDITIONS"]
