// What a session knows of its passes over the heap.  What a pass tags is in an environment of its
// own and goes with it, so there is nothing to take back: one that is going on is ended.
#pragma once

#include <atomic>
#include <cstdint>

namespace jvmti {

struct HeapPasses {
  std::atomic<bool> cancelled{false};
  std::atomic<uint64_t> made{0};
  std::atomic<uint64_t> stopped{0};  // nanoseconds that the VM was stopped for them
};

}  // namespace jvmti
