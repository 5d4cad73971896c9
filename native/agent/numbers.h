// What has a number in a stream already: found without a lock, by every event.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace jvmti {

// From a 64-bit key to a 64-bit value; 0 stands for "absent" in both.  Adding takes a lock of the
// owner's.  A table that was outgrown stays until the end, because a reader may be in it.
class Numbers {
 public:
  Numbers() = default;
  ~Numbers() {
    for (Table* one = table_of(table_.load()); one != nullptr;) {
      Table* older = one->older;
      std::free(one);
      one = older;
    }
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  static uint64_t mix(uint64_t key) {
    key *= 0x9E3779B97F4A7C15u;
    return key ^ key >> 32;
  }

  uint64_t find(uint64_t key) const {
    uint64_t table = table_.load(std::memory_order_acquire);
    if (table == 0) return 0;
    uint64_t mask = mask_of(table);
    Slot* slots = table_of(table)->slots();
    for (uint64_t i = mix(key);; ++i) {
      Slot& slot = slots[i & mask];
      uint64_t there = slot.key.load(std::memory_order_acquire);
      if (there == key) return slot.value.load(std::memory_order_acquire);
      if (there == 0) return 0;
    }
  }
  // Adds or changes.
  bool put(uint64_t key, uint64_t value) {
    uint64_t table = table_.load();
    if (table == 0 || size_ * 2 > mask_of(table)) {
      if (!grow(table)) return false;
      table = table_.load();
    }
    if (place(table, key, value)) ++size_;
    return true;
  }

 private:
  struct Slot {
    std::atomic<uint64_t> key;
    std::atomic<uint64_t> value;
  };
  struct alignas(64) Table {
    Table* older;
    Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
  };
  // The table's address and, in the bits that its alignment leaves free, how large it is: one load
  // less for every event.
  static Table* table_of(uint64_t table) {
    return reinterpret_cast<Table*>(table & ~uint64_t{63});
  }
  static uint64_t mask_of(uint64_t table) { return (uint64_t{1} << (table & 63)) - 1; }
  // True for a key that was not there.
  static bool place(uint64_t table, uint64_t key, uint64_t value) {
    Slot* slots = table_of(table)->slots();
    for (uint64_t i = mix(key);; ++i) {
      Slot& slot = slots[i & mask_of(table)];
      uint64_t there = slot.key.load();
      if (there != 0 && there != key) continue;
      slot.value.store(value, std::memory_order_release);
      slot.key.store(key, std::memory_order_release);
      return there == 0;
    }
  }
  bool grow(uint64_t old) {
    uint64_t bits = old == 0 ? 8 : (old & 63) + 1;
    size_t size = sizeof(Table) + (size_t{1} << bits) * sizeof(Slot);
    void* memory = nullptr;
    if (posix_memalign(&memory, alignof(Table), size) != 0) return false;
    std::memset(memory, 0, size);
    Table* made = static_cast<Table*>(memory);
    made->older = table_of(old);
    uint64_t table = reinterpret_cast<uint64_t>(made) | bits;
    for (uint64_t i = 0; old != 0 && i <= mask_of(old); ++i) {
      Slot& slot = made->older->slots()[i];
      if (slot.key.load() != 0) place(table, slot.key.load(), slot.value.load());
    }
    table_.store(table, std::memory_order_release);
    return true;
  }

  std::atomic<uint64_t> table_{0};
  uint64_t size_ = 0;
};

}  // namespace jvmti
