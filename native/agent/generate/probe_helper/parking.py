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
    # The agent is asked for waits that are long enough only.
    "waited (ILjava/lang/Object;JJ)V": (
        8,
        8,
        """
        lload_2
        lconst_0
        lcmp
        ifeq off
        {is_gone}
        invokestatic java/lang/System.nanoTime ()J
        lstore 6
        lload 6
        lload_2
        lsub
        getstatic THIS.unsafe L{unsafe};
        {control}
        ldc2_w {shortest}
        ladd
        invokevirtual {unsafe}.getLong (J)J
        lcmp
        iflt off
        iload_0
        aload_1
        lload_2
        lload 4
        lload 6
        invokestatic THIS.parked (ILjava/lang/Object;JJJ)V
        off:
        return
        """,
    ),
}

__all__ = ["PARKING"]
