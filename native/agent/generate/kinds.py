"""``kinds.h``: the kinds of handles as C++ types."""

from __future__ import annotations

from cpp import HEAD

from jvmti.refs import handles

FREQUENT = (
    handles.String,
    handles.Class,
    handles.ByteArray,
    handles.Thread,
    handles.ObjectArray,
    handles.ClassLoader,
    handles.Throwable,
)
"""The kinds of objects that the agent tries first, the most frequent one before all."""


def kinds_header() -> str:
    """The kinds of handles as types, from the classes in `jvmti.refs`."""
    classes = {
        name: value
        for name, value in vars(handles).items()
        if isinstance(value, type) and issubclass(value, handles.Handle) and value.C_TYPE
    }
    lines = [
        HEAD,
        "#pragma once\n",
        "#include <jvmti.h>\n",
        "namespace jvmti {",
        "namespace kinds {\n",
    ]
    for name, kind in classes.items():
        is_object = issubclass(kind, handles.Object)
        lines += [
            f"struct {name} {{",
            f"  using C = {kind.C_TYPE.replace('*', ' *')};",
            f"  static constexpr unsigned char kind = {kind.KIND};",
            f"  static constexpr jvmtiError error = JVMTI_ERROR_{kind.ERROR};",
            f'  static constexpr const char* name = "{name}";',
            f"  static constexpr bool is_object = {str(is_object).lower()};",
            f"  static constexpr bool is_pointer = {str(kind.POINTER).lower()};",
            f"  static constexpr bool any_array = {str(kind is handles.Array).lower()};",
            "};",
        ]
    objects = {k.KIND: k for k in classes.values() if issubclass(k, handles.Object)}
    last = max(objects)
    by_kind = [objects[i].JAVA_CLASS if i in objects else None for i in range(last + 1)]
    quoted = ", ".join("nullptr" if java is None else f'"{java}"' for java in by_kind)
    order = [kind.KIND for kind in FREQUENT]
    order += [i for i, java in enumerate(by_kind) if java is not None and i not in order]
    lines += [
        "",
        f"constexpr unsigned char kLastObjectKind = {last};",
        f"constexpr const char* kJavaClasses[] = {{{quoted}}};",
        f"constexpr unsigned char kKindsByFrequency[] = {{{', '.join(map(str, order))}}};",
        "",
        "}  // namespace kinds",
        "}  // namespace jvmti",
        "",
    ]
    return "\n".join(lines)
