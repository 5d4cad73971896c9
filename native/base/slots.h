// A table of slots behind handles: an item is found by its whole handle, so that one whose slot has
// been used again names nothing.  Its owner's lock is held for every use.
#pragma once

#include "base/containers.h"

namespace jvmti {

// A handle is a table index (low 32 bits), a generation (24 bits) and a kind (high 8 bits).
constexpr uint64_t make_handle(uint8_t kind, uint32_t generation, uint32_t index) {
  return static_cast<uint64_t>(kind) << 56 | static_cast<uint64_t>(generation & 0xFFFFFF) << 32 |
         index;
}
constexpr uint8_t kind_of(uint64_t handle) { return static_cast<uint8_t>(handle >> 56); }
constexpr uint32_t index_of(uint64_t handle) { return static_cast<uint32_t>(handle); }

template <class Item>
class Slots {
 public:
  // The handle, or 0 without memory.
  uint64_t insert(uint8_t kind, const Item& item) {
    uint32_t index = static_cast<uint32_t>(slots_.size());
    if (!free_.empty()) {
      index = free_.pop();
    } else if (!slots_.push(Slot{}) || !free_.reserve(slots_.capacity())) {
      return 0;
    }
    Slot& slot = slots_[index];
    slot.generation = (slot.generation + 1) & 0xFFFFFF;
    slot.handle = make_handle(kind, slot.generation, index);
    slot.item = item;
    ++live_;
    return slot.handle;
  }
  // Null for a handle that is stale or wrong.
  Item* find(uint64_t handle) {
    uint32_t index = index_of(handle);
    return index < slots_.size() && handle != 0 && slots_[index].handle == handle
               ? &slots_[index].item
               : nullptr;
  }
  // Of a handle that is found.
  Item remove(uint64_t handle) {
    Slot& slot = slots_[index_of(handle)];
    slot.handle = 0;
    --live_;
    free_.put(index_of(handle));
    return slot.item;
  }
  template <class Visit>
  void each(Visit visit) {
    for (Slot& slot : slots_) {
      if (slot.handle != 0) visit(slot.handle, slot.item);
    }
  }
  size_t live() const { return live_; }

 private:
  struct Slot {
    uint64_t handle;  // 0 where it is free
    uint32_t generation;
    Item item;
  };
  Vector<Slot> slots_;
  Vector<uint32_t> free_;
  size_t live_ = 0;
};

}  // namespace jvmti
