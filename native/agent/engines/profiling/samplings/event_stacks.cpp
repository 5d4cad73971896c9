#include "agent/engines/profiling/samplings/event_stacks.h"

#include "agent/core/agent.h"

namespace jvmti {

uint32_t EventThreads::find(int64_t id) {
  if (id == 0) return 0;
  Locked locked(mutex_);
  return numbers_.find(static_cast<uint64_t>(id)) & ~kOursToo;
}

uint32_t EventThreads::number(JNIEnv* jni, jthread thread) {
  return (known(jni, thread) & ~kOursToo) - 1;
}

uint32_t EventThreads::sampled(JNIEnv* jni, jthread thread) {
  uint32_t found = known(jni, thread);
  return (found & kOursToo) != 0 ? kOurs : found - 1;
}

uint32_t EventThreads::known(JNIEnv* jni, jthread thread) {
  uint64_t id = static_cast<uint64_t>(thread_id(jni, thread));
  {
    Locked locked(mutex_);
    uint32_t found = numbers_.find(id);
    if (found != 0) return found;
  }
  ProfiledThread described;
  describe_thread(profile_.env, jni, thread, &described);
  uint32_t number = profile_.new_thread();
  profile_.names.note_thread(number, described);
  uint32_t made = (number + 1) | (is_service_thread(jni, thread) ? kOursToo : 0);
  Locked locked(mutex_);
  (void)numbers_.insert(id, made);
  return made;
}

uint32_t stack_below(Profile& profile, jvmtiEnv* env, jthread thread, jclass klass) {
  constexpr jint kMost = 256;
  jvmtiFrameInfo found[kMost];
  StackFrame frames[kMost + 1];
  Deallocated<char> type(env);
  if (env->GetClassSignature(klass, type.out(), nullptr) != JVMTI_ERROR_NONE || type == nullptr) {
    return TraceTable::kNone;
  }
  jint depth = profile.request.depth < kMost ? profile.request.depth : kMost;
  jint count = walk_stack(env, thread, 0, found, depth);
  if (count < 0) count = 0;
  if (count == depth) profile.truncated.fetch_add(1, std::memory_order_relaxed);
  frames[0] = CodeNames::frame(CodeNames::kTypes + profile.names.note_type(type));
  for (jint i = 0; i < count; ++i) frames[i + 1] = StackFrame::of(found[i]);
  return profile.trace(frames, static_cast<uint32_t>(count + 1));
}

const char* listen(jvmtiEnv* env, const jvmtiEventCallbacks& callbacks, const jvmtiEvent* events,
                   size_t count) {
  bool good = env->SetEventCallbacks(&callbacks, sizeof callbacks) == JVMTI_ERROR_NONE;
  for (size_t i = 0; i < count; ++i) {
    good =
        good && env->SetEventNotificationMode(JVMTI_ENABLE, events[i], nullptr) == JVMTI_ERROR_NONE;
  }
  return good ? nullptr : "the VM does not send the events that a profile needs";
}

void mute(jvmtiEnv* env, const jvmtiEvent* events, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    env->SetEventNotificationMode(JVMTI_DISABLE, events[i], nullptr);
  }
}

}  // namespace jvmti
