// Waits for contended monitors, and threads that are parked for a lock of java.util.concurrent:
// where, for how long, and which thread had the lock.
//
// The VM reports when a thread begins to wait, and when it has the monitor; probes report parked
// threads when they go on, and had asked the lock for its owner before.  Of many waits some are
// sampled (`SampledWaits`).  HotSpot's structures say who has the monitor (`PendingMonitors`),
// except where a monitor gets its first waiter: from 23 on the owner is anonymous then.  There the
// profile's thread looks at those that wait, and asks for the owners as long as that takes a small
// part of the time.  To find it out by JVM TI, the VM stops the program; this is for virtual
// threads, and runtimes without ThreadMXBean.

#include <cstring>

#include "agent/core/agent.h"
#include "agent/engines/instrumentation/hits/probe_events.h"
#include "agent/engines/profiling/samplings.h"
#include "agent/engines/profiling/samplings/monitor_owners.h"
#include "agent/engines/profiling/samplings/parked_threads.h"
#include "agent/engines/profiling/samplings/pending_monitors.h"
#include "agent/engines/profiling/samplings/sampled_waits.h"
#include "agent/engines/profiling/threads/carried_threads.h"
#include "agent/engines/profiling/threads/virtual_threads.h"
#include "agent/engines/profiling/walks/event_stacks.h"
#include "agent/engines/profiling/walks/stack_walk.h"
#include "base/clock.h"

namespace jvmti {

namespace {

using layouts::SampleState;

constexpr int64_t kShare = 300;           // questions for owners take this part of the time
constexpr int64_t kMostCredit = 3000000;  // nanoseconds for many at once, after a while of few
constexpr int64_t kMostPrice = 200000;    // what took longer waited for a processor
constexpr int64_t kLook = 20000000;       // nanoseconds between two looks, on average
constexpr int64_t kIdleLook = 200000000;  // the same while each wait has an owner
constexpr jsize kMostAsked = 32;          // at once
constexpr uint32_t kMostOthers = 1 << 16;
constexpr int64_t kNoId = 0;
constexpr jvmtiEvent kEvents[] = {JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
                                  JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, JVMTI_EVENT_THREAD_START,
                                  JVMTI_EVENT_THREAD_END, JVMTI_EVENT_CLASS_LOAD};

int64_t own_processor_time() { return processor_time(CLOCK_THREAD_CPUTIME_ID); }

class LockSampler : NoCopy {
 public:
  explicit LockSampler(Profile& profile)
      : profile_(profile), threads_(profile), sampled_(profile), others_(profile) {}

  void prepare(JNIEnv* jni);
  void forget(JNIEnv* jni);
  void begin(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject monitor);
  void end(JNIEnv* jni, jthread thread, jobject monitor);
  void parked(JNIEnv* jni, jobject lock, const ParkedTime& time);
  void begin_thread(JNIEnv* jni, jthread thread) { pending_.note(profile_.env, jni, thread); }
  void end_thread(JNIEnv* jni) { pending_.forget(jni); }
  int64_t look(JNIEnv* jni);
  void identify(JNIEnv* jni, Vector<Sample>& samples);

 private:
  struct Wait {
    int64_t began;
    uint32_t owner;  // its number plus 1; 0 if unknown
    int64_t thread;
    int64_t owner_id;  // 0 if unknown
  };
  struct Asked {
    size_t place;  // in the waits
    int64_t began;
  };
  void sample(JNIEnv* jni, jthread thread, jobject lock, int64_t weight, uint32_t state,
              uint32_t owner, int64_t owner_id);
  bool may_ask();
  void pay(int64_t price);
  uint32_t stopped_owner(jvmtiEnv* env, JNIEnv* jni, jobject monitor);
  jsize waiting(Asked* asked, int64_t* threads);
  uint32_t number_of(JNIEnv* jni, int64_t thread, bool* is_platform);
  uint32_t known_owner(JNIEnv* jni, int64_t thread, bool* is_other_thread);
  bool is_carrier(JNIEnv* jni, jthread thread);
  bool is_other(int64_t id) const { return other_ids_.find(static_cast<uint64_t>(id)) != 0; }

  Profile& profile_;
  EventThreads threads_;
  SampledWaits sampled_;
  CarriedThreads others_;  // owners that are no platform threads
  Index other_ids_;        // of these
  uint32_t other_count_ = 0;
  Vector<int64_t> new_owners_;  // by their ids, of waits that have just begun
  MonitorOwners owners_;
  PendingMonitors pending_;
  VirtualThreads virtual_threads_;
  Mutex mutex_{Guards::kLists};
  int64_t credit_ = 0;    // nanoseconds for questions
  int64_t credited_ = 0;  // when it was last raised
  Index places_;          // in the waits plus 1, by Thread.threadId
  Vector<Wait> waits_;    // of threads that wait now
  size_t next_ = 0;       // of the waits, the first to look at
  bool busy_ = false;     // whether a thread has waited for nobody known since the last look
  bool resting_ = false;  // whether the next look is far
};

void LockSampler::prepare(JNIEnv* jni) {
  owners_.prepare(jni);
  virtual_threads_.prepare(profile_.env, jni);
  pending_.prepare(profile_.env, jni);
  others_.prepare(jni);
  if (!owners_.known()) return;
  // The first question links classes.
  LocalRefs<jthread> all(profile_.env, jni);
  if (profile_.env->GetAllThreads(all.count_out(), all.out()) != JVMTI_ERROR_NONE) return;
  for (jthread one : all) {
    jint state = 0;
    profile_.env->GetThreadState(one, &state);
    if ((state & JVMTI_THREAD_STATE_IN_OBJECT_WAIT) == 0) continue;
    int64_t waiting = thread_id(jni, one);
    int64_t owner = 0;
    owners_.of(jni, &waiting, &owner, 1);
    return;
  }
}

void LockSampler::forget(JNIEnv* jni) {
  owners_.forget(jni);
  others_.forget(jni);
  virtual_threads_.forget(jni);
}

// ---- questions ---------------------------------------------------------------------------------

bool LockSampler::may_ask() {
  int64_t now = nanoseconds_now();
  credit_ += credited_ == 0 ? kMostCredit : (now - credited_) / kShare;
  if (credit_ > kMostCredit) credit_ = kMostCredit;
  credited_ = now;
  return credit_ > 0;
}

void LockSampler::pay(int64_t price) {
  Locked locked(mutex_);
  credit_ -= price;
}

uint32_t LockSampler::stopped_owner(jvmtiEnv* env, JNIEnv* jni, jobject monitor) {
  {
    Locked locked(mutex_);
    if (!may_ask()) return 0;
  }
  LocalFrame frame(jni, 16);
  int64_t began = nanoseconds_now();
  jvmtiMonitorUsage usage{};
  jvmtiError error = env->GetObjectMonitorUsage(monitor, &usage);
  int64_t price = nanoseconds_now() - began;
  pay(price < kMostPrice ? price : kMostPrice);
  if (error != JVMTI_ERROR_NONE) return 0;
  env->Deallocate(reinterpret_cast<unsigned char*>(usage.waiters));
  env->Deallocate(reinterpret_cast<unsigned char*>(usage.notify_waiters));
  // HotSpot names the carrier of a virtual thread that is being mounted.
  if (usage.owner == nullptr || is_carrier(jni, usage.owner)) return 0;
  return threads_.number(jni, usage.owner) + 1;
}

jsize LockSampler::waiting(Asked* asked, int64_t* threads) {
  Locked locked(mutex_);
  if (!may_ask()) return 0;
  int64_t now = nanoseconds_now();
  jsize count = 0;
  for (size_t i = 0; i < waits_.size() && count < kMostAsked; ++i) {
    size_t place = (next_ + i) % waits_.size();
    const Wait& wait = waits_[place];
    if (wait.owner != 0 || wait.owner_id != 0) continue;
    if (now - wait.began < profile_.request.interval) continue;
    asked[count] = Asked{place, wait.began};
    threads[count++] = wait.thread;
  }
  if (count > 0) next_ = asked[count - 1].place + 1;
  return count;
}

bool LockSampler::is_carrier(JNIEnv* jni, jthread thread) {
  if (!virtual_threads_.known()) return false;
  ProfiledThread described;
  describe_thread(profile_.env, jni, thread, &described);
  return std::strcmp(described.group, "CarrierThreads") == 0;
}

// Of a carrier it is that of the virtual thread on it, or unknown: that one may have left it.
uint32_t LockSampler::number_of(JNIEnv* jni, int64_t thread, bool* is_platform) {
  *is_platform = true;
  uint32_t known = threads_.find(thread);
  if (known != 0) return known;
  LocalRefs<jthread> all(profile_.env, jni);
  if (profile_.env->GetAllThreads(all.count_out(), all.out()) != JVMTI_ERROR_NONE) return 0;
  for (jthread one : all) {
    if (thread_id(jni, one) != thread) continue;
    LocalRef<jthread> mounted(jni, virtual_threads_.mounted_on(profile_.env, one));
    if (mounted == nullptr && is_carrier(jni, one)) return 0;
    return threads_.number(jni, mounted == nullptr ? one : mounted.get()) + 1;
  }
  *is_platform = false;
  return 0;
}

// The same for the owner in a sample.  A search through all threads counts as a question.  One that
// is not among them is a virtual thread, or has ended.
uint32_t LockSampler::known_owner(JNIEnv* jni, int64_t thread, bool* is_other_thread) {
  uint32_t known = threads_.find(thread);
  if (known != 0) return known;
  {
    Locked locked(mutex_);
    *is_other_thread = is_other(thread);
    if (*is_other_thread || !may_ask()) return 0;
  }
  int64_t began = own_processor_time();
  bool is_platform = false;
  uint32_t number = number_of(jni, thread, &is_platform);
  pay(own_processor_time() - began);
  *is_other_thread = !is_platform;
  if (!is_platform) {
    Locked locked(mutex_);
    if (other_count_ < kMostOthers && other_ids_.insert(static_cast<uint64_t>(thread), 1)) {
      ++other_count_;
    }
  }
  return number;
}

// Owners get their names while others wait for them: later they may have ended.
void LockSampler::identify(JNIEnv* jni, Vector<Sample>& samples) {
  int64_t owners[kMostAsked];
  size_t count = 0;
  {
    Locked locked(mutex_);
    for (int64_t owner : new_owners_) owners[count++] = owner;
    new_owners_.clear();
  }
  for (size_t i = 0; i < count; ++i) {
    bool is_other_thread = false;
    known_owner(jni, owners[i], &is_other_thread);
    if (is_other_thread) others_.note(owners[i]);
  }
  others_.identify_owners(jni, samples);
}

int64_t LockSampler::look(JNIEnv* jni) {
  pending_.look(profile_.env, jni);
  {
    Locked locked(mutex_);
    sampled_.find_passed(nanoseconds_now());
  }
  if (!owners_.known()) return kIdleLook;
  Asked asked[kMostAsked];
  int64_t threads[kMostAsked];
  jsize count = waiting(asked, threads);
  if (count > 0) {
    int64_t began = own_processor_time();
    int64_t owners[kMostAsked];
    owners_.of(jni, threads, owners, count);
    uint32_t numbers[kMostAsked];
    for (jsize i = 0; i < count; ++i) {
      bool is_platform = false;
      numbers[i] = owners[i] > 0 ? number_of(jni, owners[i], &is_platform) : 0;
    }
    pay(own_processor_time() - began);
    Locked locked(mutex_);
    for (jsize i = 0; i < count; ++i) {
      if (asked[i].place >= waits_.size()) continue;  // some have ended meanwhile
      Wait& wait = waits_[asked[i].place];
      bool same = wait.thread == threads[i] && wait.began == asked[i].began;
      if (same) wait.owner = numbers[i];
    }
  }
  Locked locked(mutex_);
  resting_ = !busy_ && count == 0;
  int64_t until = resting_ ? kIdleLook : kLook;
  busy_ = false;
  return until / 2 + static_cast<int64_t>(static_cast<double>(until) * sampled_.chance());
}

// ---- waits -------------------------------------------------------------------------------------

void LockSampler::begin(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject monitor) {
  PendingMonitors::Owner owner = pending_.owner(jni);
  // A virtual one without samples of its own has no name.
  if (owner.mounted && threads_.find(owner.id) == 0) owner.id = 0;
  Wait wait{nanoseconds_now(), 0, thread_id(jni, thread), owner.id};
  if (wait.owner_id == 0) {
    bool is_virtual =
        major_version(agent.version) >= kFirstWithVirtualThreads && jni->IsVirtualThread(thread);
    if (is_virtual || !owners_.known()) wait.owner = stopped_owner(env, jni, monitor);
  }
  uint64_t id = static_cast<uint64_t>(wait.thread);
  bool first = false;
  bool is_new = wait.owner_id != 0 && threads_.find(wait.owner_id) == 0;
  {
    Locked locked(mutex_);
    if (is_new && !is_other(wait.owner_id) && new_owners_.size() < kMostAsked) {
      (void)new_owners_.push(wait.owner_id);
    }
    if (wait.owner == 0 && wait.owner_id == 0) {
      first = !busy_ && resting_;
      busy_ = true;
    }
    uint32_t place = places_.find(id);
    if (place != 0) {
      waits_[place - 1] = wait;
    } else if (waits_.push(wait) && !places_.insert(id, static_cast<uint32_t>(waits_.size()))) {
      waits_.pop();
    }
  }
  if (first) profile_.hurry();
}

void LockSampler::end(JNIEnv* jni, jthread thread, jobject monitor) {
  uint64_t id = static_cast<uint64_t>(thread_id(jni, thread));
  int64_t now = nanoseconds_now();
  Wait wait{};
  int64_t weight = 0;
  {
    Locked locked(mutex_);
    uint32_t place = places_.find(id);
    if (place == 0) return;  // it began before the profile
    wait = waits_[place - 1];
    const Wait& last = waits_[waits_.size() - 1];
    places_.replace(static_cast<uint64_t>(last.thread), place);
    waits_[place - 1] = last;
    waits_.pop();
    places_.remove(id);
    weight = sampled_.weight(now, now - wait.began, id);
  }
  if (weight == 0) return;
  sample(jni, thread, monitor, weight, SampleState::kBlocked, wait.owner, wait.owner_id);
}

void LockSampler::parked(JNIEnv* jni, jobject lock, const ParkedTime& time) {
  int64_t weight = 0;
  {
    Locked locked(mutex_);
    weight = sampled_.weight(time);
  }
  if (weight == 0) return;
  LocalRef<jthread> thread(jni);
  if (profile_.env->GetCurrentThread(thread.out()) != JVMTI_ERROR_NONE) return;
  sample(jni, thread, lock, weight, SampleState::kParked, 0, time.owner);
}

void LockSampler::sample(JNIEnv* jni, jthread thread, jobject lock, int64_t weight, uint32_t state,
                         uint32_t owner, int64_t owner_id) {
  uint32_t number = threads_.sampled(jni, thread);
  if (number == EventThreads::kOurs) return;
  LocalRef<jclass> klass(jni, jni->GetObjectClass(lock));
  bool is_parked = state == SampleState::kParked;
  uint32_t trace =
      stack_below(profile_, profile_.env, jni, thread, klass, is_parked ? kHelperFrames : 0);
  if (trace == TraceTable::kNone) {
    profile_.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  bool is_other_thread = false;
  if (owner_id != 0) owner = known_owner(jni, owner_id, &is_other_thread);
  profile_.add(
      Sample{epoch_now(), weight, trace, number, owner, state, is_other_thread ? owner_id : kNoId});
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
  sampler_of(*profile).end(jni, thread, monitor);
}

void JNICALL thread_start(jvmtiEnv* env, JNIEnv* jni, jthread thread) {
  UsedProfile profile(env);
  if (profile == nullptr || !profile->active) return;
  sampler_of(*profile).begin_thread(jni, thread);
}

void JNICALL thread_end(jvmtiEnv* env, JNIEnv* jni, jthread) {
  UsedProfile profile(env);
  if (profile == nullptr || !profile->active) return;
  sampler_of(*profile).end_thread(jni);
}

const char* start(JNIEnv* jni, Profile& profile) {
  jvmtiCapabilities wanted{};
  wanted.can_generate_monitor_events = 1;
  wanted.can_get_monitor_info = 1;
  if (profile.env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) {
    return "this VM does not report monitors";
  }
  profile.sampler = make<LockSampler>(profile);
  if (profile.sampler == nullptr) return "there is no memory for it";
  sampler_of(profile).prepare(jni);
  jvmtiEventCallbacks callbacks{};
  callbacks.MonitorContendedEnter = enter;
  callbacks.MonitorContendedEntered = entered;
  callbacks.ThreadStart = thread_start;
  callbacks.ThreadEnd = thread_end;
  callbacks.ClassLoad = class_loaded;
  (void)StackWalk::prepare();
  return listen(profile.env, callbacks, kEvents, sizeof kEvents / sizeof *kEvents);
}

int64_t tick(JNIEnv* jni, Profile& profile) { return sampler_of(profile).look(jni); }

void identify(JNIEnv* jni, Profile& profile, Vector<Sample>& samples) {
  sampler_of(profile).identify(jni, samples);
}

void stop(JNIEnv*, Profile& profile) {
  mute(profile.env, kEvents, sizeof kEvents / sizeof *kEvents);
}

void free(JNIEnv* jni, Profile& profile) {
  if (profile.sampler != nullptr) sampler_of(profile).forget(jni);
  free_sampler<LockSampler>(jni, profile);
}

}  // namespace

void report_parked(uint32_t profile, JNIEnv* jni, jobject lock, const ParkedTime& time) {
  UsedProfile used(profile);
  if (used == nullptr || !used->active || used->request.kind != layouts::ProfiledKind::kLock) {
    return;
  }
  sampler_of(*used).parked(jni, lock, time);
}

extern const Sampling kLockSampling{start, tick, identify, nullptr, stop, free};

}  // namespace jvmti
