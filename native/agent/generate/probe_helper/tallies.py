"""Methods that count calls and add up how long they took."""

from __future__ import annotations

from probe_helper.assembler import where_it_holds

TALLIES_OF_CALLS: dict[str, tuple[int, int, str]] = {
    # Counts a call by how long it took.
    **where_it_holds("tally", "(IIJ)V"),
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
        lload_2
        lconst_0
        lcmp
        ifge timed
        iload_0
        iload_1
        invokestatic THIS.count (II)V
        return
        timed:
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
        read 6 {stripe_owner}
        lload 4
        lcmp
        ifeq own
        address 6 {stripe_owner}
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
        lload 8
        iload_0
        invokestatic java/lang/System.nanoTime ()J
        lload_2
        lsub
        invokestatic THIS.measure (JIJ)V
        return
        """,
    ),
    # Adds one to the counter of a tally: the set, the tally.  Locals: 2 the thread, 4 where the
    # counter is in the first line of its block.
    "count (II)V": (
        8,
        6,
        """
        {current}
        lstore_2
        getstatic THIS.unsafe L{unsafe};
        {control}
        ldc2_w {tallies}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        ldc2_w {counters}
        ladd
        iload_1
        sipush {last_tally}
        iand
        bipush {block_bits}
        ishr
        bipush {block_size_bits}
        ishl
        i2l
        ladd
        iload_1
        bipush {last_of_block}
        iand
        iconst_3
        ishl
        i2l
        ladd
        lstore 4
        lload_2
        ldc2_w {counting_threads}
        lcmp
        ifge shared
        lload 4
        lload_2
        bipush {counter_line_bits}
        lshl
        ladd
        lconst_1
        invokestatic THIS.add (JJ)V
        return
        shared:
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload 4
        lload_2
        ldc2_w {last_counting_thread}
        land
        ldc2_w {counting_threads}
        ladd
        bipush {counter_line_bits}
        lshl
        ladd
        lconst_1
        invokevirtual {unsafe}.getAndAddLong (Ljava/lang/Object;JJ)J
        pop2
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
        address 0 {sum}
        lload_3
        invokestatic THIS.add (JJ)V
        address 0 {longest}
        lstore 5
        read 5
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
        address 1 {shared_stripe_line}
        lconst_1
        invokevirtual {unsafe}.putLong (JJ)V
        address 3 {shared_stripes}
        lstore_3
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
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        address 3 {sum}
        lload 8
        invokevirtual {unsafe}.getAndAddLong (Ljava/lang/Object;JJ)J
        pop2
        again:
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        address 3 {longest}
        invokevirtual {unsafe}.getLongVolatile (Ljava/lang/Object;J)J
        lstore 10
        lload 10
        lload 8
        lcmp
        ifge off
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        address 3 {longest}
        lload 10
        lload 8
        invokevirtual {unsafe}.compareAndSetLong (Ljava/lang/Object;JJJ)Z
        ifeq again
        off:
        return
        """,
    ),
}


__all__ = ["TALLIES_OF_CALLS"]
