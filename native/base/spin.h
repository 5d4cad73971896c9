// Spinning: who waits for the other side looks for it a moment before it sleeps, because to be put
// to sleep and woken takes longer than most answers.  Where looking is in vain it is done ever more
// rarely, and only as many threads do it at once as leave half of the processors alone.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace jvmti {

class Spin {
 public:
  Spin() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) limit_ = CPU_COUNT(&set) / 2;
  }

  // Calls `look` until it says that something is there; whether it has.
  template <class Look>
  bool until(Look look) {
    if (skip_ > 0) {
      --skip_;
      return false;
    }
    if (look()) return true;
    bool came = false;
    if (spinning_.fetch_add(1, std::memory_order_relaxed) < limit_) {
      int64_t end = nanoseconds_now() + kLongest;
      while (!came && nanoseconds_now() < end) came = look();
    }
    spinning_.fetch_sub(1, std::memory_order_relaxed);
    pause_ = came ? pause_ / 2 : pause_ * 2 + 1;
    if (pause_ > kRarest) pause_ = kRarest;
    skip_ = pause_;
    return came;
  }

 private:
  static constexpr int64_t kLongest = 30000;  // nanoseconds
  static constexpr uint32_t kRarest = 63;     // waits without looking between two with

  static inline std::atomic<int> spinning_{0};
  int limit_ = 0;
  uint32_t pause_ = 0;
  uint32_t skip_ = 0;
};

}  // namespace jvmti
