"""``jni_wrappers.cpp``: the wrapper of each JNI function that can be intercepted or counted."""

from __future__ import annotations

from cpp import HEAD

from jvmti.interface import shapes
from jvmti.interface.declaration import Declaration
from jvmti.jni.interface import EXCLUDED
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.refs import handles


def owner_of(declaration: Declaration) -> str:
    """What the first argument says of a field: it has the field, is its class, or stands for it."""
    inputs = [shape for _, shape in shapes.inputs_of(declaration)]
    results = [shape for _, shape in shapes.results_of(declaration)]
    if not any(is_a(handles.Field, shape) for shape in (*inputs, *results)):
        return "kInstance"
    if is_a(handles.Class, inputs[0]):
        return "kClass"
    return "kReflection" if any(is_a(handles.Field, one) for one in results) else "kInstance"


def is_a(kind: type[handles.Handle], shape: shapes.Shape) -> bool:
    """Whether it is a handle of a kind."""
    return isinstance(shape, shapes.Reference) and shape.python is kind


def jni_wrappers_source() -> str:
    """The wrapper of each JNI function that can be intercepted or counted, by slot."""
    wrappers = {
        one.slot: f"JniWrapper<{one.slot}, Owner::kInstance, decltype(JNINativeInterface_::{name})>"
        "::call"
        for name, one in EXCLUDED.items()
    }
    for declaration in JNI_FUNCTIONS.values():
        name, slot = declaration.c_name, declaration.slot
        type_ = f"decltype(JNINativeInterface_::{name})"
        if declaration.folds:
            form = f"JniFormWrapper<{slot}, {type_}>"
            wrappers[slot - 2] = f"{form}::call_variadic"
            wrappers[slot - 1] = f"{form}::call_v"
        wrappers[slot] = f"JniWrapper<{slot}, Owner::{owner_of(declaration)}, {type_}>::call"
    lines = [
        HEAD,
        '#include "agent/engines/interception/jni_interception.h"\n',
        "namespace jvmti {\n",
        "void* const kJniWrappers[kJniSlots] = {",
    ]
    for slot in range(max(wrappers) + 1):
        known = wrappers.get(slot)
        value = f"reinterpret_cast<void*>({known})" if known else "nullptr"
        lines.append(f"    {value},")
    return "\n".join([*lines, "};\n", "}  // namespace jvmti", ""])
