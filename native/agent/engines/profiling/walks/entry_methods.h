// The methods by which threads enter Java: the outermost frames of whole stacks.
#pragma once

#include <jvmti.h>

#include <atomic>

#include "agent/engines/profiling/trace_table.h"
#include "base/no_copy.h"

namespace jvmti {

// Grows as the VM names them. AsyncGetCallTrace leaves callers out where it loses its way, and does
// not say so: such a stack ends at another method. Signal handlers look here.
class EntryMethods : NoCopy {
 public:
  // Those that the VM itself calls.
  void prepare(JNIEnv* jni);
  bool has(jmethodID method) const;
  void add(jmethodID method);
  // Whether these frames are all of a stack, of which at most `depth` are wanted.
  bool end(const StackFrame* frames, jint count, jint depth) const {
    return count >= depth || (count > 0 && has(frames[count - 1].method));
  }

 private:
  static constexpr uint32_t kMost = 64;
  std::atomic<jmethodID> methods_[kMost] = {};
};

}  // namespace jvmti
