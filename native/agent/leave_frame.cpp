// A frame is left when its thread runs on.  HotSpot lets a thread be told a second time before that,
// pops one frame and then returns from its caller with a value of the wrong type: the program gets
// a number for a reference, and the VM crashes.  So a thread that was told has a mark in thread-local
// storage until it has stepped away from where it stood.

#include "leave_frame.h"

#include <unistd.h>

#include "clock.h"
#include "own.h"
#include "session.h"

namespace jvmti {

namespace {

constexpr int kLongestLeaving = 300;  // milliseconds
constexpr int kLongestTelling = 1000;

// The environment that the marks are in, and whether it can see threads step.
std::atomic<jvmtiEnv*> marks{nullptr};
std::atomic<bool> sees_steps{false};
// Held while a thread is told, because two controllers may have the same one suspended.  Who waits
// for it does not wait for long: a thread that tells at an event can be suspended by another.
Turn telling;

// Where a thread stands, as a mark: never null.
void* place_of(jvmtiEnv* env, jthread thread) {
  jint count = 0;
  jmethodID method = nullptr;
  jlocation location = 0;
  env->GetFrameCount(thread, &count);
  env->GetFrameLocation(thread, 0, &method, &location);
  uint64_t place = reinterpret_cast<uintptr_t>(method);
  place = place * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(location);
  place = place * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(count);
  return reinterpret_cast<void*>(static_cast<uintptr_t>(place | 1));
}

// A step can still be told of in the frame that will be left.
void JNICALL stepped(jvmtiEnv* env, JNIEnv*, jthread thread, jmethodID, jlocation) {
  void* marked = nullptr;
  env->GetThreadLocalStorage(thread, &marked);
  if (marked != nullptr && place_of(env, thread) == marked) return;
  env->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_SINGLE_STEP, thread);
  env->SetThreadLocalStorage(thread, nullptr);
}

// For who has the turn to tell.
jvmtiEnv* marking() {
  if (marks != nullptr) return marks;
  bool sees = true;
  jvmtiEnv* env = new_stepping_environment(&sees);
  if (env == nullptr) return nullptr;
  jvmtiEventCallbacks callbacks{};
  callbacks.SingleStep = stepped;
  env->SetEventCallbacks(&callbacks, sizeof callbacks);
  sees_steps = sees;
  marks = env;
  return env;
}

// Tells the thread by a function of JVM TI, unless it has been told already.
template <class Function, class... Values>
jvmtiError tell(Call& call, jthread named, Function function, Values... values) {
  jthread thread = named;
  if (thread == nullptr) call.env->GetCurrentThread(&thread);
  jvmtiError error = JVMTI_ERROR_NONE;
  if (!telling.take_within(kLongestTelling)) {
    call.refuse(JVMTI_ERROR_INTERNAL, "another thread is being told to leave its frame");
  } else {
    jvmtiEnv* env = marking();
    void* marked = nullptr;
    if (env != nullptr) env->GetThreadLocalStorage(thread, &marked);
    if (env == nullptr) {
      error = JVMTI_ERROR_OUT_OF_MEMORY;
    } else if (marked != nullptr) {
      // What HotSpot answers to the same request made twice.
      call.refuse(JVMTI_ERROR_INTERNAL, "%s",
                  sees_steps ? "the thread was told to leave its frame and has not run since"
                             : "the thread was told to leave a frame, and without "
                               "can_generate_single_step_events nothing says whether it has");
    } else {
      void* place = place_of(env, thread);
      error = (call.env->*function)(named, values...);
      if (error == JVMTI_ERROR_NONE) {
        env->SetThreadLocalStorage(thread, place);
        env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP, thread);
      }
    }
    telling.give_back();
  }
  if (named == nullptr && thread != nullptr) call.jni->DeleteLocalRef(thread);
  return call.refused() ? static_cast<jvmtiError>(call.status) : error;
}

}  // namespace

void await_leaving(jthread thread) {
  jvmtiEnv* env = marks;
  if (env == nullptr || !sees_steps) return;
  for (int64_t until = now_in_milliseconds() + kLongestLeaving; now_in_milliseconds() < until;) {
    void* marked = nullptr;
    if (env->GetThreadLocalStorage(thread, &marked) != JVMTI_ERROR_NONE || marked == nullptr) return;
    usleep(100);
  }
}

namespace own {

jvmtiError PopFrame(Call& call, const In<kinds::Thread>& thread) {
  jvmtiError error = tell(call, thread.c(), &jvmtiEnv::PopFrame);
  if (error != JVMTI_ERROR_NONE) return error;
  Visits sessions(call.jni);
  for (Session* session : sessions) {
    session->stops.frame_was_popped(call.jni, *session, thread.c());
  }
  return JVMTI_ERROR_NONE;
}

jvmtiError ForceEarlyReturnObject(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                  const In<Nullable<kinds::Object>>& value) {
  return tell(call, thread.c(), &jvmtiEnv::ForceEarlyReturnObject, value.c());
}

jvmtiError ForceEarlyReturnInt(Call& call, const In<Nullable<kinds::Thread>>& thread,
                               const In<jint>& value) {
  return tell(call, thread.c(), &jvmtiEnv::ForceEarlyReturnInt, value.c());
}

jvmtiError ForceEarlyReturnLong(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                const In<jlong>& value) {
  return tell(call, thread.c(), &jvmtiEnv::ForceEarlyReturnLong, value.c());
}

jvmtiError ForceEarlyReturnFloat(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                 const In<jfloat>& value) {
  return tell(call, thread.c(), &jvmtiEnv::ForceEarlyReturnFloat, value.c());
}

jvmtiError ForceEarlyReturnDouble(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                  const In<jdouble>& value) {
  return tell(call, thread.c(), &jvmtiEnv::ForceEarlyReturnDouble, value.c());
}

jvmtiError ForceEarlyReturnVoid(Call& call, const In<Nullable<kinds::Thread>>& thread) {
  return tell(call, thread.c(), &jvmtiEnv::ForceEarlyReturnVoid);
}

}  // namespace own
}  // namespace jvmti
