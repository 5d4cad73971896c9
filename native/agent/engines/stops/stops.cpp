#include "agent/engines/stops/stops.h"

#include "agent/core/own_references.h"
#include "agent/engines/stops/stop_requests.h"
#include "agent/events/events.h"
#include "generated/own.h"

namespace jvmti {

void free_stop(JNIEnv* jni, StopRequest* stop) {
  for (Installed* place = stop->places; place != nullptr;) {
    Installed* next = place->next_of_stop;
    if (jni != nullptr && place->klass != nullptr) jni->DeleteWeakGlobalRef(place->klass);
    unmake(place->condition);
    unmake(place);
    place = next;
  }
  if (jni != nullptr) {
    for (jobject thread : stop->threads) let_go(jni, thread);
    if (stop->stepping.thread != nullptr) let_go(jni, stop->stepping.thread);
  }
  unmake(stop);
}

Stops::~Stops() { clear(nullptr); }

uint32_t Stops::add(StopRequest* stop) {
  Locked locked(mutex_);
  if (!stops_.push(stop)) return 0;
  stop->number = ++last_;
  return stop->number;
}

StopRequest* Stops::enter(uint32_t number) {
  Locked locked(mutex_);
  for (StopRequest* stop : stops_) {
    if (stop->number != number) continue;
    ++stop->uses;
    return stop;
  }
  return nullptr;
}

void Stops::leave(JNIEnv* jni, StopRequest* stop) {
  if (--stop->uses == 0) free_stop(jni, stop);
}

void Stops::clear(JNIEnv* jni) {
  for (Installed*& first : buckets_) first = nullptr;
  while (!stops_.empty()) leave(jni, stops_.pop());
}

size_t Stops::of_event(int event, StopHit* hits) {
  size_t count = 0;
  Locked locked(mutex_);
  for (StopRequest* stop : stops_) {
    if (stop->event != event || count == kMost) continue;
    ++stop->uses;
    hits[count++] = StopHit{stop, nullptr, nullptr};
  }
  return count;
}

namespace own {

jvmtiError MakeStop(Call& call, const In<jvmtiEvent>& event, const In<jint>& locals,
                    const In<jint>& every, const In<jlong>& after, const In<jint>& kinds,
                    const In<List<kinds::Thread>>& threads, const In<Nullable<Text>>& callers,
                    const In<Nullable<Text>>& classes, jint* number) {
  if (call.environment == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  int chosen = event.c();
  bool known = chosen == kBreakpointEvent || chosen == kStepEvent || chosen == kExceptionEvent ||
               chosen == kAccessEvent || chosen == kModificationEvent || chosen == kPrepareEvent ||
               chosen == kClassFileEvent;
  if (!known) return JVMTI_ERROR_INVALID_EVENT_TYPE;
  if (every.c() < 1 || after.c() < 0 || locals.c() < 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  StopRequest* stop = make<StopRequest>();
  if (stop == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  stop->event = chosen;
  stop->environment = call.environment;
  stop->locals = static_cast<uint32_t>(locals.c());
  stop->every = every.c();
  stop->after = after.c();
  stop->kinds = kinds.c();
  bool good = (callers.c() == nullptr || stop->callers.copy(callers.c())) &&
              (classes.c() == nullptr || stop->classes.copy(classes.c()));
  for (jint i = 0; good && i < threads.count(); ++i) {
    jobject thread = call.jni == nullptr ? nullptr : hold(call.jni, threads.items()[i]);
    good = thread != nullptr && stop->threads.push(thread);
  }
  EventTaps* taps = call.environment->taps;
  taps[chosen - kFirstEvent].set(Tap::kStops, true);
  if (chosen == kStepEvent) taps[kFramePopEvent - kFirstEvent].set(Tap::kStops, true);
  uint32_t made = good ? call.session.stops.add(stop) : 0;
  if (made == 0) {
    free_stop(call.jni, stop);
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  *number = static_cast<jint>(made);
  return set_callbacks(*call.environment);
}

jvmtiError RemoveStop(Call& call, const In<jint>& number) {
  if (!call.session.stops.remove(call, static_cast<uint32_t>(number.c()))) {
    call.refuse(JVMTI_ERROR_NOT_FOUND, "there is no stop %d", number.c());
  }
  return call.outcome();
}

jvmtiError StopPasses(Call& call, const In<jint>& number, jlong* passes) {
  StopRequest* stop = call.session.stops.enter(static_cast<uint32_t>(number.c()));
  if (stop == nullptr) return JVMTI_ERROR_NOT_FOUND;
  *passes = static_cast<jlong>(stop->passes.load());
  Stops::leave(call.jni, stop);
  return JVMTI_ERROR_NONE;
}

}  // namespace own

extern const Engine kStopEngine{nullptr, nullptr,
                                [](JNIEnv* jni, Session& session, Stage stage) {
                                  if (stage == Stage::kForget) session.stops.clear(jni);
                                  return true;
                                },
                                nullptr};

}  // namespace jvmti
