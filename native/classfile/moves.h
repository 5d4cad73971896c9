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
  // `near` is where the one before was found, from 0 on; those who ask go through the code from its
  // beginning to its end, mostly.
  uint32_t target(uint32_t at, size_t* near) const {
    const Move& one = found(at, near);
    return at == one.at ? one.target : one.place + (at - one.at);
  }
  // Of what is behind the code.
  uint32_t end() const { return moves_[moves_.size() - 1].target; }
  // Whether nothing was put between two instructions.
  bool together(uint32_t one, uint32_t other, size_t* near) const {
    const Move& move = found(one, near);
    return holds(*near, other) && (other != move.at || move.target == move.place);
  }
  uint32_t place(uint32_t at, size_t* near) const {
    const Move& one = found(at, near);
    return one.place + (at - one.at);
  }
  uint32_t place(uint32_t at) const {
    size_t near = 0;
    return place(at, &near);
  }

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
  // The instruction itself; -1 for what was put between.
  static int64_t original(const Move* moves, size_t count, uint32_t place) {
    uint32_t at = before(moves, count, place);
    if (count == 0) return at;
    size_t low = 0;
    for (size_t high = count; high - low > 1;) {
      size_t middle = (low + high) / 2;
      (moves[middle].target <= place ? low : high) = middle;
    }
    return place < moves[low].place ? -1 : int64_t{at};
  }

 private:
  bool holds(size_t index, uint32_t at) const {
    return moves_[index].at <= at && (index + 1 == moves_.size() || at < moves_[index + 1].at);
  }
  const Move& found(uint32_t at, size_t* near) const {
    if (holds(*near, at)) return moves_[*near];
    if (*near + 1 < moves_.size() && holds(*near + 1, at)) return moves_[++*near];
    size_t low = 0;
    for (size_t high = moves_.size(); high - low > 1;) {
      size_t middle = (low + high) / 2;
      (moves_[middle].at <= at ? low : high) = middle;
    }
    *near = low;
    return moves_[low];
  }

  Vector<Move> moves_;
};

}  // namespace jvmti::classfile
