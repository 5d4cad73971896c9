// Distinct stacks, each with a number, without locks: a signal handler adds to it.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <cstdint>

#include "base/no_copy.h"

namespace jvmti {

// A frame as AsyncGetCallTrace writes it.
struct StackFrame {
  static constexpr jint kNativeMethod = -3;
  static constexpr jint kNoMethod = -1000000;  // `method` is a number of `CodeNames`

  // One that JVM TI has found.
  static StackFrame of(const jvmtiFrameInfo& frame) {
    return StackFrame{frame.location < 0 ? kNativeMethod : static_cast<jint>(frame.location),
                      frame.method};
  }

  jint location;  // the bytecode index
  jmethodID method;
};

class TraceTable : NoCopy {
 public:
  static constexpr uint32_t kTraces = 1 << 18;
  static constexpr uint64_t kFrames = 1 << 22;

  ~TraceTable();
  // False without memory, of which only what is used is taken.
  [[nodiscard]] bool allocate();
  // The number of a stack, below `kTraces`; `kNone` where there is no space left.
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t add(const StackFrame* frames, uint32_t count);
  // The frames of a stack; false while it is being written, or where it found no space.
  bool read(uint32_t trace, const StackFrame** frames, uint32_t* count) const;

 private:
  // The key comes first, so that a stack has its number before its frames are written.
  struct Slot {
    std::atomic<uint64_t> key;
    std::atomic<uint64_t> place;  // where its frames begin, and how many there are; 0 until then
  };
  static constexpr uint64_t kNoSpace = ~uint64_t{0};
  static constexpr int kCountBits = 16;
  static constexpr uint32_t kLongestSearch = 64;

  Slot* slots_ = nullptr;
  StackFrame* frames_ = nullptr;
  std::atomic<uint64_t> used_{0};
};

}  // namespace jvmti
