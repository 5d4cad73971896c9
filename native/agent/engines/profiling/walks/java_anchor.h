// Where a thread left Java, as the VM notes it for the time that the thread is elsewhere.
#pragma once

#include <jvmti.h>

#include <cstdint>

namespace jvmti {

class JavaAnchor {
 public:
  // On any thread, before the first. Nothing is known where the VM's structures are not.
  static void prepare();
  // Whether a thread that does not run Java has no Java frames: one of the VM's own, or one that
  // begins or ends. AsyncGetCallTrace takes its stack for one that it cannot walk.
  static bool is_missing(const JNIEnv* jni);

  // Compiled code that calls the VM by a stub notes where its stack was, and the VM finds the
  // return address there when it walks that stack. AsyncGetCallTrace does not, and has no frames;
  // and for the stub's caller it takes the debug information of the next call. This notes the
  // caller, in a handler, while the thread is in a library.
  void complete(const JNIEnv* jni);
  // Takes that back, also after a fault, and before the thread runs on.
  void restore();

 private:
  void note(uintptr_t stack, uintptr_t back) const;
  volatile uintptr_t thread_;  // where it was noted; 0: nowhere
  uintptr_t left_at_;          // where the stack was
};

}  // namespace jvmti
