#include "agent/engines/profiling/trace_table.h"

#include <sys/mman.h>

#include <cstring>

#include "base/address_space.h"
#include "base/intern_table.h"

namespace jvmti {

namespace {

uint64_t key_of(const StackFrame* frames, uint32_t count) {
  uint64_t key = count;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t frame =
        reinterpret_cast<uint64_t>(frames[i].method) +
        static_cast<uint64_t>(static_cast<uint32_t>(frames[i].location)) * 0x9E3779B97F4A7C15u;
    key = InternTable::mix(key * 0xD6E8FEB86659FD93u + frame);
  }
  return key == 0 ? 1 : key;
}

}  // namespace

bool TraceTable::allocate() {
  slots_ = reserve<Slot>(kTraces);
  frames_ = reserve<StackFrame>(kFrames);
  return slots_ != nullptr && frames_ != nullptr;
}

TraceTable::~TraceTable() {
  if (slots_ != nullptr) munmap(slots_, kTraces * sizeof(Slot));
  if (frames_ != nullptr) munmap(frames_, kFrames * sizeof(StackFrame));
}

uint32_t TraceTable::add(const StackFrame* frames, uint32_t count) {
  uint64_t key = key_of(frames, count);
  for (uint32_t i = 0; i < kLongestSearch; ++i) {
    uint32_t number = static_cast<uint32_t>(key + i) & (kTraces - 1);
    Slot& slot = slots_[number];
    // A read before it would have the kernel give the page twice, and stop all processors for it.
    uint64_t there = 0;
    if (slot.key.compare_exchange_strong(there, key)) {
      uint64_t start = used_.fetch_add(count, std::memory_order_relaxed);
      if (start + count > kFrames) {
        slot.place.store(kNoSpace, std::memory_order_release);
        return kNone;
      }
      std::memcpy(frames_ + start, frames, count * sizeof(StackFrame));
      slot.place.store(start << kCountBits | count, std::memory_order_release);
      return number;
    }
    if (there != key) continue;
    return slot.place.load(std::memory_order_acquire) == kNoSpace ? kNone : number;
  }
  return kNone;
}

bool TraceTable::read(uint32_t trace, const StackFrame** frames, uint32_t* count) const {
  uint64_t place = slots_[trace].place.load(std::memory_order_acquire);
  if (place == 0 || place == kNoSpace) return false;
  *frames = frames_ + (place >> kCountBits);
  *count = static_cast<uint32_t>(place & ((1 << kCountBits) - 1));
  return true;
}

}  // namespace jvmti
