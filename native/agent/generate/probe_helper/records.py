"""Methods that write records of hits into the lanes of a set."""

from __future__ import annotations

from probe_helper.assembler import where_it_holds

RECORDS: dict[str, tuple[int, int, str]] = {
    **where_it_holds("begin", "(IIJ)J"),
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
        read 4
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
        read 4 {shortest}
        lcmp
        iflt off
        untimed:
        read 6 {every}
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
        read 14 {owner}
        lload 10
        lcmp
        ifeq own
        address 14 {owner}
        lload 10
        invokestatic THIS.owns (JJ)I
        ifne own
        address 14 {shared_lanes}
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
        read 14
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
        address 16 {site}
        iload_1
        invokevirtual {unsafe}.putInt (JI)V
        getstatic THIS.unsafe L{unsafe};
        address 16 {probes}
        iload_0
        invokevirtual {unsafe}.putInt (JI)V
        lload 16
        lreturn
        full:
        address 14 {dropped}
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
        count 0 {reached}
        read 0 {every}
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
        read 0
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
        read 2 {tails}
        lsub
        read 0 {size}
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
        count 2 {dropped}
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
        read 0 {records}
        lload_2
        bipush {lane_per_line_bits}
        lshl
        ladd
        lload 4
        read 0 {size}
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
        address 0 {claimed}
        lload_2
        lconst_1
        ladd
        invokevirtual {unsafe}.putLong (JJ)V
        getstatic THIS.unsafe L{unsafe};
        address 0 {time}
        lload 4
        invokevirtual {unsafe}.putLong (JJ)V
        getstatic THIS.unsafe L{unsafe};
        address 0 {started}
        lload 6
        invokevirtual {unsafe}.putLong (JJ)V
        getstatic THIS.unsafe L{unsafe};
        address 0 {thread}
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
        read 0
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
        read 0 {claimed}
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
}

VALUES: dict[str, tuple[int, int, str]] = {}
# Of each type: how its `put` loads it, the local behind it, and how Unsafe writes it.
for _letter, _load, _offset, _write in (
    ("I", "iload_2\ni2l", 3, "putLong (JJ)V"),
    ("J", "lload_2", 4, "putLong (JJ)V"),
    ("F", "fload_2\nf2d", 3, "putDouble (JD)V"),
    ("D", "dload_2", 4, "putDouble (JD)V"),
):
    VALUES[f"put (J{_letter}I)J"] = (
        6,
        5,
        f"""
        lload_0
        lconst_0
        lcmp
        ifeq off
        getstatic THIS.unsafe L{{unsafe}};
        lload_0
        iload {_offset}
        i2l
        ladd
        {_load}
        invokevirtual {{unsafe}}.{_write}
        off:
        lload_0
        lreturn
        """,
    )


__all__ = ["RECORDS", "VALUES"]
