#include "agent/events/event_scope.h"

#include "agent/engines/threads/leave_frame.h"
#include "agent/engines/threads/self_suspension.h"
#include "agent/events/events.h"
#include "agent/handles/agent_references.h"
#include "base/log.h"

namespace jvmti {

namespace {

// A handler may receive events that its own calls cause, whose handlers cause further events, and
// so on. In C that ends with the thread's stack; here it ends earlier.
constexpr int kDeepest = 16;

// The JNI environment that a handler may call with: none before the start phase, in which there are
// no objects yet.
JNIEnv* usable(Environment& environment, JNIEnv* jni) {
  if (!agent.live) {
    jvmtiPhase phase = JVMTI_PHASE_PRIMORDIAL;
    environment.env.load()->GetPhase(&phase);
    if (phase != JVMTI_PHASE_START && phase != JVMTI_PHASE_LIVE) return nullptr;
  }
  if (jni == nullptr) agent.vm->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_1_6);
  return jni;
}

}  // namespace

Environment* EventScope::environment_of(jvmtiEnv* env) {
  void* kept = nullptr;
  if (env->GetEnvironmentLocalStorage(&kept) != JVMTI_ERROR_NONE) return nullptr;
  return static_cast<Environment*>(kept);
}

EventScope::EventScope(jvmtiEnv* env, JNIEnv* jni, int event, std::initializer_list<Wish> wishes)
    : jni_(jni), event_(event) {
  if (!pin(environment_of(env))) return;
  if (environment_->env == env) allow(wishes);
  if (allowed_ == 0 || !enter()) unpin();
}

// Notes which of the taps may see the event; none of them where all are off.
void EventScope::allow(std::initializer_list<Wish> wishes) {
  const EventTaps& taps = environment_->taps[event_ - kFirstEvent];
  const Serving* serving = nullptr;
  bool on = false;
  for (const Wish& wish : wishes) on = on || taps.on(wish.tap);
  if (on) serving = Serving::of(environment_->session);
  on = false;
  for (const Wish& wish : wishes) {
    bool ours = serving != nullptr && (wish.own_work == OwnWork::kNever ||
                                       (wish.own_work == OwnWork::kInCalls && serving->handler));
    bool handler = wish.tap == Tap::kHandler;
    if (handler) ours_ = ours;
    if (ours && !(handler && taps.own_work)) continue;
    bool wanted = taps.on(wish.tap);
    if (handler && serving != nullptr && Serving::depth(environment_->session) >= kDeepest) {
      if (wanted) {
        environment_->session->events_too_deep.fetch_add(1, std::memory_order_relaxed);
      }
      continue;
    }
    on = on || wanted;
    allowed_ |= static_cast<uint32_t>(wish.tap);
  }
  if (!on) allowed_ = 0;
}

bool EventScope::pin(Environment* environment) {
  if (environment == nullptr) return false;
  environment_ = environment;
  environment->in_flight.fetch_add(1);
  if (!environment->muted) return true;
  unpin();
  return false;
}

void EventScope::unpin() {
  environment_->in_flight.fetch_sub(1);
  environment_ = nullptr;
}

bool EventScope::enter() {
  return environment_->session->environments.enter(environment_->number) != nullptr;
}

Session& EventScope::session() const { return *environment_->session; }

bool EventScope::wants(Tap tap) const {
  if ((allowed_ & static_cast<uint32_t>(tap)) == 0 || environment_->muted ||
      !environment_->taps[event_ - kFirstEvent].on(tap)) {
    return false;
  }
  // The earlier conversation may have taken a long time.
  return !conversed_ || !environment_->session->environments.disposed(environment_->number);
}

Channel* EventScope::converse(JNIEnv* jni, int number, int event, int64_t deadline) {
  if (!conversed_) jni_ = usable(*environment_, jni);
  conversed_ = true;
  if (channel_ != nullptr && !lost_) return channel_;
  give_back();
  channel_ = borrow(number, deadline);
  if (channel_ == nullptr) return nullptr;
  // From now on what this thread runs into is our own doing: naming an object can load a class.
  serving_.emplace(*channel_, event, environment_->env);
  // An exception that waits in the thread is not for us to meet, or to lose.
  if (waiting_ == nullptr && jni_ != nullptr && jni_->ExceptionCheck()) {
    waiting_ = jni_->ExceptionOccurred();
    jni_->ExceptionClear();
  }
  return channel_;
}

Channel* EventScope::borrow(int number, int64_t deadline) {
  Session& session = *environment_->session;
  Serving* serving = Serving::of(&session);
  if (serving != nullptr) {
    place_ = kServing;
    return &serving->channel;
  }
  if (!agent.live || !session.served()) {
    bool given_up = false;
    Channel* control = session.borrow_control(deadline, &given_up);
    if (control != nullptr) {
      place_ = kControl;
      return control;
    }
    if (given_up) return nullptr;
  }
  place_ = kEvents;
  Channel* channel = session.event_channels.borrow(deadline);
  if (channel == nullptr && !session.ending()) {
    session.events_overran.fetch_add(1);
    log("event %d: no handler came for it in time", number);
  }
  return channel;
}

void EventScope::give_back() {
  serving_.reset();
  if (channel_ == nullptr) return;
  Session& session = *environment_->session;
  if (place_ == kControl) session.return_control();
  if (place_ == kEvents) session.event_channels.give_back(channel_, !lost_);
  channel_ = nullptr;
  lost_ = false;
}

// The controller has been asked; `thrown` is a local reference, or null.
void EventScope::asked(bool answered, jthrowable thrown) {
  if (thrown != nullptr) {
    delete_local(jni_, thrown_);
    thrown_ = thrown;
  }
  if (place_ != kServing) {
    // The channel will be another thread's: what the handler entered and did not leave is left.
    channel_->release_monitors(jni_);
    if (channel_->pending != nullptr) let_go(jni_, channel_->pending);
    channel_->pending = nullptr;
    channel_->issued.clear();
    channel_->frames.clear();
  }
  lost_ = !answered;
}

void EventScope::leave() {
  if (environment_ == nullptr) return;
  Environment* environment = environment_;
  if (conversed_) {
    serving_.reset();
    handler_ended();
    give_back();
  }
  environment->session->environments.leave(jni_, environment);
  environment->in_flight.fetch_sub(1);
  // From here on the session may be gone.
  environment_ = nullptr;
  if (!conversed_ || jni_ == nullptr) return;
  if (Serving::innermost() == nullptr) suspend_as_asked(jni_);
  // The later one takes the place of the other, as it does in C.
  if (thrown_ != nullptr) delete_local(jni_, waiting_);
  throw_unseen(jni_, thrown_ != nullptr ? thrown_ : waiting_);
}

}  // namespace jvmti
