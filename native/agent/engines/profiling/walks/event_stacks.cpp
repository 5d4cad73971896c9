#include "agent/engines/profiling/walks/event_stacks.h"

#include "agent/core/agent.h"
#include "agent/engines/profiling/threads/virtual_threads.h"
#include "agent/engines/profiling/waiting_samples.h"
#include "agent/engines/profiling/walks/stack_walk.h"

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

namespace {

constexpr jint kMostFrames = 256;

// In a function of its own: a thread that has just woken up does not touch this much of its stack.
__attribute__((noinline)) jint ask_for_stack(jvmtiEnv* env, jthread thread, jint left_out,
                                             StackFrame* frames, jint depth) {
  jvmtiFrameInfo found[kMostFrames];
  jint count = walk_stack(env, thread, left_out, found, depth);
  for (jint i = 0; i < count; ++i) frames[i] = StackFrame::of(found[i]);
  return count < 0 ? 0 : count;
}

}  // namespace

uint32_t stack_below(Profile& profile, jvmtiEnv* env, JNIEnv* jni, jthread thread, jclass klass,
                     jint left_out) {
  StackFrame frames[kMostFrames + 1];
  Deallocated<char> type(env);
  if (env->GetClassSignature(klass, type.out(), nullptr) != JVMTI_ERROR_NONE || type == nullptr) {
    return TraceTable::kNone;
  }
  jint depth = profile.request.depth < kMostFrames ? profile.request.depth : kMostFrames;
  bool is_virtual =
      major_version(agent.version) >= kFirstWithVirtualThreads && jni->IsVirtualThread(thread);
  jint count = is_virtual ? 0 : walk_in_callback(jni, left_out, frames + 1, depth);
  if (!profile.entries.end(frames + 1, count, depth)) {
    count = ask_for_stack(env, thread, left_out, frames + 1, depth);
    if (count > 0 && count < depth) profile.entries.add(frames[count].method);
  }
  if (count == depth) profile.truncated.fetch_add(1, std::memory_order_relaxed);
  frames[0] = CodeNames::frame(CodeNames::kTypes + profile.names.note_type(type));
  uint32_t trace = profile.trace(frames, static_cast<uint32_t>(count + 1));
  CallbackStack::note(profile.number, trace);
  return trace;
}

void JNICALL class_loaded(jvmtiEnv*, JNIEnv*, jthread, jclass) {}

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
