// Mutual exclusion.  A lock is never held across a call into the VM: a thread can be stopped there.
#pragma once

#include <pthread.h>
#include <time.h>

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

class Mutex {
 public:
  void lock() { pthread_mutex_lock(&mutex_); }
  bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
  // False when the time ran out.
  bool lock_within(int milliseconds) {
    timespec until = time_in(milliseconds);
    return pthread_mutex_timedlock(&mutex_, &until) == 0;
  }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  pthread_mutex_t* native() { return &mutex_; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Locked {
 public:
  explicit Locked(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Locked() { mutex_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  // False when the time ran out.
  bool wait(Mutex& mutex, int milliseconds) {
    timespec until = time_in(milliseconds);
    return pthread_cond_timedwait(&condition_, mutex.native(), &until) == 0;
  }
  void wait(Mutex& mutex) { pthread_cond_wait(&condition_, mutex.native()); }
  void notify_one() { pthread_cond_signal(&condition_); }
  void notify_all() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace jvmti
