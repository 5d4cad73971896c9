// The time of CLOCK_MONOTONIC for less than half of what asking for it costs.
#pragma once

#include <atomic>
#include <cstdint>

namespace jvmti {

// Where the system itself counts the ticks of the processor, so does this: every few milliseconds it
// takes the time of the system and how long a tick is, and counts from there.  So it is never wrong
// by more than a fraction of a microsecond, and it may step back by as much.
class EventClock {
 public:
  // Looks which clock the system has; until then it is asked each time.
  static void prepare();

  // Nanoseconds.
  static int64_t now() {
#ifdef __x86_64__
    if (counts_) {
      uint32_t before = changes_.load(std::memory_order_acquire);
      uint64_t passed = __builtin_ia32_rdtsc() - start_.load(std::memory_order_relaxed);
      int64_t time = time_.load(std::memory_order_relaxed);
      uint64_t tick = tick_.load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (__builtin_expect(before % 2 == 0 && passed < kLongest && tick != 0 &&
                               changes_.load(std::memory_order_relaxed) == before,
                           true)) {
        return time + static_cast<int64_t>(passed * tick >> kShift);
      }
    }
#endif
    return ask();
  }

 private:
  static constexpr uint64_t kLongest = 1 << 24;  // ticks, some milliseconds
  static constexpr int kShift = 32;
  static int64_t ask();

  static bool counts_;
  static std::atomic<uint32_t> changes_;  // odd while one is made
  static std::atomic<uint64_t> start_;
  static std::atomic<int64_t> time_;
  static std::atomic<uint64_t> tick_;  // nanoseconds of one, times 2^32
};

}  // namespace jvmti
