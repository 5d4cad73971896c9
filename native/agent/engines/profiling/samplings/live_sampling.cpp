// Objects that are allocated during a profile and still alive at its end.
//
// Each sampled object gets a tag, with the place of its birth in a table.  The VM reports the tags
// of objects that it frees, some time after it has; of those that remain at the end it says which
// are alive.  They become samples, with the time, the thread and the stack of their allocation.

#include <unistd.h>

#include "agent/core/agent.h"
#include "agent/engines/profiling/samplings.h"
#include "agent/engines/profiling/samplings/allocation_events.h"
#include "agent/engines/profiling/walks/event_stacks.h"
#include "agent/sessions/environments.h"

namespace jvmti {

namespace {

using layouts::SampleState;

constexpr size_t kMostBirths = 1 << 20;  // of objects that are alive at a time
// HotSpot compares each tag that is asked for with all that there are: 1 s for these.
constexpr size_t kMostAsked = 1 << 15;
constexpr size_t kAskedAtOnce = 1 << 10;

struct Birth {
  int64_t time;
  int64_t weight;  // 0: the place is free
  uint32_t trace;
  uint32_t thread;
};

class LiveSampler : NoCopy {
 public:
  explicit LiveSampler(Profile& profile) : profile_(profile), threads_(profile) {}

  void allocated(JNIEnv* jni, jthread thread, jobject object, jclass klass, jlong weight);
  void freed(uint32_t birth);
  void finish(JNIEnv* jni);

 private:
  uint32_t keep(const Birth& birth);
  jlong tag_of(uint32_t birth) const {
    return static_cast<jlong>(uint64_t{profile_.number} << 32 | birth);
  }
  void free_unreported(JNIEnv* jni);

  Profile& profile_;
  EventThreads threads_;
  Mutex mutex_{Guards::kLists};
  Vector<Birth> births_;
  Vector<uint32_t> free_;
};

// The environment of all tags, which has these events for good.  Where they are turned off, or
// their environment disposed of, HotSpot from 20 on waits for the thread that reports freed
// objects, and lets no safepoint begin meanwhile; if one has begun, that thread waits for its end:
// for ever. Tags that are left go with their objects.
std::atomic<jvmtiEnv*> tagging{nullptr};

// The number of a birth, from 1; 0 without memory.
uint32_t LiveSampler::keep(const Birth& birth) {
  Locked locked(mutex_);
  if (!free_.empty()) {
    uint32_t place = free_.pop();
    births_[place] = birth;
    return place + 1;
  }
  if (births_.size() == kMostBirths || !births_.push(birth)) return 0;
  if (free_.reserve(births_.capacity())) return static_cast<uint32_t>(births_.size());
  births_.pop();
  return 0;
}

void LiveSampler::allocated(JNIEnv* jni, jthread thread, jobject object, jclass klass,
                            jlong weight) {
  Birth birth{};
  birth.thread = threads_.sampled(jni, thread);
  if (birth.thread == EventThreads::kOurs) return;
  birth.time = epoch_now();
  birth.weight = weight;
  birth.trace = stack_below(profile_, profile_.env, jni, thread, klass);
  uint32_t number = birth.trace == TraceTable::kNone ? 0 : keep(birth);
  if (number != 0 && tagging.load()->SetTag(object, tag_of(number)) == JVMTI_ERROR_NONE) return;
  if (number != 0) freed(number);
  profile_.lost.fetch_add(1, std::memory_order_relaxed);
}

// During a collection, too: no call of the VM is allowed.
void LiveSampler::freed(uint32_t birth) {
  Locked locked(mutex_);
  uint32_t place = birth - 1;
  if (place >= births_.size() || births_[place].weight == 0) return;
  births_[place].weight = 0;
  free_.put(place);
  profile_.looks.fetch_add(1, std::memory_order_relaxed);
}

// Those that the VM has freed, and not reported yet.
void LiveSampler::free_unreported(JNIEnv* jni) {
  Vector<jlong> tags;
  {
    Locked locked(mutex_);
    for (size_t i = 0; i < births_.size(); ++i) {
      if (births_[i].weight != 0 && !tags.push(tag_of(static_cast<uint32_t>(i + 1)))) return;
    }
  }
  if (tags.size() > kMostAsked) return;
  for (size_t from = 0; from < tags.size(); from += kAskedAtOnce) {
    size_t left = tags.size() - from;
    jint asked = static_cast<jint>(left < kAskedAtOnce ? left : kAskedAtOnce);
    LocalFrame frame(jni, asked + 8);
    if (!frame) return jni->ExceptionClear();
    jint count = 0;
    Deallocated<jlong> alive(tagging.load());
    if (tagging.load()->GetObjectsWithTags(asked, tags.begin() + from, &count, nullptr,
                                           alive.out()) != JVMTI_ERROR_NONE) {
      return;
    }
    Index known;
    for (jint i = 0; i < count; ++i) {
      if (!known.insert(static_cast<uint64_t>(alive[i]), 1)) return;
    }
    for (jint i = 0; i < asked; ++i) {
      jlong tag = tags[from + static_cast<size_t>(i)];
      if (known.find(static_cast<uint64_t>(tag)) == 0) freed(static_cast<uint32_t>(tag));
    }
  }
}

void LiveSampler::finish(JNIEnv* jni) {
  free_unreported(jni);
  constexpr int kMostWaits = 5000;  // milliseconds
  int waits = 0;
  for (size_t i = 0;; ++i) {
    Birth one{};
    {
      Locked locked(mutex_);
      if (i >= births_.size()) break;
      one = births_[i];
    }
    if (one.weight == 0) continue;
    Sample sample{one.time, one.weight, one.trace, one.thread, 0, SampleState::kRunning};
    // The profile's thread empties the ring.
    while (!profile_.offer(sample) && waits < kMostWaits) {
      usleep(1000);
      ++waits;
    }
    if (waits == kMostWaits) profile_.lost.fetch_add(1, std::memory_order_relaxed);
  }
  Locked locked(mutex_);
  births_.clear();
  free_.clear();
}

LiveSampler& sampler_of(Profile& profile) { return *static_cast<LiveSampler*>(profile.sampler); }

void allocated(Profile& profile, JNIEnv* jni, jthread thread, jobject object, jclass klass,
               jlong weight) {
  sampler_of(profile).allocated(jni, thread, object, klass, weight);
}

void JNICALL freed(jvmtiEnv*, jlong tag) {
  UsedProfile profile(static_cast<uint32_t>(static_cast<uint64_t>(tag) >> 32));
  if (profile == nullptr || !profile->active) return;
  sampler_of(*profile).freed(static_cast<uint32_t>(tag));
}

bool prepare_tagging() {
  if (tagging != nullptr) return true;
  jvmtiEnv* env = new_jvmti_environment();
  if (env == nullptr) return false;
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  wanted.can_generate_object_free_events = 1;
  jvmtiEventCallbacks callbacks{};
  callbacks.ObjectFree = freed;
  constexpr jvmtiEvent kFreed[] = {JVMTI_EVENT_OBJECT_FREE};
  jvmtiEnv* none = nullptr;
  if (env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE ||
      listen(env, callbacks, kFreed, 1) != nullptr || !tagging.compare_exchange_strong(none, env)) {
    env->DisposeEnvironment();  // it has no tags yet, and nothing to wait for
  }
  return tagging != nullptr;
}

const char* start(JNIEnv*, Profile& profile) {
  if (!prepare_tagging()) return "the VM does not report freed objects";
  LiveSampler* sampler = make<LiveSampler>(profile);
  profile.sampler = sampler;
  if (sampler == nullptr) return "there is no memory for it";
  return AllocationEvents::add(profile, allocated);
}

void stop(JNIEnv* jni, Profile& profile) {
  AllocationEvents::remove(profile);
  if (profile.sampler == nullptr) return;
  sampler_of(profile).finish(jni);
}

}  // namespace

extern const Sampling kLiveSampling{start,   nullptr, nullptr,
                                    nullptr, stop,    free_sampler<LiveSampler>};

}  // namespace jvmti
