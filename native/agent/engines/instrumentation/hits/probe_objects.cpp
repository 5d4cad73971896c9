// The objects of calls, which are held as long as their set is there: of the last calls only.

#include "agent/engines/instrumentation/probe_set.h"
#include "agent/handles/agent_references.h"

namespace jvmti {

// The number of a call, whose objects are an array; 0 where they cannot be held.
int64_t ProbeSet::hold(JNIEnv* jni, jobject objects) {
  constexpr jint kOwnFrames = 2;
  jvmtiFrameInfo frame = frame_at(env_, nullptr, kOwnFrames);
  if (frame.method == nullptr) return 0;
  jobject held = jvmti::hold(jni, objects);
  if (held == nullptr) return 0;
  jobject before = held;
  int64_t sequence = 0;
  {
    Locked locked(mutex_);
    // Nothing is added once the set has let go of what it had.
    if (active_ && !held_.empty()) {
      sequence = ++held_count_;
      Held& place = held_[static_cast<size_t>(sequence) % held_.size()];
      before = place.objects;
      place = {frame.method, held};
    }
  }
  if (before != nullptr) jvmti::let_go(jni, before);
  return sequence;
}

bool ProbeSet::take_held(JNIEnv* jni, int64_t sequence, jmethodID* method,
                         LocalRef<jobjectArray>* objects) {
  jobject taken = nullptr;
  {
    Locked locked(mutex_);
    int64_t oldest = held_count_ - static_cast<int64_t>(held_.size());
    if (!active_ || sequence < 1 || sequence > held_count_ || sequence <= oldest) return false;
    Held& place = held_[static_cast<size_t>(sequence) % held_.size()];
    taken = place.objects;
    *method = place.method;
    place.objects = nullptr;
  }
  if (taken == nullptr) return false;
  objects->reset(static_cast<jobjectArray>(jni->NewLocalRef(taken)));
  jvmti::let_go(jni, taken);
  return *objects != nullptr;
}

void ProbeSet::let_go(JNIEnv* jni) {
  while (true) {
    jobject objects = nullptr;
    {
      Locked locked(mutex_);
      if (held_.empty()) return;
      objects = held_.pop().objects;
    }
    if (objects != nullptr) jvmti::let_go(jni, objects);
  }
}

}  // namespace jvmti
