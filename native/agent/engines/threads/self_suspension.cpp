#include "agent/engines/threads/self_suspension.h"

#include <unistd.h>

#include "agent/events/events.h"
#include "agent/handles/agent_references.h"

namespace jvmti {

namespace {

// Made and removed by the thread itself only.
struct SelfSuspension {
  pthread_t owner;
  jobject thread;    // a global reference
  Session* session;  // null when it is called off
  jvmtiEnv* env;
  bool begun;  // the thread enters the VM for it
  int looks;   // others that use the reference
  SelfSuspension* next;
};

Mutex mutex{Guards::kLists};
Condition changed;
SelfSuspension* first = nullptr;

// That of the current thread; hold the mutex.
SelfSuspension* own_suspension() {
  SelfSuspension* one = first;
  while (one != nullptr && !pthread_equal(one->owner, pthread_self())) one = one->next;
  return one;
}

// Finds that of a thread that is not called off, kept until `leave`.  The VM compares references
// without the mutex, because it may stop the thread that asks.
SelfSuspension* enter(JNIEnv* jni, jthread thread) {
  mutex.lock();
  for (SelfSuspension* one = first; one != nullptr;) {
    ++one->looks;
    mutex.unlock();
    bool same = jni->IsSameObject(one->thread, thread);
    mutex.lock();
    if (same && one->session != nullptr) {
      mutex.unlock();
      return one;
    }
    SelfSuspension* next = one->next;
    if (--one->looks == 0) changed.notify_all();
    one = next;
  }
  mutex.unlock();
  return nullptr;
}

void leave(SelfSuspension* one) {
  Locked locked(mutex);
  if (--one->looks == 0) changed.notify_all();
}

}  // namespace

jvmtiError suspend_when_handled(Call& call) {
  if (!held(call.env).can_suspend) return JVMTI_ERROR_MUST_POSSESS_CAPABILITY;
  auto* made = make<SelfSuspension>();
  if (made == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  LocalRef<jthread> current = current_thread(call.env, call.jni);
  jobject thread = current == nullptr ? nullptr : hold(call.jni, current);
  *made = SelfSuspension{pthread_self(), thread, &call.session, call.env, false, 0, nullptr};
  jvmtiError error = thread == nullptr ? JVMTI_ERROR_OUT_OF_MEMORY : JVMTI_ERROR_NONE;
  bool listed = false;
  if (error == JVMTI_ERROR_NONE) {
    Locked locked(mutex);
    SelfSuspension* before = own_suspension();
    if (before == nullptr) {
      made->next = first;
      first = made;
      listed = true;
    } else if (before->session == nullptr) {
      before->session = &call.session;  // it had been called off
      before->env = call.env;
    } else {
      error = JVMTI_ERROR_THREAD_SUSPENDED;
    }
  }
  if (listed) return error;
  if (thread != nullptr) let_go(call.jni, thread);
  unmake(made);
  return error;
}

bool is_to_be_suspended(JNIEnv* jni, jthread thread) {
  SelfSuspension* one = enter(jni, thread);
  if (one != nullptr) leave(one);
  return one != nullptr;
}

bool resume_before_suspended(JNIEnv* jni, jvmtiEnv* env, jthread thread) {
  constexpr int kLooks = 1000;
  SelfSuspension* one = enter(jni, thread);
  if (one == nullptr) return false;
  bool begun = false;
  {
    Locked locked(mutex);
    begun = one->begun;
    if (!begun) one->session = nullptr;
  }
  jvmtiError error = begun ? JVMTI_ERROR_THREAD_NOT_SUSPENDED : JVMTI_ERROR_NONE;
  // It is on its way into the VM.
  for (int look = 0; look < kLooks && error == JVMTI_ERROR_THREAD_NOT_SUSPENDED; ++look) {
    usleep(1000);
    error = env->ResumeThread(thread);
  }
  leave(one);
  return error == JVMTI_ERROR_NONE;
}

void suspend_as_asked(JNIEnv* jni) {
  SelfSuspension* own = nullptr;
  bool wanted = false;
  {
    Locked locked(mutex);
    own = own_suspension();
    if (own == nullptr) return;
    wanted = own->begun = own->session != nullptr;
  }
  if (wanted) {
    own->env->SuspendThread(own->thread);
    // Before release 16 the VM stops a thread that suspended itself when it enters the VM again.
    // That is to be here, while an ending session still finds the thread.
    jni->IsSameObject(own->thread, nullptr);
  }
  {
    Locked locked(mutex);
    // Who looks at it goes on from it to the next.
    while (own->looks > 0) changed.wait(mutex);
    SelfSuspension** at = &first;
    while (*at != own) at = &(*at)->next;
    *at = own->next;
  }
  let_go(jni, own->thread);
  unmake(own);
}

bool forget_self_suspensions(JNIEnv* jni, Session& session) {
  SelfSuspension* begun = nullptr;
  {
    Locked locked(mutex);
    for (SelfSuspension* one = first; one != nullptr; one = one->next) {
      if (one->session != &session) continue;
      if (one->begun) {
        begun = one;
      } else {
        one->session = nullptr;
      }
    }
    if (begun == nullptr) return true;
    ++begun->looks;
  }
  // Without a place for it this is called again.
  size_t place = session.suspensions.prepare(jni, begun->thread);
  if (place != KnownThreads::kNone) session.suspensions.settle(jni, place, true);
  leave(begun);
  return false;
}

extern const Engine kSelfSuspensionEngine{nullptr, nullptr,
                                          [](JNIEnv* jni, Session& session, Stage stage) {
                                            return stage != Stage::kSettle ||
                                                   forget_self_suspensions(jni, session);
                                          },
                                          nullptr};

}  // namespace jvmti
