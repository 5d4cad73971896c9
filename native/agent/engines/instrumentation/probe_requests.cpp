// What a session asks of a set of probes that reports events.

#include "agent/engines/instrumentation/probe_set.h"
#include "agent/events/events.h"
#include "agent/sessions/session.h"
#include "generated/overrides.h"

namespace jvmti {

FoundProbes::FoundProbes(Call& call, jint number) : used_(static_cast<uint32_t>(number)) {
  if (call.session.probes.has(used_.get())) set_ = used_.get();
}

jvmtiError FoundProbes::refuse(Call& call, jint number) {
  call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "this session has no probes of number %d", number);
  return JVMTI_ERROR_ILLEGAL_ARGUMENT;
}

namespace {

// Such a set of the call's session; null with a refusal.
ProbeSet* reporting(Call& call, FoundProbes& set, jint number) {
  if (set == nullptr || !set->reports_events()) {
    FoundProbes::refuse(call, number);
    return nullptr;
  }
  return set;
}

}  // namespace

namespace operations {

jvmtiError ChangeEventProbes(Call& call, const In<jint>& number, const In<Bytes>& plan) {
  FoundProbes found(call, number.c());
  ProbeSet* set = reporting(call, found, number.c());
  if (set == nullptr) return call.outcome();
  const char* why = set->change(call.jni, plan.data(), static_cast<uint64_t>(plan.size()));
  if (why != nullptr) call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s", why);
  return call.outcome();
}

jvmtiError EnableProbedEvent(Call& call, const In<jint>& number, const In<jboolean>& on,
                             const In<jvmtiEvent>& event,
                             const In<Nullable<kinds::Thread>>& thread) {
  FoundProbes found(call, number.c());
  ProbeSet* set = reporting(call, found, number.c());
  if (set == nullptr) return call.outcome();
  if (call.environment == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  if (!is_event(event.c())) return JVMTI_ERROR_INVALID_EVENT_TYPE;
  return set->enable(call.jni, call.environment->number, on.c() != JNI_FALSE, event.c(),
                     thread.c());
}

jvmtiError WatchByProbes(Call& call, const In<jint>& number, const In<kinds::Class>& klass,
                         const In<kinds::Field>& field, jint* watch) {
  FoundProbes found(call, number.c());
  ProbeSet* set = reporting(call, found, number.c());
  if (set == nullptr) return call.outcome();
  Deallocated<char> signature(agent.env);
  jvmtiError error =
      agent.env->GetFieldName(klass.c(), field.c(), nullptr, signature.out(), nullptr);
  if (error != JVMTI_ERROR_NONE) return error;
  return set->watch(call.jni, klass.c(), field.c(), signature[0], watch);
}

jvmtiError AwaitProbedPop(Call& call, const In<jint>& number,
                          const In<Nullable<kinds::Thread>>& thread, const In<jint>& from_bottom) {
  FoundProbes found(call, number.c());
  ProbeSet* set = reporting(call, found, number.c());
  if (set == nullptr) return call.outcome();
  if (call.environment == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  LocalRef<jthread> current(call.jni);
  jthread of = thread.c();
  if (of == nullptr) {
    jvmtiError error = agent.env->GetCurrentThread(current.out());
    if (error != JVMTI_ERROR_NONE) return error;
    of = current;
  }
  return set->await_pop(call.jni, call.environment->number, of, from_bottom.c());
}

jvmtiError ClearProbedPops(Call& call, const In<jint>& number, const In<kinds::Thread>& thread) {
  FoundProbes found(call, number.c());
  ProbeSet* set = reporting(call, found, number.c());
  if (set == nullptr) return call.outcome();
  if (call.environment == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  set->clear_pops(call.jni, call.environment->number, thread.c());
  return JVMTI_ERROR_NONE;
}

jvmtiError ForgetProbedEvents(Call& call, const In<jint>& number) {
  FoundProbes found(call, number.c());
  ProbeSet* set = reporting(call, found, number.c());
  if (set == nullptr) return call.outcome();
  if (call.environment == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  set->forget_environment(call.jni, call.environment->number);
  return JVMTI_ERROR_NONE;
}

jvmtiError FindProbedFrame(Call& call, const In<Nullable<kinds::Thread>>& thread,
                           jobjectArray* values, jint* probes, jint* site, jint* depth) {
  LocalRef<jthread> current(call.jni);
  jthread of = thread.c();
  if (of == nullptr) {
    jvmtiError error = agent.env->GetCurrentThread(current.out());
    if (error != JVMTI_ERROR_NONE) return error;
    of = current;
  }
  Halted halted{};
  LocalRef<> found(call.jni);
  if (!find_halted(call.jni, of, &halted, &found)) return JVMTI_ERROR_NONE;
  *values = static_cast<jobjectArray>(found.release());
  *probes = static_cast<jint>(halted.set);
  *site = static_cast<jint>(halted.site);
  *depth = halted.depth;
  return JVMTI_ERROR_NONE;
}

}  // namespace operations
}  // namespace jvmti
