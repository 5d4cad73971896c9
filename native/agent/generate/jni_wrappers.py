"""``jni_wrappers.cpp``: the wrapper of each JNI function that can be intercepted or counted."""

from __future__ import annotations

from cpp import HEAD

from jvmti.jni.interface import EXCLUDED
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS


def jni_wrappers_source() -> str:
    """The wrapper of each JNI function that can be intercepted or counted, by slot."""
    wrappers = {
        one.slot: f"JniWrapper<{one.slot}, Owner::kInstance, decltype(JNINativeInterface_::{name})>"
        "::call"
        for name, one in EXCLUDED.items()
    }
    for declaration in JNI_FUNCTIONS.values():
        name, slot = declaration.c_name, declaration.slot
        says = "kInstance"
        if "Static" in name or name in ("GetFieldID", "ToReflectedField"):
            says = "kClass"
        elif name == "FromReflectedField":
            says = "kReflection"
        type_ = f"decltype(JNINativeInterface_::{name})"
        if declaration.folds:
            form = f"JniFormWrapper<{slot}, {type_}>"
            wrappers[slot - 2] = f"{form}::call_variadic"
            wrappers[slot - 1] = f"{form}::call_v"
        wrappers[slot] = f"JniWrapper<{slot}, Owner::{says}, {type_}>::call"
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
