// Threads that were parked for a lock of java.util.concurrent, which probes in these locks report.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <cstdint>

namespace jvmti {

struct ParkedTime {
  int64_t began;  // in nanoseconds of CLOCK_MONOTONIC
  int64_t ended;
  int64_t owner;  // the Thread.threadId of the thread that had the lock; 0 if unknown
  // How much longer threads may wait until the next one is reported; there for good.
  std::atomic<int64_t>* left;
};

// On the thread itself, below two frames of the helper class.
void report_parked(uint32_t profile, JNIEnv* jni, jobject lock, const ParkedTime& time);

}  // namespace jvmti
