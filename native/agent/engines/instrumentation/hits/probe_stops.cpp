// Probes that stop the thread: what a breakpoint, a watchpoint or a catchpoint is where the VM
// gives none.  The request, its filters and its report are those of the engine of stops.

#include "agent/engines/instrumentation/probe_set.h"
#include "agent/engines/stops/stop_hits.h"
#include "agent/events/events.h"
#include "agent/handles/agent_references.h"
#include "agent/handles/class_names.h"
#include "generated/overrides.h"
#include "generated/probe_helper.h"

namespace jvmti {

namespace {

// Those of the helper class, on top of the frame with the probe.
constexpr jint kOwnFrames = kHelperFrames;

// How a thread goes on: the first place of the array says so. What is returned is in an array
// there, and one of no length begins the method again.
enum class Leaving { kNo, kReturns, kRestarts };

Leaving leaving_of(JNIEnv* jni, jobjectArray values) {
  LocalRef<jobjectArray> found(jni, jni->GetObjectArrayElement(values, 0));
  if (found == nullptr) return Leaving::kNo;
  return jni->GetArrayLength(found) == 0 ? Leaving::kRestarts : Leaving::kReturns;
}

void restart_method(JNIEnv* jni, uint32_t number) {
  UsedProbes used(number);
  if (used.get() != nullptr) used.get()->begin_frame_again(jni);
  LocalRef<jclass> restarting(jni, jni->FindClass(kProbeRestarting));
  if (restarting == nullptr) return;
  LocalRef<> thrown(jni, jni->AllocObject(restarting));
  if (thrown != nullptr) jni->Throw(static_cast<jthrowable>(thrown.get()));
}

// An exception that the method's own handler takes, with the array in it.
void leave_method(JNIEnv* jni, jobjectArray values) {
  LocalRef<jclass> leaving(jni, jni->FindClass(kProbeLeaving));
  jfieldID field =
      leaving == nullptr ? nullptr : jni->GetFieldID(leaving, "values", "[Ljava/lang/Object;");
  if (field == nullptr) return;
  LocalRef<> thrown(jni, jni->AllocObject(leaving));
  if (thrown == nullptr) return;
  jni->SetObjectField(thrown, field, values);
  jni->Throw(static_cast<jthrowable>(thrown.get()));
}

// Whether a catchpoint is about the exception, which the array has behind the first place.
bool is_caught_by(jvmtiEnv* env, JNIEnv* jni, const StopRequest& stop, jobjectArray values) {
  LocalRef<> exception(jni, jni->GetObjectArrayElement(values, 1));
  if (exception == nullptr) return false;
  return matches_any_super(env, jni, LocalRef<jclass>(jni, jni->GetObjectClass(exception)),
                           stop.classes.get());
}

Mutex waiting_mutex{Guards::kLists};
uint32_t last_waiting = 0;

// The array of a thread that has stopped, under a number. Most of those who are asked about a
// breakpoint never look at a variable, and to give the array a handle takes longer than to ask.
class WaitingValues : NoCopy {
 public:
  WaitingValues(JNIEnv* jni, const Session& session, jobjectArray values)
      : jni_(jni), session_(session), values_(hold(jni, values)) {
    Locked locked(waiting_mutex);
    number_ = ++last_waiting == 0 ? ++last_waiting : last_waiting;
    next_ = first;
    first = this;
  }
  ~WaitingValues() {
    {
      Locked locked(waiting_mutex);
      WaitingValues** at = &first;
      while (*at != this) at = &(*at)->next_;
      *at = next_;
    }
    let_go(jni_, values_);
  }
  uint32_t number() const { return number_; }
  // A new local reference; null where no thread of the session waits under the number.
  static jobject find(JNIEnv* jni, const Session& session, uint32_t number) {
    FrozenReferences frozen(jni);
    jobject found = nullptr;
    {
      Locked locked(waiting_mutex);
      for (WaitingValues* one = first; one != nullptr && found == nullptr; one = one->next_) {
        if (one->number_ == number && &one->session_ == &session) found = one->values_;
      }
    }
    return found == nullptr ? nullptr : jni->NewLocalRef(found);
  }

 private:
  static WaitingValues* first;
  JNIEnv* jni_;
  const Session& session_;
  jobject values_;
  uint32_t number_ = 0;
  WaitingValues* next_ = nullptr;
};

WaitingValues* WaitingValues::first = nullptr;

}  // namespace

jint depth_of_throw(jvmtiEnv* env, JNIEnv* jni) {
  constexpr jint kMost = 64;
  jvmtiFrameInfo frames[kMost];
  jint count = walk_stack(env, nullptr, kOwnFrames, frames, kMost);
  if (count < 0) return 0;
  jint above = 0;
  for (; above < count; ++above) {
    Deallocated<char> name(env);
    LocalRef<jclass> klass(jni);
    bool is_constructor =
        env->GetMethodName(frames[above].method, name.out(), nullptr, nullptr) ==
            JVMTI_ERROR_NONE &&
        std::strcmp(name, "<init>") == 0 &&
        env->GetMethodDeclaringClass(frames[above].method, klass.out()) == JVMTI_ERROR_NONE &&
        jni->IsAssignableFrom(klass, known_fields.throwable);
    if (!is_constructor) break;
  }
  return kOwnFrames + (above == count ? 0 : above);
}

bool ProbeSet::takes_stops(Call& call, const ProbeRequest& request) {
  stop_ = request.stop;
  environment_ = call.environment == nullptr ? 0 : call.environment->number;
  session_ = &call.session;
  if (events_ != nullptr) return true;
  for (const classfile::Probe& probe : plan_.probes()) {
    bool stops = probe.outcome == layouts::Outcome::kStop;
    bool keeps = probe.outcome == layouts::Outcome::kKeep;  // when the call began, for a condition
    if ((!keeps && stops != (stop_ != 0)) || probe.event != 0) return false;
  }
  return true;
}

void ProbeSet::halt(JNIEnv* jni, jobjectArray values, uint32_t number, uint32_t site) {
  bool reports = false;
  {
    UsedProbes used(number);
    reports = used.get() != nullptr && used.get()->events_ != nullptr;
  }
  if (reports) {
    report(jni, values, number, site, false);
    Leaving how = jni->ExceptionCheck() ? Leaving::kNo : leaving_of(jni, values);
    if (how == Leaving::kRestarts) restart_method(jni, number);
    if (how != Leaving::kReturns) return;
    report(jni, values, number, site, true);
    if (!jni->ExceptionCheck()) leave_method(jni, values);
    return;
  }
  std::optional<EventScope> scope;
  StopHit hit{};
  jvmtiEnv* env = nullptr;
  {
    UsedProbes used(number);
    ProbeSet* set = used.get();
    if (set == nullptr || !set->active_ || set->stop_ == 0) return;
    // The set keeps its session.
    Session& session = *set->session_;
    Environment* environment = session.environments.enter(set->environment_);
    if (environment == nullptr) return;
    hit.request = session.stop_requests.enter(set->stop_);
    bool is_own = hit.request != nullptr && in_handler(session) &&
                  !(hit.request->event == kBreakpointEvent && stops_in_handlers(hit));
    if (is_own) {
      StopRequests::leave(jni, hit.request);
    } else if (hit.request != nullptr) {
      env = environment->env;
      scope.emplace(env, jni, hit.request->event,
                    std::initializer_list<EventScope::Wish>{{Tap::kStops, OwnWork::kReported}});
      if (!*scope) StopRequests::leave(jni, hit.request);
    }
    session.environments.leave(jni, environment);
    if (!scope || !*scope) return;
  }
  jvmtiFrameInfo frame{};
  jthread thread = nullptr;
  hit.depth = kOwnFrames;
  int event = hit.request->event;
  bool wanted = event != kExceptionEvent || is_caught_by(env, jni, *hit.request, values);
  if (event == kExceptionEvent && wanted) hit.depth = depth_of_throw(env, jni);
  if (wanted) frame = frame_at(env, nullptr, hit.depth);
  wanted = frame.method != nullptr && env->GetCurrentThread(&thread) == JVMTI_ERROR_NONE &&
           wants(scope->session(), env, jni, hit, thread);
  uint32_t request = hit.request->number;
  StopRequests::leave(jni, hit.request);
  if (wanted) {
    std::optional<WaitingValues> waiting;
    if (event == kBreakpointEvent) waiting.emplace(jni, scope->session(), values);
    Delivery it(*scope, jni, layouts::Opening::kProbeStop, event, -1);
    if (it.ready()) {
      it.number(layouts::StopHead{static_cast<uint32_t>(event), 1});
      it.number(request);
      it.number(layouts::StopPlace{it.handle<kinds::Thread>(thread), it.handle(frame.method),
                                   frame.location});
      it.number(layouts::StopProbe{waiting ? 0 : it.handle<kinds::Object>(values),
                                   waiting ? waiting->number() : 0, number, site, hit.depth});
      it.ask();
    }
  }
  scope->leave();
  delete_local(jni, thread);
  if (!wanted || jni->ExceptionCheck()) return;
  Leaving how = leaving_of(jni, values);
  if (how == Leaving::kRestarts) restart_method(jni, number);
  if (how == Leaving::kReturns) leave_method(jni, values);
}

namespace operations {

jvmtiError GetStoppedValues(Call& call, const In<jint>& number, jobjectArray* values) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  *values = static_cast<jobjectArray>(
      WaitingValues::find(call.jni, call.session, static_cast<uint32_t>(number.c())));
  return JVMTI_ERROR_NONE;
}

}  // namespace operations

}  // namespace jvmti

extern "C" JNIEXPORT void JNICALL JVMTI_PROBE_HELPER(halt)(JNIEnv* jni, jclass, jobjectArray values,
                                                           jint probes, jint site) {
  jvmti::ProbeSet::halt(jni, values, static_cast<uint32_t>(probes), static_cast<uint32_t>(site));
}
