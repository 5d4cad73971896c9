#include "stops.h"

#include <stdio.h>
#include <unistd.h>

#include <new>

#include "class_names.h"
#include "events.h"
#include "guards.h"
#include "log.h"
#include "method_details.h"
#include "own.h"
#include "own_references.h"
#include "patterns.h"
#include "stop_condition.h"

namespace jvmti {

namespace {

constexpr int kBreakpointEvent = JVMTI_EVENT_BREAKPOINT;
constexpr int kStepEvent = JVMTI_EVENT_SINGLE_STEP;
constexpr int kFramePopEvent = JVMTI_EVENT_FRAME_POP;
constexpr int kExceptionEvent = JVMTI_EVENT_EXCEPTION;
constexpr int kAccessEvent = JVMTI_EVENT_FIELD_ACCESS;
constexpr int kModificationEvent = JVMTI_EVENT_FIELD_MODIFICATION;
constexpr int kPrepareEvent = JVMTI_EVENT_CLASS_PREPARE;
constexpr int kClassFileEvent = JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;

// Where a stepped thread is on its way.
struct Stepping {
  enum State {
    kIdle,   // it is not stepped
    kFresh,  // where it starts is where it comes by next
    kClose,  // every instruction is looked at
    kAway    // in a call, or in the frame to be left: until that frame is popped
  };
  State state = kIdle;
  jthread thread = nullptr;  // a global reference
  Step how = Step::kInto;
  bool by_line = true;
  jint depth = 0;  // of the frame where it started, with how many there are
  jmethodID method = nullptr;
  jint line = -1;
  bool due = false;  // it has arrived at a breakpoint, whose event follows and tells of it
};

}  // namespace

struct Stop {
  uint32_t number = 0;
  int event = 0;
  Environment* environment = nullptr;
  uint32_t locals = 0;  // the environment that local variables are read in
  jint every = 1;       // which passes are told of: every so many-th …
  jlong after = 0;      // … beyond so many
  jint kinds = 0;       // of exceptions
  Vector<jobject> threads;   // the only ones, as global references; none stands for all
  char* callers = nullptr;  // patterns for the caller's class and name, one a line; null for all
  char* classes = nullptr;  // patterns for the class prepared, redefined or thrown
  std::atomic<uint64_t> passes{0};
  std::atomic<uint32_t> uses{1};
  std::atomic<bool> removed{false};
  Mutex mutex{Guards::kLists};
  Index known_callers;  // methods: 1 for no, 2 for yes
  uint32_t known = 0;
  Stepping stepping;
  Installed* places = nullptr;
};

struct Installed {
  Stop* stop;
  Installed* next_of_stop;
  Installed* next;  // in its bucket
  const void* key;
  void* member;
  jlocation location;
  jweak klass;
  StopCondition* condition;
};

namespace {

template <class T>
T* make() {
  void* memory = std::calloc(1, sizeof(T));
  return memory == nullptr ? nullptr : new (memory) T();
}

char* copy_of(const char* text) {
  if (text == nullptr) return nullptr;
  size_t size = std::strlen(text) + 1;
  char* copy = static_cast<char*>(std::malloc(size));
  if (copy != nullptr) std::memcpy(copy, text, size);
  return copy;
}

void free_condition(StopCondition* condition) {
  if (condition == nullptr) return;
  condition->~StopCondition();
  std::free(condition);
}

void free_stop(JNIEnv* jni, Stop* stop) {
  for (Installed* place = stop->places; place != nullptr;) {
    Installed* next = place->next_of_stop;
    if (jni != nullptr && place->klass != nullptr) jni->DeleteWeakGlobalRef(place->klass);
    free_condition(place->condition);
    std::free(place);
    place = next;
  }
  if (jni != nullptr) {
    for (jobject thread : stop->threads) let_go(jni, thread);
    if (stop->stepping.thread != nullptr) let_go(jni, stop->stepping.thread);
  }
  std::free(stop->callers);
  std::free(stop->classes);
  stop->~Stop();
  std::free(stop);
}

// ---- places in the VM -------------------------------------------------------------------------

jvmtiError set_place(jvmtiEnv* env, int event, jclass klass, const Installed& place) {
  switch (event) {
    case kBreakpointEvent:
      return env->SetBreakpoint(static_cast<jmethodID>(place.member), place.location);
    case kAccessEvent:
      return env->SetFieldAccessWatch(klass, static_cast<jfieldID>(place.member));
    default:
      return env->SetFieldModificationWatch(klass, static_cast<jfieldID>(place.member));
  }
}

void clear_place(jvmtiEnv* env, int event, jclass klass, const Installed& place) {
  switch (event) {
    case kBreakpointEvent:
      env->ClearBreakpoint(static_cast<jmethodID>(place.member), place.location);
      break;
    case kAccessEvent:
      env->ClearFieldAccessWatch(klass, static_cast<jfieldID>(place.member));
      break;
    default:
      env->ClearFieldModificationWatch(klass, static_cast<jfieldID>(place.member));
  }
}

Placed::What what_of(int event) {
  if (event == kBreakpointEvent) return Placed::kBreakpoint;
  return event == kAccessEvent ? Placed::kAccessWatch : Placed::kModificationWatch;
}

void watch_steps(jvmtiEnv* env, jthread thread, bool steps, bool pops) {
  env->SetEventNotificationMode(pops ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_FRAME_POP,
                                thread);
  env->SetEventNotificationMode(steps ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_SINGLE_STEP,
                                thread);
}

}  // namespace

Stops::~Stops() { clear(nullptr); }

uint32_t Stops::add(Stop* stop) {
  Locked locked(mutex_);
  if (!stops_.push(stop)) return 0;
  stop->number = ++last_;
  return stop->number;
}

Stop* Stops::enter(uint32_t number) {
  Locked locked(mutex_);
  for (Stop* stop : stops_) {
    if (stop->number != number) continue;
    ++stop->uses;
    return stop;
  }
  return nullptr;
}

void Stops::leave(JNIEnv* jni, Stop* stop) {
  if (--stop->uses == 0) free_stop(jni, stop);
}

Installed** Stops::bucket(const void* member) {
  uint64_t key = reinterpret_cast<uint64_t>(member) * 0x9E3779B97F4A7C15u;
  return &buckets_[key >> 56];
}

// Whether another stop has the same place; hold the mutex.
bool Stops::shared(const Installed& place) {
  for (const Installed* other = *bucket(place.member); other != nullptr; other = other->next) {
    if (other != &place && other->key == place.key && other->location == place.location &&
        other->stop->event == place.stop->event) {
      return true;
    }
  }
  return false;
}

bool Stops::remove(Call& call, uint32_t number) {
  Stop* stop = nullptr;
  {
    Locked locked(mutex_);
    for (size_t i = 0; i < stops_.size() && stop == nullptr; ++i) {
      if (stops_[i]->number != number) continue;
      stop = stops_[i];
      stops_.remove(i);
    }
  }
  if (stop == nullptr) return false;
  stop->removed = true;
  jvmtiEnv* env = stop->environment->env;
  for (Installed* place = stop->places; place != nullptr; place = place->next_of_stop) {
    if (place->key == place) continue;  // it never came about, or was taken away
    bool last;
    {
      Locked locked(mutex_);
      Installed** at = bucket(place->member);
      while (*at != nullptr && *at != place) at = &(*at)->next;
      if (*at == place) *at = place->next;
      last = !shared(*place);
    }
    if (call.jni == nullptr) continue;  // there are no classes yet
    // Of a class that has been unloaded nothing is left.
    jclass klass = static_cast<jclass>(call.jni->NewLocalRef(place->klass));
    if (klass == nullptr) continue;
    if (last && env != nullptr) {
      clear_place(env, stop->event, klass, *place);
      call.session.note_cleared(call.jni, what_of(stop->event), env, place->member,
                                place->location);
    }
    call.jni->DeleteLocalRef(klass);
  }
  if (stop->event == kStepEvent && env != nullptr) {
    jthread thread = nullptr;
    {
      Locked locked(stop->mutex);
      stop->stepping.state = Stepping::kIdle;
      thread = stop->stepping.thread;
    }
    if (thread != nullptr) watch_steps(env, thread, false, false);
  }
  leave(call.jni, stop);
  return true;
}

void Stops::clear(JNIEnv* jni) {
  for (Installed*& first : buckets_) first = nullptr;
  while (!stops_.empty()) leave(jni, stops_.pop());
}

void Stops::place(Call& call, Stop* stop, jclass klass, const void* key, void* member,
                  jlocation location, StopCondition* condition) {
  Installed* made = static_cast<Installed*>(std::calloc(1, sizeof(Installed)));
  jweak kept = made == nullptr ? nullptr : call.jni->NewWeakGlobalRef(klass);
  if (kept == nullptr) {
    free_condition(condition);
    std::free(made);
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return;
  }
  *made = Installed{stop, nullptr, nullptr, key, member, location, kept, condition};
  bool first = false;
  size_t others = 0;
  {
    Locked locked(mutex_);
    for (const Installed* other = *bucket(member); other != nullptr; other = other->next) {
      others += other->key == key && other->location == location;
    }
    if (others < kMost && !stop->removed) {
      first = !shared(*made);
      made->next = *bucket(member);
      *bucket(member) = made;
      made->next_of_stop = stop->places;
      stop->places = made;
    }
  }
  if (others >= kMost || stop->removed) {
    call.jni->DeleteWeakGlobalRef(kept);
    free_condition(condition);
    std::free(made);
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "there are %d stops at this place already",
                static_cast<int>(others));
    return;
  }
  jvmtiEnv* env = call.env;
  jvmtiError error = set_place(env, stop->event, klass, *made);
  // Redefining a class clears breakpoints that other stops still have.
  if (!first && error == JVMTI_ERROR_DUPLICATE) return;
  // Another thread may just be taking the last stop away from the place.
  for (int attempt = 0; error == JVMTI_ERROR_DUPLICATE && attempt < 20; ++attempt) {
    usleep(1000);
    error = set_place(env, stop->event, klass, *made);
  }
  if (error == JVMTI_ERROR_NONE) {
    if (call.session.note_placed(call.jni, what_of(stop->event), env, klass, member, location)) {
      return;
    }
    error = JVMTI_ERROR_OUT_OF_MEMORY;
  }
  {
    // It stays in the stop's list, which nobody looks for threads in, and goes with the stop.
    Locked locked(mutex_);
    Installed** at = bucket(member);
    while (*at != nullptr && *at != made) at = &(*at)->next;
    if (*at == made) *at = made->next;
    made->key = made;
  }
  call.refuse(error);
}

bool Stops::remove_place(Call& call, Stop* stop, const void* key, jlocation location) {
  Installed* found = nullptr;
  bool last = false;
  {
    Locked locked(mutex_);
    Installed** of_stop = &stop->places;
    while (*of_stop != nullptr && ((*of_stop)->key != key || (*of_stop)->location != location)) {
      of_stop = &(*of_stop)->next_of_stop;
    }
    found = *of_stop;
    if (found == nullptr) return false;
    Installed** at = bucket(found->member);
    while (*at != nullptr && *at != found) at = &(*at)->next;
    if (*at == found) *at = found->next;
    last = !shared(*found);
  }
  if (last) {
    jclass klass = static_cast<jclass>(call.jni->NewLocalRef(found->klass));
    if (klass != nullptr) {
      clear_place(call.env, stop->event, klass, *found);
      call.jni->DeleteLocalRef(klass);
    }
    call.session.note_cleared(call.jni, what_of(stop->event), call.env, found->member, location);
  }
  // Threads that have met it may still look at its condition: it goes with the stop.
  found->key = found;
  return true;
}

size_t Stops::at_place(int event, const void* member, jlocation location, Met* met) {
  size_t count = 0;
  Locked locked(mutex_);
  for (Installed* place = *bucket(member); place != nullptr && count < kMost; place = place->next) {
    if (place->member != member || place->location != location || place->stop->event != event) {
      continue;
    }
    ++place->stop->uses;
    met[count++] = Met{place->stop, place->condition, place->klass};
  }
  return count;
}

bool Stops::has_place(int event, const void* member, jlocation location) {
  Locked locked(mutex_);
  for (Installed* place = *bucket(member); place != nullptr; place = place->next) {
    if (place->member == member && place->location == location && place->stop->event == event) {
      return true;
    }
  }
  return false;
}

size_t Stops::of_event(int event, Met* met) {
  size_t count = 0;
  Locked locked(mutex_);
  for (Stop* stop : stops_) {
    if (stop->event != event || count == kMost) continue;
    ++stop->uses;
    met[count++] = Met{stop, nullptr, nullptr};
  }
  return count;
}

// ---- events -----------------------------------------------------------------------------------

namespace {

bool is_called_by(jvmtiEnv* env, JNIEnv* jni, Stop* stop) {
  jmethodID caller = nullptr;
  jlocation location = 0;
  if (env->GetFrameLocation(nullptr, 1, &caller, &location) != JVMTI_ERROR_NONE) return false;
  uint64_t key = reinterpret_cast<uint64_t>(caller);
  {
    Locked locked(stop->mutex);
    uint32_t known = stop->known_callers.find(key);
    if (known != 0) return known == 2;
  }
  char name[2 * kLongestClassName];
  char* method = nullptr;
  jclass klass = nullptr;
  bool fits = false;
  if (env->GetMethodDeclaringClass(caller, &klass) == JVMTI_ERROR_NONE) {
    if (class_name(env, klass, name, kLongestClassName) &&
        env->GetMethodName(caller, &method, nullptr, nullptr) == JVMTI_ERROR_NONE) {
      size_t length = std::strlen(name);
      snprintf(name + length, sizeof name - length, ".%s", method);
      fits = matches_any(stop->callers, name);
      env->Deallocate(reinterpret_cast<unsigned char*>(method));
    }
    jni->DeleteLocalRef(klass);
  }
  constexpr uint32_t kMostKnown = 10000;
  Locked locked(stop->mutex);
  if (stop->known < kMostKnown && stop->known_callers.find(key) == 0) {
    stop->known += stop->known_callers.insert(key, fits ? 2 : 1);
  }
  return fits;
}

bool is_wanted_thread(JNIEnv* jni, const Stop* stop, jthread thread) {
  if (stop->threads.empty()) return true;
  for (size_t i = 0; i < stop->threads.size(); ++i) {
    if (jni->IsSameObject(stop->threads[i], thread)) return true;
  }
  return false;
}

// Whether a thread is to stop that has met a stop where only the general may let it pass.
bool wants(Session& session, jvmtiEnv* env, JNIEnv* jni, const Met& met, jthread thread) {
  Stop* stop = met.stop;
  if (stop->removed || !is_wanted_thread(jni, stop, thread)) return false;
  if (stop->callers != nullptr && !is_called_by(env, jni, stop)) return false;
  if (met.condition != nullptr) {
    Environment* locals = session.enter_environment(stop->locals);
    if (locals != nullptr) {
      bool holds = met.condition->holds(locals->env, jni, thread);
      session.leave_environment(jni, locals);
      if (!holds) return false;
    }
  }
  uint64_t pass = stop->passes.fetch_add(1) + 1;
  uint64_t after = static_cast<uint64_t>(stop->after);
  return pass > after && (pass - after) % static_cast<uint64_t>(stop->every) == 0;
}

// Asks the controller about those of the stops that were met that want the thread; `step` is one
// that has arrived already.  `write` adds what else the event brings.
template <class Write>
void tell(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, int event, const Met* met, size_t count,
          Stop* step, jthread thread, jmethodID method, jlocation location, Write write,
          int64_t limit = -1) {
  uint32_t numbers[Stops::kMost + 1];
  uint32_t told = 0;
  if (step != nullptr) numbers[told++] = step->number;
  for (size_t i = 0; i < count; ++i) {
    if (wants(scope.session(), env, jni, met[i], thread)) numbers[told++] = met[i].stop->number;
    Stops::leave(jni, met[i].stop);
  }
  if (told == 0) return;
  Delivery it(scope, jni, layouts::Opening::kStop, event, limit);
  if (!it.ready()) return;
  it.number(layouts::StopHead{static_cast<uint32_t>(event), told});
  for (uint32_t i = 0; i < told; ++i) it.number(numbers[i]);
  it.number(layouts::StopPlace{it.handle<kinds::Thread>(thread), it.handle(method), location});
  write(it);
  it.ask();
}

void nothing_else(Delivery&) {}

// The step that the current thread is in, kept until `leave`.
Stop* step_of(Session& session, JNIEnv* jni, jthread thread, Met* met) {
  size_t count = session.stops.of_event(kStepEvent, met);
  Stop* found = nullptr;
  for (size_t i = 0; i < count; ++i) {
    Stop* stop = met[i].stop;
    jthread stepped = nullptr;
    {
      Locked locked(stop->mutex);
      if (stop->stepping.state != Stepping::kIdle || stop->stepping.due) {
        stepped = stop->stepping.thread;
      }
    }
    if (found == nullptr && stepped != nullptr && jni->IsSameObject(stepped, thread)) {
      found = stop;
    } else {
      Stops::leave(jni, stop);
    }
  }
  return found;
}

// The line of a location; -1 where there is no table.  `starts` says that the line begins there.
jint line_of(Session& session, jmethodID method, jlocation location, bool* starts) {
  jint count = 0;
  jvmtiLineNumberEntry* table = nullptr;
  jvmtiEnv* env = session.tags();
  *starts = false;
  if (env == nullptr || env->GetLineNumberTable(method, &count, &table) != JVMTI_ERROR_NONE) {
    return -1;
  }
  jlocation best = -1;
  jint line = -1;
  for (jint i = 0; i < count; ++i) {
    if (table[i].start_location > location || table[i].start_location < best) continue;
    best = table[i].start_location;
    line = table[i].line_number;
  }
  *starts = best == location;
  env->Deallocate(reinterpret_cast<unsigned char*>(table));
  return line;
}

enum class Arrival { kGoOn, kArrived, kStepAway };

// What a stepped thread does at an instruction.
Arrival look_at(Session& session, Stepping& stepping, jint depth, jmethodID method,
                jlocation location) {
  bool starts = false;
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
    // What has no lines is passed over; what it calls again is not.
    jint line = line_of(session, method, location, &starts);
    return line >= 0 && starts ? Arrival::kArrived : Arrival::kGoOn;
  }
  if (method != stepping.method || !stepping.by_line) return Arrival::kArrived;
  return line_of(session, method, location, &starts) == stepping.line ? Arrival::kGoOn
                                                                      : Arrival::kArrived;
}

// Lets a thread run until its topmost frame is popped.  Where the VM does not tell of that, as of
// native frames, every instruction is looked at instead.
bool step_away(jvmtiEnv* env, Stop* stop, jthread thread) {
  {
    Locked locked(stop->mutex);
    if (stop->stepping.state == Stepping::kIdle) return false;
    stop->stepping.state = Stepping::kAway;
  }
  env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_FRAME_POP, thread);
  jvmtiError error = env->NotifyFramePop(thread, 0);
  bool away = error == JVMTI_ERROR_NONE || error == JVMTI_ERROR_DUPLICATE;
  if (!away) {
    Locked locked(stop->mutex);
    if (stop->stepping.state == Stepping::kAway) stop->stepping.state = Stepping::kClose;
  }
  env->SetEventNotificationMode(away ? JVMTI_DISABLE : JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP,
                                thread);
  return away;
}

}  // namespace

void stop_Breakpoint(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID method,
                     jlocation location) {
  Session& session = scope.session();
  Met met[Stops::kMost];
  Stop* step = step_of(session, jni, thread, met);
  bool due = false;
  if (step != nullptr) {
    Locked locked(step->mutex);
    due = step->stepping.due;
    step->stepping.due = false;
  }
  size_t count = session.stops.at_place(kBreakpointEvent, method, location, met);
  tell(scope, env, jni, kBreakpointEvent, met, count, due ? step : nullptr, thread, method,
       location, nothing_else);
  if (step != nullptr) Stops::leave(jni, step);
}

void stop_SingleStep(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID method,
                     jlocation location) {
  Session& session = scope.session();
  Met met[Stops::kMost];
  Stop* step = step_of(session, jni, thread, met);
  if (step == nullptr) return;
  jint depth = 0;
  Arrival arrival = Arrival::kGoOn;
  if (env->GetFrameCount(thread, &depth) == JVMTI_ERROR_NONE) {
    Stepping stepping;
    {
      Locked locked(step->mutex);
      stepping = step->stepping;
    }
    if (stepping.state == Stepping::kFresh || stepping.state == Stepping::kClose) {
      arrival = look_at(session, stepping, depth, method, location);
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
  if (arrival == Arrival::kStepAway) step_away(env, step, thread);
  if (arrival == Arrival::kArrived) {
    // A breakpoint here follows at once: it tells of both, so that there are not two stops in one
    // place.
    bool due = session.stops.has_place(kBreakpointEvent, method, location);
    {
      Locked locked(step->mutex);
      step->stepping.state = Stepping::kIdle;
      step->stepping.due = due;
    }
    watch_steps(env, thread, false, false);
    if (!due) {
      tell(scope, env, jni, kStepEvent, nullptr, 0, step, thread, method, location, nothing_else);
    }
  }
  Stops::leave(jni, step);
}

void stop_FramePop(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID, jboolean) {
  Met met[Stops::kMost];
  Stop* step = step_of(scope.session(), jni, thread, met);
  if (step == nullptr) return;
  bool close = false;
  {
    Locked locked(step->mutex);
    if (step->stepping.state == Stepping::kAway) {
      step->stepping.state = Stepping::kClose;
      close = true;
    }
  }
  if (close) env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP, thread);
  Stops::leave(jni, step);
}

// HotSpot forgets what it was to tell of the end of a frame that is discarded.
void Stops::frame_was_popped(JNIEnv* jni, Session& session, jthread thread) {
  Met met[kMost];
  size_t count = of_event(kStepEvent, met);
  for (size_t i = 0; i < count; ++i) {
    Stop* step = met[i].stop;
    jthread away = nullptr;
    {
      Locked locked(step->mutex);
      if (step->stepping.state == Stepping::kAway) away = step->stepping.thread;
    }
    if (away != nullptr && jni->IsSameObject(away, thread) && session.pin(step->environment)) {
      bool close = false;
      {
        Locked locked(step->mutex);
        close = step->stepping.state == Stepping::kAway && step->stepping.thread == away;
        if (close) step->stepping.state = Stepping::kClose;
      }
      jvmtiEnv* env = step->environment->env;
      if (close && env != nullptr) {
        env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP, thread);
      }
      step->environment->in_flight.fetch_sub(1);
    }
    leave(jni, step);
  }
}

namespace {

bool is_of_classes(jvmtiEnv* env, JNIEnv* jni, jobject thrown, const char* classes) {
  char name[kLongestClassName];
  jclass klass = jni->GetObjectClass(thrown);
  bool fits = false;
  while (klass != nullptr) {
    fits = class_name(env, klass, name, sizeof name) && matches_any(classes, name);
    jclass super = fits ? nullptr : jni->GetSuperclass(klass);
    jni->DeleteLocalRef(klass);
    klass = super;
  }
  return fits;
}

// Keeps those of the stops that were met that fit, and leaves the others.
template <class Fits>
size_t only(JNIEnv* jni, Met* met, size_t count, Fits fits) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (fits(met[i])) {
      met[kept++] = met[i];
    } else {
      Stops::leave(jni, met[i].stop);
    }
  }
  return kept;
}

// An instance field's id is its place in an object, which other classes have, too.
size_t of_class(JNIEnv* jni, jclass klass, Met* met, size_t count) {
  return only(jni, met, count, [&](const Met& one) {
    jclass declaring = static_cast<jclass>(jni->NewLocalRef(one.klass));
    bool same = declaring != nullptr && jni->IsAssignableFrom(klass, declaring);
    if (declaring != nullptr) jni->DeleteLocalRef(declaring);
    return same;
  });
}

}  // namespace

void stop_Exception(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID method,
                    jlocation location, jobject exception, jmethodID catch_method,
                    jlocation catch_location) {
  Met met[Stops::kMost];
  size_t count = scope.session().stops.of_event(kExceptionEvent, met);
  jint kind = catch_method == nullptr ? Caught::kUncaught : Caught::kCaught;
  count = only(jni, met, count, [&](const Met& one) {
    return (one.stop->kinds & kind) != 0 && is_of_classes(env, jni, exception, one.stop->classes);
  });
  tell(scope, env, jni, kExceptionEvent, met, count, nullptr, thread, method, location,
       [&](Delivery& it) {
         it.number(layouts::StopException{it.handle<kinds::Object>(exception),
                                          catch_method != nullptr,
                                          catch_method == nullptr ? 0 : it.handle(catch_method),
                                          catch_location});
       });
}

void stop_FieldAccess(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID method,
                      jlocation location, jclass field_klass, jobject object, jfieldID field) {
  Met met[Stops::kMost];
  size_t count = scope.session().stops.at_place(kAccessEvent, field, 0, met);
  count = of_class(jni, field_klass, met, count);
  tell(scope, env, jni, kAccessEvent, met, count, nullptr, thread, method, location,
       [&](Delivery& it) { it.number(layouts::StopField{it.handle<kinds::Object>(object)}); });
}

void stop_FieldModification(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID method,
                            jlocation location, jclass field_klass, jobject object, jfieldID field,
                            char signature_type, jvalue new_value) {
  Met met[Stops::kMost];
  size_t count = scope.session().stops.at_place(kModificationEvent, field, 0, met);
  count = of_class(jni, field_klass, met, count);
  tell(scope, env, jni, kModificationEvent, met, count, nullptr, thread, method, location,
       [&](Delivery& it) {
         it.number(layouts::StopField{it.handle<kinds::Object>(object)});
         it.value(signature_type, new_value);
       });
}

namespace {

// Tells those of the stops of an event that are about the class.
void tell_of_class(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, int event, jthread thread, jclass klass) {
  // Breakpoints can be set from the live phase on; what was there before, the controller looks at.
  if (!agent.live) return;
  Met met[Stops::kMost];
  size_t count = scope.session().stops.of_event(event, met);
  if (count == 0) return;
  char name[kLongestClassName];
  bool named = class_name(env, klass, name, sizeof name);
  count = only(jni, met, count,
               [&](const Met& one) { return named && matches_any(one.stop->classes, name); });
  constexpr int64_t kLimit = 10000;  // milliseconds
  tell(scope, env, jni, event, met, count, nullptr, thread, nullptr, 0,
       [&](Delivery& it) { it.number(layouts::StopClass{it.handle<kinds::Class>(klass)}); },
       kLimit);
}

}  // namespace

void stop_ClassPrepare(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jthread thread, jclass klass) {
  tell_of_class(scope, env, jni, kPrepareEvent, thread, klass);
}

void stop_ClassFileLoadHook(EventScope& scope, jvmtiEnv* env, JNIEnv* jni, jclass class_being_redefined, jobject,
                            const char*, jobject, jint, const unsigned char*, jint*,
                            unsigned char**) {
  if (class_being_redefined == nullptr) return;
  tell_of_class(scope, env, jni, kClassFileEvent, nullptr, class_being_redefined);
}

// ---- operations -------------------------------------------------------------------------------

namespace own {

namespace {

// A stop of this session and of the environment that the call names.
class Entered {
 public:
  Entered(Call& call, jint number)
      : call_(call), stop_(call.session.stops.enter(static_cast<uint32_t>(number))) {
    if (stop_ != nullptr && stop_->environment == call.environment && call.jni != nullptr) return;
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "there is no stop %d in this environment", number);
  }
  ~Entered() {
    if (stop_ != nullptr) Stops::leave(call_.jni, stop_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  bool is(int event, int or_event = 0) const {
    if (call_.refused()) return false;
    if (stop_->event == event || stop_->event == or_event) return true;
    call_.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the stop is of another kind");
    return false;
  }
  Stop* operator->() const { return stop_; }
  Stop* get() const { return stop_; }

 private:
  Call& call_;
  Stop* stop_;
};

jvmtiError outcome(const Call& call) { return static_cast<jvmtiError>(call.status); }

}  // namespace

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
  Stop* stop = make<Stop>();
  if (stop == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  stop->event = chosen;
  stop->environment = call.environment;
  stop->locals = static_cast<uint32_t>(locals.c());
  stop->every = every.c();
  stop->after = after.c();
  stop->kinds = kinds.c();
  stop->callers = copy_of(callers.c());
  stop->classes = copy_of(classes.c());
  bool good = (callers.c() == nullptr) == (stop->callers == nullptr) &&
              (classes.c() == nullptr) == (stop->classes == nullptr);
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

jvmtiError PlaceBreakpoint(Call& call, const In<jint>& number, const In<kinds::Method>& method,
                           const In<jlocation>& location, const In<List<jlong>>& condition,
                           const In<Bytes>& texts) {
  Entered stop(call, number.c());
  if (!stop.is(kBreakpointEvent) || !guard::set_breakpoint(call, method, location)) {
    return outcome(call);
  }
  StopCondition* read =
      StopCondition::read(call, condition.items(), condition.count(), texts.data(), texts.size());
  if (call.refused()) return outcome(call);
  jclass klass = nullptr;
  jvmtiError error = call.env->GetMethodDeclaringClass(method.c(), &klass);
  if (error != JVMTI_ERROR_NONE) {
    free_condition(read);
    return error;
  }
  call.session.stops.place(call, stop.get(), klass, method.c(), method.c(), location.c(), read);
  call.jni->DeleteLocalRef(klass);
  return outcome(call);
}

jvmtiError RemovePlace(Call& call, const In<jint>& number, const In<kinds::Method>& method,
                       const In<jlocation>& location) {
  Entered stop(call, number.c());
  if (!stop.is(kBreakpointEvent)) return outcome(call);
  if (!call.session.stops.remove_place(call, stop.get(), method.c(), location.c())) {
    call.refuse(JVMTI_ERROR_NOT_FOUND, "the stop has no such place");
  }
  return outcome(call);
}

jvmtiError PlaceWatch(Call& call, const In<jint>& number, const In<kinds::Class>& klass,
                      const In<kinds::Field>& field) {
  Entered stop(call, number.c());
  if (!stop.is(kAccessEvent, kModificationEvent) || !guard::field_of_class(call, klass, field)) {
    return outcome(call);
  }
  call.session.stops.place(call, stop.get(), klass.c(), field.record(), field.c(), 0, nullptr);
  return outcome(call);
}

jvmtiError RemoveStop(Call& call, const In<jint>& number) {
  if (!call.session.stops.remove(call, static_cast<uint32_t>(number.c()))) {
    call.refuse(JVMTI_ERROR_NOT_FOUND, "there is no stop %d", number.c());
  }
  return outcome(call);
}

jvmtiError StopPasses(Call& call, const In<jint>& number, jlong* passes) {
  Stop* stop = call.session.stops.enter(static_cast<uint32_t>(number.c()));
  if (stop == nullptr) return JVMTI_ERROR_NOT_FOUND;
  *passes = static_cast<jlong>(stop->passes.load());
  Stops::leave(call.jni, stop);
  return JVMTI_ERROR_NONE;
}

jvmtiError StepThread(Call& call, const In<jint>& number, const In<kinds::Thread>& thread,
                      const In<jint>& how, const In<jboolean>& by_line) {
  Entered stop(call, number.c());
  if (!stop.is(kStepEvent)) return outcome(call);
  if (how.c() < 1 || how.c() > 3) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  if (is_service_thread(call.jni, thread.c()) && Serving::of(&call.session) != nullptr &&
      !Serving::of(&call.session)->handler) {
    call.refuse(JVMTI_ERROR_INVALID_THREAD, "this is a service thread of the agent");
    return outcome(call);
  }
  Met met[Stops::kMost];
  Stop* other = step_of(call.session, call.jni, thread.c(), met);
  if (other != nullptr) {
    bool same = other == stop.get();
    Stops::leave(call.jni, other);
    if (!same) {
      call.refuse(JVMTI_ERROR_DUPLICATE, "the thread is being stepped already");
      return outcome(call);
    }
  }
  Stepping begun;
  begun.how = static_cast<Step>(how.c());
  begun.by_line = by_line.c() != 0;
  begun.state = Stepping::kFresh;
  // A thread that stands still starts from where it is, any other from where it comes by next.
  jthread current = nullptr;
  jint state = 0;
  call.env->GetCurrentThread(&current);
  bool still = current != nullptr && call.jni->IsSameObject(current, thread.c());
  if (current != nullptr) call.jni->DeleteLocalRef(current);
  if (!still && call.env->GetThreadState(thread.c(), &state) == JVMTI_ERROR_NONE) {
    if ((state & JVMTI_THREAD_STATE_ALIVE) == 0) return JVMTI_ERROR_THREAD_NOT_ALIVE;
    still = (state & JVMTI_THREAD_STATE_SUSPENDED) != 0;
  }
  jlocation location = -1;
  jmethodID method = nullptr;
  jint depth = 0;
  Arrival arrival = Arrival::kGoOn;
  if (still && call.env->GetFrameCount(thread.c(), &depth) == JVMTI_ERROR_NONE &&
      call.env->GetFrameLocation(thread.c(), 0, &method, &location) == JVMTI_ERROR_NONE) {
    arrival = look_at(call.session, begun, depth, method, location);
  }
  jobject kept = hold(call.jni, thread.c());
  if (kept == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  jthread before;
  {
    Locked locked(stop->mutex);
    before = stop->stepping.thread;
  }
  bool again = before != nullptr && call.jni->IsSameObject(before, kept);
  if (before != nullptr) {
    // The reference may be in use by the thread itself, so it stays for as long as the stop does.
    let_go(call.jni, kept);
    if (!again) {
      call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the stop steps another thread");
      return outcome(call);
    }
    kept = before;
  }
  begun.thread = kept;
  bool lost = false;
  {
    Locked locked(stop->mutex);
    lost = stop->stepping.thread != before;
    if (!lost) stop->stepping = begun;
  }
  if (lost) {
    let_go(call.jni, kept);
    call.refuse(JVMTI_ERROR_DUPLICATE, "the thread is being stepped already");
    return outcome(call);
  }
  if (arrival == Arrival::kStepAway && step_away(call.env, stop.get(), thread.c())) {
    return JVMTI_ERROR_NONE;
  }
  jvmtiError error = call.env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_FRAME_POP,
                                                        thread.c());
  if (error == JVMTI_ERROR_NONE) {
    error = call.env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP, thread.c());
  }
  if (error != JVMTI_ERROR_NONE) {
    Locked locked(stop->mutex);
    stop->stepping.state = Stepping::kIdle;
  }
  return error;
}

}  // namespace own
}  // namespace jvmti
