#include "session.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <new>

#include "call.h"
#include "channel.h"
#include "controller_state.h"
#include "extensions.h"
#include "jni_interception.h"
#include "leave_frame.h"
#include "lent_memory.h"
#include "log.h"
#include "own_references.h"
#include "script.h"
#include "self_suspension.h"
#include "streams.h"

namespace jvmti {

namespace {

// Versions of the interface to ask for, the newest first: behaviour follows what was asked for.
constexpr jint kVersions[] = {0x30190000, 0x30150000, 0x30110000, 0x300B0000,
                              0x30090000, JVMTI_VERSION_1_2};

constexpr int kLongestWait = 500;  // milliseconds, before looking again

jvmtiEnv* environment_of(jint version) {
  jvmtiEnv* env = nullptr;
  if (agent.vm->GetEnv(reinterpret_cast<void**>(&env), version) != JNI_OK) return nullptr;
  if (env != nullptr) check_answers(env);
  return env;
}

jvmtiEnv* get_environment(jint version) {
  if (version != 0) return environment_of(version);
  jvmtiEnv* env = nullptr;
  for (jint candidate : kVersions) {
    if (env == nullptr) env = environment_of(candidate);
  }
  return env;
}

// To an environment without this capability the early start phase is the primordial one.
void enable_early(jvmtiEnv* env) {
  jvmtiCapabilities early{};
  early.can_generate_early_vmstart = 1;
  env->AddCapabilities(&early);
}

void keep_spare(Environment* environment) {
  environment->env = nullptr;
  Locked locked(agent.mutex);
  // Without memory for it this is never used again; the VM may still look into it.
  if (!agent.spare_environments.push(environment)) log("no memory to keep an environment's");
}

// The memory of an environment that has gone, or new memory.
Environment* spare_environment() {
  Environment* environment = nullptr;
  {
    Locked locked(agent.mutex);
    if (!agent.spare_environments.empty()) environment = agent.spare_environments.pop();
  }
  if (environment == nullptr) return make<Environment>();
  environment->active = 0;
  environment->disposed = environment->leaving = false;
  environment->storage = 0;
  environment->extension_events = 0;
  for (EventTaps& taps : environment->taps) taps.clear();
  environment->muted = false;
  environment->capabilities = 0;
  return environment;
}

}  // namespace

jvmtiEnv* environment_with(const jvmtiCapabilities& wanted) {
  jvmtiEnv* env = get_environment(0);
  if (env == nullptr || env->AddCapabilities(&wanted) == JVMTI_ERROR_NONE) return env;
  env->DisposeEnvironment();
  return nullptr;
}

jvmtiEnv* new_tagging_environment() {
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  return environment_with(wanted);
}

jvmtiEnv* new_stepping_environment(bool* sees_steps) {
  jvmtiCapabilities wanted{};
  wanted.can_support_virtual_threads = major_version(agent.version) >= 21;
  wanted.can_generate_single_step_events = 1;
  jvmtiEnv* env = environment_with(wanted);
  *sees_steps = env != nullptr;
  if (env != nullptr) return env;
  wanted.can_generate_single_step_events = 0;
  return environment_with(wanted);
}

jvmtiEnv* new_lookup_environment(bool virtual_threads) {
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  wanted.can_get_line_numbers = 1;
  wanted.can_get_source_file_name = 1;
  wanted.can_support_virtual_threads = virtual_threads;
  return environment_with(wanted);
}

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
    // It ends the thread, as one that nobody has caught.
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
  layouts::Greeting said{};
  said.magic = protocol::kMagic;
  said.version = static_cast<uint32_t>(protocol::kVersion);
  std::memcpy(said.digest, kInterfaceDigest, sizeof said.digest);
  said.vm = agent.version;
  said.pid = getpid();
  said.held = held_;
  said.token_length = static_cast<uint32_t>(std::strlen(token));
  greeting.number(said);
  greeting.bytes(token, std::strlen(token));
  if (greeting.failed()) return false;
  Header header{static_cast<uint32_t>(greeting.size()), protocol::kGreeting, 0, 0, 0, 0, 0};
  control_channel_->send(header, greeting.data(), greeting.size());
  return true;
}

bool Session::begin(bool held) {
  held_ = early_ = held;
  control_channel_ = make<Channel>(*this, control_);
  if (control_channel_ == nullptr) return false;
  uint32_t number = 0;
  if (new_environment(0, &number) != JVMTI_ERROR_NONE) return false;
  if (held) {
    // One that stays without it tells when the VM can do what JNI needs.
    if (agent.plain_env == nullptr) agent.plain_env = get_environment(0);
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
    tell_live();
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
    for (size_t i = 0; i < channels_.size(); ++i) {
      if (channels_[i] == channel) {
        channels_.remove(i);
        break;
      }
    }
    unmake(channel);
    // Notified inside the lock: once the count is zero, the session may go.
    changed_.notify_all();
  }
}

bool Session::add_event_channel(int descriptor) {
  Channel* channel = make<Channel>(*this, descriptor);
  if (channel == nullptr) {
    close(descriptor);
    return false;
  }
  Locked locked(mutex_);
  if (ending_ || !event_channels_.reserve(event_channels_.size() + 1) ||
      !idle_event_channels_.reserve(event_channels_.size() + 1)) {
    unmake(channel);
    return false;
  }
  event_channels_.put(channel);
  idle_event_channels_.put(channel);
  channel_idle_.notify_one();
  return true;
}

// A new service thread takes a few lines of Java: up to JDK 18 they lock the thread group.  A thread
// that waits here may hold that lock, while the control thread, which alone can bring a channel or see
// that the controller has gone, waits for it.  So the event goes on without its handler then.
Channel* Session::borrow_event_channel(int64_t deadline) {
  Locked locked(mutex_);
  constexpr int64_t kPatience = 10000;  // milliseconds, with the start of a thread
  bool counted = false;
  Channel* taken = nullptr;
  while (!ending_) {
    if (!idle_event_channels_.empty()) {
      taken = idle_event_channels_.pop();
      break;
    }
    // Until the session has its service thread nobody else sees that the controller has gone.
    bool unwatched = control_channel_ != nullptr && !control_channel_->serviced;
    if (unwatched && (lost_ || control_channel_->deserted())) break;
    if (!counted) events_waiting.fetch_add(1);
    counted = true;
    int64_t left = deadline < 0 ? kLongestWait : deadline - now_in_milliseconds();
    if (left <= 0) break;
    int64_t since = starting_since_;
    if (since != 0 && now_in_milliseconds() - since >= kPatience) {
      events_overran.fetch_add(1);
      log("an event goes on without its handler: a service thread does not start");
      break;
    }
    channel_idle_.wait(mutex_, static_cast<int>(left < kLongestWait ? left : kLongestWait));
  }
  if (counted) events_waiting.fetch_sub(1);
  return taken;
}

void Session::return_event_channel(Channel* channel, bool good) {
  Locked locked(mutex_);
  if (good && !ending_) {
    idle_event_channels_.put(channel);
    channel_idle_.notify_one();
    return;
  }
  for (size_t i = 0; i < event_channels_.size(); ++i) {
    if (event_channels_[i] == channel) {
      event_channels_.remove(i);
      break;
    }
  }
  unmake(channel);
  changed_.notify_all();
}

// The thread that speaks may be in a call that waits for this very thread: it has started it and
// joins it, or wants a class that is being loaded here.  Neither would ever end, whatever becomes of
// the controller; so a call has a limited time, and the event then goes on without its handler.
Channel* Session::borrow_control(int64_t deadline, bool* given_up) {
  constexpr int kLook = 100;           // milliseconds
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

void Session::tell_live() {
  if (lost_ || served_.exchange(true) || !early_) return;
  control_channel_->send(Header{0, protocol::kLive, 0, 0, 0, 0, 0}, nullptr, 0);
}

void Session::tell_live_now() {
  if (!control_turn_.try_take()) return;  // a handler is speaking: the service thread tells
  tell_live();
  control_turn_.give_back();
}

void Session::return_control() { control_turn_.give_back(); }

template <class Fits>
bool Session::any_channel(Fits fits) {
  if (fits(*control_channel_)) return true;
  Vector<Channel*>* const both[] = {&channels_, &event_channels_};
  for (Vector<Channel*>* all : both) {
    for (Channel* channel : *all) {
      if (fits(*channel)) return true;
    }
  }
  return false;
}

namespace {

bool has_entered(const Channel& channel, jrawMonitorID monitor) {
  for (size_t i = 0; i < channel.monitors.size(); ++i) {
    if (channel.monitors[i].monitor == monitor) return true;
  }
  return false;
}

}  // namespace

bool Session::monitor_used(jrawMonitorID monitor, const Channel& except) {
  return any_channel([&](const Channel& channel) {
    return channel.monitor_in_use == monitor ||
           (&channel != &except && has_entered(channel, monitor));
  });
}

bool Session::monitor_held_outside(const Channel& walking, jrawMonitorID monitor) {
  Locked locked(mutex_);
  return any_channel([&](const Channel& channel) {
    return (&channel != &walking && channel.monitor_in_use == monitor) ||
           has_entered(channel, monitor);
  });
}

size_t Session::channel_count() {
  Locked locked(mutex_);
  return channels_.size();
}

size_t Session::environment_count() {
  Locked locked(mutex_);
  size_t count = 0;
  for (Environment* environment : environments_) count += environment->env != nullptr;
  return count;
}

jvmtiError Session::new_environment(jint version, uint32_t* number) {
  jvmtiEnv* env = get_environment(version);
  if (env == nullptr) return JVMTI_ERROR_UNSUPPORTED_VERSION;
  Environment* environment = spare_environment();
  bool good = environment != nullptr;
  if (good) {
    environment->session = this;
    environment->env = env;
    Locked locked(mutex_);
    good = environments_.push(environment);
    environment->number = static_cast<uint32_t>(environments_.size());
  }
  if (!good) {
    if (environment != nullptr) keep_spare(environment);
    env->DisposeEnvironment();
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  env->SetEnvironmentLocalStorage(environment);
  *number = environment->number;
  return JVMTI_ERROR_NONE;
}

Environment* Session::environment_at(size_t place) {
  Locked locked(mutex_);
  return place < environments_.size() ? environments_[place] : nullptr;
}

Environment* Session::enter_environment(uint32_t number) {
  Locked locked(mutex_);
  if (number == 0 || number > environments_.size()) return nullptr;
  Environment* environment = environments_[number - 1];
  if (environment->disposed || environment->env == nullptr) return nullptr;
  ++environment->active;
  return environment;
}

// A disposed environment goes with the last call in it.  The VM keeps breakpoints and watches by
// themselves, so they are cleared while the environment that set them can still do so.
void Session::leave_environment(JNIEnv* jni, Environment* environment) {
  {
    Locked locked(mutex_);
    if (--environment->active > 0 || !environment->disposed || environment->leaving) return;
    environment->leaving = true;
  }
  silence(environment);
  close_streams(jni, environment);
  if (jni != nullptr) clear_placed(jni, environment->env);
  jvmtiEnv* gone;
  {
    Locked locked(mutex_);
    gone = environment->env;
    environment->env = nullptr;
  }
  gone->DisposeEnvironment();
}

bool Session::disposed_environment(uint32_t number) {
  Locked locked(mutex_);
  return number != 0 && number <= environments_.size() && environments_[number - 1]->disposed;
}

void Session::dispose_environment(uint32_t number) {
  Locked locked(mutex_);
  environments_[number - 1]->disposed = true;
}

bool Session::keep_stream(Stream* stream) {
  Locked locked(mutex_);
  // Room for the day when it is closed, which must not fail.
  return !ending_ && streams_.reserve(streams_.size() + 1) &&
         closed_streams_.reserve(streams_.size() + closed_streams_.size() + leaving_streams_ + 1) &&
         streams_.push(stream);
}

Environment* Session::close_stream(JNIEnv* jni, uint64_t number) {
  Stream* closed = nullptr;
  {
    Locked locked(mutex_);
    for (size_t i = 0; i < streams_.size() && closed == nullptr; ++i) {
      if (streams_[i]->serial != number) continue;
      closed = streams_[i];
      streams_.remove(i);
    }
    if (closed == nullptr) return nullptr;
  }
  Environment* environment = &closed->environment;
  closed->unlink();
  {
    Locked locked(mutex_);
    closed_streams_.put(closed);
  }
  free_closed_streams(jni, 1000);
  return environment;
}

bool Session::close_streams(JNIEnv* jni, const Environment* environment) {
  while (true) {
    uint64_t number = 0;
    {
      Locked locked(mutex_);
      for (Stream* stream : streams_) {
        if (environment == nullptr || &stream->environment == environment) number = stream->serial;
      }
    }
    if (number == 0) break;
    close_stream(jni, number);
  }
  return free_closed_streams(jni, 10);
}

bool Session::free_closed_streams(JNIEnv* jni, int milliseconds) {
  while (true) {
    Stream* closed;
    {
      Locked locked(mutex_);
      if (closed_streams_.empty()) return true;
      closed = closed_streams_.pop();
      ++leaving_streams_;
    }
    uint64_t streamed = 0;
    uint64_t dropped = 0;
    closed->count(&streamed, &dropped);
    bool freed = closed->free(jni, milliseconds);
    Locked locked(mutex_);
    --leaving_streams_;
    if (freed) {
      streamed_ += streamed;
      dropped_ += dropped;
      continue;
    }
    closed_streams_.put(closed);
    return false;
  }
}

void Session::count_streams(uint64_t* open, uint64_t* streamed, uint64_t* dropped) {
  Locked locked(mutex_);
  *open = streams_.size();
  *streamed = streamed_;
  *dropped = dropped_;
  for (Stream* stream : streams_) stream->count(streamed, dropped);
  for (Stream* stream : closed_streams_) stream->count(streamed, dropped);
}

uint64_t Session::held_capabilities() {
  uint64_t all = 0;
  Locked locked(mutex_);
  for (Environment* environment : environments_) {
    if (environment->env != nullptr && !environment->disposed) all |= environment->capabilities;
  }
  return all;
}

jvmtiEnv* Session::tags() {
  {
    Locked locked(mutex_);
    if (tags_ != nullptr) return tags_;
  }
  jvmtiEnv* env = get_environment(0);
  if (env == nullptr) return nullptr;
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  wanted.can_get_bytecodes = 1;
  wanted.can_get_line_numbers = 1;
  env->AddCapabilities(&wanted);
  if (held_) enable_early(env);
  jvmtiEnv* surplus = nullptr;
  {
    Locked locked(mutex_);
    if (tags_ == nullptr) {
      tags_ = env;
    } else {
      surplus = env;
    }
  }
  if (surplus != nullptr) surplus->DisposeEnvironment();
  return tags_;
}

namespace {

void clear(const Placed& one, jclass klass) {
  switch (one.what) {
    case Placed::kBreakpoint:
      one.env->ClearBreakpoint(static_cast<jmethodID>(one.member), one.location);
      break;
    case Placed::kAccessWatch:
      one.env->ClearFieldAccessWatch(klass, static_cast<jfieldID>(one.member));
      break;
    case Placed::kModificationWatch:
      one.env->ClearFieldModificationWatch(klass, static_cast<jfieldID>(one.member));
      break;
  }
}

}  // namespace

bool Session::note_placed(JNIEnv* jni, Placed::What what, jvmtiEnv* env, jclass klass,
                          void* member, jlocation location) {
  Placed made{what, env, jni->NewWeakGlobalRef(klass), member, location};
  bool noted = false;
  if (made.klass != nullptr) {
    Locked locked(mutex_);
    noted = placed_.push(made);
  }
  if (noted) return true;
  if (made.klass != nullptr) jni->DeleteWeakGlobalRef(made.klass);
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  clear(made, klass);
  return false;
}

void Session::note_cleared(JNIEnv* jni, Placed::What what, jvmtiEnv* env, void* member,
                           jlocation location) {
  jweak gone = nullptr;
  {
    Locked locked(mutex_);
    for (size_t i = 0; i < placed_.size() && gone == nullptr; ++i) {
      const Placed& one = placed_[i];
      if (one.what == what && one.env == env && one.member == member && one.location == location) {
        gone = one.klass;
        placed_.remove(i);
      }
    }
  }
  if (gone != nullptr) jni->DeleteWeakGlobalRef(gone);
}

bool Session::controller_stands_still() { return stands_still(control_channel_->controller()); }

void Session::shut_down() {
  ending_ = true;
  if (control_channel_ != nullptr) control_channel_->shut_down();
  Locked locked(mutex_);
  for (Channel* channel : channels_) channel->shut_down();
  for (Channel* channel : event_channels_) channel->shut_down();
  channel_idle_.notify_all();
}

// Takes back what the session has set in the VM.  A thread that it suspended may have what the rest
// needs, so these are first.
void Session::undo(JNIEnv* jni) {
  suspensions.resume_all(jni);
  clear_placed(jni, nullptr);
  Environment* oldest = environment_at(0);
  jvmtiEnv* first = oldest == nullptr ? nullptr : oldest->env.load();
  if (first == nullptr) first = agent.env;
  jint flags = verbose_flags.exchange(0);
  for (jint flag = 1; flag <= 4; flag *= 2) {
    if ((flags & flag) != 0) first->SetVerboseFlag(static_cast<jvmtiVerboseFlag>(flag), JNI_FALSE);
  }
  if (!sampling_changed.exchange(false)) return;
  constexpr jint kDefaultInterval = 512 * 1024;
  Environment* environment;
  for (size_t i = 0; (environment = environment_at(i)) != nullptr; ++i) {
    jvmtiEnv* env = environment->env;
    if (env != nullptr) env->SetHeapSamplingInterval(kDefaultInterval);
  }
}

// The order matters: the target first, our own memory last.
void Session::end(JNIEnv* jni) {
  log("session of %s ends", name_);
  ending_ = true;
  suspensions.resume_all(jni);
  silence_environments();
  close_streams(jni, nullptr);
  {
    Locked locked(mutex_);
    for (Channel* channel : channels_) channel->shut_down();
    for (Channel* channel : event_channels_) channel->shut_down();
    channel_idle_.notify_all();
    changed_.notify_all();
  }
  undo(jni);
  auto busy = [&] {
    // Waiters first; what they then hold, their own threads let go as they leave.
    if (!forget_self_suspensions(jni, *this) || channel_count() > 0) return true;
    silence_environments();  // a call that has come back since may have made one
    return in_flight() > 0 || !close_streams(jni, nullptr) || !suspensions.ended();
  };
  for (int attempt = 0; busy(); ++attempt) {
    // A call that was going on may have suspended the thread that another one waits for.
    suspensions.resume_all(jni);
    wake_waiters();
    Locked locked(mutex_);
    changed_.wait(mutex_, attempt < 200 ? 5 : 100);
    // A service thread inside a Java method that never returns keeps this loop, and nothing else.
    if (attempt == 300) log("a service thread does not come back");
  }
  // The calls that just came back may have set or suspended something after the first round.
  undo(jni);
  // Who visits calls nothing of ours from here on.
  while (!take_off_list()) usleep(1000);
  for (Environment* environment : environments_) {
    jvmtiEnv* gone = environment->env.exchange(nullptr);
    if (gone != nullptr) gone->DisposeEnvironment();
    keep_spare(environment);
  }
  {
    Locked locked(mutex_);
    environments_.clear();
  }
  files.clear();
  pointers.each([jni](uint8_t kind, void* pointer) {
    if (kind == kinds::Memory::kind) {
      lent::give_back(jni, pointer);
    } else if (kind == kinds::RawMonitor::kind) {
      agent.env->DestroyRawMonitor(static_cast<jrawMonitorID>(pointer));
    }
  });
  suspensions.clear(jni);
  if (control_channel_->pending != nullptr) let_go(jni, control_channel_->pending);
  for (Channel* channel : event_channels_) unmake(channel);
  Channel* control = control_channel_;
  bool asked = goodbye_;
  Header reply{0, protocol::kReturn, 0, 0, goodbye_sequence_, 0, 0};
  leave(jni);
  if (asked) control->send(reply, nullptr, 0);
  unmake(control);
}

bool Session::pin(Environment* environment) {
  Locked locked(agent.mutex);
  if (!off_list_) environment->in_flight.fetch_add(1);
  return !off_list_;
}

bool Session::take_off_list() {
  Locked locked(agent.mutex);
  if (in_flight() > 0) return false;
  off_list_ = true;
  for (size_t i = 0; i < agent.sessions.size(); ++i) {
    if (agent.sessions[i] != this) continue;
    agent.sessions.remove(i);
    break;
  }
  return true;
}

void Session::leave(JNIEnv* jni) {
  {
    Locked locked(agent.mutex);
    if (--uses_ > 0) return;
  }
  free_rest(jni);
}

// What somebody who visits may have been looking at.
void Session::free_rest(JNIEnv* jni) {
  stops.clear(jni);
  if (tags_ != nullptr) tags_->DisposeEnvironment();
  objects.clear(jni);
  methods.clear(jni);
  fields.clear(jni);
  unmake(this);
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

// From now on nothing of the environment's events reaches the controller.
void Session::silence(Environment* environment) {
  environment->muted = true;
  release_jni_table(environment);
  silence_extensions(environment);
  jvmtiEnv* env = environment->env;
  if (env != nullptr) env->SetEventCallbacks(nullptr, 0);
}

void Session::silence_environments() {
  Environment* environment;
  for (size_t i = 0; (environment = environment_at(i)) != nullptr; ++i) {
    if (environment->env != nullptr) silence(environment);
  }
}

uint32_t Session::in_flight() {
  uint32_t count = 0;
  Locked locked(mutex_);
  for (Environment* environment : environments_) count += environment->in_flight;
  return count;
}

// Clears the breakpoints and watches that an environment set; null stands for all environments.
void Session::clear_placed(JNIEnv* jni, jvmtiEnv* env) {
  while (true) {
    Placed one{};
    {
      Locked locked(mutex_);
      size_t i = 0;
      while (i < placed_.size() && env != nullptr && placed_[i].env != env) ++i;
      if (i == placed_.size()) return;
      one = placed_[i];
      placed_.remove(i);
    }
    LocalRef<jclass> klass = class_behind(jni, one.klass);
    if (klass != nullptr) clear(one, klass);
    jni->DeleteWeakGlobalRef(one.klass);
  }
}

// A monitor that somebody has is left to the next round: its owner may be suspended.  Nobody enters
// one any more once the session ends.
void Session::wake_waiters() {
  Vector<jrawMonitorID> waited;
  {
    Locked locked(mutex_);
    any_channel([&](const Channel& waiter) {
      jrawMonitorID monitor = waiter.waiting ? waiter.monitor_in_use : nullptr;
      bool owned = any_channel([&](const Channel& other) {
        return !other.waiting && (other.monitor_in_use == monitor || has_entered(other, monitor));
      });
      // Without memory this ends, and the next round finds it.
      return monitor != nullptr && !owned && !waited.push(monitor);
    });
  }
  for (jrawMonitorID monitor : waited) {
    if (agent.env->RawMonitorEnter(monitor) != JVMTI_ERROR_NONE) continue;
    agent.env->RawMonitorNotifyAll(monitor);
    agent.env->RawMonitorExit(monitor);
  }
}

}  // namespace jvmti
