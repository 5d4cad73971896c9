// Redefinition, retransformation and breakpoints take turns.
#pragma once

#include <pthread.h>

#include <atomic>

#include "base/lock.h"

namespace jvmti {

inline Turn changing_classes;
inline std::atomic<pthread_t> class_changer{};  // whose turn it is

// HotSpot takes the class file of a class that is to be retransformed without a lock. If another
// thread redefines the class meanwhile, that file is freed, and hooks are shown whatever is there
// by then. In the same way it takes the method of a breakpoint, and writes into it at a later
// safepoint: by then a redefinition may have freed it, and the VM crashes. A hook whose handler
// waits for another change must not stop both for good, so nobody waits for ever; what a handler
// does on the thread whose turn it is, belongs to the turn.
class ClassChange {
 public:
  explicit ClassChange(int longest = 2000)
      : is_nested_(class_changer.load() == pthread_self()),
        took_turn_(!is_nested_ && changing_classes.take_within(longest)) {
    if (took_turn_) class_changer = pthread_self();
  }
  ~ClassChange() {
    if (!took_turn_) return;
    class_changer = pthread_t{};
    changing_classes.give_back();
  }
  ClassChange(const ClassChange&) = delete;
  ClassChange& operator=(const ClassChange&) = delete;

  // False when the time, in milliseconds, ran out.
  bool has_turn() const { return is_nested_ || took_turn_; }

 private:
  const bool is_nested_;
  const bool took_turn_;
};

}  // namespace jvmti
