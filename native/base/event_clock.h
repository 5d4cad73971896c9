// The time of CLOCK_MONOTONIC for less than half of what asking for it costs.
#pragma once

#include <atomic>
#include <cstdint>

namespace jvmti {

// Where the system itself counts the ticks of the processor, so does this: every few milliseconds
// it takes the time of the system and how long a tick is, and counts from there.  So it is never
// wrong by more than a fraction of a microsecond, and it may step back by as much.
class EventClock {
 public:
  // Looks which clock the system has; until then it is asked each time.
  static void prepare();

  // Nanoseconds.
  static int64_t now() { return time_of(ticks()); }
  // What the processor counts, 0 where it does not; and the same in nanoseconds, soon after.
  static uint64_t ticks() {
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
  }
  static int64_t time_of([[maybe_unused]] uint64_t ticks) {
#ifdef __x86_64__
    const Known& known = known_;
    uint64_t start = known.start.load(std::memory_order_acquire);
    uint64_t passed = ticks - start;
    int64_t time = known.time.load(std::memory_order_relaxed);
    uint64_t tick = known.tick.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (__builtin_expect(passed < kLongest && known.start.load(std::memory_order_relaxed) == start,
                         true)) {
      return time + static_cast<int64_t>(passed * tick >> kShift);
    }
#endif
    return ask();
  }

 private:
  static constexpr uint64_t kLongest = 1 << 24;  // ticks, some milliseconds
  static constexpr int kShift = 32;
  static int64_t ask();

  // Together, so that all is in one line of the processor's memory.
  struct alignas(64) Known {
    std::atomic<uint64_t> start;  // ticks; never twice the same but `kNever`
    std::atomic<int64_t> time;    // at the start
    std::atomic<uint64_t> tick;   // nanoseconds of one, times 2^32
  };
  static constexpr uint64_t kNever = ~uint64_t{0};  // while there is no start, or another is made
  static Known known_;
  static std::atomic<bool> counts_;
};

}  // namespace jvmti
