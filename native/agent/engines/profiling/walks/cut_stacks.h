// Samples whose stack ends before the thread's.
#pragma once

#include <jvmti.h>

#include "agent/engines/profiling/walks/entry_methods.h"
#include "base/containers.h"

namespace jvmti {

// Counts stacks by the method at which they end, and asks the VM at which one the thread enters
// Java: a program may have entries of its own. For one thread at a time.
class CutStacks : NoCopy {
 public:
  explicit CutStacks(EntryMethods& entries) : entries_(entries) {}
  // A sample whose stack ends at none of the entries, of this thread, or of one that cannot be
  // asked for null.
  void note(jmethodID outermost, const JNIEnv* thread);
  // How many there were, as far as is known now.
  uint64_t count(jvmtiEnv* env, JNIEnv* jni);

 private:
  struct End {
    jmethodID outermost;
    uint64_t samples;
    uintptr_t thread;  // the VM's own object of one to ask; 0: none
  };
  void ask(jvmtiEnv* env, JNIEnv* jni);

  EntryMethods& entries_;
  Index places_;  // plus 1, by the method
  Vector<End> ends_;
  size_t to_ask_ = 0;
};

}  // namespace jvmti
