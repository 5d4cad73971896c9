// The memory that the VM puts its code into: compiled methods, stubs and the interpreter.
#pragma once

#include <cstdint>

#include "agent/core/vm_structures.h"

namespace jvmti {

class CodeHeaps {
 public:
  // On any thread, before the first of the others. Finds nothing where the VM's structures are not
  // known.
  static void prepare(const VmTables& tables);
  static bool known();
  // From a signal handler: whether code there is none of the VM's; false where that is unknown.
  static bool lack(uintptr_t pc);
  // The same: what the VM has made with this code, or 0. The thread that runs in it keeps it there.
  static uintptr_t blob_at(uintptr_t pc);
};

}  // namespace jvmti
