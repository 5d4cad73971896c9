// Which thread has the monitor that the current one waits for, as HotSpot's structures say at that
// moment.  Their places are in a table that the VM exports for the serviceability agent.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <cstdint>

#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

class PendingMonitors : NoCopy {
 public:
  // Does nothing where the VM has other structures.
  void prepare(jvmtiEnv* env, JNIEnv* jni);
  struct Owner {
    int64_t id;    // its Thread.threadId; 0 if unknown
    bool mounted;  // whether it is a virtual one, on its carrier
  };
  // The owner, in an event that the current thread begins to wait.
  Owner owner(const JNIEnv* jni);
  // Lists the threads again where an owner was not among them.
  void look(jvmtiEnv* env, JNIEnv* jni);
  // A thread begins; the current one ends, and its structures may become another's.
  void note(jvmtiEnv* env, JNIEnv* jni, jthread thread);
  void forget(const JNIEnv* jni);

 private:
  struct Known {
    uintptr_t stack;    // its end
    size_t stack_size;  // 0: it has ended
    int64_t id;         // 0: it carries virtual threads, one of which is the owner
    uintptr_t thread;   // of the VM
  };
  void list(jvmtiEnv* env, JNIEnv* jni);
  const Known* find(uintptr_t owner) const;

  Mutex mutex_{Guards::kLists};
  Index places_;  // in those that are known plus 1, by the VM's thread
  Vector<Known> known_;
  std::atomic<bool> missed_{false};
  int64_t listed_ = 0;
};

}  // namespace jvmti
