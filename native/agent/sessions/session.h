// A session: one controller's stay.  It owns everything that the controller gets and remembers
// everything that must be undone when the controller goes, for whatever reason.
#pragma once

#include <sys/types.h>

#include <atomic>

#include "agent/channels/frames.h"
#include "agent/core/agent.h"
#include "agent/core/engine.h"
#include "agent/engines/heap/heap_passes.h"
#include "agent/engines/instrumentation/open_probes.h"
#include "agent/engines/profiling/open_profiles.h"
#include "agent/engines/stops/stop_requests.h"
#include "agent/engines/streams/open_streams.h"
#include "agent/engines/threads/suspensions.h"
#include "agent/events/event_channels.h"
#include "agent/handles/handles.h"
#include "agent/loading/options.h"
#include "agent/operations/temporary_files.h"
#include "agent/sessions/environments.h"
#include "agent/sessions/undo_list.h"

namespace jvmti {

class Channel;

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

  // Greets the controller; `held` says that the VM waits in OnLoad until the controller lets it
  // proceed.
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

  // The first connection for an event before the VM is live; null when it is, and when it was
  // `given_up` to wait for the thread that speaks on it.
  Channel* borrow_control(int64_t deadline, bool* given_up);
  void return_control();
  Channel& control_channel() { return *control_channel_; }
  bool served() const { return served_; }
  // Reports that the VM is live, unless the control channel is in use at this moment.
  void report_live_now();

  // Private: identity of objects, bytecodes for checks, lines for steps.  Never null once begun.
  jvmtiEnv* tags();

  // The session is known to the agent from now on; false without memory.
  [[nodiscard]] bool enlist();
  // The next of all sessions, kept until it is handed back here; null behind the last.
  static Session* visit_next(JNIEnv* jni, Session* visited);
  // Keeps an environment of a session that is visited until its `in_flight` is counted down; false
  // when the session is at its end.
  bool pin(Environment* environment);

  void shut_down();  // wakes every channel with an end of file
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
  TemporaryFiles files;
  StopRequests stop_requests;
  Suspensions suspensions{*this};
  Environments environments{*this};
  EventChannels event_channels{*this};
  OpenStreams streams{*this};
  HeapPasses heap_passes;
  OpenProbes probes{*this};
  OpenProfiles profiles{*this};
  UndoList undo_list;
  std::atomic<jint> verbose_flags{0};
  std::atomic<bool> sampling_changed{false};
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> events_answered{0};
  std::atomic<uint64_t> events_overran{0};
  std::atomic<uint64_t> events_too_deep{0};
  char token[kTokenSize] = "";
  pid_t script = 0;  // the controller is a process that this one started for it

  // Whether another channel has a monitor, or a call in progress uses it; hold the mutex.
  bool monitor_used(jrawMonitorID monitor, const Channel& except);
  // The same in a walk's callback on `walking`, whose own thread may not be the one that calls.
  bool monitor_held_outside(const Channel& walking, jrawMonitorID monitor);
  size_t channel_count();
  Mutex& mutex() { return mutex_; }
  // Until the session has its service thread, only this thread can notice that the controller has
  // gone.
  bool unwatched() const;
  bool lost() const;
  // Of a service thread that is being started, by the clock; 0 for none.
  int64_t starting_since() const { return starting_since_; }
  static bool end_own(JNIEnv* jni, Session& session, Stage stage);

 private:
  friend class Channel;
  template <class Matches>
  bool any_channel(Matches matches);  // hold the mutex
  bool greet();
  void shut_down_channels();  // hold the mutex
  Channel* add_channel(int descriptor);
  void end(JNIEnv* jni);
  bool end_stage(JNIEnv* jni, Stage stage);
  void free_rest(JNIEnv* jni);
  bool take_off_list();
  void wake_waiters();
  void leave(JNIEnv* jni);  // of who visits; the last frees what is left
  void report_live();       // with the first connection for oneself

  int control_;
  Channel* control_channel_ = nullptr;
  bool lost_ = false;
  bool held_ = false;
  jint refused_ = 0;
  int64_t held_until_ = -1;  // of the clock in milliseconds
  bool early_ = false;       // began in OnLoad
  std::atomic<bool> ending_{false};
  bool goodbye_ = false;
  uint32_t goodbye_sequence_ = 0;
  char name_[256] = "";
  Mutex mutex_{Guards::kSession};
  Condition changed_;
  Vector<Channel*> channels_;
  Turn control_turn_;  // who speaks on the first connection before the VM is live
  std::atomic<int64_t> starting_since_{0};  // a service thread, by the clock in milliseconds
  std::atomic<bool> served_{false};         // the first connection is its service thread's
  jvmtiEnv* tags_ = nullptr;
  uint32_t uses_ = 1;      // its own and who visits; by the agent's mutex
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

}  // namespace jvmti
