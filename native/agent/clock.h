// The clock that nobody sets.
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

}  // namespace jvmti
