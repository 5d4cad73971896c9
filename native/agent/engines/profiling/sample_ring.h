// Samples on their way from those who take them to the one who reads them, without locks: a signal
// handler writes here.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "base/address_space.h"
#include "base/no_copy.h"

namespace jvmti {

struct Sample {
  int64_t time;     // nanoseconds since the epoch
  int64_t weight;   // nanoseconds or bytes
  uint32_t trace;   // of the profile's `TraceTable`
  uint32_t thread;  // as the profile numbers it
  uint32_t owner;   // the number of the thread that has the lock, plus 1; 0 if unknown
  uint32_t state;   // of layouts::SampleState
  // The Thread.threadId of a virtual thread that the thread carried, or that has the lock and no
  // number yet; 0: none.
  int64_t virtual_id = 0;
};

class SampleRing : NoCopy {
 public:
  ~SampleRing() {
    if (entries_ != nullptr) munmap(entries_, kSize * sizeof(Entry));
  }
  [[nodiscard]] bool allocate() {
    entries_ = reserve<Entry>(kSize);
    return entries_ != nullptr;
  }
  // False where it is full.
  bool put(const Sample& sample) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      if (head - tail_.load(std::memory_order_acquire) >= kSize) return false;
    } while (!head_.compare_exchange_weak(head, head + 1));
    Entry& entry = entries_[head % kSize];
    entry.sample = sample;
    entry.turn.store(head + 1, std::memory_order_release);
    return true;
  }
  // The next one, by one thread at a time; false where there is none, or it is being written.
  bool take(Sample* sample) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    Entry& entry = entries_[tail % kSize];
    if (entry.turn.load(std::memory_order_acquire) != tail + 1) return false;
    *sample = entry.sample;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

 private:
  static constexpr uint64_t kSize = 1 << 16;
  struct Entry {
    std::atomic<uint64_t> turn;  // one more than the place in the order of all
    Sample sample;
  };
  Entry* entries_ = nullptr;
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace jvmti
