// Mutual exclusion.
//
// A thread can be suspended, and has to wait for others, wherever it calls into the VM, and only
// there.  So no thread holds a mutex in a call of JVM TI, JNI or the invocation interface, or while
// it sends: then who has a mutex always comes to its end.  What takes calls into the VM and must
// not be done by two threads at once is guarded by a `Turn`, which has a limit for every wait, or
// which only service threads take, which are never suspended.
//
// A build with JVMTI_CHECK_LOCKS ends the process where a thread breaks this, with a message; see
// lock_check.h.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "base/no_copy.h"

namespace jvmti {

// What the clock that threads wait by will show after some time.
inline timespec time_in(int milliseconds) {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += milliseconds / 1000;
  until.tv_nsec += (milliseconds % 1000) * 1000000L;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_nsec -= 1000000000L;
    ++until.tv_sec;
  }
  return until;
}

// What a mutex guards.  While one is held, only one of a greater number may be taken.
enum class Guards : int {
  kAgent = 1,   // the lists of the agent
  kSession,     // of a session: its channels, environments, what it must undo
  kLists,       // small books that are complete in themselves: handles, places of stops, loans
  kMoves,       // where instructions are that probes have moved
  kStream,      // of a stream: what has been numbered
  kSharedLane,  // of a stream: the lane of the many
  kReferences,  // the list of the agent's own global references: nothing happens inside of it
};

#ifdef JVMTI_CHECK_LOCKS
namespace lock_check {
void locking(const void* mutex, Guards what);  // about to
void unlocked(const void* mutex);
void waiting(const void* mutex);       // for a condition, with that mutex
void hold_none(const char* function);  // about to do what no thread may do with a mutex held
}  // namespace lock_check
#else
namespace lock_check {
inline void locking(const void*, Guards) {}
inline void unlocked(const void*) {}
inline void waiting(const void*) {}
inline void hold_none(const char*) {}
}  // namespace lock_check
#endif

class Mutex {
 public:
#ifdef JVMTI_CHECK_LOCKS
  explicit constexpr Mutex(Guards what) : what_(what) {}
#else
  explicit constexpr Mutex(Guards) {}
#endif
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() {
#ifdef JVMTI_CHECK_LOCKS
    lock_check::locking(this, what_);
#endif
    pthread_mutex_lock(&mutex_);
  }
  void unlock() {
    pthread_mutex_unlock(&mutex_);
    lock_check::unlocked(this);
  }

 private:
  friend class Condition;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
#ifdef JVMTI_CHECK_LOCKS
  Guards what_;
#endif
};

// For what takes calls into the VM.  Who has the turn may be suspended in one of them.
class Turn {
 public:
  bool try_take() { return pthread_mutex_trylock(&mutex_) == 0; }
  // False when the time ran out.
  bool take_within(int milliseconds) {
    timespec until = time_in(milliseconds);
    return pthread_mutex_timedlock(&mutex_, &until) == 0;
  }
  // For turns that only threads take that are never suspended.
  void take() { pthread_mutex_lock(&mutex_); }
  void give_back() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Locked : NoCopy {
 public:
  explicit Locked(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Locked() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  // False when the time ran out.
  bool wait(Mutex& mutex, int milliseconds) {
    lock_check::waiting(&mutex);
    timespec until = time_in(milliseconds);
    return pthread_cond_timedwait(&condition_, &mutex.mutex_, &until) == 0;
  }
  void wait(Mutex& mutex) {
    lock_check::waiting(&mutex);
    pthread_cond_wait(&condition_, &mutex.mutex_);
  }
  void notify_one() { pthread_cond_signal(&condition_); }
  void notify_all() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

// For one thread that waits, and for others, also in signal handlers, that wake it.
class Semaphore : NoCopy {
 public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  void post() { sem_post(&semaphore_); }
  // Until it is posted, the time runs out, or a signal comes. All posts count as one.
  void wait(int milliseconds) {
    timespec until = time_in(milliseconds);
    sem_timedwait(&semaphore_, &until);
    while (sem_trywait(&semaphore_) == 0) {
    }
  }

 private:
  sem_t semaphore_;
};

}  // namespace jvmti
