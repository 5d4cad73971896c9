// A channel: one controller thread facing one thread of the JVM, and the one conversation loop.
//
// The thread that serves a channel reads frames and answers them.  When the VM calls into us on
// that thread, or on a thread that borrowed an idle channel, `ask` begins a conversation within:
// it sends the opening and serves the controller's calls until its answer has come.
#pragma once

#include <jvmti.h>

#include "agent/channels/frames.h"
#include "agent/sessions/session.h"
#include "base/clock.h"
#include "base/spin.h"

namespace jvmti {

struct HeldMonitor {
  jrawMonitorID monitor;
  uint32_t count;
};

// A Java monitor that JNI entered, as a global reference to its object.
struct HeldObject {
  jobject object;
  jlong key;  // of `enter_monitor`; 0 for MonitorEnter
};

// What the current thread is doing for which session: an entry on its stack for each channel it
// serves and each handler it is in, the innermost first.
class Serving : NoCopy {
 public:
  explicit Serving(Channel& channel) : Serving(channel, 0, nullptr) {}
  // In a handler of an event.
  Serving(Channel& channel, int event, jvmtiEnv* env);
  ~Serving();
  // The current thread's innermost entry of a session; null without one.
  static Serving* of(const Session* session);
  // How many handlers of a session the current thread is in, one within the other.
  static int depth(const Session* session);
  static Serving* innermost();
  // A service thread says that it serves no more; what it does on its way out is still ours.
  static void retire();
  static bool retired();

  Channel& channel;
  const int event;  // 0 where it is in no handler
  jvmtiEnv* const env;
  const bool handler;

 private:
  Serving* outer_;
  void* before_;  // what the thread was marked with: that, or that it has retired
};
// While it lasts, what the current thread does is the program's again.
class Unserved : NoCopy {
 public:
  Unserved();
  ~Unserved();

 private:
  void* kept_;
};
// Makes the thread-local key; false when the process has no more of them.
bool prepare_serving();

void close_socket(int descriptor);
// What a channel can be made of: a connected Unix stream socket.
bool is_socket(int descriptor);

struct JniCall;

class Channel : NoCopy {
 public:
  Channel(Session& session, int descriptor) : session(session), descriptor_(descriptor) {}
  ~Channel();

  // The conversation: serves frames until the other side goes or the hold of OnLoad ends.
  void converse(JNIEnv* jni);
  // Sends an opening to the controller and serves its calls until its answer; false without one:
  // the controller went, or the time limit passed, for the sending as for the rest.  `limit` is in
  // milliseconds, -1 for none.
  // The answer is good until the next frame is received.
  enum class Outcome { kAnswered, kOverran, kStopped, kLost };
  Outcome ask(JNIEnv* jni, Header opening, const Writer& payload, int64_t limit, Reader* answer);
  // A heap walk's callbacks: one conversation on whatever thread the VM makes them, from the first
  // to the last.  `ask` is on its channel then, and may be repeated.
  void begin_walk(const Environment* environment);
  Outcome ask_in_walk(Header opening, const Writer& payload, Reader* answer);
  void end_walk();
  bool walking() const { return walk_environment_ != nullptr; }
  const Environment* walk_environment() const { return walk_environment_; }
  // Raw monitors entered by the thread that calls now: the VM's own while it makes callbacks.
  Vector<HeldMonitor>& entered() { return walking() ? entered_in_walk_ : monitors; }

  // Makes the calls of a batch, and writes what they return; false if it is shorter than it says.
  bool make_calls(JNIEnv* jni, const uint8_t* data, size_t size, Writer& out);

  // A socket that came with the frame in progress; -1 without one.
  int take_socket();
  void shut_down();
  // For other threads: since when the call in progress is in the VM's hands, 0 for none; and
  // whether the controller has gone.
  int64_t calling_since() const { return calling_since_; }
  bool deserted() const;
  pid_t controller() const;  // the process at the other end; 0 or -1 where it cannot be seen
  bool send(const Header& header, const void* payload, size_t size, int passed = -1);
  // What this thread still holds is let go.
  void release_monitors(JNIEnv* jni);
  // The descriptor that came with the current frame, now the caller's; -1 without one.
  int take_descriptor();

  Session& session;
  JNIEnv* jni = nullptr;
  jobject thread = nullptr;         // global reference of the service thread
  jobject pending = nullptr;        // the exception of the last JNI call, as a global reference
  jobject thrown = nullptr;         // what the program is to get, as a global reference
  bool of_agent_thread = false;     // a thread that the controller made
  Vector<HeldMonitor> monitors;     // raw monitors entered by this thread
  Vector<HeldObject> objects_held;  // whose Java monitor this thread entered through JNI
  Vector<uint64_t> issued;          // handles issued inside local frames
  Vector<uint32_t> frames;          // where each local frame starts in `issued`
  jrawMonitorID monitor_in_use = nullptr;  // by the call in progress
  std::atomic<bool> waiting{false};        // in RawMonitorWait
  std::atomic<bool> serviced{false};  // by one of the agent's threads, which are never suspended
  int64_t deadline = -1;              // for the next frame, in milliseconds of the clock
  JniCall* jni_call = nullptr;        // the intercepted call that the conversation is about
  int process = -1;                   // a pidfd to watch beside the socket

 private:
  struct Inbox {
    uint8_t* data = nullptr;
    size_t size = 0;
    size_t start = 0;
    size_t end = 0;
  };
  enum class Next { kGoOn, kAnswered, kEnded, kAbandoned, kLeave };
  bool receive(Header* header);
  bool fill(size_t need);
  bool reserve(size_t need);
  bool skip(const Header& header);
  ssize_t take(int flags);
  bool await(short events);
  bool take_at_once(ssize_t* received);
  bool fill_from(const uint8_t* data, size_t size);
  Next serve(const Header& header);
  // Whether the conversation ends with it.
  bool work(const Header& header);
  bool call(const Header& header);
  void batch(const Header& header);
  void map(const Header& header);
  void hello(const Header& header);
  // Answers a frame.
  void reply(const Header& to, int status, const Writer* results = nullptr, uint8_t flags = 0);
  void malformed(const Header& header, const char* why);

  // What the frame in progress has read and written, and stays as it is while a conversation goes
  // on within it.
  struct Suspended {
    JNIEnv* jni;
    Inbox inbox;
    const uint8_t* payload;
    Writer outbox;
    uint32_t conversation;
    uint32_t request;
    int64_t deadline;
    bool calling;
  };
  void suspend(Suspended* outer);
  void resume(Suspended* outer);
  Outcome converse_until_answer(const Header& opening, const Writer& payload, Reader* answer);

  int descriptor_;
  Spin spin_;
  int passed_ = -1;  // a descriptor that came with the current frame
  void limit_receiving(int64_t milliseconds);
  bool overran_ = false;
  bool stopped_ = false;        // the controller's process, in a walk
  int64_t limit_ = -1;          // when the call in progress is to have ended, of the clock
  bool silent_ = false;         // nothing has come yet in the innermost conversation
  int64_t received_limit_ = 0;  // what the socket's own limit is set to; 0 is none
  Inbox inbox_;
  const uint8_t* payload_ = nullptr;  // of the frame in progress
  uint8_t* answered_ = nullptr;
  Writer outbox_;
  uint32_t request_ = 0;  // the sequence number of the call in progress
  std::atomic<int64_t> calling_since_{0};
  const Environment* walk_environment_ = nullptr;
  Suspended walk_;
  Vector<HeldMonitor> entered_in_walk_;
  uint32_t conversation_ = 0;   // the innermost
  uint32_t conversations_ = 0;  // so far
};

}  // namespace jvmti
