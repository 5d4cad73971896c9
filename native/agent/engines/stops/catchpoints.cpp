// Catchpoints: requests to stop where an exception is thrown, and where a class is prepared or
// redefined.

#include "agent/engines/stops/stop_hits.h"
#include "agent/events/events.h"
#include "agent/handles/class_names.h"
#include "base/patterns.h"

namespace jvmti {

void stop_Exception(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID method,
                    jlocation location, jobject exception, jmethodID catch_method,
                    jlocation catch_location) {
  StopHit hits[StopRequests::kMost];
  size_t count = scope.session().stop_requests.of_event(kExceptionEvent, hits);
  jint kind = catch_method == nullptr ? Caught::kUncaught : Caught::kCaught;
  count = only(jni, hits, count, [&](const StopHit& one) {
    return (one.request->kinds & kind) != 0 &&
           matches_any_super(env, jni, LocalRef<jclass>(jni, jni->GetObjectClass(exception)),
                             one.request->classes.get());
  });
  report(scope, env, jni, kExceptionEvent, hits, count, nullptr, thread, method, location,
         [&](Delivery& it) {
           it.number(layouts::StopException{
               it.handle<kinds::Object>(exception), catch_method != nullptr,
               catch_method == nullptr ? 0 : it.handle(catch_method), catch_location});
         });
}

namespace {

// Reports those of the requests of an event that are about the class.
void report_class(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, int event, jthread thread,
                  jclass klass) {
  // Breakpoints can be set from the live phase on; what was there before, the controller looks at.
  if (!agent.live) return;
  StopHit hits[StopRequests::kMost];
  size_t count = scope.session().stop_requests.of_event(event, hits);
  if (count == 0) return;
  char name[kLongestClassName];
  bool named = class_name(env, klass, name, sizeof name);
  count = only(jni, hits, count, [&](const StopHit& one) {
    return named && matches_any(one.request->classes.get(), name);
  });
  constexpr int64_t kLimit = 10000;  // milliseconds
  report(
      scope, env, jni, event, hits, count, nullptr, thread, nullptr, 0,
      [&](Delivery& it) { it.number(layouts::StopClass{it.handle<kinds::Class>(klass)}); }, kLimit);
}

}  // namespace

void stop_ClassPrepare(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread,
                       jclass klass) {
  report_class(scope, env, jni, kPrepareEvent, thread, klass);
}

void stop_ClassFileLoadHook(EventScope& scope, jvmtiEnv* env, JNIEnv* jni,
                            jclass class_being_redefined, jobject, const char*, jobject, jint,
                            const unsigned char*, jint*, unsigned char**) {
  if (class_being_redefined == nullptr) return;
  report_class(scope, env, jni, kClassFileEvent, nullptr, class_being_redefined);
}

}  // namespace jvmti
