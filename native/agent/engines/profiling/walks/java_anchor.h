// Where a thread left Java, as the VM notes it for the time that the thread is elsewhere.
#pragma once

#include <jvmti.h>

namespace jvmti {

class JavaAnchor {
 public:
  // On any thread, before the first. Nothing is known where the VM's structures are not.
  static void prepare();
  // Whether a thread that does not run Java has no Java frames: one of the VM's own, or one that
  // begins or ends. AsyncGetCallTrace takes its stack for one that it cannot walk.
  static bool is_missing(const JNIEnv* jni);
};

}  // namespace jvmti
