// The VM samples one object of many, and each stands for more bytes than it has.

#include "agent/engines/profiling/samplings/allocation_events.h"

#include "agent/core/agent.h"
#include "agent/engines/profiling/threads/allocated_bytes.h"
#include "agent/engines/profiling/waiting_samples.h"
#include "agent/engines/profiling/walks/event_stacks.h"
#include "agent/engines/profiling/walks/stack_walk.h"
#include "agent/sessions/environments.h"

namespace jvmti {

namespace {

constexpr jvmtiEvent kEvents[] = {JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, JVMTI_EVENT_CLASS_LOAD};

// Who is sent events by the place of its number, which no other open profile has.
struct Received {
  std::atomic<uint32_t> profile{0};
  AllocationEvents::Receiver receiver = nullptr;
};
Received received[layouts::Profiles::kMost];

AllocatedBytes allocated_bytes;

// The environment stays, so that an event that is under way may use it; it has the capability only
// while a profile wants events, since another agent may want it.
Mutex mutex{Guards::kLists};
jvmtiEnv* env = nullptr;
uint32_t count = 0;
int64_t interval = 0;

void JNICALL sampled(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object, jclass klass,
                     jlong size) {
  CallbackStack stack;
  jlong weight = allocated_bytes.weight(jni, object, size);
  for (Received& one : received) {
    uint32_t number = one.profile.load(std::memory_order_acquire);
    if (number == 0) continue;
    UsedProfile profile(number);
    if (profile != nullptr && profile->active) {
      one.receiver(*profile, jni, thread, object, klass, weight);
    }
  }
  allocated_bytes.note(jni, size);
}

jvmtiCapabilities wanted() {
  jvmtiCapabilities one{};
  one.can_generate_sampled_object_alloc_events = 1;
  return one;
}

const char* begin(int64_t bytes) {
  if (env == nullptr) env = new_jvmti_environment();
  if (env == nullptr) return "there is no memory for it";
  jvmtiCapabilities capability = wanted();
  if (env->AddCapabilities(&capability) != JVMTI_ERROR_NONE) {
    return "another environment has the events of sampled allocations";
  }
  env->SetHeapSamplingInterval(static_cast<jint>(bytes));
  jvmtiEventCallbacks callbacks{};
  callbacks.SampledObjectAlloc = sampled;
  callbacks.ClassLoad = class_loaded;
  (void)StackWalk::prepare();
  allocated_bytes.prepare();
  allocated_bytes.begin(bytes);
  interval = bytes;
  return listen(env, callbacks, kEvents, sizeof kEvents / sizeof *kEvents);
}

// Java 11 ends the samples of all environments if one without them asks for none: so this first.
void end() {
  mute(env, kEvents, sizeof kEvents / sizeof *kEvents);
  jvmtiCapabilities capability = wanted();
  env->RelinquishCapabilities(&capability);
}

}  // namespace

const char* AllocationEvents::add(Profile& profile, Receiver receiver) {
  Locked locked(mutex);
  if (count > 0 && interval != profile.request.interval) {
    return "another profile has the events of sampled allocations with another interval; the VM "
           "has one for all";
  }
  Received& place = received[profile.number % layouts::Profiles::kMost];
  place.receiver = receiver;
  place.profile.store(profile.number, std::memory_order_release);
  if (count == 0) {
    const char* why = begin(profile.request.interval);
    if (why != nullptr) {
      place.profile = 0;
      if (env != nullptr) end();
      return why;
    }
  }
  ++count;
  return nullptr;
}

void AllocationEvents::remove(Profile& profile) {
  Locked locked(mutex);
  Received& place = received[profile.number % layouts::Profiles::kMost];
  if (place.profile != profile.number) return;
  place.profile = 0;
  if (--count == 0) end();
}

}  // namespace jvmti
