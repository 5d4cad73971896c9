// Allocated memory: an event of the VM for one object of many, whose size says how many bytes it
// stands for.

#include "agent/core/agent.h"
#include "agent/engines/profiling/samplings.h"
#include "agent/engines/profiling/samplings/event_stacks.h"

namespace jvmti {

namespace {

constexpr jvmtiEvent kEvents[] = {JVMTI_EVENT_SAMPLED_OBJECT_ALLOC};

void JNICALL allocated(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject, jclass klass,
                       jlong size) {
  UsedProfile profile(env);
  if (profile == nullptr || !profile->active) return;
  uint32_t number = static_cast<EventThreads*>(profile->sampler)->sampled(jni, thread);
  if (number == EventThreads::kOurs) return;
  uint32_t trace = stack_below(*profile, env, thread, klass);
  if (trace == TraceTable::kNone) {
    profile->lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  profile->add(Sample{epoch_now(), size, trace, number, 0, layouts::SampleState::kRunning});
}

const char* start(JNIEnv*, Profile& profile) {
  jvmtiCapabilities wanted{};
  wanted.can_generate_sampled_object_alloc_events = 1;
  if (profile.env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) {
    return "another environment has the events of sampled allocations";
  }
  profile.sampler = make<EventThreads>(profile);
  if (profile.sampler == nullptr) return "there is no memory for it";
  profile.env->SetHeapSamplingInterval(static_cast<jint>(profile.request.interval));
  jvmtiEventCallbacks callbacks{};
  callbacks.SampledObjectAlloc = allocated;
  return listen(profile.env, callbacks, kEvents, sizeof kEvents / sizeof *kEvents);
}

void stop(JNIEnv*, Profile& profile) {
  // Java 11 ends the samples of all environments if one without them asks for none.
  if (profile.sampler == nullptr) return;
  mute(profile.env, kEvents, sizeof kEvents / sizeof *kEvents);
}

}  // namespace

extern const Sampling kAllocationSampling{start,   nullptr, nullptr,
                                          nullptr, stop,    free_sampler<EventThreads>};

}  // namespace jvmti
