#include "agent/engines/profiling/walks/java_anchor.h"

#include <atomic>

#include "agent/core/vm_structures.h"
#include "agent/engines/profiling/walks/left_callers.h"

namespace jvmti {

namespace {

// Their places in a thread; 0: unknown.
std::atomic<size_t> stack_pointer{0};
std::atomic<size_t> return_address{0};

}  // namespace

void JavaAnchor::prepare() {
  VmTables tables;
  VmTables::Field anchor = tables.field("JavaThread", "_anchor");
  VmTables::Field pointer = tables.field("JavaFrameAnchor", "_last_Java_sp");
  if (anchor.known && pointer.known) stack_pointer = anchor.place + pointer.place;
#ifdef __x86_64__
  VmTables::Field address = tables.field("JavaFrameAnchor", "_last_Java_pc");
  if (anchor.known && address.known) return_address = anchor.place + address.place;
#endif
}

bool JavaAnchor::is_missing(const JNIEnv* jni) {
  uintptr_t thread = vm_thread(jni);
  return thread != 0 && stack_pointer != 0 && in_vm<uintptr_t>(thread, stack_pointer) == 0;
}

// While the address is missing no other thread walks this stack: the VM notes it before it lets
// one.
void JavaAnchor::complete(const JNIEnv* jni) {
  thread_ = 0;
  uintptr_t thread = vm_thread(jni);
  if (thread == 0 || stack_pointer == 0 || return_address == 0) return;
  uintptr_t stack = in_vm<uintptr_t>(thread, stack_pointer);
  if (stack == 0 || in_vm<uintptr_t>(thread, return_address) != 0) return;
  left_at_ = stack;
  uintptr_t back = in_vm<uintptr_t>(stack - sizeof(uintptr_t), 0);
  LeftCallers::leave_stub(&back, &stack);
  thread_ = thread;
  note(stack, back);
}

void JavaAnchor::restore() {
  if (thread_ != 0) note(left_at_, 0);
  thread_ = 0;
}

void JavaAnchor::note(uintptr_t stack, uintptr_t back) const {
  *reinterpret_cast<volatile uintptr_t*>(thread_ + stack_pointer) = stack;
  *reinterpret_cast<volatile uintptr_t*>(thread_ + return_address) = back;
}

}  // namespace jvmti
