#include "identifiers.h"

namespace jvmti {
namespace heap {

bool Identifiers::build(const uint64_t* ids, uint64_t count, uint64_t bits, uint32_t first,
                        uint64_t most) {
  first_ = first;
  if (count == 0) return true;
  uint64_t least = ids[0];
  uint64_t greatest = ids[0];
  in_order_ = true;
  for (uint64_t i = 1; i < count; ++i) {
    uint64_t id = ids[i];
    in_order_ &= ids[i - 1] < id;
    if (id < least) least = id;
    if (id > greatest) greatest = id;
  }
  base_ = least;
  // The bits of differences are what counts; they are among those of the addresses.
  shift_ = bits == 0 ? 0 : static_cast<uint32_t>(__builtin_ctzll(bits));
  if (shift_ > 12) shift_ = 12;
  low_ = (UINT64_C(1) << shift_) - 1;
  uint64_t units = ((greatest - least) >> shift_ >> 6) + 1;
  if (units > most / sizeof(Unit) || !map_.reserve(units, units < count)) {
    return sort(ids, count);
  }
  units_ = units;
  // A heap may be reserved large and used little.  Pages without bits stay untouched, so that
  // they take no memory and no time.
  constexpr uint64_t kUnits = kPage / sizeof(Unit);
  Pages<uint8_t> used;
  if (!used.reserve(units / kUnits + 1, false)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t granule = (ids[i] - base_) >> shift_;
    map_[granule >> 6].bits |= UINT64_C(1) << (granule & 63);
    used[(granule >> 6) / kUnits] = 1;
  }
  uint64_t rank = 0;
  for (uint64_t page = 0; page <= (units - 1) / kUnits; ++page) {
    if (!used[page]) continue;
    uint64_t end = (page + 1) * kUnits < units ? (page + 1) * kUnits : units;
    for (uint64_t i = page * kUnits; i < end; ++i) {
      map_[i].before = rank;
      rank += population(map_[i].bits);
    }
  }
  duplicates_ = count - rank;
  if (in_order_) return true;
  if (!order_.reserve(rank)) return false;
  for (uint64_t i = count; i-- > 0;) {
    uint64_t granule = (ids[i] - base_) >> shift_;
    const Unit& unit = map_[granule >> 6];
    uint64_t bit = UINT64_C(1) << (granule & 63);
    order_[unit.before + population(unit.bits & (bit - 1))] = static_cast<uint32_t>(i);
  }
  return true;
}

// Least significant byte first, so that equal addresses stay in the order of the file.
bool Identifiers::sort(const uint64_t* ids, uint64_t count) {
  Pages<Pair> other;
  if (!sorted_.reserve(count) || !other.reserve(count)) return false;
  for (uint64_t i = 0; i < count; ++i) sorted_[i] = Pair{ids[i], static_cast<uint32_t>(i)};
  Pair* from = sorted_.data();
  Pair* to = other.data();
  for (uint32_t byte = 0; byte < 64; byte += 8) {
    uint64_t starts[257] = {};
    for (uint64_t i = 0; i < count; ++i) ++starts[((from[i].id >> byte) & 255) + 1];
    for (uint32_t i = 0; i < 256; ++i) starts[i + 1] += starts[i];
    for (uint64_t i = 0; i < count; ++i) to[starts[(from[i].id >> byte) & 255]++] = from[i];
    Pair* done = to;
    to = from;
    from = done;
  }
  // Eight rounds: the result is where it began.
  for (uint64_t i = 1; i < count; ++i) duplicates_ += sorted_[i].id == sorted_[i - 1].id;
  in_order_ = false;
  return true;
}

uint64_t Identifiers::place(uint64_t id) const {
  uint64_t low = 0;
  uint64_t high = sorted_.size();
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (sorted_[middle].id < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint32_t Identifiers::search(uint64_t id) const {
  uint64_t at = place(id);
  return at < sorted_.size() && sorted_[at].id == id ? first_ + sorted_[at].index : kAbsent;
}

uint64_t Identifiers::gap(uint64_t id) const {
  if (units_ == 0) {
    uint64_t at = place(id);
    return at + 1 < sorted_.size() ? sorted_[at + 1].id - id : 0;
  }
  uint64_t granule = (id - base_) >> shift_;
  uint64_t unit = granule >> 6;
  if (unit >= units_) return 0;
  uint64_t above = map_[unit].bits >> (granule & 63) >> 1;
  if (above != 0) return (UINT64_C(1) + static_cast<uint64_t>(__builtin_ctzll(above))) << shift_;
  // Far ones say nothing about the size of a small object, and large ones are computed.
  for (uint64_t next = unit + 1; next < units_ && next < unit + 64; ++next) {
    if (map_[next].bits == 0) continue;
    uint64_t found = next * 64 + static_cast<uint64_t>(__builtin_ctzll(map_[next].bits));
    return (found - granule) << shift_;
  }
  return 0;
}

}  // namespace heap
}  // namespace jvmti
