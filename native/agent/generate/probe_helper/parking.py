"""Methods that report how long a thread was parked for a lock, and who had the lock."""

from __future__ import annotations

PARKING: dict[str, tuple[int, int, str]] = {
    # The number of the thread that has a lock; 0 where it is unknown.
    "owner (ILjava/lang/Object;)J": (
        6,
        3,
        """
        {is_gone}
        aload_1
        instanceof java/util/concurrent/locks/AbstractOwnableSynchronizer
        ifeq off
        getstatic THIS.unsafe L{unsafe};
        aload_1
        getstatic THIS.owner J
        invokevirtual {unsafe}.{get_reference} (Ljava/lang/Object;J)Ljava/lang/Object;
        astore_2
        aload_2
        ifnull off
        getstatic THIS.unsafe L{unsafe};
        aload_2
        getstatic THIS.tid J
        invokevirtual {unsafe}.getLong (Ljava/lang/Object;J)J
        lreturn
        off:
        lconst_0
        lreturn
        """,
    ),
    # The agent is called for waits that are long enough, once its line has none left for them.
    # Locals: 6 the end, 8 control, 10 line, 12 how long.
    "waited (ILjava/lang/Object;JJ)V": (
        10,
        14,
        """
        lload_2
        lconst_0
        lcmp
        ifeq off
        {is_gone}
        {control}
        lstore 8
        invokestatic java/lang/System.nanoTime ()J
        lstore 6
        lload 6
        lload_2
        lsub
        lstore 12
        lload 12
        read 8 {shortest}
        lcmp
        iflt off
        read 8 {waits}
        {current}
        ldc2_w {last_wait_line}
        land
        bipush {wait_line_bits}
        lshl
        ladd
        lstore 10
        getstatic THIS.unsafe L{unsafe};
        aconst_null
        lload 10
        lload 12
        lneg
        invokevirtual {unsafe}.getAndAddLong (Ljava/lang/Object;JJ)J
        lload 12
        lcmp
        ifgt off
        iload_0
        aload_1
        lload_2
        lload 4
        lload 6
        lload 10
        invokestatic THIS.parked (ILjava/lang/Object;JJJJ)V
        off:
        return
        """,
    ),
}

__all__ = ["PARKING"]
