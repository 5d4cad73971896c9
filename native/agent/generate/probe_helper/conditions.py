"""Methods by which probes begin, and test conditions: stack, locals and code of each, by name."""

from __future__ import annotations

from probe_helper.assembler import where_it_holds

# Follows a path of fields from local 3: `paths` has, by set and step, the classes of the objects on
# the way, and behind them the offsets and the type of the last field, 1 for int and 2 for long.
# Locals: 7 those, 8 where on the path, 9 the offsets, 10 how many references, 11 the object there.
_PATH = """
iload_0
ifeq off
{{is_gone_1}}
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
aload 7
ifnull ask
aload 7
arraylength
iconst_1
isub
istore 10
aload 7
iload 10
aaload
checkcast [J
astore 9
{numbers}
iconst_0
istore 8
aload_3
astore 11
next:
iload 8
iload 10
if_icmpge there
aload 11
ifnull off
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
if_acmpne ask
"""
_TO_TEXT = """
aload 11
aload 4
iload 5
invokestatic THIS.test (Ljava/lang/Object;Ljava/lang/String;I)I
ireturn
"""
_TO_NUMBER = f"""
aload 11
ifnull off
{_IS_CLASS}
getstatic THIS.unsafe L{{unsafe}};
aload 11
aload 9
iload 8
laload
aload 9
iload 8
iconst_1
iadd
laload
lconst_1
lcmp
ifne wide
invokevirtual {{unsafe}}.getInt (Ljava/lang/Object;J)I
i2l
goto compare
wide:
invokevirtual {{unsafe}}.getLong (Ljava/lang/Object;J)J
compare:
lload 4
iload 6
invokestatic THIS.test (JJI)I
ireturn
"""
# The last field of the path is no reference.
_NUMBERS_LAST = """
iload 10
iconst_1
isub
istore 10
"""

CONDITIONS: dict[str, tuple[int, int, str]] = {
    "test (IIILjava/lang/Object;Ljava/lang/String;I)I": (
        6,
        12,
        _PATH.format(numbers="", is_class=_IS_CLASS, there=_TO_TEXT),
    ),
    "test (IIILjava/lang/Object;JI)I": (
        8,
        12,
        _PATH.format(numbers=_NUMBERS_LAST, is_class=_IS_CLASS, there=_TO_NUMBER),
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
