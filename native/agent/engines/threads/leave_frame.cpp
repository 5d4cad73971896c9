// A frame is left when its thread runs on.  HotSpot accepts a second request before that, pops one
// frame and then returns from its caller with a value of the wrong type: the program gets a number
// for a reference, and the VM crashes. So a thread with a request has a mark in thread-local
// storage until it has stepped away from its location.
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

// The environment that the marks are in, and whether it can see threads step.
std::atomic<jvmtiEnv*> marks{nullptr};
std::atomic<bool> sees_steps{false};
// How many threads are marked. Only while some are does anybody look at the storage of another
// thread, because HotSpot frees what it reads for one that ends meanwhile.
std::atomic<int> marked_threads{0};
// Held during a request, because two controllers may have suspended the same thread. Waits for it
// are short: a thread that makes a request at an event can be suspended by another.
Turn leaving_turn;

// The location of a thread, the event in whose handler the request came, and that handler's
// environment: as many bits of them as there is room for in a pointer, which is never null.
constexpr unsigned kEventBits = 8;
constexpr unsigned kEnvironmentBits = 15;
constexpr unsigned kPlaceShift = 1 + kEventBits + kEnvironmentBits;

uint64_t place_in(const void* mark) { return reinterpret_cast<uintptr_t>(mark) >> kPlaceShift; }

// The lower bits of a mark.
uint64_t event_bits(int event, const jvmtiEnv* env) {
  uint64_t mixed = reinterpret_cast<uintptr_t>(env) * 0x9E3779B97F4A7C15u;
  return (mixed >> (64 - kEnvironmentBits)) << (1 + kEventBits) |
         static_cast<uint64_t>(event & ((1 << kEventBits) - 1)) << 1 | 1;
}

// Without the lower bits.  Null is the current thread.
uint64_t place_of(jvmtiEnv* env, jthread thread) {
  jint count = 0;
  jmethodID method = nullptr;
  jlocation location = 0;
  env->GetFrameCount(thread, &count);
  env->GetFrameLocation(thread, 0, &method, &location);
  constexpr uint64_t kMix = 0x9E3779B97F4A7C15u;
  uint64_t place = reinterpret_cast<uintptr_t>(method);
  place = place * kMix + static_cast<uint64_t>(location);
  place = place * kMix + static_cast<uint64_t>(count);
  return place * kMix >> kPlaceShift;  // the lower bits go: all of them are in the upper ones now
}

// A breakpoint where a thread goes on comes before its step.
bool has_moved(jvmtiEnv* env, jthread thread, const void* mark) {
  return place_of(env, thread) != place_in(mark);
}

// A step can still be reported in the frame that will be left.
void JNICALL stepped(jvmtiEnv* env, JNIEnv*, jthread thread, jmethodID, jlocation) {
  void* marked = nullptr;
  env->GetThreadLocalStorage(thread, &marked);
  if (marked != nullptr && !has_moved(env, thread, marked)) return;
  env->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_SINGLE_STEP, thread);
  env->SetThreadLocalStorage(thread, nullptr);
  if (marked != nullptr) --marked_threads;
}

// Only for the thread that has the turn.
jvmtiEnv* marking() {
  if (marks != nullptr) return marks;
  bool sees = true;
  jvmtiEnv* env = new_stepping_environment(&sees);
  if (env == nullptr) return nullptr;
  jvmtiEventCallbacks callbacks{};
  callbacks.SingleStep = stepped;
  env->SetEventCallbacks(&callbacks, sizeof callbacks);
  sees_steps = sees;
  marks = env;
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
    jvmtiEnv* env = marking();
    void* marked = nullptr;
    if (env != nullptr && (marked_threads > 0 || !sees_steps))
      env->GetThreadLocalStorage(thread, &marked);
    if (env == nullptr) {
      error = JVMTI_ERROR_OUT_OF_MEMORY;
    } else if (marked != nullptr && !(sees_steps && has_moved(env, thread, marked))) {
      // What HotSpot answers to the same request made twice.
      call.refuse(JVMTI_ERROR_INTERNAL, "%s",
                  sees_steps ? "the thread has a request to leave its frame and has not run since"
                             : "the thread has a request to leave a frame, and without "
                               "can_generate_single_step_events nothing says whether it has");
    } else {
      bool own = named == nullptr || is_current(call.env, call.jni, named);
      const Serving* serving = own ? Serving::innermost() : nullptr;
      uint64_t mark = place_of(env, thread) << kPlaceShift |
                      event_bits(serving == nullptr ? 0 : serving->event,
                                 serving == nullptr ? nullptr : serving->env);
      error = (call.env->*function)(named, values...);
      if (error == JVMTI_ERROR_NONE) {
        if (marked == nullptr && sees_steps) ++marked_threads;
        env->SetThreadLocalStorage(thread, reinterpret_cast<void*>(static_cast<uintptr_t>(mark)));
        env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_SINGLE_STEP, thread);
      }
    }
    leaving_turn.give_back();
  }
  return call.refused() ? call.outcome() : error;
}

}  // namespace

void await_leaving(jthread thread) {
  jvmtiEnv* env = marks;
  if (env == nullptr || !sees_steps) return;
  int64_t until = now_in_milliseconds() + kLongestLeaving;
  while (marked_threads > 0 && now_in_milliseconds() < until) {
    void* marked = nullptr;
    if (env->GetThreadLocalStorage(thread, &marked) != JVMTI_ERROR_NONE || marked == nullptr)
      return;
    usleep(100);
  }
}

bool is_leaving() {
  jvmtiEnv* env = marks;
  void* marked = nullptr;
  return env != nullptr && env->GetThreadLocalStorage(nullptr, &marked) == JVMTI_ERROR_NONE &&
         marked != nullptr && !has_moved(env, nullptr, marked);
}

void frame_ends(jvmtiEnv* reporter, int event) {
  jvmtiEnv* env = marks;
  void* marked = nullptr;
  if (env == nullptr || env->GetThreadLocalStorage(nullptr, &marked) != JVMTI_ERROR_NONE ||
      marked == nullptr) {
    return;
  }
  uint64_t bits = reinterpret_cast<uintptr_t>(marked) & ((uint64_t{1} << kPlaceShift) - 1);
  int in = static_cast<int>(bits >> 1 & ((1 << kEventBits) - 1));
  bool of_an_end = in == JVMTI_EVENT_METHOD_EXIT || in == JVMTI_EVENT_FRAME_POP;
  // Each environment gets an end once, so this is another end.
  if (of_an_end && bits != event_bits(event, reporter)) return;
  env->SetThreadLocalStorage(nullptr, nullptr);
  if (sees_steps) --marked_threads;
}

void handler_ended() {
  jvmtiEnv* env = marks;
  if (env != nullptr && !sees_steps) env->SetThreadLocalStorage(nullptr, nullptr);
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
