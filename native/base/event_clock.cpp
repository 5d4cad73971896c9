#include "base/event_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.h"

namespace jvmti {

std::atomic<bool> EventClock::counts_{false};
EventClock::Known EventClock::known_{{kNever}, {0}, {0}};

void EventClock::prepare() {
  // The system uses this one only where all processors have the same time.
  int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char name[8] = "";
  ssize_t length = read(file, name, sizeof name - 1);
  close(file);
  counts_.store(length >= 3 && std::strncmp(name, "tsc\n", 4) == 0, std::memory_order_relaxed);
}

int64_t EventClock::ask() {
  int64_t time = nanoseconds_now();
#ifdef __x86_64__
  if (!counts_.load(std::memory_order_relaxed)) return time;
  static std::atomic<bool> asking{false};
  // The last result, of any caller.
  static uint64_t last_start = 0;
  static int64_t last_time = 0;
  static uint64_t last_tick = 0;
  uint64_t start = __builtin_ia32_rdtsc();
  if (asking.exchange(true, std::memory_order_acquire)) return time;
  uint64_t ticks = start - last_start;
  int64_t passed = time - last_time;
  if (last_start == 0 || ticks >= kLongest || ticks > start) {
    constexpr int64_t kLongestSpan = int64_t{1} << 31;  // two seconds, so that nothing overflows
    if (last_start != 0 && passed > 0 && passed < kLongestSpan) {
      uint64_t tick = (static_cast<uint64_t>(passed) << kShift) / ticks;
      // A machine that slept or moved meanwhile counts otherwise than its clock: once more then.
      bool likely = last_tick == 0 ||
                    (tick > last_tick - last_tick / 1024 && tick < last_tick + last_tick / 1024);
      last_tick = likely ? tick : 0;
    }
    last_start = start;
    last_time = time;
    known_.start.store(kNever, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    known_.time.store(time, std::memory_order_relaxed);
    known_.tick.store(last_tick, std::memory_order_relaxed);
    if (last_tick != 0) known_.start.store(start, std::memory_order_release);
  }
  asking.store(false, std::memory_order_release);
#endif
  return time;
}

}  // namespace jvmti
