// Passed time, and processor time without signals: the profile's thread looks at the
// clocks of the Java threads and asks the VM for the stacks of those that have run.
//
// A thread whose processor time has not changed has not run, so that its stack is still the same:
// threads that wait cost a look at a clock.  Of many threads each tick looks at some, whatever was
// found before: looks that are rarer while a thread waits would find too much of what it does next.
// What is found counts for the time since the look before.
// A thread that runs gives its stack at its next safepoint.

#include <cstdio>

#include "agent/core/agent.h"
#include "agent/engines/profiling/samplings.h"
#include "agent/engines/profiling/threads/virtual_threads.h"
#include "agent/handles/agent_references.h"
#include "base/clock.h"
#include "base/patterns.h"

namespace jvmti {

namespace {

using layouts::ProfiledKind;
using layouts::SampleState;

constexpr int64_t kScan = 200000000;      // nanoseconds between two lists of the threads
constexpr int64_t kReported = 100000000;  // the longest span that one sample stands for
constexpr int kBudget = 32;               // a tick takes this part of the interval at most
constexpr int64_t kListed = 1000000000;   // nanoseconds between two lists of virtual threads
constexpr int64_t kPicked = 200;          // virtual threads that are looked at in a second

struct WatchedThread {
  jthread thread;   // a global reference; null for one that is not wanted
  int64_t id;       // Thread.threadId, which is never used again
  uint32_t own;     // as the profile numbers it
  uint32_t number;  // the same of the virtual thread that it carried at its last walk
  bool described;
  uint32_t trace;  // of that walk
  uint32_t state;
  int64_t used;    // its processor time at the last look
  int64_t looked;  // when that was
  int64_t owed;    // nanoseconds with this stack that no sample has
  uint32_t round;  // the last list with it
};

class StackSampler : NoCopy {
 public:
  explicit StackSampler(Profile& profile) : profile_(profile) {}

  bool prepare(JNIEnv* jni);
  int64_t tick(JNIEnv* jni);
  void finish(JNIEnv* jni);
  std::atomic<bool> started{false};  // a thread has, since the last list

 private:
  bool wall() const { return profile_.request.kind == ProfiledKind::kWall; }
  void scan(JNIEnv* jni, int64_t now);
  void begin(JNIEnv* jni, jthread thread, int64_t id, int64_t now);
  void look(JNIEnv* jni, WatchedThread& one, int64_t now);
  void walk(JNIEnv* jni, WatchedThread& one, int64_t used, int64_t passed);
  void report(WatchedThread& one);
  uint32_t stack_of(jthread thread, jint state, bool* walked);
  uint32_t virtual_number(JNIEnv* jni, jthread thread);
  void pick_virtual(JNIEnv* jni, int64_t now);
  uint32_t random();
  int64_t jittered() {
    return profile_.request.interval / 2 +
           static_cast<int64_t>(static_cast<double>(profile_.request.interval) *
                                (random() / 4294967296.0));
  }

  Profile& profile_;
  Turn turn_;
  bool finished_ = false;
  Vector<WatchedThread> threads_;
  VirtualThreads virtual_threads_;
  Index virtual_numbers_;
  Array<jvmtiFrameInfo> found_;
  Array<StackFrame> frames_;
  size_t next_ = 0;  // where the tick before stopped
  uint32_t round_ = 0;
  uint32_t random_ = 2463534242u;
  int64_t scanned_ = 0;
  int64_t listed_ = 0;
  int64_t picked_ = 0;
};

uint32_t state_of(jint state, bool ran) {
  if ((state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) != 0) return SampleState::kBlocked;
  if ((state & JVMTI_THREAD_STATE_SLEEPING) != 0) return SampleState::kSleeping;
  if ((state & JVMTI_THREAD_STATE_PARKED) != 0) return SampleState::kParked;
  if ((state & JVMTI_THREAD_STATE_WAITING) != 0) return SampleState::kWaiting;
  if (ran) return SampleState::kRunning;
  return (state & JVMTI_THREAD_STATE_IN_NATIVE) != 0 ? SampleState::kNative
                                                     : SampleState::kRunnable;
}

bool StackSampler::prepare(JNIEnv* jni) {
  size_t depth = static_cast<size_t>(profile_.request.depth);
  if (!found_.allocate(depth) || !frames_.allocate(depth)) return false;
  random_ ^= static_cast<uint32_t>(nanoseconds_now());
  virtual_threads_.prepare(profile_.env, jni);
  return true;
}

uint32_t StackSampler::random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_;
}

// ---- which threads there are -------------------------------------------------------------------

void StackSampler::scan(JNIEnv* jni, int64_t now) {
  started = false;
  scanned_ = now;
  ++round_;
  Index places;
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (!places.insert(static_cast<uint64_t>(threads_[i].id), static_cast<uint32_t>(i + 1))) return;
  }
  {
    LocalRefs<jthread> there(profile_.env, jni);
    if (profile_.env->GetAllThreads(there.count_out(), there.out()) != JVMTI_ERROR_NONE) return;
    for (jthread thread : there) {
      if (thread == nullptr) continue;
      int64_t id = thread_id(jni, thread);
      uint32_t place = places.find(static_cast<uint64_t>(id));
      if (place != 0) {
        threads_[place - 1].round = round_;
      } else {
        begin(jni, thread, id, now);
      }
    }
  }
  for (size_t i = threads_.size(); i-- > 0;) {
    if (threads_[i].round == round_) continue;
    report(threads_[i]);
    if (threads_[i].thread != nullptr) let_go(jni, threads_[i].thread);
    threads_.remove(i);
  }
}

void StackSampler::begin(JNIEnv* jni, jthread thread, int64_t id, int64_t now) {
  if (!threads_.reserve(threads_.size() + 1)) return;
  WatchedThread made{};
  made.id = id;
  made.round = round_;
  bool wanted = !is_service_thread(jni, thread);
  if (wanted && profile_.patterns != nullptr) {
    ProfiledThread known;
    describe_thread(profile_.env, jni, thread, &known);
    wanted = matches_any(profile_.patterns, known.name);
  }
  if (wanted) {
    jlong used = 0;
    made.thread = hold(jni, thread);
    if (made.thread == nullptr) return;
    made.own = made.number = profile_.new_thread();
    made.trace = TraceTable::kNone;
    made.looked = now;
    // Of one that has been there the time before the profile is no part of it.
    if (profile_.env->GetThreadCpuTime(thread, &used) == JVMTI_ERROR_NONE) made.used = used;
  }
  threads_.put(made);
}

uint32_t StackSampler::virtual_number(JNIEnv* jni, jthread thread) {
  uint64_t id = static_cast<uint64_t>(thread_id(jni, thread));
  uint32_t number = virtual_numbers_.find(id);
  if (number != 0) return number - 1;
  number = profile_.new_thread();
  ProfiledThread known;
  describe_thread(profile_.env, jni, thread, &known);
  profile_.names.note_thread(number, known);
  (void)virtual_numbers_.insert(id, number + 1);
  return number;
}

// ---- looks -------------------------------------------------------------------------------------

// A sample for the time that the thread had its stack, until the last look that found it: its
// moment is that look's, since the thread may have had another stack for a while now.
void StackSampler::report(WatchedThread& one) {
  if (one.owed <= 0 || one.thread == nullptr) return;
  if (one.trace == TraceTable::kNone) {
    profile_.lost.fetch_add(1, std::memory_order_relaxed);
  } else {
    int64_t seen = epoch_now() - (nanoseconds_now() - one.looked);
    profile_.add(Sample{seen, one.owed, one.trace, one.number, 0, one.state});
  }
  one.owed = 0;
}

// The number of its stack now, in this state of JVM TI's; false where the thread has ended.
uint32_t StackSampler::stack_of(jthread thread, jint state, bool* walked) {
  jint count = walk_stack(profile_.env, thread, 0, found_.get(), profile_.request.depth);
  *walked = count >= 0;
  if (!*walked) return TraceTable::kNone;
  if (count == profile_.request.depth) profile_.truncated.fetch_add(1, std::memory_order_relaxed);
  for (jint i = 0; i < count; ++i) {
    frames_[static_cast<size_t>(i)] = StackFrame::of(found_[static_cast<size_t>(i)]);
  }
  // One of the VM's own has none, and one that native code has brought.
  if (count == 0) {
    bool native = (state & JVMTI_THREAD_STATE_IN_NATIVE) != 0;
    frames_[static_cast<size_t>(count++)] =
        CodeNames::frame(native ? +CodeNames::kNative : +CodeNames::kVm);
  }
  return profile_.trace(frames_.get(), static_cast<uint32_t>(count));
}

void StackSampler::walk(JNIEnv* jni, WatchedThread& one, int64_t used, int64_t passed) {
  jint state = 0;
  if (profile_.env->GetThreadState(one.thread, &state) != JVMTI_ERROR_NONE) return;
  LocalRef<jthread> mounted(jni, virtual_threads_.mounted_on(profile_.env, one.thread));
  jthread seen = mounted != nullptr ? mounted.get() : one.thread;
  bool walked = false;
  uint32_t trace = stack_of(seen, state, &walked);
  if (!walked) return;
  uint32_t number = one.own;
  if (mounted != nullptr) {
    number = virtual_number(jni, mounted);
    jint of_virtual = 0;
    if (profile_.env->GetThreadState(mounted, &of_virtual) == JVMTI_ERROR_NONE) state = of_virtual;
  } else if (!one.described) {
    one.described = true;
    ProfiledThread known;
    describe_thread(profile_.env, jni, one.thread, &known);
    profile_.names.note_thread(one.own, known);
  }
  uint32_t now = wall() ? state_of(state, used * 2 > passed) : +SampleState::kRunning;
  if (trace != one.trace || number != one.number || now != one.state) report(one);
  one.trace = trace;
  one.number = number;
  one.state = now;
}

void StackSampler::look(JNIEnv* jni, WatchedThread& one, int64_t now) {
  jlong clock = 0;
  if (profile_.env->GetThreadCpuTime(one.thread, &clock) != JVMTI_ERROR_NONE) {
    started = true;  // it has ended: the next list is without it
    return;
  }
  int64_t used = clock - one.used;
  int64_t passed = now - one.looked;
  bool first = one.trace == TraceTable::kNone;
  one.used = clock;
  if (used > 0 || (first && wall())) {
    walk(jni, one, used, passed);
    // A thread that waits for a processor comes to its safepoint late: that time is of this stack.
    int64_t after = nanoseconds_now();
    passed += after - now;
    now = after;
  }
  one.looked = now;
  profile_.looks.fetch_add(1, std::memory_order_relaxed);
  profile_.span.fetch_add(static_cast<uint64_t>(passed), std::memory_order_relaxed);
  one.owed += wall() ? passed : used;
  if (!wall() || one.owed >= kReported) report(one);
}

// Of the virtual threads a few are picked by chance, and each stands for many: to look at all of
// them would stop the program for too long.
void StackSampler::pick_virtual(JNIEnv* jni, int64_t now) {
  if (now - listed_ >= kListed) {
    virtual_threads_.list(jni);
    listed_ = nanoseconds_now();
    if (picked_ == 0) picked_ = now;
  }
  int64_t passed = now - picked_;
  int64_t picks = passed * kPicked / 1000000000;
  uint32_t all = virtual_threads_.count();
  if (picks == 0) return;
  picked_ = now;
  if (all == 0) return;
  if (picks > all) picks = all;
  int64_t weight = passed * all / picks;
  for (int64_t i = 0; i < picks; ++i) {
    LocalRef<jthread> thread(jni, virtual_threads_.at(jni, random() % all));
    jint state = 0;
    if (thread == nullptr || profile_.env->GetThreadState(thread, &state) != JVMTI_ERROR_NONE ||
        (state & JVMTI_THREAD_STATE_ALIVE) == 0 || (state & JVMTI_THREAD_STATE_WAITING) == 0) {
      continue;  // one that runs is found by its carrier
    }
    uint32_t number = virtual_number(jni, thread);
    bool walked = false;
    uint32_t trace = stack_of(thread, state, &walked);
    if (!walked) continue;
    if (trace == TraceTable::kNone) {
      profile_.lost.fetch_add(1, std::memory_order_relaxed);
    } else {
      profile_.add(Sample{epoch_now(), weight, trace, number, 0, state_of(state, false)});
    }
  }
}

int64_t StackSampler::tick(JNIEnv* jni) {
  turn_.take();
  if (!finished_) {
    int64_t now = nanoseconds_now();
    int64_t until = now + profile_.request.interval / kBudget;
    if (started || now - scanned_ >= kScan) scan(jni, now);
    size_t count = threads_.size();
    size_t i = 0;
    for (; i < count; ++i) {
      WatchedThread& one = threads_[(next_ + i) % count];
      if (one.thread == nullptr) continue;
      look(jni, one, now);
      now = nanoseconds_now();
      if (now > until) break;
    }
    if (count > 0) next_ = (next_ + i + (i < count)) % count;
    if (wall() && virtual_threads_.known() && profile_.patterns == nullptr) pick_virtual(jni, now);
  }
  turn_.give_back();
  return jittered();
}

void StackSampler::finish(JNIEnv* jni) {
  turn_.take();
  finished_ = true;
  int64_t now = nanoseconds_now();
  for (WatchedThread& one : threads_) {
    if (one.thread == nullptr) continue;
    if (wall() && one.trace != TraceTable::kNone) {
      one.owed += now - one.looked;
      one.looked = now;
    }
    report(one);
    let_go(jni, one.thread);
  }
  threads_.clear();
  virtual_threads_.forget(jni);
  turn_.give_back();
}

// ---- the sampling ------------------------------------------------------------------------------

StackSampler& sampler_of(Profile& profile) { return *static_cast<StackSampler*>(profile.sampler); }

void JNICALL thread_start(jvmtiEnv* env, JNIEnv*, jthread) {
  UsedProfile profile(env);
  if (profile != nullptr && profile->active) sampler_of(*profile).started = true;
}

const char* start(JNIEnv* jni, Profile& profile) {
  jvmtiCapabilities wanted{};
  wanted.can_get_thread_cpu_time = 1;
  if (profile.env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) {
    return "this VM does not measure the processor time of threads";
  }
  StackSampler* sampler = make<StackSampler>(profile);
  profile.sampler = sampler;
  if (sampler == nullptr || !sampler->prepare(jni)) return "there is no memory for it";
  jvmtiEventCallbacks callbacks{};
  callbacks.ThreadStart = thread_start;
  if (profile.env->SetEventCallbacks(&callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
      profile.env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_THREAD_START, nullptr) !=
          JVMTI_ERROR_NONE) {
    return "the VM does not send the events that a profile needs";
  }
  return nullptr;
}

int64_t tick(JNIEnv* jni, Profile& profile) { return sampler_of(profile).tick(jni); }

void stop(JNIEnv* jni, Profile& profile) {
  profile.env->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_THREAD_START, nullptr);
  if (profile.sampler != nullptr) sampler_of(profile).finish(jni);
}

}  // namespace

extern const Sampling kStackSampling{start,   tick, nullptr,
                                     nullptr, stop, free_sampler<StackSampler>};

}  // namespace jvmti
