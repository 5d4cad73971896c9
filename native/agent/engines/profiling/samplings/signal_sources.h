// What sends a signal to each thread of the process when it has used some processor time: an event
// of the kernel's performance counters, or a timer.
#pragma once

#include <dirent.h>
#include <jvmti.h>
#include <signal.h>
#include <sys/types.h>

#include <atomic>

#include "base/lock.h"
#include "base/no_copy.h"
#include "generated/layouts.h"

namespace jvmti {

// Of one thread.  Its place is used again after the thread has ended.
struct alignas(64) SignalSource {
  std::atomic<pid_t> tid;     // 0: the place is free
  std::atomic<bool> armed;    // its signals are wanted
  std::atomic<bool> sampled;  // there is a sample of it
  int descriptor;             // of the event, else -1
  int timer;                  // else
  uint32_t thread;            // as the profile numbers it
  uint32_t random;
  uint32_t code;             // of layouts::CodeKind: of a thread that never runs Java
  uint32_t round;            // of the last scan that found it
  std::atomic<JNIEnv*> jni;  // as of its last sample
  std::atomic<int64_t> id;   // its own Thread.threadId; 0: unknown, kNoId: Java does not know it
  int64_t identified;        // when Java began to, in nanoseconds since the epoch; 0: before this
  int64_t used;              // its processor time then, in nanoseconds
  int64_t resumed;           // the same when it went on after a sample that took long
  uint32_t alike;            // samples since the period of its event was changed
  static constexpr size_t kNameSize = 16;  // the kernel's
  char name[kNameSize];
  static constexpr int64_t kNoId = -1;
};

class SignalSources : NoCopy {
 public:
  SignalSources(std::atomic<uint32_t>* threads) : threads_(threads) {}
  ~SignalSources();

  // Null, or why this engine does not work here.
  static const char* try_engine(layouts::ProfileEngine engine, int64_t interval);
  [[nodiscard]] bool start(layouts::ProfileEngine engine, int64_t interval, int signal);
  // The threads get another signal from here on.
  void change_signal(int signal);
  // Signals are not wanted any more, and no thread is followed.
  void mute();
  // No thread gets any: after `mute`, when no handler of a signal runs that came before.
  void stop();

  void follow(pid_t tid, const char* name);
  // The Thread.threadId of a thread that begins now, in nanoseconds since the epoch.
  void identify(pid_t tid, int64_t id, int64_t now);
  // Stops the signals of a thread; its source stays until `release`. Null if it has none.
  SignalSource* disarm(pid_t tid);
  void release(SignalSource* source);
  // Follows what is new in the process. Calls `ends` for the sources of threads that have ended,
  // which are released then.
  template <class Ends>
  void scan(Ends ends) {
    if (!find_threads()) return;
    uint32_t most = most_;
    for (uint32_t i = 0; i < most; ++i) {
      SignalSource& one = sources_[i];
      pid_t tid = one.tid;
      if (tid == 0 || one.round == round_ || !one.armed) continue;
      SignalSource* ended = disarm(tid);
      if (ended == nullptr) continue;
      ends(*ended);
      release(ended);
    }
  }
  // Calls `use` for each that is followed.
  template <class Use>
  void each(Use use) {
    uint32_t most = most_;
    for (uint32_t i = 0; i < most; ++i) {
      if (sources_[i].tid != 0) use(sources_[i]);
    }
  }
  // The source of a thread by the profile's number; null if it has ended.
  SignalSource* find(uint32_t thread);
  uint32_t unfollowed() const { return unfollowed_; }

  // In the handler: the source of the current thread that has sent the signal, else null.
  SignalSource* sender(const siginfo_t& info);
  // The same: whether it has done anything else since the last sample, having used so much.
  bool is_due(const SignalSource& source, int64_t used) const;
  // The same, after a sample that began then by `nanoseconds_now`: the next one comes after about
  // the interval.
  void rearm(SignalSource& source, int64_t began);

 private:
  static constexpr uint32_t kMost = 1 << 15;
  static constexpr uint32_t kMostTids = 1 << 22;
  static constexpr int kMostDescriptors = 1 << 17;

  bool find_threads();
  // The first signal comes after so much processor time, in nanoseconds.
  bool arm(SignalSource& source, pid_t tid, int64_t first);
  void silence(SignalSource& source);
  uint32_t next_random(SignalSource& source) const;
  int64_t first_of(SignalSource& source) const;
  int64_t jittered(SignalSource& source) const;

  std::atomic<uint32_t>* threads_;
  layouts::ProfileEngine engine_ = layouts::ProfileEngine::kBest;
  int64_t interval_ = 0;
  int signal_ = 0;
  Mutex mutex_{Guards::kLists};
  bool running_ = false;
  std::atomic<uint32_t> most_{0};  // places that were ever used
  std::atomic<uint32_t> unfollowed_{0};
  uint32_t round_ = 0;
  DIR* tasks_ = nullptr;           // /proc/self/task
  bool listed_otherwise_ = false;  // whether threads have other numbers there
  uint64_t seen_ = 0;              // how many threads the last list began with
  int64_t listed_ = 0;             // when that was
  SignalSource* sources_ = nullptr;
  uint32_t* by_tid_ = nullptr;                      // a place plus 1, by the mutex
  std::atomic<uint32_t>* by_descriptor_ = nullptr;  // the same, without
};

// The processor time of the current thread, or of another of the process, in nanoseconds.
int64_t thread_time();
int64_t thread_time(pid_t tid);

}  // namespace jvmti
