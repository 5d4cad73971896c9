// Requests that an event has hit: which of them want the thread, and the report to the controller.
#pragma once

#include "agent/engines/stops/stop_request.h"
#include "generated/taps.h"

namespace jvmti {

// Whether the thread is to stop at what it has hit: its thread, callers, condition and passes fit.
bool wants(Session& session, jvmtiEnv* env, JNIEnv* jni, const StopHit& hit, jthread thread);

// Whether a step into calls lets the thread run through a method, up to what that calls.
bool passes_over(jvmtiEnv* env, JNIEnv* jni, StopRequest* step, jmethodID method);

// Asks the controller about those of the hits that want the thread; `step` has arrived already.
// `write` adds what else the event brings.
template <class Write>
void report(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, int event, const StopHit* hits,
            size_t count, StopRequest* step, jthread thread, jmethodID method, jlocation location,
            Write write, int64_t limit = -1) {
  uint32_t numbers[StopRequests::kMost + 1];
  uint32_t reported = 0;
  if (step != nullptr) numbers[reported++] = step->number;
  for (size_t i = 0; i < count; ++i) {
    if (wants(scope.session(), env, jni, hits[i], thread))
      numbers[reported++] = hits[i].request->number;
    StopRequests::leave(jni, hits[i].request);
  }
  if (reported == 0) return;
  Delivery it(scope, jni, layouts::Opening::kStop, event, limit);
  if (!it.ready()) return;
  it.number(layouts::StopHead{static_cast<uint32_t>(event), reported});
  for (uint32_t i = 0; i < reported; ++i) it.number(numbers[i]);
  it.number(layouts::StopPlace{it.handle<kinds::Thread>(thread), it.handle(method), location});
  write(it);
  it.ask();
}

// Whether the current thread runs what a handler of the session has called.
bool in_handler(const Session& session);

// Whether a breakpoint stops such a thread, too.
inline bool stops_in_handlers(const StopHit& hit) {
  constexpr jint kHandlers = static_cast<jint>(layouts::Within::kHandlers);
  return (hit.request->kinds & kHandlers) != 0;
}

inline void nothing_else(Delivery&) {}

// Keeps the hits that fit, and leaves the others.
template <class Matches>
size_t only(JNIEnv* jni, StopHit* hits, size_t count, Matches matches) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (matches(hits[i])) {
      hits[kept++] = hits[i];
    } else {
      StopRequests::leave(jni, hits[i].request);
    }
  }
  return kept;
}

}  // namespace jvmti
