#include "agent/engines/stops/stepping.h"

#include <utility>

#include "agent/engines/instrumentation/code_moves.h"
#include "agent/engines/instrumentation/probe_set.h"
#include "agent/engines/stops/stop_hits.h"
#include "agent/events/events.h"
#include "agent/handles/agent_references.h"
#include "generated/overrides.h"

namespace jvmti {

void watch_steps(StopRequest& step, JNIEnv* jni, jthread thread, bool steps, bool pops) {
  uint32_t probes = 0;
  bool entries = false;
  {
    Locked locked(step.mutex);
    probes = step.stepping.probes;
    std::swap(entries, step.stepping.entries);
  }
  if (probes != 0) {
    UsedProbes used(probes);
    if (used.get() != nullptr) used.get()->step(jni, step.environment->number, steps, thread);
    return;
  }
  jvmtiEnv* env = step.environment->env;
  env->SetEventNotificationMode(pops ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_FRAME_POP, thread);
  env->SetEventNotificationMode(steps ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_SINGLE_STEP,
                                thread);
  if (entries) env->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_METHOD_ENTRY, thread);
}

StopRequest* step_of(Session& session, JNIEnv* jni, jthread thread, StopHit* hits) {
  size_t count = session.stop_requests.of_event(kStepEvent, hits);
  StopRequest* found = nullptr;
  for (size_t i = 0; i < count; ++i) {
    StopRequest* request = hits[i].request;
    jthread stepped = nullptr;
    {
      Locked locked(request->mutex);
      if (request->stepping.state != Stepping::kIdle || request->stepping.due) {
        stepped = request->stepping.thread;
      }
    }
    if (found == nullptr && stepped != nullptr && jni->IsSameObject(stepped, thread)) {
      found = request;
    } else {
      StopRequests::leave(jni, request);
    }
  }
  return found;
}

namespace {

// The line of a location; -1 where there is no table.  `starts` says that the line begins there.
jint line_of(Session& session, jmethodID method, jlocation location, bool* starts) {
  jint count = 0;
  jvmtiEnv* env = session.tags();
  Deallocated<jvmtiLineNumberEntry> table(env);
  *starts = false;
  if (env == nullptr || env->GetLineNumberTable(method, &count, table.out()) != JVMTI_ERROR_NONE) {
    return -1;
  }
  jlocation best = -1;
  jint line = -1;
  for (jint i = 0; i < count; ++i) {
    if (table.get()[i].start_location > location || table.get()[i].start_location < best) continue;
    best = table.get()[i].start_location;
    line = table.get()[i].line_number;
  }
  *starts = best == location;
  return line;
}

enum class Arrival { kGoOn, kArrived, kStepAway };

// What a stepped thread does at an instruction.
Arrival look_at(Session& session, jvmtiEnv* env, JNIEnv* jni, StopRequest* step, Stepping& stepping,
                jint depth, jmethodID method, jlocation location) {
  bool starts = false;
  // Probes are where lines begin, in whatever method, where it throws, and at its ends.
  if (stepping.probes != 0 && location <= kAtEnd && stepping.state == Stepping::kFresh) {
    return Arrival::kGoOn;
  }
  if (stepping.probes != 0 && stepping.state != Stepping::kFresh) {
    if (location <= kAtEnd) {
      bool is_last = stepping.ends && depth == stepping.depth;
      return depth < stepping.depth || is_last ? Arrival::kArrived : Arrival::kGoOn;
    }
    if (depth > stepping.depth) {
      bool is_into =
          stepping.how == Step::kInto && line_of(session, method, location, &starts) >= 0;
      return is_into ? Arrival::kArrived : Arrival::kGoOn;
    }
  }
  if (stepping.state == Stepping::kFresh) {
    stepping.state = Stepping::kClose;
    stepping.depth = depth;
    stepping.method = method;
    stepping.line = line_of(session, method, location, &starts);
    return stepping.how == Step::kOut ? Arrival::kStepAway : Arrival::kGoOn;
  }
  if (depth < stepping.depth) return Arrival::kArrived;
  if (stepping.how == Step::kOut) return Arrival::kGoOn;
  if (depth > stepping.depth) {
    if (stepping.how == Step::kOver) return Arrival::kStepAway;
    if (!stepping.by_line) return Arrival::kArrived;
    if (passes_over(env, jni, step, method)) return Arrival::kStepAway;
    // What has no lines is passed over; what it calls again is not.
    jint line = line_of(session, method, location, &starts);
    return line >= 0 && starts ? Arrival::kArrived : Arrival::kGoOn;
  }
  if (method != stepping.method || !stepping.by_line) return Arrival::kArrived;
  return line_of(session, method, location, &starts) == stepping.line ? Arrival::kGoOn
                                                                      : Arrival::kArrived;
}

// Lets a thread run until a frame, by default its topmost, is popped or, into calls, until a method
// begins that is not passed over.  If the VM does not report that, as for native frames, every
// instruction is examined instead.
bool step_away(jvmtiEnv* env, StopRequest* request, jthread thread, jint frame = 0) {
  bool entries = false;
  {
    Locked locked(request->mutex);
    if (request->stepping.state == Stepping::kIdle) return false;
    request->stepping.state = Stepping::kAway;
    entries = request->stepping.how == Step::kInto;
    if (entries) request->stepping.entries = true;
  }
  env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_FRAME_POP, thread);
  jvmtiError error = env->NotifyFramePop(thread, frame);
  bool away = error == JVMTI_ERROR_NONE || error == JVMTI_ERROR_DUPLICATE;
  if (away && entries) {
    error = env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_METHOD_ENTRY, thread);
    away = error == JVMTI_ERROR_NONE;
  }
  bool given_up = false;
  {
    Locked locked(request->mutex);
    given_up = request->stepping.state == Stepping::kIdle;
    if (given_up) request->stepping.entries = entries;
    if (!away && request->stepping.state == Stepping::kAway) {
      request->stepping.state = Stepping::kClose;
    }
  }
  if (given_up) {
    watch_steps(*request, nullptr, thread, false, false);
    return true;
  }
  env->SetEventNotificationMode(away ? JVMTI_DISABLE : JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP,
                                thread);
  return away;
}

// A thread that ran on is looked at again at every instruction.
void look_closely(jvmtiEnv* env, StopRequest* request, jthread thread) {
  bool entries = false;
  {
    Locked locked(request->mutex);
    if (request->stepping.state != Stepping::kAway) return;
    request->stepping.state = Stepping::kClose;
    std::swap(entries, request->stepping.entries);
  }
  if (entries) env->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_METHOD_ENTRY, thread);
  env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP, thread);
}

// The place of the frame with the probe, in its own version of the method; an end of the method
// stays one.
void find_own_place(jvmtiEnv* env, jint* depth, jmethodID* method, jlocation* location) {
  bool ends = *location < 0;
  jlocation found = 0;
  *depth -= kHelperFrames;
  if (env->GetFrameLocation(nullptr, kHelperFrames, method, &found) != JVMTI_ERROR_NONE) return;
  *location = ends ? kAtEnd - found : found;
}

}  // namespace

void stop_SingleStep(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread,
                     jmethodID method, jlocation location) {
  Session& session = scope.session();
  StopHit hits[StopRequests::kMost];
  StopRequest* step = step_of(session, jni, thread, hits);
  if (step == nullptr) return;
  jint depth = 0;
  Arrival arrival = Arrival::kGoOn;
  if (env->GetFrameCount(thread, &depth) == JVMTI_ERROR_NONE) {
    Stepping stepping;
    {
      Locked locked(step->mutex);
      stepping = step->stepping;
    }
    if (stepping.probes != 0) find_own_place(env, &depth, &method, &location);
    if (stepping.state == Stepping::kFresh || stepping.state == Stepping::kClose) {
      arrival = look_at(session, env, jni, step, stepping, depth, method, location);
      Locked locked(step->mutex);
      if (step->stepping.state == Stepping::kIdle) {
        arrival = Arrival::kGoOn;  // given up meanwhile
      } else {
        step->stepping.state = stepping.state;
        step->stepping.depth = stepping.depth;
        step->stepping.method = stepping.method;
        step->stepping.line = stepping.line;
      }
    }
  }
  if (arrival == Arrival::kStepAway && step->stepping.probes == 0) step_away(env, step, thread);
  if (arrival == Arrival::kArrived) {
    // A breakpoint here follows at once: it reports both, so that there are not two stops in one
    // place.
    bool due = step->stepping.probes == 0 &&
               session.stop_requests.has_place(kBreakpointEvent, method, location);
    Writer calls;
    {
      Locked locked(step->mutex);
      step->stepping.state = Stepping::kIdle;
      step->stepping.due = due;
      calls.swap(step->calls);
    }
    watch_steps(*step, jni, thread, false, false);
    if (!due) {
      Halted halted{};
      LocalRef<> values(jni);
      bool at_probe = step->stepping.probes != 0 && find_halted(jni, thread, &halted, &values);
      report(scope, env, jni, kStepEvent, nullptr, 0, step, thread, method, location,
             [&](Delivery& it) {
               layouts::StopProbe probe{};
               if (at_probe) {
                 probe = {it.handle<kinds::Object>(values), 0, halted.set, halted.site,
                          halted.depth};
               }
               it.number(probe);
               if (calls.size() > 0) it.calls(calls.data(), calls.size());
             });
    }
  }
  StopRequests::leave(jni, step);
}

void stop_FramePop(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID,
                   jboolean) {
  StopHit hits[StopRequests::kMost];
  StopRequest* step = step_of(scope.session(), jni, thread, hits);
  if (step == nullptr) return;
  look_closely(env, step, thread);
  StopRequests::leave(jni, step);
}

void stop_MethodEntry(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread,
                      jmethodID method) {
  StopHit hits[StopRequests::kMost];
  StopRequest* step = step_of(scope.session(), jni, thread, hits);
  if (step == nullptr) return;
  bool wanted = false;
  {
    Locked locked(step->mutex);
    wanted = step->stepping.entries;
  }
  wanted = wanted && !passes_over(env, jni, step, method);
  if (wanted) look_closely(env, step, thread);
  StopRequests::leave(jni, step);
  // HotSpot reports only the instructions after the first, which is where the first line begins.
  if (wanted) stop_SingleStep(scope, env, jni, thread, method, 0);
}

// A step by probes ends at the first line then, also where it is the line that it began at.
void StopRequests::frame_begins_again(JNIEnv* jni, jthread thread) {
  StopHit hits[kMost];
  size_t count = of_event(kStepEvent, hits);
  for (size_t i = 0; i < count; ++i) {
    StopRequest* step = hits[i].request;
    jthread close = nullptr;
    {
      Locked locked(step->mutex);
      if (step->stepping.state == Stepping::kClose) close = step->stepping.thread;
    }
    if (close != nullptr && jni->IsSameObject(close, thread)) {
      Locked locked(step->mutex);
      step->stepping.line = -1;
    }
    leave(jni, step);
  }
}

// HotSpot forgets a requested FramePop when the frame is discarded.
void StopRequests::frame_was_popped(JNIEnv* jni, Session& session, jthread thread) {
  StopHit hits[kMost];
  size_t count = of_event(kStepEvent, hits);
  for (size_t i = 0; i < count; ++i) {
    StopRequest* step = hits[i].request;
    jthread away = nullptr;
    {
      Locked locked(step->mutex);
      if (step->stepping.state == Stepping::kAway) away = step->stepping.thread;
    }
    if (away != nullptr && jni->IsSameObject(away, thread) && session.pin(step->environment)) {
      jvmtiEnv* env = step->environment->env;
      if (env != nullptr) look_closely(env, step, thread);
      step->environment->in_flight.fetch_sub(1);
    }
    leave(jni, step);
  }
}

namespace operations {

jvmtiError StepThread(Call& call, const In<jint>& number, const In<kinds::Thread>& thread,
                      const In<jint>& how, const In<jboolean>& by_line, const In<jint>& probes,
                      const In<jboolean>& ends, const In<jint>& code, const In<Bytes>& calls) {
  if (code.c() >= 0 && code.c() != code_changes()) {
    return call.refuse(JVMTI_ERROR_INVALID_LOCATION, "a class has other code since then");
  }
  EnteredRequest request(call, number.c());
  if (!request.is(kStepEvent)) return call.outcome();
  if (how.c() < 1 || how.c() > 3) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  if (is_service_thread(call.jni, thread.c()) && Serving::of(&call.session) != nullptr &&
      !Serving::of(&call.session)->handler) {
    return call.refuse(JVMTI_ERROR_INVALID_THREAD, "this is a service thread of the agent");
  }
  StopHit hits[StopRequests::kMost];
  StopRequest* other = step_of(call.session, call.jni, thread.c(), hits);
  if (other != nullptr) {
    bool same = other == request.get();
    StopRequests::leave(call.jni, other);
    if (!same) return call.refuse(JVMTI_ERROR_DUPLICATE, "the thread is being stepped already");
  }
  Stepping begun;
  begun.how = static_cast<Step>(how.c());
  begun.by_line = by_line.c() != 0;
  begun.state = Stepping::kFresh;
  if (probes.c() != 0) {
    FoundProbes found(call, probes.c());
    if (found == nullptr || !found->reports_events()) {
      return FoundProbes::refuse(call, probes.c());
    }
    begun.probes = static_cast<uint32_t>(probes.c());
    begun.ends = ends.c() != 0;
  }
  // A suspended thread starts from where it is, any other from its next instruction.
  jint state = 0;
  bool still = is_current(call.env, call.jni, thread.c());
  if (!still && call.env->GetThreadState(thread.c(), &state) == JVMTI_ERROR_NONE) {
    if ((state & JVMTI_THREAD_STATE_ALIVE) == 0) return JVMTI_ERROR_THREAD_NOT_ALIVE;
    still = (state & JVMTI_THREAD_STATE_SUSPENDED) != 0;
  }
  jlocation location = -1;
  jmethodID method = nullptr;
  jint depth = 0;
  Arrival arrival = Arrival::kGoOn;
  jint above = 0;
  if (still) {
    jthread of = is_current(call.env, call.jni, thread.c()) ? nullptr : thread.c();
    above = frames_of_probe(call.env, call.jni, of);
  }
  if (still && call.env->GetFrameCount(thread.c(), &depth) == JVMTI_ERROR_NONE &&
      call.env->GetFrameLocation(thread.c(), above, &method, &location) == JVMTI_ERROR_NONE) {
    depth -= above;
    arrival =
        look_at(call.session, call.env, call.jni, request.get(), begun, depth, method, location);
  }
  jobject kept = hold(call.jni, thread.c());
  if (kept == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  jthread before;
  {
    Locked locked(request->mutex);
    before = request->stepping.thread;
  }
  bool again = before != nullptr && call.jni->IsSameObject(before, kept);
  if (before != nullptr) {
    // The reference may be in use by the thread itself, so it stays for as long as the stop does.
    let_go(call.jni, kept);
    if (!again) return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the stop steps another thread");
    kept = before;
  }
  begun.thread = kept;
  Writer foreseen;
  foreseen.bytes(calls.data(), static_cast<size_t>(calls.size()));
  if (foreseen.failed()) return JVMTI_ERROR_OUT_OF_MEMORY;
  bool lost = false;
  {
    Locked locked(request->mutex);
    lost = request->stepping.thread != before;
    begun.entries = request->stepping.entries;
    if (!lost) request->stepping = begun;
    if (!lost) request->calls.swap(foreseen);
  }
  if (lost) {
    let_go(call.jni, kept);
    return call.refuse(JVMTI_ERROR_DUPLICATE, "the thread is being stepped already");
  }
  if (begun.probes != 0) {
    watch_steps(*request.get(), call.jni, thread.c(), true, false);
    return JVMTI_ERROR_NONE;
  }
  if (arrival == Arrival::kStepAway && step_away(call.env, request.get(), thread.c(), above)) {
    return JVMTI_ERROR_NONE;
  }
  jvmtiError error =
      call.env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_FRAME_POP, thread.c());
  if (error == JVMTI_ERROR_NONE) {
    error = call.env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP, thread.c());
  }
  if (error != JVMTI_ERROR_NONE) {
    Locked locked(request->mutex);
    request->stepping.state = Stepping::kIdle;
  }
  return error;
}

}  // namespace operations

}  // namespace jvmti
