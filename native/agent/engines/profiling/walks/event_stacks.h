// What all samplers by events of the VM need: numbers of threads, and stacks below a class.
#pragma once

#include "agent/engines/profiling/profile.h"

namespace jvmti {

// The threads of events, each described when it is first seen.
class EventThreads : NoCopy {
 public:
  explicit EventThreads(Profile& profile) : profile_(profile) {}
  uint32_t number(JNIEnv* jni, jthread thread);  // as the profile numbers it
  uint32_t find(int64_t id);                     // the same plus 1; 0 for one that was not seen
  // The same as `number`; `kOurs` for one of the agent's own, which has no samples.
  static constexpr uint32_t kOurs = ~uint32_t{0};
  uint32_t sampled(JNIEnv* jni, jthread thread);

 private:
  // With its number, whether a thread is one of the agent's own, which it is from its beginning.
  static constexpr uint32_t kOursToo = uint32_t{1} << 31;
  uint32_t known(JNIEnv* jni, jthread thread);

  Profile& profile_;
  Mutex mutex_{Guards::kLists};
  Index numbers_;  // plus 1, with `kOursToo`, by Thread.threadId
};

// The stack of the current thread with the class on top, which was allocated or is a lock's,
// and without its innermost frames; kNone without memory.
uint32_t stack_below(Profile& profile, jvmtiEnv* env, JNIEnv* jni, jthread thread, jclass klass,
                     jint left_out = 0);

// Does nothing. The VM walks stacks the quick way only while somebody listens to loaded classes.
void JNICALL class_loaded(jvmtiEnv* env, JNIEnv* jni, jthread thread, jclass klass);

// Null, or why an environment cannot have these events, with these callbacks.
const char* listen(jvmtiEnv* env, const jvmtiEventCallbacks& callbacks, const jvmtiEvent* events,
                   size_t count);
void mute(jvmtiEnv* env, const jvmtiEvent* events, size_t count);

}  // namespace jvmti
