#include "agent/sessions/session.h"

#include <stdio.h>
#include <unistd.h>

#include "agent/calls/call.h"
#include "agent/channels/channel.h"
#include "agent/core/engine.h"
#include "agent/handles/agent_references.h"
#include "agent/loading/script.h"
#include "agent/sessions/controller_state.h"
#include "base/log.h"

namespace jvmti {

namespace {

void JNICALL serve_channel(jvmtiEnv*, JNIEnv* jni, void* what) {
  Channel* channel = static_cast<Channel*>(what);
  Session& session = channel->session;
  jthread thread = nullptr;
  agent.env->GetCurrentThread(&thread);
  {
    Serving serving(*channel);
    channel->converse(jni);
  }
  Serving::retire();
  channel->release_monitors(jni);
  if (channel->pending != nullptr) let_go(jni, channel->pending);
  leave_service(jni, thread);
  if (channel->thrown != nullptr) {
    // It ends the thread, like an uncaught one.
    jthrowable thrown = static_cast<jthrowable>(jni->NewLocalRef(channel->thrown));
    let_go(jni, channel->thrown);
    if (!session.ending()) jni->Throw(thrown);
  }
  // Nothing from here on enters the VM, where another controller might suspend this thread now.
  session.close_channel(channel);
}

}  // namespace

void Session::set_name(const char* name, size_t length) {
  if (length >= sizeof name_) length = sizeof name_ - 1;
  std::memcpy(name_, name, length);
  name_[length] = '\0';
}

bool Session::greet() {
  Writer greeting;
  layouts::Greeting fields{};
  fields.magic = protocol::kMagic;
  fields.version = static_cast<uint32_t>(protocol::kVersion);
  std::memcpy(fields.digest, kInterfaceDigest, sizeof fields.digest);
  fields.vm = agent.version;
  fields.pid = getpid();
  fields.held = held_;
  fields.token_length = static_cast<uint32_t>(std::strlen(token));
  greeting.number(fields);
  greeting.bytes(token, std::strlen(token));
  if (greeting.failed()) return false;
  Header header{static_cast<uint32_t>(greeting.size()), layouts::Kind::kGreeting, 0, 0, 0, 0, 0};
  control_channel_->send(header, greeting.data(), greeting.size());
  return true;
}

bool Session::begin(bool held) {
  held_ = early_ = held;
  control_channel_ = make<Channel>(*this, control_);
  if (control_channel_ == nullptr) return false;
  uint32_t number = 0;
  if (environments.add(0, &number) != JVMTI_ERROR_NONE) return false;
  if (held) {
    // An environment without capabilities shows when the VM is ready for JNI.
    if (agent.plain_env == nullptr) agent.plain_env = new_jvmti_environment();
    enable_early(agent.env);
  }
  // Now, because between OnLoad and the live phase no environment can be made.
  return tags() != nullptr && greet();
}

Session::Hold Session::serve_onload(int timeout_seconds, bool whole) {
  int64_t until = now_in_milliseconds() + timeout_seconds * 1000LL;
  control_channel_->deadline = until;
  if (whole) held_until_ = until;
  control_channel_->converse(nullptr);
  held_until_ = -1;
  // The VM would hand what this thread holds to its main thread, which never lets go of it.
  control_channel_->release_monitors(nullptr);
  if (!held_) return Hold::kLetGo;
  // The controller went, or never spoke.
  held_ = false;
  lost_ = true;
  if (refused_ != 0) return Hold::kRefused;
  return now_in_milliseconds() < until ? Hold::kLost : Hold::kOverran;
}

void Session::serve(JNIEnv* jni) {
  jthread thread = nullptr;
  agent.env->GetCurrentThread(&thread);
  // A handler of an early event may still be speaking, on a thread that somebody has suspended.
  constexpr int kLook = 500;  // milliseconds
  while (!lost_ && !control_turn_.take_within(kLook)) lost_ = control_channel_->deserted();
  if (!lost_) {
    report_live();
    control_turn_.give_back();
    control_channel_->serviced = true;
    Serving serving(*control_channel_);
    control_channel_->converse(jni);
  }
  Serving::retire();
  control_channel_->release_monitors(jni);
  if (agent.dead) {
    // The VM is going down under us: what is ours goes with the process, and calls may not return.
    shut_down();
    return;
  }
  pid_t child = script;
  end(jni);
  if (child != 0) reap_script(child);
  leave_service(jni, thread);
}

void Session::abandon(JNIEnv* jni) {
  if (control_channel_ == nullptr) {
    take_off_list();
    close(control_);
    unmake(this);
    return;
  }
  end(jni);
}

Session* Session::make_session(int control) { return make<Session>(control); }

void Session::unmake_session(Session* session) { unmake(session); }

// Closes the descriptor where there is no channel to be.
Channel* Session::add_channel(int descriptor) {
  Channel* channel = make<Channel>(*this, descriptor);
  if (channel == nullptr) {
    close(descriptor);
    return nullptr;
  }
  Locked locked(mutex_);
  if (ending_ || !channels_.push(channel)) {
    unmake(channel);
    return nullptr;
  }
  return channel;
}

bool Session::open_channel(JNIEnv* jni, int descriptor) {
  Channel* channel = add_channel(descriptor);
  if (channel == nullptr) return false;
  channel->serviced = true;
  starting_since_ = now_in_milliseconds();
  bool started = start_service_thread(jni, "jvmti channel", serve_channel, channel);
  starting_since_ = 0;
  if (!started) close_channel(channel);
  return started;
}

jvmtiError Session::run_thread(jvmtiEnv* env, jthread thread, int descriptor, jint priority) {
  Channel* channel = add_channel(descriptor);
  if (channel == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  channel->of_agent_thread = true;
  jvmtiError error = env->RunAgentThread(thread, serve_channel, channel, priority);
  if (error != JVMTI_ERROR_NONE) close_channel(channel);
  return error;
}

void Session::close_channel(Channel* channel) {
  {
    Locked locked(mutex_);
    channels_.take_out(channel);
    unmake(channel);
    // Notified inside the lock: once the count is zero, the session may go.
    changed_.notify_all();
  }
}

// The thread that speaks may be in a call that waits for this very thread: it has started it and
// joins it, or wants a class that is being loaded here.  Neither would ever end, whatever becomes
// of the controller; so a call has a limited time, and the event then goes on without its handler.
Channel* Session::borrow_control(int64_t deadline, bool* given_up) {
  constexpr int kLook = 100;            // milliseconds
  constexpr int64_t kPatience = 10000;  // of a call
  while (!control_turn_.take_within(kLook)) {
    int64_t now = now_in_milliseconds();
    int64_t since = control_channel_->calling_since();
    bool gone = control_channel_->deserted();
    if (!gone && (deadline < 0 || now < deadline) && (since == 0 || now - since < kPatience)) {
      continue;
    }
    *given_up = true;
    if (!gone) events_overran.fetch_add(1);
    log("an event before the VM is live goes on: the only connection is in use");
    return nullptr;
  }
  if (!served_ && !lost_ && !held_) return control_channel_;
  // What was lost in OnLoad ends once the VM is live; until then no other channel comes either.
  *given_up = lost_;
  control_turn_.give_back();
  return nullptr;
}

void Session::report_live() {
  if (lost_ || served_.exchange(true) || !early_) return;
  control_channel_->send(Header{0, layouts::Kind::kLive, 0, 0, 0, 0, 0}, nullptr, 0);
}

void Session::report_live_now() {
  if (!control_turn_.try_take()) return;  // a handler uses it: the service thread reports this
  report_live();
  control_turn_.give_back();
}

void Session::return_control() { control_turn_.give_back(); }

size_t Session::channel_count() {
  Locked locked(mutex_);
  return channels_.size();
}

jvmtiEnv* Session::tags() {
  {
    Locked locked(mutex_);
    if (tags_ != nullptr) return tags_;
  }
  jvmtiEnv* env = new_jvmti_environment();
  if (env == nullptr) return nullptr;
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  wanted.can_get_bytecodes = 1;
  wanted.can_get_line_numbers = 1;
  env->AddCapabilities(&wanted);
  if (held_) enable_early(env);
  {
    Locked locked(mutex_);
    if (tags_ == nullptr) tags_ = std::exchange(env, nullptr);
  }
  if (env != nullptr) env->DisposeEnvironment();  // another thread was first
  return tags_;
}

bool Session::unwatched() const {
  return control_channel_ != nullptr && !control_channel_->serviced;
}

bool Session::lost() const { return lost_ || control_channel_->deserted(); }

bool Session::controller_stands_still() { return stands_still(control_channel_->controller()); }

void Session::shut_down() {
  ending_ = true;
  if (control_channel_ != nullptr) control_channel_->shut_down();
  Locked locked(mutex_);
  shut_down_channels();
}

void Session::shut_down_channels() {
  for (Channel* channel : channels_) channel->shut_down();
  for (Channel* channel : event_channels.all()) channel->shut_down();
  event_channels.wake();
}

bool Session::pin(Environment* environment) {
  Locked locked(agent.mutex);
  if (!off_list_) environment->in_flight.fetch_add(1);
  return !off_list_;
}

bool Session::enlist() {
  static uint64_t last = 0;
  Locked locked(agent.mutex);
  serial_ = ++last;
  return agent.sessions.push(this);
}

Session* Session::visit_next(JNIEnv* jni, Session* visited) {
  Session* next = nullptr;
  {
    Locked locked(agent.mutex);
    uint64_t behind = visited == nullptr ? 0 : visited->serial_;
    for (Session* session : agent.sessions) {
      if (session->serial_ <= behind) continue;
      if (next == nullptr || session->serial_ < next->serial_) next = session;
    }
    if (next != nullptr) ++next->uses_;
  }
  if (visited != nullptr) visited->leave(jni);
  return next;
}

}  // namespace jvmti
