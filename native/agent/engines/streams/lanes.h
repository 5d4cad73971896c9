// Lanes: the rings that a stream's records lie in, each of which one thread at a time writes to.
//
// A lane is in memory that the controller shares.  From the other side come only the counters of
// what was read, and they are believed only where they are possible.
#pragma once

#include <jvmti.h>

#include <atomic>

#include "base/clock.h"

namespace jvmti {

// A thread as a stream knows it.
struct StreamedThread {
  struct Begun {
    const void* what;
    int64_t time;
  };
  uint32_t number;
  bool wanted;
  Begun* begun;  // what has begun and not ended, the outermost first
  uint32_t depth;
  uint32_t capacity;
};

// How long a thread waits for room that the controller makes by reading: not if it has read
// nothing for a while. Then threads do not wait until it reads again.
class Patience {
 public:
  static constexpr int64_t kLongest = 10000;  // milliseconds
  // `given_up` is where the controller was when somebody gave up, plus one.
  explicit Patience(std::atomic<uint64_t>& given_up) : given_up_(given_up) {}
  bool waits_on(uint64_t tail) {
    if (given_up_ == tail + 1) return false;
    int64_t now = now_in_milliseconds();
    if (since_ == 0 || tail != seen_) since_ = now;
    seen_ = tail;
    if (now - since_ < kLongest) return true;
    given_up_ = tail + 1;
    return false;
  }

 private:
  std::atomic<uint64_t>& given_up_;
  uint64_t seen_ = 0;
  int64_t since_ = 0;
};

struct alignas(128) Lane {
  uint8_t* next;               // where the next record goes
  uint8_t* end;                // the end of the lane
  uint32_t size;               // of a record
  bool timed;                  // there is a time in each
  int64_t last;                // time of a record
  std::atomic<uint64_t> head;  // records so far
  std::atomic<uint64_t>* shared_head;
  std::atomic<uint64_t> dropped;  // events for which the lane had no space
  uint64_t tail;                  // as the controller last reported it
  uint8_t* records;
  std::atomic<uint64_t>* shared_dropped;
  const std::atomic<uint64_t>* shared_tail;
  std::atomic<bool> taken;
  bool shared;                     // by threads that hold the stream's mutex for it
  std::atomic<uint64_t> given_up;  // see Patience

  // The record at `next` is written.
  void commit() {
    next += size;
    uint64_t so_far = head.load(std::memory_order_relaxed) + 1;
    head.store(so_far, std::memory_order_relaxed);
    shared_head->store(so_far, std::memory_order_release);
  }
};

}  // namespace jvmti
