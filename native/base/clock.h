// The monotonic clock.
#pragma once

#include <cstdint>
#include <ctime>

namespace jvmti {

inline int64_t nanoseconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

inline int64_t now_in_milliseconds() { return nanoseconds_now() / 1000000; }

// When a limit is over, however long it is; -1 where there is none, which is less than 0.
inline int64_t milliseconds_from_now(int64_t limit) {
  int64_t now = now_in_milliseconds();
  return limit < 0 ? -1 : limit > INT64_MAX - now ? INT64_MAX : now + limit;
}

}  // namespace jvmti
