// Which virtual thread is mounted on the current thread, as HotSpot's structures say at that
// moment: in a signal handler, where nothing of the VM may be called.
#pragma once

#include <jvmti.h>

#include <cstdint>

namespace jvmti {

class MountedThread {
 public:
  // On a Java thread, after `prepare_threads`.
  static void prepare(JNIEnv* jni);
  // Whether this VM's structures say it; otherwise there is never one.
  static bool known();
  // The `Thread.threadId` of the virtual thread on the current one, whose JNIEnv this is.  Without
  // one it is that of the thread itself, or 0.  What is read may be gone: a fault is possible.
  static int64_t id(const JNIEnv* jni);
  // The same of another thread of the VM, which may end meanwhile; 0 without a virtual one.
  static int64_t id_on(uintptr_t thread);
  // On a stack, from within: the method between the frames of a virtual thread and those of its
  // carrier, and one of the carrier's.  Null if unknown.
  struct Methods {
    jmethodID border;
    jmethodID carries;
  };
  static Methods methods();
};

}  // namespace jvmti
