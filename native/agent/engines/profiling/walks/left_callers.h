// Compiled callers that go on in the interpreter when their callee returns.
#pragma once

#include <cstdint>

#include "base/no_copy.h"

namespace jvmti {

// When the VM deoptimizes a method that has called another one, it puts the address of a handler in
// place of the one that the callee returns to. AsyncGetCallTrace takes such a frame for a broken
// one: a loop whose caller is deoptimized would have no stack for the rest of its life.
class LeftCallers : NoCopy {
 public:
  // On any thread, before the first. Finds nothing where the VM's structures are not known.
  static void prepare();
  // In a handler: of a stub that compiled code has called, the caller's registers.
  static void leave_stub(uintptr_t* pc, uintptr_t* sp);
  // From a signal handler, while the current thread runs Java. From the frame with these registers
  // on, callees return to where they were called from. False if all did.
  bool mend(uintptr_t pc, uintptr_t sp, uintptr_t fp);
  // Brings the handlers back, also after a fault, and before the thread runs on.
  void restore();

 private:
  static constexpr int kMost = 8;
  struct Mended {
    uintptr_t at;
    uintptr_t handler;
  };
  Mended mended_[kMost];
  volatile int count_;
};

}  // namespace jvmti
