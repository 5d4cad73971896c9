// Breakpoints and watchpoints: requests to stop at places, whose events name the place.

#include "agent/engines/stops/stepping.h"
#include "agent/engines/stops/stop_hits.h"
#include "agent/events/events.h"
#include "agent/guards/guards.h"
#include "generated/overrides.h"

namespace jvmti {

void stop_Breakpoint(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread,
                     jmethodID method, jlocation location) {
  Session& session = scope.session();
  StopHit hits[StopRequests::kMost];
  bool ours = in_handler(session);
  StopRequest* step = ours ? nullptr : step_of(session, jni, thread, hits);
  bool due = false;
  if (step != nullptr) {
    Locked locked(step->mutex);
    due = step->stepping.due;
    step->stepping.due = false;
  }
  size_t count = session.stop_requests.at_place(kBreakpointEvent, method, location, hits);
  if (ours)
    count = only(jni, hits, count, [](const StopHit& one) { return stops_in_handlers(one); });
  report(scope, env, jni, kBreakpointEvent, hits, count, due ? step : nullptr, thread, method,
         location, nothing_else);
  if (step != nullptr) StopRequests::leave(jni, step);
}

namespace {

// An instance field's id is its place in an object, which other classes have, too.
size_t of_class(JNIEnv* jni, jclass klass, StopHit* hits, size_t count) {
  return only(jni, hits, count, [&](const StopHit& one) {
    LocalRef<jclass> declaring = class_behind(jni, static_cast<jweak>(one.klass));
    return declaring != nullptr && jni->IsAssignableFrom(klass, declaring);
  });
}

}  // namespace

void stop_FieldAccess(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread,
                      jmethodID method, jlocation location, jclass field_klass, jobject object,
                      jfieldID field) {
  StopHit hits[StopRequests::kMost];
  size_t count = scope.session().stop_requests.at_place(kAccessEvent, field, 0, hits);
  count = of_class(jni, field_klass, hits, count);
  report(scope, env, jni, kAccessEvent, hits, count, nullptr, thread, method, location,
         [&](Delivery& it) { it.number(layouts::StopField{it.handle<kinds::Object>(object)}); });
}

void stop_FieldModification(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread,
                            jmethodID method, jlocation location, jclass field_klass,
                            jobject object, jfieldID field, char signature_type, jvalue new_value) {
  StopHit hits[StopRequests::kMost];
  size_t count = scope.session().stop_requests.at_place(kModificationEvent, field, 0, hits);
  count = of_class(jni, field_klass, hits, count);
  report(scope, env, jni, kModificationEvent, hits, count, nullptr, thread, method, location,
         [&](Delivery& it) {
           it.number(layouts::StopField{it.handle<kinds::Object>(object)});
           it.value(signature_type, new_value);
         });
}

namespace operations {

jvmtiError InstallBreakpoint(Call& call, const In<jint>& number, const In<kinds::Method>& method,
                             const In<jlocation>& location, const In<List<jlong>>& condition,
                             const In<Bytes>& texts, const In<List<kinds::Field>>& fields,
                             const In<jboolean>& counted) {
  EnteredRequest request(call, number.c());
  if (!request.is(kBreakpointEvent)) return call.outcome();
  StopCondition* read = StopCondition::read(call, condition.items(), condition.count(),
                                            texts.data(), texts.size(), fields, location.c());
  if (call.refused()) return call.outcome();
  LocalRef<jclass> klass(call.jni);
  jvmtiError error = call.env->GetMethodDeclaringClass(method.c(), klass.out());
  if (error != JVMTI_ERROR_NONE) {
    unmake(read);
    return error;
  }
  call.session.stop_requests.place(call, request.get(), klass, method.c(), method.c(), location.c(),
                                   read, counted.c() != 0);
  return call.outcome();
}

jvmtiError UninstallBreakpoint(Call& call, const In<jint>& number, const In<kinds::Method>& method,
                               const In<jlocation>& location) {
  EnteredRequest request(call, number.c());
  if (!request.is(kBreakpointEvent)) return call.outcome();
  if (!call.session.stop_requests.uninstall_place(call, request.get(), method.c(), location.c())) {
    call.refuse(JVMTI_ERROR_NOT_FOUND, "the stop has no such place");
  }
  return call.outcome();
}

jvmtiError InstallWatchpoint(Call& call, const In<jint>& number, const In<kinds::Class>& klass,
                             const In<kinds::Field>& field) {
  EnteredRequest request(call, number.c());
  if (!request.is(kAccessEvent, kModificationEvent) || !guard::field_of_class(call, klass, field)) {
    return call.outcome();
  }
  call.session.stop_requests.place(call, request.get(), klass.c(), field.record(), field.c(), 0,
                                   nullptr, true);
  return call.outcome();
}

jvmtiError CountHit(Call& call, const In<jint>& number, jboolean* counted) {
  EnteredRequest request(call, number.c());
  if (!request.is(kBreakpointEvent)) return call.outcome();
  *counted = counts(request.get());
  return JVMTI_ERROR_NONE;
}

}  // namespace operations

}  // namespace jvmti
