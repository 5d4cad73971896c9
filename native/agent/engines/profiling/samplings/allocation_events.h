// The VM's events of sampled allocations, for all profiles at once: only one environment has them.
#pragma once

#include "agent/engines/profiling/profile.h"

namespace jvmti {

class AllocationEvents {
 public:
  using Receiver = void (*)(Profile& profile, JNIEnv* jni, jthread thread, jobject object,
                            jclass klass, jlong weight);
  // From here on the receiver is called for the profile; null, or why it is not.
  static const char* add(Profile& profile, Receiver receiver);
  // Also of a profile that was not added.
  static void remove(Profile& profile);
};

}  // namespace jvmti
