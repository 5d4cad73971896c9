#include "event_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "clock.h"

namespace jvmti {

bool EventClock::counts_ = false;
std::atomic<uint32_t> EventClock::changes_{0};
std::atomic<uint64_t> EventClock::start_{0};
std::atomic<int64_t> EventClock::time_{0};
std::atomic<uint64_t> EventClock::tick_{0};

void EventClock::prepare() {
  // The system uses this one only where all processors have the same time.
  int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char name[8] = "";
  ssize_t length = read(file, name, sizeof name - 1);
  close(file);
  counts_ = length >= 3 && std::strncmp(name, "tsc\n", 4) == 0;
}

int64_t EventClock::ask() {
  int64_t time = nanoseconds_now();
#ifdef __x86_64__
  if (!counts_) return time;
  uint64_t start = __builtin_ia32_rdtsc();
  uint32_t before = changes_.load();
  if (before % 2 != 0 || !changes_.compare_exchange_strong(before, before + 1)) return time;
  uint64_t ticks = start - start_.load();
  int64_t passed = time - time_.load();
  if (start_.load() == 0 || ticks >= kLongest || ticks > start) {
    constexpr int64_t kLongestSpan = int64_t{1} << 31;  // two seconds, so that nothing overflows
    if (start_.load() != 0 && passed > 0 && passed < kLongestSpan) {
      uint64_t tick = (static_cast<uint64_t>(passed) << kShift) / ticks;
      uint64_t known = tick_.load();
      // A machine that slept or moved meanwhile counts otherwise than its clock: once more then.
      bool likely = known == 0 || (tick > known - known / 1024 && tick < known + known / 1024);
      tick_.store(likely ? tick : 0, std::memory_order_relaxed);
    }
    start_.store(start, std::memory_order_relaxed);
    time_.store(time, std::memory_order_relaxed);
  }
  changes_.store(before + 2, std::memory_order_release);
#endif
  return time;
}

}  // namespace jvmti
