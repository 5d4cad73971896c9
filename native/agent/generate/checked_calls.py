"""``checked_calls.cpp``: of a build that checks locks, the VM's functions, each behind a look."""

from __future__ import annotations

from cpp import HEAD

from jvmti.env.interface import FUNCTIONS
from jvmti.jni.interface import EXCLUDED
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS


def checked_calls_source() -> str:
    """Of a build that looks after locks: all functions of the VM, each behind a look."""
    lines = [
        HEAD,
        "#ifdef JVMTI_CHECK_LOCKS\n",
        '#include "agent/checks/checked_calls.h"\n',
        "namespace jvmti {\nnamespace lock_check {\n",
        "#define CHECK(Table, name) \\",
        "  Checked<&Table::name, decltype(&Table::name)>::put(table, #name)\n",
        "void watch(jvmtiInterface_1_* table) {",
        "  *table = *jvmti_original;",
        *(f"  CHECK(jvmtiInterface_1_, {one.c_name});" for one in FUNCTIONS.values()),
        "}\n",
        "void watch(JNINativeInterface_* table, size_t slots) {",
    ]
    slots = {one.c_name: one.slot for one in JNI_FUNCTIONS.values()}
    # C++ calls what takes any number of arguments by the form with a `va_list`.
    slots |= {f"{one.c_name[:-1]}V": one.slot - 1 for one in JNI_FUNCTIONS.values() if one.folds}
    slots |= {name: one.slot for name, one in EXCLUDED.items()}
    for name, slot in slots.items():
        lines.append(f"  if ({slot} < slots) CHECK(JNINativeInterface_, {name});")
    lines += ["}\n", "}  // namespace lock_check\n}  // namespace jvmti\n", "#endif", ""]
    return "\n".join(lines)
