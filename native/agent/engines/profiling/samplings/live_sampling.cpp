// Objects that are allocated during a profile and still alive at its end.
//
// Each sampled object gets a tag, the place of its birth in a table.  The VM reports the tags of
// objects that it frees; those that remain at the end become samples, with the time, the thread and
// the stack of their allocation.

#include <unistd.h>

#include "agent/core/agent.h"
#include "agent/engines/profiling/samplings.h"
#include "agent/engines/profiling/samplings/event_stacks.h"

namespace jvmti {

namespace {

using layouts::SampleState;

constexpr size_t kMostBirths = 1 << 20;  // of objects that are alive at a time

struct Birth {
  int64_t time;
  int64_t size;  // 0: the place is free
  uint32_t trace;
  uint32_t thread;
};

class LiveSampler : NoCopy {
 public:
  explicit LiveSampler(Profile& profile) : profile_(profile), threads_(profile) {}

  void allocated(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject object, jclass klass,
                 jlong size);
  void freed(jlong tag);
  void finish();

 private:
  jlong keep(const Birth& birth);

  Profile& profile_;
  EventThreads threads_;
  Mutex mutex_{Guards::kLists};
  Vector<Birth> births_;
  Vector<uint32_t> free_;
};

// The tag for its object; 0 without memory.
jlong LiveSampler::keep(const Birth& birth) {
  Locked locked(mutex_);
  if (!free_.empty()) {
    uint32_t place = free_.pop();
    births_[place] = birth;
    return place + 1;
  }
  if (births_.size() == kMostBirths || !births_.push(birth)) return 0;
  if (free_.reserve(births_.capacity())) return static_cast<jlong>(births_.size());
  births_.pop();
  return 0;
}

void LiveSampler::allocated(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject object,
                            jclass klass, jlong size) {
  if (is_service_thread(jni, thread)) return;
  Birth birth{};
  birth.time = epoch_now();
  birth.size = size;
  birth.trace = stack_below(profile_, env, thread, klass);
  birth.thread = threads_.number(jni, thread);
  jlong tag = birth.trace == TraceTable::kNone ? 0 : keep(birth);
  if (tag == 0) {
    profile_.lost.fetch_add(1, std::memory_order_relaxed);
  } else if (env->SetTag(object, tag) != JVMTI_ERROR_NONE) {
    freed(tag);
    profile_.lost.fetch_add(1, std::memory_order_relaxed);
  }
}

// During a collection, too: no call of the VM is allowed.
void LiveSampler::freed(jlong tag) {
  Locked locked(mutex_);
  size_t place = static_cast<size_t>(tag - 1);
  if (place >= births_.size() || births_[place].size == 0) return;
  births_[place].size = 0;
  free_.put(static_cast<uint32_t>(place));
}

void LiveSampler::finish() {
  constexpr int kMostWaits = 5000;  // milliseconds
  int waits = 0;
  for (size_t i = 0;; ++i) {
    Birth one{};
    {
      Locked locked(mutex_);
      if (i >= births_.size()) break;
      one = births_[i];
    }
    if (one.size == 0) continue;
    Sample sample{one.time, one.size, one.trace, one.thread, 0, SampleState::kRunning};
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

void JNICALL allocated(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject object, jclass klass,
                       jlong size) {
  UsedProfile profile(env);
  if (profile == nullptr || !profile->active) return;
  sampler_of(*profile).allocated(env, jni, thread, object, klass, size);
}

void JNICALL freed(jvmtiEnv* env, jlong tag) {
  UsedProfile profile(env);
  if (profile != nullptr && profile->active) sampler_of(*profile).freed(tag);
}

constexpr jvmtiEvent kEvents[] = {JVMTI_EVENT_OBJECT_FREE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC};

const char* start(JNIEnv*, Profile& profile) {
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  wanted.can_generate_object_free_events = 1;
  wanted.can_generate_sampled_object_alloc_events = 1;
  if (profile.env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) {
    return "another environment has the events of sampled allocations, as a profile of allocated "
           "memory does";
  }
  LiveSampler* sampler = make<LiveSampler>(profile);
  profile.sampler = sampler;
  if (sampler == nullptr) return "there is no memory for it";
  jvmtiEventCallbacks callbacks{};
  callbacks.SampledObjectAlloc = allocated;
  callbacks.ObjectFree = freed;
  profile.env->SetHeapSamplingInterval(static_cast<jint>(profile.request.interval));
  return listen(profile.env, callbacks, kEvents, sizeof kEvents / sizeof *kEvents);
}

void stop(JNIEnv*, Profile& profile) {
  // Java 11 ends the samples of all environments if one without them asks for none.
  if (profile.sampler == nullptr) return;
  mute(profile.env, kEvents, sizeof kEvents / sizeof *kEvents);
  sampler_of(profile).finish();
}

}  // namespace

extern const Sampling kLiveSampling{start, nullptr, nullptr, stop, free_sampler<LiveSampler>};

}  // namespace jvmti
