// Redefinition and retransformation take turns.
#pragma once

#include "base/lock.h"

namespace jvmti {

inline Turn changing_classes;

// HotSpot takes the class file of a class that is to be retransformed without a lock. If another
// thread redefines the class meanwhile, that file is freed, and hooks are shown whatever is there
// by then. A hook whose handler waits for another change must not stop both for good, so nobody
// waits for ever.
class ClassChange {
 public:
  ClassChange() : has_turn_(changing_classes.take_within(kLongest)) {}
  ~ClassChange() {
    if (has_turn_) changing_classes.give_back();
  }
  ClassChange(const ClassChange&) = delete;
  ClassChange& operator=(const ClassChange&) = delete;

 private:
  static constexpr int kLongest = 2000;  // milliseconds
  const bool has_turn_;
};

}  // namespace jvmti
