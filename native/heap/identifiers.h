// From the address of an object to its index.
//
// Objects are numbered in the order of the file.  A bitmap of their addresses with the number of
// bits before each word gives the rank of an address without hashing: one cache line and a
// population count.  Where records come in the order of addresses the rank is the index; where
// they do not (parallel dumps) a table leads from one to the other.  Addresses that are spread
// absurdly wide, as in a corrupt file, are sorted instead, and searched.
#pragma once

#include <cstdint>

#include "memory.h"

namespace jvmti {
namespace heap {

inline uint32_t population(uint64_t bits) {
#if defined(__aarch64__)
  return static_cast<uint32_t>(__builtin_popcountll(bits));
#else
  // The oldest x86-64 has no instruction for it, and this is as fast as the memory behind it.
  bits -= (bits >> 1) & UINT64_C(0x5555555555555555);
  bits = (bits & UINT64_C(0x3333333333333333)) + ((bits >> 2) & UINT64_C(0x3333333333333333));
  bits = (bits + (bits >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
  return static_cast<uint32_t>((bits * UINT64_C(0x0101010101010101)) >> 56);
#endif
}

class Identifiers {
 public:
  static constexpr uint32_t kAbsent = 0xFFFFFFFFu;

  // ids has `count` addresses, of which `bits` are all bits that any has; the first one's index
  // is `first`.  `most` is how many bytes the bitmap may take.  False without memory.
  bool build(const uint64_t* ids, uint64_t count, uint64_t bits, uint32_t first, uint64_t most);

  void prefetch(uint64_t id) const {
    uint64_t unit = (id - base_) >> shift_ >> 6;
    if (unit < units_) __builtin_prefetch(&map_[unit]);
  }
  uint32_t find(uint64_t id) const {
    uint64_t granule = (id - base_) >> shift_;
    uint64_t unit = granule >> 6;
    if (unit < units_) {
      const Unit& here = map_[unit];
      uint64_t bit = UINT64_C(1) << (granule & 63);
      if ((here.bits & bit) == 0 || ((id - base_) & low_) != 0) return kAbsent;
      uint64_t rank = here.before + population(here.bits & (bit - 1));
      return first_ + (in_order_ ? static_cast<uint32_t>(rank) : order_[rank]);
    }
    return sorted_.size() == 0 ? kAbsent : search(id);
  }
  // The distance from an object to the next one, 0 where that is not known.
  uint64_t gap(uint64_t id) const;

  bool in_order() const { return in_order_; }
  uint64_t duplicates() const { return duplicates_; }
  uint32_t alignment() const { return 1u << (shift_ > 12 ? 12 : shift_); }

 private:
  struct Unit {
    uint64_t bits;
    uint64_t before;
  };
  struct Pair {
    uint64_t id;
    uint32_t index;
  };
  uint64_t place(uint64_t id) const;
  uint32_t search(uint64_t id) const;
  bool sort(const uint64_t* ids, uint64_t count);

  uint64_t base_ = 0;
  uint32_t shift_ = 0;
  uint64_t low_ = 0;
  uint64_t units_ = 0;
  uint32_t first_ = 0;
  bool in_order_ = true;
  uint64_t duplicates_ = 0;
  Pages<Unit> map_;
  Pages<uint32_t> order_;
  Pages<Pair> sorted_;
};

}  // namespace heap
}  // namespace jvmti
