#include "agent/engines/threads/suspensions.h"

#include "agent/channels/channel.h"
#include "agent/engines/threads/leave_frame.h"
#include "agent/handles/agent_references.h"
#include "agent/sessions/session.h"
#include "base/log.h"

namespace jvmti {

namespace {

// An environment that may resume threads; null if the VM does not grant the capability.
jvmtiEnv* environment_that_suspends() {
  jvmtiCapabilities wanted{};
  wanted.can_suspend = 1;
  wanted.can_support_virtual_threads = major_version(agent.version) >= 21;
  return environment_with(wanted);
}

bool resume_with(jvmtiEnv* env, jthread thread) {
  return env->ResumeThread(thread) != JVMTI_ERROR_MUST_POSSESS_CAPABILITY;
}

}  // namespace

void Suspensions::settle(JNIEnv* jni, size_t place, bool suspended) {
  noted_.settle(jni, place, suspended);
  // What is noted after the session's end has looked is for us to undo.
  if (suspended && session_.ending()) resume_all(jni);
}

void Suspensions::suspend(JNIEnv* jni, jvmtiEnv* env, bool service_thread, int64_t key, jint count,
                          const jthread* threads, jint* outcomes) {
  Work work{env, key, false, count, threads, outcomes, false, nullptr};
  if (service_thread) return perform(jni, &work);
  // Another thread cannot use our local references.
  Vector<jobject> global;
  bool good = global.reserve(static_cast<size_t>(count) + 1);
  for (jint i = 0; good && i < count; ++i) {
    jobject reference = hold(jni, threads[i]);
    good = reference != nullptr;
    if (good) global.put(reference);
  }
  work.threads = global.begin();
  jvmtiError error = good ? hand_over(jni, &work) : JVMTI_ERROR_OUT_OF_MEMORY;
  for (jint i = 0; error != JVMTI_ERROR_NONE && i < count; ++i) outcomes[i] = error;
  for (jobject reference : global) let_go(jni, reference);
}

jvmtiError Suspensions::resume(JNIEnv* jni, jvmtiEnv* env, bool service_thread, int64_t key) {
  Work work{env, key, true, 0, nullptr, nullptr, false, nullptr};
  if (!service_thread) return hand_over(jni, &work);
  perform(jni, &work);
  return JVMTI_ERROR_NONE;
}

// A thread that starts another may be suspended meanwhile, so no thread waits for one that is not
// there yet.
jvmtiError Suspensions::hand_over(JNIEnv* jni, Work* work) {
  if (!agent.live) return JVMTI_ERROR_WRONG_PHASE;  // no thread can be started, none suspended
  bool alone = false;
  {
    Locked locked(mutex_);
    if (over_) return JVMTI_ERROR_INTERRUPT;
    alone = serving_ == 0;
    if (alone) ++started_;
  }
  bool started = !alone || start_service_thread(jni, "jvmti suspender", serve, this);
  Locked locked(mutex_);
  if (!started) --started_;
  if (over_) return JVMTI_ERROR_INTERRUPT;
  if (!started && serving_ == 0) return JVMTI_ERROR_OUT_OF_MEMORY;
  *last_ = work;
  last_ = &work->next;
  changed_.notify_all();
  while (!work->done) changed_.wait(mutex_);
  return JVMTI_ERROR_NONE;
}

void JNICALL Suspensions::serve(jvmtiEnv*, JNIEnv* jni, void* what) {
  Suspensions& suspensions = *static_cast<Suspensions*>(what);
  jthread thread = nullptr;
  agent.env->GetCurrentThread(&thread);
  suspensions.work_off(jni);
  leave_service(jni, thread);
  Locked locked(suspensions.mutex_);
  // From here on the session may be gone.
  --suspensions.started_;
}

void Suspensions::work_off(JNIEnv* jni) {
  Serving::retire();          // what happens here is the agent's own doing
  constexpr int kLook = 500;  // milliseconds
  Locked locked(mutex_);
  ++serving_;
  while (true) {
    Work* work = first_;
    if (work == nullptr) {
      if (session_.ending()) break;
      changed_.wait(mutex_, kLook);
      continue;
    }
    first_ = work->next;
    if (first_ == nullptr) last_ = &first_;
    mutex_.unlock();
    perform(jni, work);
    mutex_.lock();
    work->done = true;
    changed_.notify_all();
  }
  over_ = --serving_ == 0;
}

bool Suspensions::ended() {
  Locked locked(mutex_);
  changed_.notify_all();
  return started_ == 0;
}

void Suspensions::perform(JNIEnv* jni, Work* work) {
  turn_.take();
  if (work->resuming) {
    resume_key(jni, work->env, work->key);
  } else {
    for (jint i = 0; i < work->count; ++i) {
      work->outcomes[i] = suspend_one(jni, work->env, work->threads[i], work->key);
    }
  }
  turn_.give_back();
}

bool Suspensions::is_suspended(JNIEnv* jni, jthread thread) {
  for (const Suspension& one : suspended_) {
    if (jni->IsSameObject(one.thread, thread)) return true;
  }
  return false;
}

jvmtiError Suspensions::suspend_one(JNIEnv* jni, jvmtiEnv* env, jthread thread, int64_t key) {
  if (session_.ending()) return JVMTI_ERROR_INTERRUPT;
  for (int64_t resumed : resumed_) {
    if (resumed == key) return JVMTI_ERROR_INTERRUPT;
  }
  // Room beforehand: a suspension that cannot be noted would be for good.
  if (!suspended_.reserve(suspended_.size() + 1)) return JVMTI_ERROR_OUT_OF_MEMORY;
  Suspension made{key, hold(jni, thread)};
  if (made.thread == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  jvmtiError error = JVMTI_ERROR_NONE;
  if (!is_suspended(jni, thread)) {
    size_t place = prepare(jni, thread);
    error = place == KnownThreads::kNone ? JVMTI_ERROR_OUT_OF_MEMORY : env->SuspendThread(thread);
    if (place != KnownThreads::kNone) settle(jni, place, error == JVMTI_ERROR_NONE);
  }
  if (error == JVMTI_ERROR_NONE) {
    suspended_.put(made);
  } else {
    let_go(jni, made.thread);
  }
  return error;
}

void Suspensions::resume_key(JNIEnv* jni, jvmtiEnv* env, int64_t key) {
  resumed_[resumed_count_++ % (sizeof resumed_ / sizeof resumed_[0])] = key;
  for (size_t at = 0; at < suspended_.size();) {
    if (suspended_[at].key != key) {
      ++at;
      continue;
    }
    jobject thread = suspended_[at].thread;
    suspended_.remove(at);
    // Somebody may have resumed it meanwhile, or it has ended: then there is nothing to do.
    if (!is_suspended(jni, thread) && resume_with(env, thread)) {
      note_resumed(jni, thread);
      await_leaving(thread);
    }
    let_go(jni, thread);
  }
}

void Suspensions::resume_all(JNIEnv* jni) {
  jvmtiEnv* made = nullptr;
  jobject thread = nullptr;
  for (size_t place; (place = noted_.take(&thread)) != KnownThreads::kNone;) {
    bool resumed = session_.environments.any([&](Environment& one) {
      jvmtiEnv* env = one.env;
      return env != nullptr && resume_with(env, thread);
    });
    if (!resumed) {
      // The environment that suspended it has given the capability back since.
      if (made == nullptr) made = environment_that_suspends();
      resumed = made != nullptr ? resume_with(made, thread) : resume_by_others(jni, thread);
      if (!resumed) log("a suspended thread cannot be resumed");
    }
    noted_.drop(jni, place);
  }
  if (all_virtual.exchange(false)) {
    bool resumed = session_.environments.any([](Environment& one) {
      jvmtiEnv* env = one.env;
      return env != nullptr &&
             env->ResumeAllVirtualThreads(0, nullptr) != JVMTI_ERROR_MUST_POSSESS_CAPABILITY;
    });
    if (!resumed && made == nullptr) made = environment_that_suspends();
    if (!resumed && made != nullptr) made->ResumeAllVirtualThreads(0, nullptr);
  }
  if (made != nullptr) made->DisposeEnvironment();
}

// When another session has the capability now, by one of its environments.
bool Suspensions::resume_by_others(JNIEnv* jni, jthread thread) {
  bool resumed = false;
  visit_sessions(jni, [&](Session& other) {
    if (resumed || &other == &session_) return;
    resumed = other.environments.any([&](Environment& one) {
      if (!other.pin(&one)) return false;
      jvmtiEnv* env = one.env;
      bool able = env != nullptr && resume_with(env, thread);
      one.in_flight.fetch_sub(1);
      return able;
    });
  });
  return resumed;
}

void Suspensions::clear(JNIEnv* jni) {
  for (const Suspension& left : suspended_) let_go(jni, left.thread);
  suspended_.clear();
}

extern const Engine kSuspensionEngine{nullptr, nullptr,
                                      [](JNIEnv* jni, Session& session, Stage stage) {
                                        if (stage == Stage::kResume)
                                          session.suspensions.resume_all(jni);
                                        if (stage == Stage::kFree) session.suspensions.clear(jni);
                                        return stage != Stage::kSettle ||
                                               session.suspensions.ended();
                                      },
                                      nullptr};

}  // namespace jvmti
