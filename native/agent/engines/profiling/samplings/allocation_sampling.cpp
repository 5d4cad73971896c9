// Allocated memory: an event of the VM for one object of many, with the bytes that it
// stands for.

#include "agent/engines/profiling/samplings.h"
#include "agent/engines/profiling/samplings/allocation_events.h"
#include "agent/engines/profiling/walks/event_stacks.h"

namespace jvmti {

namespace {

void allocated(Profile& profile, JNIEnv* jni, jthread thread, jobject, jclass klass, jlong weight) {
  uint32_t number = static_cast<EventThreads*>(profile.sampler)->sampled(jni, thread);
  if (number == EventThreads::kOurs) return;
  uint32_t trace = stack_below(profile, profile.env, jni, thread, klass);
  if (trace == TraceTable::kNone) {
    profile.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  profile.add(Sample{epoch_now(), weight, trace, number, 0, layouts::SampleState::kRunning});
}

const char* start(JNIEnv*, Profile& profile) {
  profile.sampler = make<EventThreads>(profile);
  if (profile.sampler == nullptr) return "there is no memory for it";
  return AllocationEvents::add(profile, allocated);
}

void stop(JNIEnv*, Profile& profile) { AllocationEvents::remove(profile); }

}  // namespace

extern const Sampling kAllocationSampling{start,   nullptr, nullptr,
                                          nullptr, stop,    free_sampler<EventThreads>};

}  // namespace jvmti
