// What has a number in a stream already: found without a lock, by every event.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/no_copy.h"

namespace jvmti {

// From a 64-bit key to a 64-bit value; 0 stands for "absent" in both.  A key is found by its upper
// half, which must be as good as random: `key_of` makes such a key of any number.  Adding takes a
// lock of the owner's.  A table that was outgrown stays until the end, because a reader may be in
// it.
class InternTable : NoCopy {
 public:
  InternTable() = default;
  ~InternTable() {
    for (Table* one = table_.load(); one != &empty_.table;) {
      Table* older = one->older;
      std::free(one);
      one = older;
    }
  }

  // Another key for each number but 0.
  static uint64_t key_of(uint64_t number) { return number * 0x9E3779B97F4A7C15u; }
  static uint64_t mix(uint64_t key) {
    key = key_of(key);
    return key ^ key >> 32;
  }

  uint64_t find(uint64_t key) const {
    // Most are in their first slot.  How large the table is, is taken first: with a table that was
    // outgrown in between, another slot is looked at, which is in it as well.
    uint64_t last = last_.load(std::memory_order_acquire);
    Table* table = table_.load(std::memory_order_acquire);
    Slot& first = table->slot(first_of(key) & last);
    if (__builtin_expect(first.key.load(std::memory_order_acquire) == key, true)) {
      return value_of(first);
    }
    for (uint64_t at = first_of(key);; at += sizeof(Slot)) {
      Slot& slot = table->slot(at & table->last);
      uint64_t there = slot.key.load(std::memory_order_acquire);
      if (there == key) return value_of(slot);
      if (there == 0) return 0;
    }
  }
  // Adds or changes.
  bool put(uint64_t key, uint64_t value) {
    Table* table = table_.load();
    if ((size_ + 1) * 2 > table->last / sizeof(Slot) + 1 && find(key) == 0) {
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
    uint64_t last;  // bytes from the first slot to the last
    Slot& slot(uint64_t at) {
      return *reinterpret_cast<Slot*>(reinterpret_cast<uint8_t*>(this + 1) + at);
    }
  };
  static constexpr int kSlotBits = 4;
  static_assert(sizeof(Slot) == 1 << kSlotBits);
  // Where the slots of a key begin, in bytes; the table cuts off what is too much.
  static uint64_t first_of(uint64_t key) { return key >> (32 - kSlotBits); }
  static uint64_t value_of(const Slot& slot) {
    uint64_t value = slot.value.load(std::memory_order_acquire);
    if (value == 0) __builtin_unreachable();
    return value;
  }
  // True for a key that was not there.
  static bool place(Table* table, uint64_t key, uint64_t value) {
    for (uint64_t at = first_of(key);; at += sizeof(Slot)) {
      Slot& slot = table->slot(at & table->last);
      uint64_t there = slot.key.load();
      if (there != 0 && there != key) continue;
      slot.value.store(value, std::memory_order_release);
      slot.key.store(key, std::memory_order_release);
      return there == 0;
    }
  }
  bool grow(Table* old) {
    size_t count = old == &empty_.table ? 256 : (old->last / sizeof(Slot) + 1) * 2;
    size_t size = sizeof(Table) + count * sizeof(Slot);
    void* memory = nullptr;
    if (posix_memalign(&memory, alignof(Table), size) != 0) return false;
    std::memset(memory, 0, size);
    Table* made = static_cast<Table*>(memory);
    made->older = old;
    made->last = (count - 1) * sizeof(Slot);
    for (uint64_t at = 0; at <= old->last; at += sizeof(Slot)) {
      Slot& slot = old->slot(at);
      if (slot.key.load() != 0) place(made, slot.key.load(), slot.value.load());
    }
    table_.store(made, std::memory_order_release);
    last_.store(made->last, std::memory_order_release);
    return true;
  }

  // The table of every new instance, so that `table_` is never null.
  struct Empty {
    Table table;
    Slot slot;
  };
  static Empty empty_;
  std::atomic<Table*> table_{&empty_.table};
  std::atomic<uint64_t> last_{0};  // of the table, or of an earlier one
  uint64_t size_ = 0;
};

inline InternTable::Empty InternTable::empty_{};

}  // namespace jvmti
