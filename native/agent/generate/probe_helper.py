"""``probe_helper.h``: the class that probes call, as a class file, assembled here.

Its methods write to memory of the agent's by ``jdk.internal.misc.Unsafe``, so a probe costs no call
out of Java. It lives in ``java.lang``, where every class finds it. The class file is of version 49,
which needs no table of frames. Its name has a digest of its content, because it cannot be unloaded.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

from cpp import HEAD

from jvmti.classfile.opcodes import OPCODES
from jvmti.layouts.probe_memory import CONTROL, LANES, MEMORY, TALLIES
from jvmti.layouts.probes import RECORDED

_AT = CONTROL.offsets
_IN = RECORDED.offsets
_EXPONENT_BIAS = 1023 * TALLIES.PER_OCTAVE
_NEEDS_REFERENCE = {
    *("getstatic", "putstatic", "getfield", "invokestatic", "invokevirtual", "invokespecial")
}
_NEEDS_CLASS = {"anewarray", "checkcast"}

_PUBLIC, _PRIVATE, _STATIC, _NATIVE, _FINAL, _SUPER = 1, 2, 8, 0x100, 0x10, 0x20

_UNSAFE = "jdk/internal/misc/Unsafe"
# Where the control line of the set in local 0 is.
_CONTROL = """
getstatic THIS.control J
iload_0
bipush {last_set}
iand
bipush 6
ishl
i2l
ladd
"""
# Whether that set is the one whose line it is; behind the address.
_IS_GONE = """
getstatic THIS.unsafe L{unsafe};
{control}
ldc2_w {number}
ladd
invokevirtual {unsafe}.getLong (J)J
iload_0
i2l
lcmp
ifne off
"""

# Follows a path of fields from local 3: `paths` has, by set and step, the classes of the objects on
# the way, and behind them the offsets and the type of the last field, 1 for int and 2 for long.
# Locals: 7 those, 8 where on the path, 9 the offsets, 10 how many references, 11 the object there.
_PATH = """
iload_0
ifeq off
{{is_gone_1}}
getstatic THIS.paths [[[Ljava/lang/Object;
iload_1
bipush {{last_set}}
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

_METHODS = {
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
        bipush {sets}
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
    # The same, where a condition holds.
    "start (II)J": (
        2,
        2,
        """
        iload_0
        ifeq off
        iload_1
        invokestatic THIS.start (I)J
        lreturn
        off:
        lconst_0
        lreturn
        """,
    ),
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
    "test (IIILjava/lang/Object;)I": (
        3,
        4,
        """
        iload_0
        ifeq off
        iload_1
        iload_2
        aload_3
        invokestatic THIS.test (IILjava/lang/Object;)I
        ireturn
        off:
        iconst_0
        ireturn
        """,
    ),
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
    # The same as the other one, where a condition holds.
    "begin (IIIJ)J": (
        5,
        5,
        """
        iload_0
        ifeq off
        iload_1
        iload_2
        lload_3
        invokestatic THIS.begin (IIJ)J
        lreturn
        off:
        lconst_0
        lreturn
        """,
    ),
    # Claims a record: its address, or 0.  Locals: 4 control, 6 lanes, 8 now, 10 thread,
    # 12 head, 14 lane, 16 record.  C2 inlines no method beyond 325 bytes, so what is rare is
    # elsewhere; the owner of a lane is alone in it.
    "begin (IIJ)J": (
        10,
        18,
        """
        lload_2
        lconst_0
        lcmp
        ifeq off
        {is_gone}
        {control}
        lstore 4
        getstatic THIS.unsafe L{unsafe};
        lload 4
        invokevirtual {unsafe}.getLong (J)J
        lstore 6
        lconst_0
        lstore 8
        lload_2
        lconst_0
        lcmp
        iflt untimed
        invokestatic java/lang/System.nanoTime ()J
        lstore 8
        lload 8
        lload_2
        lsub
        getstatic THIS.unsafe L{unsafe};
        lload 4
        ldc2_w {shortest}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lcmp
        iflt off
        untimed:
        getstatic THIS.unsafe L{unsafe};
        lload 6
        ldc2_w {every}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lconst_1
        lcmp
        ifle each
        lload 6
        invokestatic THIS.chosen (J)I
        ifeq off
        each:
        {current}
        lstore 10
        lload 6
        lload 10
        ldc2_w {last_owned_lane}
        land
        bipush {line_bits}
        lshl
        ladd
        lstore 14
        getstatic THIS.unsafe L{unsafe};
        lload 14
        ldc2_w {owner}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lload 10
        lcmp
        ifeq own
        lload 14
        ldc2_w {owner}
        ladd
        lload 10
        invokestatic THIS.owns (JJ)I
        ifne own
        lload 14
        ldc2_w {shared_lanes}
        ladd
        lstore 14
        lload 4
        lload 14
        invokestatic THIS.claim (JJ)J
        lstore 12
        lload 12
        lconst_0
        lcmp
        ifge claimed
        off:
        lconst_0
        lreturn
        own:
        getstatic THIS.unsafe L{unsafe};
        lload 14
        invokevirtual {unsafe}.getLong (J)J
        lstore 12
        lload 4
        lload 14
        lload 12
        invokestatic THIS.room (JJJ)I
        ifle full
        getstatic THIS.unsafe L{unsafe};
        lload 14
        lload 12
        lconst_1
        ladd
        invokevirtual {unsafe}.putLong (JJ)V
        claimed:
        lload 4
        lload 14
        lload 6
        lsub
        lload 12
        invokestatic THIS.record (JJJ)J
        lstore 16
        lload 16
        lload 12
        lload 8
        lload_2
        lload 10
        invokestatic THIS.head (JJJJJ)V
        getstatic THIS.unsafe L{unsafe};
        lload 16
        ldc2_w {site}
        ladd
        iload_1
        invokevirtual {unsafe}.putInt (JI)V
        getstatic THIS.unsafe L{unsafe};
        lload 16
        ldc2_w {probes}
        ladd
        iload_0
        invokevirtual {unsafe}.putInt (JI)V
        lload 16
        lreturn
        full:
        lload 14
        ldc2_w {dropped}
        ladd
        lconst_1
        invokestatic THIS.add (JJ)V
        goto off
        """,
    ),
    # Whether the n-th record or change is one of those that are wanted; of some lanes.
    "chosen (J)I": (
        8,
        2,
        """
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_0
        ldc2_w {reached}
        ladd
        lconst_1
        invokevirtual {unsafe}.getAndAddLong (Ljava/lang/Object;JJ)J
        getstatic THIS.unsafe L{unsafe};
        lload_0
        ldc2_w {every}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lrem
        lconst_0
        lcmp
        ifne off
        iconst_1
        ireturn
        off:
        iconst_0
        ireturn
        """,
    ),
    # Whether something without an owner, in the place of whose number is zero, has this one now.
    "owns (JJ)I": (
        8,
        4,
        """
        getstatic THIS.unsafe L{unsafe};
        lload_0
        invokevirtual {unsafe}.getLong (J)J
        lconst_0
        lcmp
        ifne off
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_0
        lconst_0
        lload_2
        invokevirtual {unsafe}.compareAndSetLong (Ljava/lang/Object;JJJ)Z
        ireturn
        off:
        iconst_0
        ireturn
        """,
    ),
    # How much of a lane is free, by the control line and its head: above 0 if there is any.
    "room (JJJ)I": (
        9,
        6,
        """
        ldc2_w {lane_size}
        lload 4
        getstatic THIS.unsafe L{unsafe};
        lload_2
        ldc2_w {tails}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lsub
        getstatic THIS.unsafe L{unsafe};
        lload_0
        ldc2_w {size}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lmul
        lcmp
        ireturn
        """,
    ),
    # The number of the next record in a lane that several threads share; -1 if there is no room.
    "claim (JJ)J": (
        10,
        6,
        """
        again:
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_2
        invokevirtual {unsafe}.getLongVolatile (Ljava/lang/Object;J)J
        lstore 4
        lload_0
        lload_2
        lload 4
        invokestatic THIS.room (JJJ)I
        ifle full
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_2
        lload 4
        lload 4
        lconst_1
        ladd
        invokevirtual {unsafe}.compareAndSetLong (Ljava/lang/Object;JJJ)Z
        ifeq again
        lload 4
        lreturn
        full:
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_2
        ldc2_w {dropped}
        ladd
        lconst_1
        invokevirtual {unsafe}.getAndAddLong (Ljava/lang/Object;JJ)J
        pop2
        ldc2_w -1
        lreturn
        """,
    ),
    # Where a record is: by the control line, how far the line of its lane is behind the first, and
    # its number.
    "record (JJJ)J": (
        9,
        6,
        """
        getstatic THIS.unsafe L{unsafe};
        lload_0
        ldc2_w {records}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lload_2
        bipush {lane_per_line_bits}
        lshl
        ladd
        lload 4
        getstatic THIS.unsafe L{unsafe};
        lload_0
        ldc2_w {size}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lmul
        ldc2_w {lane_end}
        land
        ladd
        lreturn
        """,
    ),
    # What a record begins with: its number, when it was made, when that began, the thread.
    "head (JJJJJ)V": (
        7,
        10,
        """
        getstatic THIS.unsafe L{unsafe};
        lload_0
        ldc2_w {claimed}
        ladd
        lload_2
        lconst_1
        ladd
        invokevirtual {unsafe}.putLong (JJ)V
        getstatic THIS.unsafe L{unsafe};
        lload_0
        ldc2_w {time}
        ladd
        lload 4
        invokevirtual {unsafe}.putLong (JJ)V
        getstatic THIS.unsafe L{unsafe};
        lload_0
        ldc2_w {started}
        ladd
        lload 6
        invokevirtual {unsafe}.putLong (JJ)V
        getstatic THIS.unsafe L{unsafe};
        lload_0
        ldc2_w {thread}
        ladd
        lload 8
        invokevirtual {unsafe}.putLong (JJ)V
        return
        """,
    ),
    # Adds to a number that no other thread writes to.
    "add (JJ)V": (
        7,
        4,
        """
        getstatic THIS.unsafe L{unsafe};
        lload_0
        getstatic THIS.unsafe L{unsafe};
        lload_0
        invokevirtual {unsafe}.getLong (J)J
        lload_2
        ladd
        invokevirtual {unsafe}.putLong (JJ)V
        return
        """,
    ),
    # The record is whole.
    "end (J)V": (
        9,
        2,
        """
        lload_0
        lconst_0
        lcmp
        ifeq off
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_0
        getstatic THIS.unsafe L{unsafe};
        lload_0
        ldc2_w {claimed}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        invokevirtual {unsafe}.putLongRelease (Ljava/lang/Object;JJ)V
        off:
        return
        """,
    ),
    "put (JLjava/lang/Object;I)J": (
        5,
        4,
        """
        lload_0
        aload_2
        iload_3
        iconst_m1
        invokestatic THIS.put (JLjava/lang/Object;II)J
        lreturn
        """,
    ),
    # What the path of an operand leads to, or the object itself.
    "put (JLjava/lang/Object;II)J": (
        6,
        5,
        """
        lload_0
        lconst_0
        lcmp
        ifeq off
        aload_2
        ifnull none
        lload_0
        aload_2
        iload_3
        iload 4
        invokestatic THIS.object (JLjava/lang/Object;II)V
        lload_0
        lreturn
        none:
        getstatic THIS.unsafe L{unsafe};
        lload_0
        iload_3
        i2l
        ladd
        lconst_0
        invokevirtual {unsafe}.putLong (JJ)V
        off:
        lload_0
        lreturn
        """,
    ),
    # Counts a call by how long it took.
    "tally (IIIJ)V": (
        5,
        5,
        """
        iload_0
        ifeq off
        iload_1
        iload_2
        lload_3
        invokestatic THIS.tally (IIJ)V
        off:
        return
        """,
    ),
    "tally (IIJ)V": (
        6,
        4,
        """
        lload_2
        lconst_0
        lcmp
        ifeq off
        {is_gone}
        iload_0
        iload_1
        lload_2
        invokestatic THIS.count (IIJ)V
        off:
        return
        """,
    ),
    # The same by a value, whose tally the agent knows: the set, 1 for a failure, when it began, the
    # value, and its operand.  The agent finds the caller behind as many frames in either.
    "tally (IIIJLjava/lang/Object;I)V": (
        6,
        7,
        """
        iload_0
        ifeq off
        lload_3
        lconst_0
        lcmp
        ifeq off
        {is_gone_1}
        iload_1
        iload_1
        aload 5
        iload 6
        invokestatic THIS.key (ILjava/lang/Object;I)I
        iload_2
        ior
        lload_3
        invokestatic THIS.count (IIJ)V
        off:
        return
        """,
    ),
    "tally (IIJLjava/lang/Object;I)V": (
        6,
        6,
        """
        lload_2
        lconst_0
        lcmp
        ifeq off
        {is_gone}
        iload_0
        iload_0
        aload 4
        iload 5
        invokestatic THIS.key (ILjava/lang/Object;I)I
        iload_1
        ior
        lload_2
        invokestatic THIS.count (IIJ)V
        off:
        return
        """,
    ),
    # Adds a call to a tally: the set, the tally, when it began; -1 where that is not measured.
    # Locals: 4 the thread, 6 the line of its stripe, 8 the tally.
    "count (IIJ)V": (
        8,
        10,
        """
        {current}
        lstore 4
        getstatic THIS.unsafe L{unsafe};
        {control}
        invokevirtual {unsafe}.getLong (J)J
        lload 4
        ldc2_w {last_owned_stripe}
        land
        bipush {line_bits}
        lshl
        ladd
        lstore 6
        getstatic THIS.unsafe L{unsafe};
        {control}
        ldc2_w {tallies}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lload 4
        ldc2_w {last_owned_stripe}
        land
        bipush {stripe_bits}
        lshl
        ladd
        iload_1
        sipush {last_tally}
        iand
        bipush {tally_bits}
        ishl
        i2l
        ladd
        lstore 8
        getstatic THIS.unsafe L{unsafe};
        lload 6
        ldc2_w {stripe_owner}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lload 4
        lcmp
        ifeq own
        lload 6
        ldc2_w {stripe_owner}
        ladd
        lload 4
        invokestatic THIS.owns (JJ)I
        ifne own
        iload_0
        lload 6
        lload 8
        lload_2
        invokestatic THIS.share (IJJJ)V
        return
        own:
        lload_2
        lconst_0
        lcmp
        ifge timed
        lload 8
        lconst_1
        invokestatic THIS.add (JJ)V
        return
        timed:
        lload 8
        iload_0
        invokestatic java/lang/System.nanoTime ()J
        lload_2
        lsub
        invokestatic THIS.measure (JIJ)V
        return
        """,
    ),
    # Adds a duration to a tally that no other thread writes to: the tally, the set, the duration.
    # Local 5 is the bucket, then where the longest is.
    "measure (JIJ)V": (
        6,
        7,
        """
        iload_2
        lload_3
        invokestatic THIS.bucket (IJ)I
        istore 5
        iload 5
        iflt off
        lload_0
        iload 5
        i2l
        iconst_3
        lshl
        ladd
        lconst_1
        invokestatic THIS.add (JJ)V
        lload_0
        ldc2_w {sum}
        ladd
        lload_3
        invokestatic THIS.add (JJ)V
        lload_0
        ldc2_w {longest}
        ladd
        lstore 5
        getstatic THIS.unsafe L{unsafe};
        lload 5
        invokevirtual {unsafe}.getLong (J)J
        lload_3
        lcmp
        ifge off
        getstatic THIS.unsafe L{unsafe};
        lload 5
        lload_3
        invokevirtual {unsafe}.putLong (JJ)V
        off:
        return
        """,
    ),
    # The bucket of a duration; -1 for one that is not counted.  Local 3 is the bucket.
    "bucket (IJ)I": (
        8,
        4,
        """
        lload_1
        getstatic THIS.unsafe L{unsafe};
        {control}
        ldc2_w {shortest}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lcmp
        iflt off
        lload_1
        lconst_1
        lor
        l2d
        invokestatic java/lang/Double.doubleToRawLongBits (D)J
        bipush {mantissa}
        lushr
        l2i
        sipush {bias}
        isub
        istore_3
        iload_3
        iflt off
        iload_3
        sipush {buckets}
        if_icmplt fits
        sipush {last_bucket}
        istore_3
        fits:
        iload_3
        ireturn
        off:
        iconst_m1
        ireturn
        """,
    ),
    # Adds a call to the same tally of a stripe that several threads share: the set, the line, the
    # tally, when it began.  Locals: 7 the bucket, 8 the duration, 10 the longest.
    "share (IJJJ)V": (
        8,
        12,
        """
        getstatic THIS.unsafe L{unsafe};
        lload_1
        ldc2_w {shared_stripe_line}
        ladd
        lconst_1
        invokevirtual {unsafe}.putLong (JJ)V
        lload_3
        ldc2_w {shared_stripes}
        ladd
        lstore_3
        lconst_0
        lstore 8
        iconst_0
        istore 7
        lload 5
        lconst_0
        lcmp
        iflt untimed
        invokestatic java/lang/System.nanoTime ()J
        lload 5
        lsub
        lstore 8
        iload_0
        lload 8
        invokestatic THIS.bucket (IJ)I
        istore 7
        iload 7
        iflt off
        untimed:
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_3
        iload 7
        iconst_3
        ishl
        i2l
        ladd
        lconst_1
        invokevirtual {unsafe}.getAndAddLong (Ljava/lang/Object;JJ)J
        pop2
        lload 5
        lconst_0
        lcmp
        iflt off
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_3
        ldc2_w {sum}
        ladd
        lload 8
        invokevirtual {unsafe}.getAndAddLong (Ljava/lang/Object;JJ)J
        pop2
        again:
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_3
        ldc2_w {longest}
        ladd
        invokevirtual {unsafe}.getLongVolatile (Ljava/lang/Object;J)J
        lstore 10
        lload 10
        lload 8
        lcmp
        ifge off
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload_3
        ldc2_w {longest}
        ladd
        lload 10
        lload 8
        invokevirtual {unsafe}.compareAndSetLong (Ljava/lang/Object;JJJ)Z
        ifeq again
        off:
        return
        """,
    ),
}

# Of each type: how its `put` loads it, and how Unsafe writes it.
for _letter, _load, _offset, _write in (
    ("I", "iload_2\ni2l", 3, "putLong (JJ)V"),
    ("J", "lload_2", 4, "putLong (JJ)V"),
    ("F", "fload_2\nf2d", 3, "putDouble (JD)V"),
    ("D", "dload_2", 4, "putDouble (JD)V"),
):
    _METHODS[f"put (J{_letter}I)J"] = (
        6,
        5,
        f"""
        lload_0
        lconst_0
        lcmp
        ifeq off
        getstatic THIS.unsafe L{{unsafe}};
        lload_0
        iload_{_offset}
        i2l
        ladd
        {_load}
        invokevirtual {{unsafe}}.{_write}
        off:
        lload_0
        lreturn
        """
        if _offset < 4
        else f"""
        lload_0
        lconst_0
        lcmp
        ifeq off
        getstatic THIS.unsafe L{{unsafe}};
        lload_0
        iload 4
        i2l
        ladd
        {_load}
        invokevirtual {{unsafe}}.{_write}
        off:
        lload_0
        lreturn
        """,
    )

# What changes something is handed whether its condition holds, then the number of the set.
_METHODS["counted (I)I"] = (
    8,
    7,
    """
    {is_gone}
    getstatic THIS.unsafe L{unsafe};
    {control}
    invokevirtual {unsafe}.getLong (J)J
    lstore_1
    getstatic THIS.unsafe L{unsafe};
    aconst_null
    lload_1
    ldc2_w {reached}
    ladd
    lconst_1
    invokevirtual {unsafe}.getAndAddLong (Ljava/lang/Object;JJ)J
    lstore_3
    getstatic THIS.unsafe L{unsafe};
    lload_1
    ldc2_w {every}
    ladd
    invokevirtual {unsafe}.getLong (J)J
    lstore 5
    lload 5
    lconst_1
    lcmp
    iflt off
    lload_3
    lload 5
    lrem
    lconst_0
    lcmp
    ifne off
    lload_3
    lload 5
    ldiv
    getstatic THIS.unsafe L{unsafe};
    lload_1
    ldc2_w {most}
    ladd
    invokevirtual {unsafe}.getLong (J)J
    lcmp
    ifge off
    iconst_1
    ireturn
    off:
    iconst_0
    ireturn
    """,
)
_IS_TO_BE = """
    iload_0
    ifeq off
    iload_1
    invokestatic THIS.counted (I)I
    ifeq off
"""
for _value, _other, _size, _load, _made in (
    ("I", "I", 1, "iload_2", "iload_3\nireturn"),
    ("J", "J", 2, "lload_2", "lload 4\nlreturn"),
    ("F", "I", 1, "fload_2", "iload_3\ninvokestatic java/lang/Float.intBitsToFloat (I)F\nfreturn"),
    (
        *("D", "J", 2, "dload_2"),
        "lload 4\ninvokestatic java/lang/Double.longBitsToDouble (J)D\ndreturn",
    ),
    ("Ljava/lang/Object;", "Ljava/lang/String;", 1, "aload_2", "aload_3\nareturn"),
    ("Ljava/lang/Object;", "", 1, "aload_2", "aconst_null\nareturn"),
):
    _METHODS[f"changed (II{_value}{_other}){_value}"] = (
        2,
        2 + 2 * _size,
        f"{_IS_TO_BE}{_made}\noff:\n{_load}\n{_made.split()[-1]}",
    )
_METHODS["delay (IIJ)V"] = (
    3,
    4,
    f"{_IS_TO_BE}iload_1\nlload_2\ninvokestatic THIS.pause (IJ)V\noff:\nreturn",
)
_METHODS["fail (IILjava/lang/String;Ljava/lang/String;)V"] = (
    3,
    4,
    f"""{_IS_TO_BE}
    iload_1
    aload_2
    aload_3
    invokestatic THIS.raise (ILjava/lang/String;Ljava/lang/String;)V
    off:
    return
    """,
)

# A thread that stops: its variables go into an array, which is null where it goes on.
_METHODS["stop (III)[Ljava/lang/Object;"] = (
    6,
    3,
    """
    {is_gone}
    try:
    iload_2
    anewarray java/lang/Object
    areturn
    failed:
    pop
    off:
    aconst_null
    areturn
    """,
)
_METHODS["stop (IIII)[Ljava/lang/Object;"] = (
    3,
    4,
    """
    iload_0
    ifeq off
    iload_1
    iload_2
    iload_3
    invokestatic THIS.stop (III)[Ljava/lang/Object;
    areturn
    off:
    aconst_null
    areturn
    """,
)
_METHODS["stopped ([Ljava/lang/Object;II)V"] = (
    3,
    3,
    """
    aload_0
    ifnull off
    aload_0
    iload_1
    iload_2
    invokestatic THIS.halt ([Ljava/lang/Object;II)V
    off:
    return
    """,
)
# The value that leaves a method early is in an array of its own, in the first place.
_LEFT = """
    aload_0
    checkcast {leaving}
    getfield {leaving}.values [Ljava/lang/Object;
    iconst_0
    aaload
    checkcast [Ljava/lang/Object;
    iconst_0
    aaload
"""
for _letter, _box, _load, _at in (
    ("I", "Integer", "iload_1", "iload_2"),
    ("J", "Long", "lload_1", "iload_3"),
    ("F", "Float", "fload_1", "iload_2"),
    ("D", "Double", "dload_1", "iload_3"),
    ("Ljava/lang/Object;", "", "aload_1", "iload_2"),
):
    _kind = _load[0]
    _name = {"I": "int", "J": "long", "F": "float", "D": "double"}.get(_letter, "")
    _boxes = f"invokestatic java/lang/{_box}.valueOf ({_letter})Ljava/lang/{_box};" if _box else ""
    _unboxes = (
        f"checkcast java/lang/{_box}\ninvokevirtual java/lang/{_box}.{_name}Value (){_letter}"
        if _box
        else ""
    )
    _METHODS[f"keep ([Ljava/lang/Object;{_letter}I)[Ljava/lang/Object;"] = (
        5,
        4,
        f"""
        aload_0
        ifnull off
        aload_0
        try:
        {_at}
        {_load}
        {_boxes}
        aastore
        off:
        aload_0
        areturn
        failed:
        pop
        aconst_null
        areturn
        """,
    )
    _METHODS[f"take ([Ljava/lang/Object;{_letter}I){_letter}"] = (
        2,
        4,
        f"""
        aload_0
        ifnull off
        aload_0
        {_at}
        aaload
        {_unboxes}
        {_kind}return
        off:
        {_load}
        {_kind}return
        """,
    )
    _METHODS[f"left (Ljava/lang/Throwable;){_letter}"] = (
        2,
        1,
        f"{_LEFT}\n{_unboxes}\n{_kind}return",
    )

_NATIVES = (
    "control ()J",
    "halt ([Ljava/lang/Object;II)V",
    "key (ILjava/lang/Object;I)I",
    "object (JLjava/lang/Object;II)V",
    "pause (IJ)V",
    "raise (ILjava/lang/String;Ljava/lang/String;)V",
    "test (IILjava/lang/Object;)I",
)
_FIELDS = (f"unsafe L{_UNSAFE};", "tid J", "control J", "paths [[[Ljava/lang/Object;")
LEAVING = "java/lang/JvmtiProbesLeft"
"""The class of what leaves a method early; its field has the array of the thread that stopped.

The helper itself is no Throwable: C2 inlines no method of one into other code.
"""
RESTARTING = "java/lang/JvmtiProbesRestarted"
"""The class of what begins a method again."""
_CURRENT = """
getstatic THIS.unsafe L{unsafe};
invokestatic java/lang/Thread.currentThread ()Ljava/lang/Thread;
getstatic THIS.tid J
invokevirtual {unsafe}.getLong (Ljava/lang/Object;J)J
"""


def _bits(size: int) -> int:
    if size & (size - 1):
        raise ValueError(f"{size} is no power of two")
    return size.bit_length() - 1


_NUMBERS = {
    "unsafe": _UNSAFE,
    "leaving": LEAVING,
    "shortest": _AT["shortest"],
    "size": _AT["size"],
    "records": _AT["records"],
    "tallies": _AT["tallies"],
    "number": _AT["number"],
    "last_set": MEMORY.SETS - 1,
    "sets": MEMORY.SETS,
    "get_reference": "getReference",
    "last_owned_lane": LANES.OWNED - 1,
    "shared_lanes": LANES.OWNED * LANES.LINE,
    "line_bits": _bits(LANES.LINE),
    "lane_per_line_bits": _bits(LANES.SIZE) - _bits(LANES.LINE),
    "owner": LANES.OWNER,
    "dropped": LANES.DROPPED,
    "tails": LANES.TAILS,
    "reached": LANES.REACHED,
    "every": LANES.TAILS + LANES.EVERY,
    "most": LANES.TAILS + LANES.MOST,
    "lane_size": LANES.SIZE,
    "lane_end": LANES.SIZE - 1,
    **{name: _IN[name] for name in ("claimed", "time", "started", "thread", "site", "probes")},
    "mantissa": 52 - (TALLIES.PER_OCTAVE.bit_length() - 1),
    "bias": _EXPONENT_BIAS,
    "buckets": TALLIES.BUCKETS,
    "last_bucket": TALLIES.BUCKETS - 1,
    "last_owned_stripe": TALLIES.OWNED - 1,
    "shared_stripes": TALLIES.OWNED * TALLIES.COUNT * TALLIES.SIZE,
    "shared_stripe_line": TALLIES.OWNED * LANES.LINE + TALLIES.OWNER,
    "stripe_owner": TALLIES.OWNER,
    "stripe_bits": _bits(TALLIES.COUNT * TALLIES.SIZE),
    "last_tally": TALLIES.COUNT - 1,
    "tally_bits": _bits(TALLIES.SIZE),
    "sum": TALLIES.SUM,
    "longest": TALLIES.LONGEST,
}
_NUMBERS["control"] = _CONTROL.format(**_NUMBERS)
_NUMBERS["current"] = _CURRENT.format(**_NUMBERS)
_NUMBERS["is_gone"] = _IS_GONE.format(**_NUMBERS)
_NUMBERS["is_gone_1"] = _NUMBERS["is_gone"].replace("iload_0", "iload_1")

_NUMBER_OF = {name: number for number, (name, _) in enumerate(OPCODES)}
_TAKES = dict(OPCODES)


class _Constants:
    def __init__(self, this: str) -> None:
        self._this = this
        self._found: dict[bytes, int] = {}
        self._next = 1

    def _add(self, data: bytes, slots: int = 1) -> int:
        if data not in self._found:
            self._found[data] = self._next
            self._next += slots
        return self._found[data]

    def text(self, value: str) -> int:
        return self._add(struct.pack(">BH", 1, len(value)) + value.encode())

    def klass(self, name: str) -> int:
        return self._add(struct.pack(">BH", 7, self.text(self._this if name == "THIS" else name)))

    def string(self, value: str) -> int:
        return self._add(struct.pack(">BH", 8, self.text(value)))

    def long(self, value: int) -> int:
        return self._add(struct.pack(">Bq", 5, value), 2)

    def member(self, owner_and_name: str, descriptor: str) -> int:
        owner, _, name = owner_and_name.rpartition(".")
        both = self._add(struct.pack(">BHH", 12, self.text(name), self.text(descriptor)))
        tag = 10 if descriptor.startswith("(") else 9
        return self._add(struct.pack(">BHH", tag, self.klass(owner), both))

    def table(self) -> bytes:
        return struct.pack(">H", self._next) + b"".join(self._found)


def _assemble(text: str, constants: _Constants) -> tuple[bytes, bytes]:
    """Code of text and its table of handlers: in each line an instruction, or a label and a colon.

    What is thrown between the labels ``try`` and ``failed`` is caught at the latter.
    """
    code = bytearray()
    labels: dict[str, int] = {}
    jumps: list[tuple[int, int, str]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            labels[line[:-1]] = len(code)
            continue
        name, *rest = line.split()
        at = len(code)
        code.append(_NUMBER_OF[name])
        match _TAKES[name]:
            case "":
                pass
            case "b" | "l":
                code.append(int(rest[0]))
            case "s":
                code += struct.pack(">h", int(rest[0]))
            case "j":
                jumps.append((at, len(code), rest[0]))
                code += b"\0\0"
            case "C" if name == "ldc2_w":
                code += struct.pack(">H", constants.long(int(rest[0])))
            case "C" if name == "ldc_w":
                made = constants.klass if rest[0] == "class" else constants.string
                code += struct.pack(">H", made(rest[1]))
            case "C" if name in _NEEDS_CLASS:
                code += struct.pack(">H", constants.klass(rest[0]))
            case "C" if name in _NEEDS_REFERENCE:
                code += struct.pack(">H", constants.member(rest[0], rest[1]))
            case other:
                raise ValueError(f"{line}: {other} cannot be assembled")
    for start, at, label in jumps:
        struct.pack_into(">h", code, at, labels[label] - start)
    if "try" not in labels:
        return bytes(code), b"\0\0"
    caught = struct.pack(">HHHHH", 1, labels["try"], labels["failed"], labels["failed"], 0)
    return bytes(code), caught


def helper_class(name: str, get_reference: str = "getReference") -> bytes:
    """The class file of the helper.

    Args:
        name: its internal name.
        get_reference: the name of the method of ``Unsafe``; Java 11 has another.
    """
    numbers = _NUMBERS | {"get_reference": get_reference}
    constants = _Constants(name)
    body = bytearray(struct.pack(">HHHH", _PUBLIC | _FINAL | _SUPER, constants.klass("THIS"), 0, 0))
    struct.pack_into(">H", body, 4, constants.klass("java/lang/Object"))
    body += struct.pack(">H", len(_FIELDS))
    for field in _FIELDS:
        of, descriptor = field.split()
        access = _PRIVATE | _STATIC | _FINAL
        body += struct.pack(">HHHH", access, constants.text(of), constants.text(descriptor), 0)
    body += struct.pack(">H", len(_METHODS) + len(_NATIVES))
    for method in _NATIVES:
        of, descriptor = method.split()
        access = _PRIVATE | _STATIC | _NATIVE
        body += struct.pack(">HHHH", access, constants.text(of), constants.text(descriptor), 0)
    for method, (stack, most_locals, text) in _METHODS.items():
        of, descriptor = method.split()
        code, handlers = _assemble(text.format(**numbers), constants)
        access = _STATIC | (0 if of == "<clinit>" else _PUBLIC)
        body += struct.pack(">HHHH", access, constants.text(of), constants.text(descriptor), 1)
        body += struct.pack(">HI", constants.text("Code"), 10 + len(code) + len(handlers))
        body += struct.pack(">HHI", stack, most_locals, len(code)) + code + handlers + b"\0\0"
    body += b"\0\0"
    return _class_file(constants, bytes(body))


def restarting_class() -> bytes:
    """The class file of what begins a method again."""
    constants = _Constants(RESTARTING)
    klass, above = constants.klass("THIS"), constants.klass("java/lang/Error")
    body = struct.pack(">HHHHHHH", _PUBLIC | _FINAL | _SUPER, klass, above, 0, 0, 0, 0)
    return _class_file(constants, body)


def leaving_class() -> bytes:
    """The class file of what leaves a method early."""
    constants = _Constants(LEAVING)
    klass, above = constants.klass("THIS"), constants.klass("java/lang/Error")
    body = struct.pack(">HHHHH", _PUBLIC | _FINAL | _SUPER, klass, above, 0, 1)
    field = constants.text("values"), constants.text("[Ljava/lang/Object;")
    body += struct.pack(">HHHHHH", 0, *field, 0, 0, 0)
    return _class_file(constants, body)


_STOP = "stop (III)[Ljava/lang/Object;"


def gate_class(name: str, helper: str, is_open: bool) -> bytes:
    """The class file of what probes call first by which threads are stepped.

    While it is closed it has nothing to say, which costs compiled code nothing at all: the VM
    inlines it, and discards that code when the class is opened.

    Args:
        name: its internal name.
        helper: that of the helper.
        is_open: whether it calls the helper.
    """
    constants = _Constants(name)
    of, descriptor = _STOP.split()
    calls = f"iload_0\niload_1\niload_2\ninvokestatic {helper}.{_STOP}\nareturn"
    code, handlers = _assemble(calls if is_open else "aconst_null\nareturn", constants)
    klass, above = constants.klass("THIS"), constants.klass("java/lang/Object")
    body = struct.pack(">HHHHHH", _PUBLIC | _FINAL | _SUPER, klass, above, 0, 0, 1)
    texts = constants.text(of), constants.text(descriptor)
    body += struct.pack(">HHHH", _PUBLIC | _STATIC, *texts, 1)
    body += struct.pack(">HI", constants.text("Code"), 10 + len(code) + len(handlers))
    body += struct.pack(">HHI", 3, 3, len(code)) + code + handlers + b"\0\0\0\0"
    return _class_file(constants, body)


def _class_file(constants: _Constants, body: bytes) -> bytes:
    return struct.pack(">IHH", 0xCAFEBABE, 0, 49) + constants.table() + body


def helper_name() -> str:
    """Its internal name, with a digest of what it does."""
    digest = hashlib.sha256(helper_class("java/lang/JvmtiProbes")).hexdigest()[:8]
    return f"java/lang/JvmtiProbes{digest}"


def _rows(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), 20):
        yield "    " + ", ".join(str(byte) for byte in data[at : at + 20]) + ","


def probe_helper_header() -> str:
    """The header."""
    name = helper_name()
    gate = f"{name}Gate"
    native = name.replace("/", "_")
    return "\n".join(
        [
            HEAD,
            "#pragma once\n",
            "#include <cstdint>\n",
            "namespace jvmti {\n",
            f'constexpr const char* kProbeHelper = "{name}";',
            "constexpr uint8_t kProbeHelperClass[] = {",
            *_rows(helper_class(name)),
            "};",
            "constexpr uint8_t kProbeHelperClass11[] = {",
            *_rows(helper_class(name, "getObject")),
            "};\n",
            f'constexpr const char* kProbeGate = "{gate}";',
            "constexpr uint8_t kProbeGateClosed[] = {",
            *_rows(gate_class(gate, name, is_open=False)),
            "};\n",
            "constexpr uint8_t kProbeGateOpen[] = {",
            *_rows(gate_class(gate, name, is_open=True)),
            "};\n",
            f'constexpr const char* kProbeLeaving = "{LEAVING}";',
            "constexpr uint8_t kProbeLeavingClass[] = {",
            *_rows(leaving_class()),
            "};\n",
            f'constexpr const char* kProbeRestarting = "{RESTARTING}";',
            "constexpr uint8_t kProbeRestartingClass[] = {",
            *_rows(restarting_class()),
            "};\n",
            "}  // namespace jvmti\n",
            f"#define JVMTI_PROBE_HELPER(method) Java_{native}_##method",
            "",
        ]
    )


__all__ = [
    "LEAVING",
    "RESTARTING",
    "helper_class",
    "helper_name",
    "leaving_class",
    "probe_helper_header",
    "restarting_class",
]
