// What an environment does with an event: its taps.
//
// A stop and a handler of one event are two openings on the channel that the scope borrows once:
// what answers the stop may take away the handler or its environment, so whether a handler is asked
// is known only then.  Each also has a time limit of its own.
//
// An event passes them in the order of `Tap`: it is recorded, then filtered, then a handler is
// asked. A tap that an engine adds has an enumerator here, an entry in TAPS of
// generate/trampolines.py, and a function for each of its events that the trampolines call while
// the `EventScope` lasts.
#pragma once

#include <jvmti.h>

#include <atomic>

namespace jvmti {

struct StreamLink;

constexpr int kFirstEvent = JVMTI_MIN_EVENT_TYPE_VAL;
constexpr int kEventCount = JVMTI_MAX_EVENT_TYPE_VAL - JVMTI_MIN_EVENT_TYPE_VAL + 1;

// Streams record without entering the environment and are on where the list has some.
enum class Tap : uint32_t {
  kStops = 1,   // breakpoints and the like look at it, and may stop the thread
  kHandler = 2  // a handler of the controller's answers it
};

struct EventTaps {
  std::atomic<StreamLink*> streams;  // those that it is recorded in
  std::atomic<uint32_t> bits;        // the other taps that are on
  std::atomic<bool> own_work;        // the handler is asked also where our own work causes it
  std::atomic<int64_t> limit;        // how long it may take, in milliseconds; -1 is for ever

  bool on(Tap tap) const { return (bits & static_cast<uint32_t>(tap)) != 0; }
  void set(Tap tap, bool wanted) {
    if (wanted) {
      bits |= static_cast<uint32_t>(tap);
    } else {
      bits &= ~static_cast<uint32_t>(tap);
    }
  }
  void clear() {
    streams = nullptr;
    bits = 0;
    own_work = false;
    limit = -1;
  }
};

}  // namespace jvmti
