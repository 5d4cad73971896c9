// A frame is left when its thread runs on.  HotSpot accepts a second request before that, pops one
// frame and then returns from its caller with a value of the wrong type: the program gets a number
// for a reference, and the VM crashes. So a thread with a request has a mark until it has stepped
// away from its location, or ends. The marks are in a list of the agent's own: for a thread that
// ends meanwhile, HotSpot frees what GetThreadLocalStorage reads.
//
// The VM leaves the next frame that comes back to the interpreter, whichever it is.  A thread with
// a mark runs no Java code on our behalf, therefore; and no request is accepted in events after
// which the VM runs Java code of its own (`FixedFrames`).

#include "agent/engines/threads/leave_frame.h"

#include <unistd.h>

#include "agent/channels/channel.h"
#include "agent/sessions/session.h"
#include "base/clock.h"
#include "base/log.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

constexpr int kLongestLeaving = 300;  // milliseconds
constexpr int kLongestTurn = 1000;

// The environment that sees marked threads step and end, and whether it does see steps.
std::atomic<jvmtiEnv*> watching{nullptr};
std::atomic<bool> sees_steps{false};
// Held during a request, because two controllers may have suspended the same thread. Waits for it
// are short: a thread that makes a request at an event can be suspended by another.
Turn leaving_turn;

// A thread with a request: where it was, and the event in whose handler the request came, with that
// handler's environment.
struct Mark {
  jint thread;
  uint64_t place;
  int event;
  const jvmtiEnv* env;
};

Mutex marks_mutex{Guards::kLists};
Vector<Mark> marks;
std::atomic<size_t> mark_count{0};  // with none there is nothing to look for

// Threads are identified by their objects' hash codes: the VM would have to compare references, and
// may stop a thread in that call, with the mutex.  Null is the current thread.
jint hash_of(JNIEnv* jni, jthread thread) {
  jint hash = 0;
  if (thread == nullptr && jni == nullptr) {
    agent.vm->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_1_6);
  }
  if (thread != nullptr) {
    agent.env->GetObjectHashCode(thread, &hash);
  } else if (jni != nullptr) {
    agent.env->GetObjectHashCode(current_thread(agent.env, jni), &hash);
  }
  return hash;
}

bool find_mark(jint thread, Mark* found) {
  Locked locked(marks_mutex);
  for (const Mark& one : marks) {
    if (one.thread != thread) continue;
    *found = one;
    return true;
  }
  return false;
}

bool find_mark_of(jthread thread, Mark* found) {
  return mark_count > 0 && find_mark(hash_of(nullptr, thread), found);
}

bool has_room_for_mark() {
  Locked locked(marks_mutex);
  return marks.reserve(marks.size() + 1);
}

void unmark(jint thread) {
  Locked locked(marks_mutex);
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].thread == thread) marks.remove(i--);
  }
  mark_count = marks.size();
}

// For the thread that has the turn, which has made room.
void put_mark(const Mark& mark) {
  unmark(mark.thread);
  Locked locked(marks_mutex);
  marks.put(mark);
  mark_count = marks.size();
}

// Null is the current thread.
uint64_t place_of(jvmtiEnv* env, jthread thread) {
  jint count = 0;
  jmethodID method = nullptr;
  jlocation location = 0;
  env->GetFrameCount(thread, &count);
  env->GetFrameLocation(thread, 0, &method, &location);
  constexpr uint64_t kMix = 0x9E3779B97F4A7C15u;
  uint64_t place = reinterpret_cast<uintptr_t>(method);
  place = place * kMix + static_cast<uint64_t>(location);
  return place * kMix + static_cast<uint64_t>(count);
}

// A breakpoint where a thread goes on comes before its step.
bool has_moved(jvmtiEnv* env, jthread thread, const Mark& mark) {
  return place_of(env, thread) != mark.place;
}

void watch(jvmtiEnv* env, jthread thread, jvmtiEventMode mode) {
  env->SetEventNotificationMode(mode, JVMTI_EVENT_SINGLE_STEP, thread);
  env->SetEventNotificationMode(mode, JVMTI_EVENT_THREAD_END, thread);
  if (major_version(agent.version) >= 21)
    env->SetEventNotificationMode(mode, JVMTI_EVENT_VIRTUAL_THREAD_END, thread);
}

// A step can still be reported in the frame that will be left.
void JNICALL stepped(jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID, jlocation) {
  jint hash = hash_of(jni, thread);
  Mark mark{};
  if (find_mark(hash, &mark) && !has_moved(env, thread, mark)) return;
  watch(env, thread, JVMTI_DISABLE);
  unmark(hash);
}

void JNICALL ended(jvmtiEnv*, JNIEnv* jni, jthread thread) { unmark(hash_of(jni, thread)); }

// Only for the thread that has the turn.
jvmtiEnv* watcher() {
  if (watching != nullptr) return watching;
  bool sees = true;
  jvmtiEnv* env = new_stepping_environment(&sees);
  if (env == nullptr) return nullptr;
  jvmtiEventCallbacks callbacks{};
  callbacks.SingleStep = stepped;
  callbacks.ThreadEnd = ended;
  callbacks.VirtualThreadEnd = ended;
  env->SetEventCallbacks(&callbacks, sizeof callbacks);
  sees_steps = sees;
  watching = env;
  return env;
}

// Makes the request by a function of JVM TI, unless the thread has one already.
template <class Function, class... Values>
jvmtiError request_leave(Call& call, jthread named, Function function, Values... values) {
  LocalRef<jthread> current(call.jni);
  if (named == nullptr) call.env->GetCurrentThread(current.out());
  jthread thread = named == nullptr ? current : named;
  jvmtiError error = JVMTI_ERROR_NONE;
  if (!leaving_turn.take_within(kLongestTurn)) {
    call.refuse(JVMTI_ERROR_INTERNAL, "another request to leave a frame is in progress");
  } else {
    jvmtiEnv* env = watcher();
    jint hash = hash_of(call.jni, thread);
    Mark mark{};
    if (env == nullptr || !has_room_for_mark()) {
      error = JVMTI_ERROR_OUT_OF_MEMORY;
    } else if (find_mark(hash, &mark) && !(sees_steps && has_moved(env, thread, mark))) {
      // What HotSpot answers to the same request made twice.
      call.refuse(JVMTI_ERROR_INTERNAL, "%s",
                  sees_steps ? "the thread has a request to leave its frame and has not run since"
                             : "the thread has a request to leave a frame, and without "
                               "can_generate_single_step_events nothing says whether it has");
    } else {
      bool own = named == nullptr || is_current(call.env, call.jni, named);
      const Serving* serving = own ? Serving::innermost() : nullptr;
      mark = {hash, place_of(env, thread), 0, nullptr};
      if (serving != nullptr) {
        mark.event = serving->event;
        mark.env = serving->env;
      }
      error = (call.env->*function)(named, values...);
      if (error == JVMTI_ERROR_NONE) {
        put_mark(mark);
        watch(env, thread, JVMTI_ENABLE);
      }
    }
    leaving_turn.give_back();
  }
  return call.refused() ? call.outcome() : error;
}

}  // namespace

void await_leaving(jthread thread) {
  if (!sees_steps || mark_count == 0) return;
  int64_t until = now_in_milliseconds() + kLongestLeaving;
  jint hash = hash_of(nullptr, thread);
  for (Mark mark{}; find_mark(hash, &mark) && now_in_milliseconds() < until;) usleep(100);
}

bool is_leaving() {
  jvmtiEnv* env = watching;
  Mark mark{};
  return env != nullptr && find_mark_of(nullptr, &mark) && !has_moved(env, nullptr, mark);
}

void frame_ends(jvmtiEnv* reporter, int event) {
  Mark mark{};
  if (!find_mark_of(nullptr, &mark)) return;
  bool of_an_end = mark.event == JVMTI_EVENT_METHOD_EXIT || mark.event == JVMTI_EVENT_FRAME_POP;
  // Each environment gets an end once, so this is another end.
  if (of_an_end && (mark.event != event || mark.env != reporter)) return;
  unmark(mark.thread);
}

void handler_ended() {
  if (!sees_steps && mark_count > 0) unmark(hash_of(nullptr, nullptr));
}

// ---- an exception of another thread
// --------------------------------------------------------------

StopThreadLater::~StopThreadLater() {
  if (!jni_->ExceptionCheck()) return;
  jthrowable thrown = jni_->ExceptionOccurred();
  jni_->ExceptionClear();
  jthread current = nullptr;
  agent.env->GetCurrentThread(&current);
  jvmtiError error = agent.env->StopThread(current, thrown);
  // Any function of JNI would meet it now; the VM frees the two references behind the callback.
  if (error != JVMTI_ERROR_NONE) log("an exception of StopThread is lost: error %d", error);
}

// ---- frames that cannot be left ---------------------------------------------------------------

namespace {

std::atomic<bool> expected{false};
Mutex fixed_mutex{Guards::kLists};
FixedFrames* fixed = nullptr;

}  // namespace

void expect_leaving() { expected = true; }

FixedFrames::FixedFrames(JNIEnv* jni, jthread thread, bool returnable) : returnable_(returnable) {
  if (!expected.load(std::memory_order_relaxed) || !agent.live) return;
  {
    // Listed before it is named, because naming it is where the thread may be stopped.
    Locked locked(fixed_mutex);
    next_ = fixed;
    fixed = this;
    listed_ = true;
  }
  jint hash = hash_of(jni, thread);
  Locked locked(fixed_mutex);
  hash_ = hash;
  named_ = true;
}

FixedFrames::~FixedFrames() {
  if (!listed_) return;
  Locked locked(fixed_mutex);
  FixedFrames** at = &fixed;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

bool FixedFrames::hold(jthread thread, bool pop) {
  constexpr int kLooks = 50;
  jint hash = hash_of(nullptr, thread);
  // One that stays without a name is stopped there, and may be the thread that is asked about.
  for (int look = 0; look < kLooks; ++look) {
    bool unnamed = false;
    {
      Locked locked(fixed_mutex);
      for (const FixedFrames* one = fixed; one != nullptr; one = one->next_) {
        if (one->returnable_ && !pop) continue;
        if (one->named_ && one->hash_ == hash) return true;
        unnamed = unnamed || !one->named_;
      }
    }
    if (!unnamed) return false;
    usleep(1000);
  }
  return true;
}

namespace overrides {

jvmtiError PopFrame(Call& call, const In<kinds::Thread>& thread) {
  if (jvmtiError error = request_leave(call, thread.c(), &jvmtiEnv::PopFrame)) return error;
  visit_sessions(call.jni, [&](Session& session) {
    session.stop_requests.frame_was_popped(call.jni, session, thread.c());
  });
  return JVMTI_ERROR_NONE;
}

#define JVMTI_FORCE_EARLY_RETURN(Name, Kind)                                               \
  jvmtiError ForceEarlyReturn##Name(Call& call, const In<Nullable<kinds::Thread>>& thread, \
                                    const In<Kind>& value) {                               \
    return request_leave(call, thread.c(), &jvmtiEnv::ForceEarlyReturn##Name, value.c());  \
  }
JVMTI_FORCE_EARLY_RETURN(Object, Nullable<kinds::Object>)
JVMTI_FORCE_EARLY_RETURN(Int, jint)
JVMTI_FORCE_EARLY_RETURN(Long, jlong)
JVMTI_FORCE_EARLY_RETURN(Float, jfloat)
JVMTI_FORCE_EARLY_RETURN(Double, jdouble)
#undef JVMTI_FORCE_EARLY_RETURN

jvmtiError ForceEarlyReturnVoid(Call& call, const In<Nullable<kinds::Thread>>& thread) {
  return request_leave(call, thread.c(), &jvmtiEnv::ForceEarlyReturnVoid);
}

}  // namespace overrides
}  // namespace jvmti
