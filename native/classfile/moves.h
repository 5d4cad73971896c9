// Where the instructions of a method are now.
#pragma once

#include "base/containers.h"

namespace jvmti::classfile {

// An instruction moves as far as the one in front of it, unless something was put between them;
// only those where the distance changes are noted.
class Moves {
 public:
  void clear() { moves_.clear(); }
  // In rising order, from 0 on: a jump to `at` goes to `target`, the instruction itself is at
  // `place`. False without memory.
  [[nodiscard]] bool note(uint32_t at, uint32_t target, uint32_t place) {
    if (!moves_.empty() && moves_[moves_.size() - 1].at == at) {
      moves_[moves_.size() - 1].place = place;
      return true;
    }
    return moves_.push({at, target, place});
  }
  // What is asked below needs to be made ready: for code that had this size, and has 65,535 bytes
  // at most. False without memory.
  [[nodiscard]] bool spread(uint32_t size) {
    constexpr uint32_t kWord = 4;
    if (!shifts_.reserve(size + 2 + kWord)) return false;
    uint16_t* shifts = shifts_.begin();
    for (size_t i = 0; i < moves_.size(); ++i) {
      const Move& one = moves_[i];
      uint32_t end = i + 1 < moves_.size() ? moves_[i + 1].at : size + 2;
      // Four at a time; those that are too many are written over.
      uint64_t behind = UINT64_C(0x0001000100010001) * static_cast<uint16_t>(one.place - one.at);
      shifts[one.at] = static_cast<uint16_t>(one.target - one.at);
      for (uint32_t at = one.at + 1; at < end; at += kWord)
        std::memcpy(shifts + at, &behind, sizeof behind);
    }
    size_ = size;
    return true;
  }
  // Where a jump goes to now.
  uint32_t target(uint32_t at) const { return at + shifts_[at]; }
  // Where an instruction of more than one byte is.
  uint32_t place(uint32_t at) const { return at + shifts_[at + 1]; }
  // Of what is behind the code.
  uint32_t end() const { return target(size_); }

  struct Move {
    uint32_t at;
    uint32_t target;
    uint32_t place;
  };
  const Vector<Move>& all() const { return moves_; }
  // Where an instruction, or what was put in front of it, was before; of moves in rising order, the
  // last of which is of the end of the code.
  static uint32_t before(const Move* moves, size_t count, uint32_t place) {
    size_t low = 0;
    for (size_t high = count; high - low > 1;) {
      size_t middle = (low + high) / 2;
      (moves[middle].target <= place ? low : high) = middle;
    }
    if (count == 0) return place;
    const Move& one = moves[low];
    if (low + 1 == count) return one.at;
    return place < one.place ? one.at : one.at + (place - one.place);
  }
  // The instruction itself; -1 for what was put in front of it, behind it, or behind all code.
  static int64_t original(const Move* moves, size_t count, uint32_t place) {
    if (count == 0) return place;
    size_t low = 0;
    for (size_t high = count; high - low > 1;) {
      size_t middle = (low + high) / 2;
      (moves[middle].target <= place ? low : high) = middle;
    }
    const Move& one = moves[low];
    if (low + 1 == count || place < one.place) return -1;
    uint32_t at = one.at + (place - one.place);
    return at < moves[low + 1].at ? int64_t{at} : -1;
  }

 private:
  Vector<Move> moves_;
  Vector<uint16_t> shifts_;  // how far each byte has moved
  uint32_t size_ = 0;
};

}  // namespace jvmti::classfile
