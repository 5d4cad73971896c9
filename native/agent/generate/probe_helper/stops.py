"""Methods that stop threads, hand over their variables and take them back."""

from __future__ import annotations

from probe_helper.assembler import where_it_holds

STOPS: dict[str, tuple[int, int, str]] = {}
# A thread that stops: its variables go into an array, which is null where it goes on.
STOPS["stop (III)[Ljava/lang/Object;"] = (
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
STOPS |= where_it_holds("stop", "(III)[Ljava/lang/Object;")
STOPS["stopped ([Ljava/lang/Object;II)V"] = (
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
    STOPS[f"keep ([Ljava/lang/Object;{_letter}I)[Ljava/lang/Object;"] = (
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
    STOPS[f"take ([Ljava/lang/Object;{_letter}I){_letter}"] = (
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
    STOPS[f"left (Ljava/lang/Throwable;){_letter}"] = (
        2,
        1,
        f"{_LEFT}\n{_unboxes}\n{_kind}return",
    )


__all__ = ["STOPS"]
