#include "agent/engines/profiling/walks/java_anchor.h"

#include <atomic>

#include "agent/core/vm_structures.h"

namespace jvmti {

namespace {

std::atomic<size_t> stack_pointer{0};  // its place in a thread; 0: unknown

}  // namespace

void JavaAnchor::prepare() {
  VmTables tables;
  VmTables::Field anchor = tables.field("JavaThread", "_anchor");
  VmTables::Field pointer = tables.field("JavaFrameAnchor", "_last_Java_sp");
  if (anchor.known && pointer.known) stack_pointer = anchor.place + pointer.place;
}

bool JavaAnchor::is_missing(const JNIEnv* jni) {
  uintptr_t thread = vm_thread(jni);
  return thread != 0 && stack_pointer != 0 && in_vm<uintptr_t>(thread, stack_pointer) == 0;
}

}  // namespace jvmti
