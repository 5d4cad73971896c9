// Samples that wait for the stack of their thread.
//
// While an object is allocated in a callback of the VM, a signal finds its thread in the VM or in
// the agent, below a stub that compiled code has called, and no handler can walk past that.  But
// the callback asks the VM for this stack, so the sample waits for it.
#pragma once

#include <jvmti.h>
#include <sys/types.h>

#include "agent/engines/profiling/trace_table.h"
#include "base/no_copy.h"

namespace jvmti {

struct WaitingSample {
  uint32_t profile;  // its number
  uint32_t thread;   // as that numbers it
  int64_t weight;
  StackFrame code;  // what the signal interrupted
  int64_t virtual_id;
};

// For as long as it lives the current thread is in such a callback.
class CallbackStack : NoCopy {
 public:
  CallbackStack();
  // Adds what waits, without callers where the stack is unknown.
  ~CallbackStack();
  // In the callback: its stack, below a class, has this number in that profile.
  static void note(uint32_t profile, uint32_t trace);
  // In a handler: false where the current thread is in no callback, or too many samples wait.
  static bool put_off(const WaitingSample& sample);

 private:
  struct Place;
  static Place* find(pid_t thread);
  Place* place_;
};

}  // namespace jvmti
