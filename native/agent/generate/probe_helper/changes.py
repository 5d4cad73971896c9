"""Methods that change what a program does: values, exceptions, delays."""

from __future__ import annotations

CHANGES: dict[str, tuple[int, int, str]] = {}
# What changes something is handed whether its condition holds, then the number of the set.
CHANGES["counted (I)I"] = (
    8,
    7,
    """
    {is_gone}
    getstatic THIS.unsafe L{unsafe};
    {control}
    invokevirtual {unsafe}.getLong (J)J
    lstore_1
    count 1 {reached}
    lstore_3
    read 1 {every}
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
    read 1 {most}
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
    CHANGES[f"changed (II{_value}{_other}){_value}"] = (
        2,
        2 + 2 * _size,
        f"{_IS_TO_BE}{_made}\noff:\n{_load}\n{_made.split()[-1]}",
    )
CHANGES["delay (IIJ)V"] = (
    3,
    4,
    f"{_IS_TO_BE}iload_1\nlload_2\ninvokestatic THIS.pause (IJ)V\noff:\nreturn",
)
CHANGES["fail (IILjava/lang/String;Ljava/lang/String;)V"] = (
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


__all__ = ["CHANGES"]
