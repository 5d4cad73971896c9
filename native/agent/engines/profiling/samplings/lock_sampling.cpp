// Waits for contended monitors: where, for how long, and which thread had the monitor.
//
// The VM reports when a thread begins to wait, and when it has the monitor.  To learn the owner it
// stops the program for a moment.  So it is asked while that takes a hundredth of the time, and of
// other waits the owner is unknown.

#include "agent/core/agent.h"
#include "agent/engines/profiling/samplings.h"
#include "agent/engines/profiling/samplings/event_stacks.h"
#include "base/clock.h"

namespace jvmti {

namespace {

constexpr int64_t kShare = 100;            // questions for owners take this part of the time
constexpr int64_t kMostCredit = 10000000;  // nanoseconds for many at once, after a while of few
constexpr int64_t kMostPrice = 200000;     // what took longer waited for a processor
constexpr jvmtiEvent kEvents[] = {JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
                                  JVMTI_EVENT_MONITOR_CONTENDED_ENTERED};

class LockSampler : NoCopy {
 public:
  explicit LockSampler(Profile& profile) : profile_(profile), threads_(profile) {}

  void begin(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject monitor);
  void end(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject monitor);

 private:
  struct Wait {
    int64_t began;   // 0: the thread does not wait
    uint32_t owner;  // its number plus 1; 0 if unknown
  };
  uint32_t owner_of(jvmtiEnv* env, JNIEnv* jni, jobject monitor);
  bool may_ask(int64_t now);

  Profile& profile_;
  EventThreads threads_;
  Mutex mutex_{Guards::kLists};
  int64_t credit_ = 0;    // nanoseconds for questions
  int64_t credited_ = 0;  // when it was last raised
  Index places_;          // in the waits plus 1, by Thread.threadId
  Vector<Wait> waits_;
};

bool LockSampler::may_ask(int64_t now) {
  Locked locked(mutex_);
  credit_ += credited_ == 0 ? kMostCredit : (now - credited_) / kShare;
  if (credit_ > kMostCredit) credit_ = kMostCredit;
  credited_ = now;
  return credit_ > 0;
}

uint32_t LockSampler::owner_of(jvmtiEnv* env, JNIEnv* jni, jobject monitor) {
  int64_t began = nanoseconds_now();
  if (!may_ask(began)) return 0;
  LocalFrame frame(jni, 16);
  jvmtiMonitorUsage usage{};
  jvmtiError error = env->GetObjectMonitorUsage(monitor, &usage);
  int64_t price = nanoseconds_now() - began;
  {
    Locked locked(mutex_);
    credit_ -= price < kMostPrice ? price : kMostPrice;
  }
  if (error != JVMTI_ERROR_NONE) return 0;
  env->Deallocate(reinterpret_cast<unsigned char*>(usage.waiters));
  env->Deallocate(reinterpret_cast<unsigned char*>(usage.notify_waiters));
  return usage.owner == nullptr ? 0 : threads_.number(jni, usage.owner) + 1;
}

void LockSampler::begin(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject monitor) {
  uint64_t id = static_cast<uint64_t>(thread_id(jni, thread));
  Wait wait{nanoseconds_now(), owner_of(env, jni, monitor)};
  Locked locked(mutex_);
  uint32_t place = places_.find(id);
  if (place != 0) {
    waits_[place - 1] = wait;
  } else if (waits_.push(wait) && !places_.insert(id, static_cast<uint32_t>(waits_.size()))) {
    waits_.pop();
  }
}

void LockSampler::end(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject monitor) {
  uint64_t id = static_cast<uint64_t>(thread_id(jni, thread));
  int64_t now = nanoseconds_now();
  Wait wait{};
  {
    Locked locked(mutex_);
    uint32_t place = places_.find(id);
    if (place != 0) {
      wait = waits_[place - 1];
      waits_[place - 1].began = 0;
    }
  }
  // One that began before the profile has no beginning.
  if (wait.began == 0 || now - wait.began < profile_.request.interval) return;
  if (is_service_thread(jni, thread)) return;
  LocalRef<jclass> klass(jni, jni->GetObjectClass(monitor));
  uint32_t trace = stack_below(profile_, env, thread, klass);
  if (trace == TraceTable::kNone) {
    profile_.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  profile_.add(Sample{epoch_now(), now - wait.began, trace, threads_.number(jni, thread),
                      wait.owner, layouts::SampleState::kBlocked});
}

LockSampler& sampler_of(Profile& profile) { return *static_cast<LockSampler*>(profile.sampler); }

void JNICALL enter(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject monitor) {
  UsedProfile profile(env);
  if (profile == nullptr || !profile->active) return;
  sampler_of(*profile).begin(env, jni, thread, monitor);
}

void JNICALL entered(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject monitor) {
  UsedProfile profile(env);
  if (profile == nullptr || !profile->active) return;
  sampler_of(*profile).end(env, jni, thread, monitor);
}

const char* start(JNIEnv*, Profile& profile) {
  jvmtiCapabilities wanted{};
  wanted.can_generate_monitor_events = 1;
  wanted.can_get_monitor_info = 1;
  if (profile.env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) {
    return "this VM does not report monitors";
  }
  profile.sampler = make<LockSampler>(profile);
  if (profile.sampler == nullptr) return "there is no memory for it";
  jvmtiEventCallbacks callbacks{};
  callbacks.MonitorContendedEnter = enter;
  callbacks.MonitorContendedEntered = entered;
  return listen(profile.env, callbacks, kEvents, sizeof kEvents / sizeof *kEvents);
}

void stop(JNIEnv*, Profile& profile) {
  mute(profile.env, kEvents, sizeof kEvents / sizeof *kEvents);
}

}  // namespace

extern const Sampling kLockSampling{start, nullptr, nullptr, stop, free_sampler<LockSampler>};

}  // namespace jvmti
