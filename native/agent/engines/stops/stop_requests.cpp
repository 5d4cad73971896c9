#include "agent/engines/stops/stop_requests.h"

#include "agent/engines/stops/stop_request.h"
#include "agent/events/events.h"
#include "agent/handles/agent_references.h"
#include "generated/overrides.h"

namespace jvmti {

void free_request(JNIEnv* jni, StopRequest* request) {
  for (Installed* place = request->places; place != nullptr;) {
    Installed* next = place->next_of_request;
    if (jni != nullptr && place->klass != nullptr) jni->DeleteWeakGlobalRef(place->klass);
    unmake(place->condition);
    unmake(place);
    place = next;
  }
  if (jni != nullptr) {
    for (jobject thread : request->threads) let_go(jni, thread);
    if (request->stepping.thread != nullptr) let_go(jni, request->stepping.thread);
  }
  unmake(request);
}

StopRequests::~StopRequests() { clear(nullptr); }

uint32_t StopRequests::add(StopRequest* request) {
  Locked locked(mutex_);
  if (!requests_.push(request)) return 0;
  request->number = ++last_;
  return request->number;
}

StopRequest* StopRequests::enter(uint32_t number) {
  Locked locked(mutex_);
  for (StopRequest* request : requests_) {
    if (request->number != number) continue;
    ++request->uses;
    return request;
  }
  return nullptr;
}

void StopRequests::leave(JNIEnv* jni, StopRequest* request) {
  if (--request->uses == 0) free_request(jni, request);
}

void StopRequests::clear(JNIEnv* jni) {
  for (Installed*& first : buckets_) first = nullptr;
  while (!requests_.empty()) leave(jni, requests_.pop());
}

size_t StopRequests::of_event(int event, StopHit* hits) {
  size_t count = 0;
  Locked locked(mutex_);
  for (StopRequest* request : requests_) {
    if (request->event != event || count == kMost) continue;
    ++request->uses;
    hits[count++] = StopHit{request, nullptr, nullptr};
  }
  return count;
}

namespace operations {

jvmtiError CreateStopRequest(Call& call, const In<jvmtiEvent>& event, const In<jint>& locals,
                             const In<jint>& every, const In<jlong>& after, const In<jint>& kinds,
                             const In<List<kinds::Thread>>& threads,
                             const In<Nullable<Text>>& callers, const In<Nullable<Text>>& classes,
                             jint* number) {
  if (call.environment == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  int chosen = event.c();
  bool known = chosen == kBreakpointEvent || chosen == kStepEvent || chosen == kExceptionEvent ||
               chosen == kAccessEvent || chosen == kModificationEvent || chosen == kPrepareEvent ||
               chosen == kClassFileEvent;
  if (!known) return JVMTI_ERROR_INVALID_EVENT_TYPE;
  if (every.c() < 0 || after.c() < 0 || locals.c() < 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  StopRequest* request = make<StopRequest>();
  if (request == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  request->event = chosen;
  request->environment = call.environment;
  request->locals = static_cast<uint32_t>(locals.c());
  request->every = every.c();
  request->after = after.c();
  request->kinds = kinds.c();
  bool good = (callers.c() == nullptr || request->callers.copy(callers.c())) &&
              (classes.c() == nullptr || request->classes.copy(classes.c()));
  for (jint i = 0; good && i < threads.count(); ++i) {
    jobject thread = call.jni == nullptr ? nullptr : hold(call.jni, threads.items()[i]);
    good = thread != nullptr && request->threads.push(thread);
  }
  EventTaps* taps = call.environment->taps;
  taps[chosen - kFirstEvent].set(Tap::kStops, true);
  if (chosen == kStepEvent) {
    taps[kFramePopEvent - kFirstEvent].set(Tap::kStops, true);
    if (request->classes) taps[kEntryEvent - kFirstEvent].set(Tap::kStops, true);
  }
  uint32_t made = good ? call.session.stop_requests.add(request) : 0;
  if (made == 0) {
    free_request(call.jni, request);
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  *number = static_cast<jint>(made);
  return set_callbacks(*call.environment);
}

jvmtiError RemoveStopRequest(Call& call, const In<jint>& number) {
  if (!call.session.stop_requests.remove(call, static_cast<uint32_t>(number.c()))) {
    call.refuse(JVMTI_ERROR_NOT_FOUND, "there is no stop %d", number.c());
  }
  return call.outcome();
}

jvmtiError CountStopHits(Call& call, const In<jint>& number, jlong* passes) {
  StopRequest* request = call.session.stop_requests.enter(static_cast<uint32_t>(number.c()));
  if (request == nullptr) return JVMTI_ERROR_NOT_FOUND;
  *passes = static_cast<jlong>(request->passes.load());
  StopRequests::leave(call.jni, request);
  return JVMTI_ERROR_NONE;
}

}  // namespace operations

extern const Engine kStopEngine{nullptr, nullptr,
                                [](JNIEnv* jni, Session& session, Stage stage) {
                                  if (stage == Stage::kForget) session.stop_requests.clear(jni);
                                  return true;
                                },
                                nullptr};

}  // namespace jvmti
