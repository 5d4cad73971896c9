// A session: one controller's stay.  It owns everything that the controller gets and remembers
// everything that must be undone when the controller goes, for whatever reason.
#pragma once

#include <sys/types.h>

#include <atomic>

#include "agent.h"
#include "event_taps.h"
#include "frames.h"
#include "handles.h"
#include "lent_files.h"
#include "options.h"
#include "stops.h"
#include "suspensions.h"

namespace jvmti {

class Channel;
class Stream;

// A JVM TI environment of the session.  Calls in progress keep it: a disposed one goes to the VM
// when the last of them has returned.  The VM may call us for an event some time after it was
// switched off, so the memory of an environment is used again but never freed, and the callbacks
// in it are counted.
struct Environment {
  std::atomic<jvmtiEnv*> env;
  Session* session;
  uint32_t number;
  uint32_t active;
  bool disposed;
  bool leaving;  // what it set VM-wide is being cleared; the environment goes next
  uint64_t storage;
  std::atomic<uint32_t> extension_events;  // those with a callback, by the bits of their places
  std::atomic<bool> muted;          // its events are not wanted any more
  std::atomic<uint32_t> in_flight;  // callbacks of events, and who else has pinned it
  std::atomic<uint64_t> capabilities;  // that it has, by their bits
  EventTaps taps[kEventCount];
};

// Something VM-wide that the session set, and that leaving clears.
struct Placed {
  enum What { kBreakpoint, kAccessWatch, kModificationWatch } what;
  jvmtiEnv* env;
  jweak klass;
  void* member;
  jlocation location;
};

struct ThreadStorage {
  jvmtiEnv* env;
  uint64_t token;
};

class Session {
 public:
  // `control` is the connected socket to the controller.
  explicit Session(int control) : control_(control) {}
  static Session* make_session(int control);
  static void unmake_session(Session* session);

  // Greets the controller; `held` says that the VM waits in OnLoad until it is told to proceed.
  bool begin(bool held);
  // The service of the control channel, until the controller goes; then everything is undone and
  // the session is no more.
  void serve(JNIEnv* jni);
  // The same on the thread that loads the agent, until the controller lets the VM start.  The time
  // limit is for its first message, or for the `whole` hold.
  enum class Hold { kLetGo, kRefused, kLost, kOverran };
  Hold serve_onload(int timeout_seconds, bool whole);
  void proceed() { held_ = false; }
  // `result`, which is not 0, is what Agent_OnLoad returns then.
  void refuse(jint result) { refused_ = result; }
  jint refused() const { return refused_; }
  bool held() const { return held_ && refused_ == 0; }
  int64_t held_until() const { return held_until_; }

  // A socket for a new channel, which gets a service thread of its own.
  bool open_channel(JNIEnv* jni, int descriptor);
  // The same on a thread that the controller has made.
  jvmtiError run_thread(jvmtiEnv* env, jthread thread, int descriptor, jint priority);
  void close_channel(Channel* channel);

  // Event channels wait idle for a thread of the JVM that has something to tell.
  bool add_event_channel(int descriptor);
  // Null when the session ends or the time (of the clock, -1 for none) has come.
  Channel* borrow_event_channel(int64_t deadline);
  void return_event_channel(Channel* channel, bool good);
  // The first connection for an event before the VM is live; null when it is, and when it was
  // `given_up` to wait for the thread that speaks on it.
  Channel* borrow_control(int64_t deadline, bool* given_up);
  void return_control();
  Channel& control_channel() { return *control_channel_; }
  bool served() const { return served_; }
  // Lets the controller know that the VM is live, if nobody speaks to it at this moment.
  void tell_live_now();

  jvmtiError new_environment(jint version, uint32_t* number);
  Environment* enter_environment(uint32_t number);
  void leave_environment(JNIEnv* jni, Environment* environment);
  // True for the number of an environment that was disposed while the session lasts.
  bool disposed_environment(uint32_t number);
  void dispose_environment(uint32_t number);
  // Private: identity of objects, bytecodes for checks, lines for steps.  Never null once begun.
  jvmtiEnv* tags();

  bool keep_stream(Stream* stream);
  // Takes a stream off its events; its memory goes when no thread is inside any more.  Null when
  // there is none of that number.
  Environment* close_stream(JNIEnv* jni, uint64_t number);
  // The streams of an environment, or all of them; false while some cannot be freed.
  bool close_streams(JNIEnv* jni, const Environment* environment);
  void count_streams(uint64_t* open, uint64_t* streamed, uint64_t* dropped);

  uint64_t held_capabilities();  // of all environments together

  // Whether something is so of any environment; called without a lock, and without any memory.
  template <class Fits>
  bool any_environment(Fits fits) {
    size_t place = 0;
    while (Environment* one = environment_at(place++)) {
      if (fits(*one)) return true;
    }
    return false;
  }
  // The session is known to the agent from now on; false without memory.
  [[nodiscard]] bool enlist();
  // The next of all sessions, kept until it is handed back here; null behind the last.
  static Session* visit_next(JNIEnv* jni, Session* visited);
  // Keeps an environment of a session that is visited until its `in_flight` is counted down; false
  // when the session is at its end.
  bool pin(Environment* environment);

  // After the VM has set something for the session; false where it could not be noted and has been
  // taken back.
  [[nodiscard]] bool note_placed(JNIEnv* jni, Placed::What what, jvmtiEnv* env, jclass klass,
                                 void* member, jlocation location);
  void note_cleared(JNIEnv* jni, Placed::What what, jvmtiEnv* env, void* member,
                    jlocation location);

  void shut_down();                    // wakes every channel with an end of file
  // Ends a session that never got a service thread.
  void abandon(JNIEnv* jni);
  bool ending() const { return ending_; }
  // By a signal, a debugger, or a frozen control group.  False where it cannot be seen.
  bool controller_stands_still();
  void set_name(const char* name, size_t length);
  const char* name() const { return name_; }

  Objects objects;
  Methods methods;
  Fields fields;
  Pointers pointers;
  LentFiles files;
  Stops stops;
  Suspensions suspensions{*this};
  std::atomic<jint> verbose_flags{0};
  std::atomic<bool> sampling_changed{false};
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> events_answered{0};
  std::atomic<uint64_t> events_overran{0};
  std::atomic<uint64_t> events_too_deep{0};
  std::atomic<uint32_t> events_waiting{0};
  char token[kTokenSize] = "";
  pid_t script = 0;  // the controller is a process that this one started for it

  // Whether another channel has a monitor, or a call in progress uses it; hold the mutex.
  bool monitor_used(jrawMonitorID monitor, const Channel& except);
  // The same in a walk's callback on `walking`, whose own thread may not be the one that calls.
  bool monitor_held_outside(const Channel& walking, jrawMonitorID monitor);
  uint32_t in_flight();  // callbacks of events in all environments
  size_t channel_count();
  size_t environment_count();
  Mutex& mutex() { return mutex_; }

 private:
  friend class Channel;
  template <class Fits>
  bool any_channel(Fits fits);  // hold the mutex
  bool greet();
  Channel* add_channel(int descriptor);
  void end(JNIEnv* jni);
  void clear_placed(JNIEnv* jni, jvmtiEnv* env);
  void undo(JNIEnv* jni);
  void free_rest(JNIEnv* jni);
  bool take_off_list();
  void wake_waiters();
  Environment* environment_at(size_t place);  // null behind the last
  void leave(JNIEnv* jni);  // of who visits; the last frees what is left
  void tell_live();  // with the first connection for oneself
  void silence(Environment* environment);
  void silence_environments();
  bool free_closed_streams(JNIEnv* jni, int milliseconds);

  int control_;
  Channel* control_channel_ = nullptr;
  bool lost_ = false;
  bool held_ = false;
  jint refused_ = 0;
  int64_t held_until_ = -1;  // of the clock in milliseconds
  bool early_ = false;  // began in OnLoad
  std::atomic<bool> ending_{false};
  bool goodbye_ = false;
  uint32_t goodbye_sequence_ = 0;
  char name_[256] = "";
  Mutex mutex_{Guards::kSession};
  Condition changed_;
  Condition channel_idle_;  // or the session ends
  Vector<Channel*> channels_;
  Vector<Channel*> event_channels_;
  Vector<Channel*> idle_event_channels_;
  Turn control_turn_;  // who speaks on the first connection before the VM is live
  std::atomic<int64_t> starting_since_{0};  // a service thread, by the clock in milliseconds
  std::atomic<bool> served_{false};  // the first connection is its service thread's
  Vector<Environment*> environments_;
  Vector<Stream*> streams_;
  Vector<Stream*> closed_streams_;  // a thread may still be inside
  size_t leaving_streams_ = 0;      // of these, taken out to be freed, and perhaps back in
  uint64_t streamed_ = 0;  // by streams that are no more
  uint64_t dropped_ = 0;
  jvmtiEnv* tags_ = nullptr;
  Vector<Placed> placed_;
  uint32_t uses_ = 1;        // its own and who visits; by the agent's mutex
  bool off_list_ = false;  // the same
  uint64_t serial_ = 0;    // the order of visits
};

// Goes through all sessions there are.  None of them is freed meanwhile, though it may end; so who
// visits may call into the VM.
template <class Work>
void visit_sessions(JNIEnv* jni, Work work) {
  Session* one = nullptr;
  while ((one = Session::visit_next(jni, one)) != nullptr) work(*one);
}

// One with certain capabilities; null when the VM does not give them, as a solo capability that
// another environment has.
jvmtiEnv* environment_with(const jvmtiCapabilities& wanted);

// An environment for a stream's own use, with what names and lines need; null without.
jvmtiEnv* new_lookup_environment(bool virtual_threads);

// One that can tag objects and nothing else, for passes over the heap; null without.
jvmtiEnv* new_tagging_environment();

// One that is told of steps, where the VM has the capability to give; null without.
jvmtiEnv* new_stepping_environment(bool* sees_steps);

}  // namespace jvmti
