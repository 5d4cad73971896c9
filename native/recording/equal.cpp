// Values and rows that are equal have one number.

#include <cstring>

#include "base/containers.h"
#include "jvmti_recording.h"

using jvmti::Array;
using jvmti::Index;

namespace {

// A table from rows to the numbers of those that are equal; the caller compares.
class Numbers {
 public:
  [[nodiscard]] bool allocate(uint64_t rows) {
    uint64_t room = 64;
    while (room < 2 * rows) room *= 2;
    last_ = room - 1;
    return rows < UINT32_MAX / 2 && slots_.allocate(room);
  }

  // The number of the row that `equals` finds equal, or the next number.
  template <class Equals>
  uint32_t of(uint64_t hash, uint32_t next, Equals equals) {
    hash *= 0x9E3779B97F4A7C15u;
    for (uint64_t at = hash ^ hash >> 32;; ++at) {
      Slot& slot = slots_[at & last_];
      uint32_t tag = static_cast<uint32_t>(hash >> 32);
      if (slot.number == 0) {
        slot = Slot{tag, next + 1};
        return next;
      }
      if (slot.tag == tag && equals(slot.number - 1)) return slot.number - 1;
    }
  }

 private:
  struct Slot {
    uint32_t tag;
    uint32_t number;  // plus 1
  };
  Array<Slot> slots_;
  uint64_t last_ = 0;
};

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xFF51AFD7ED558CCDu;
  return hash ^ hash >> 29;
}

}  // namespace

int32_t jvmti_recording_dense(const int64_t* values, uint64_t count, int32_t* numbers,
                              int64_t* different, uint64_t* distinct) {
  // Most are few, so the table begins small.
  Index known;
  uint32_t next = 0;
  int64_t last = 0;
  uint32_t number = 0;  // of the last, plus 1
  for (uint64_t row = 0; row < count; ++row) {
    if (number == 0 || values[row] != last) {
      last = values[row];
      number = known.find(static_cast<uint64_t>(last));
      if (number == 0) {
        different[next++] = last;
        number = next;
        if (!known.insert(static_cast<uint64_t>(last), number)) {
          return JVMTI_RECORDING_OUT_OF_MEMORY;
        }
      }
    }
    numbers[row] = static_cast<int32_t>(number - 1);
  }
  *distinct = next;
  return JVMTI_RECORDING_OK;
}

int32_t jvmti_recording_distinct(const int64_t* columns, uint64_t count, uint64_t fields,
                                 int32_t* numbers, int32_t* first, uint64_t* distinct) {
  Numbers known;
  if (!known.allocate(count)) return JVMTI_RECORDING_OUT_OF_MEMORY;
  uint32_t next = 0;
  for (uint64_t row = 0; row < count; ++row) {
    uint64_t hash = 0;
    for (uint64_t one = 0; one < fields; ++one) {
      hash = mixed(hash, static_cast<uint64_t>(columns[one * count + row]));
    }
    uint32_t number = known.of(hash, next, [&](uint32_t other) {
      for (uint64_t one = 0; one < fields; ++one) {
        const int64_t* column = columns + one * count;
        if (column[row] != column[first[other]]) return false;
      }
      return true;
    });
    if (number == next) first[next++] = static_cast<int32_t>(row);
    numbers[row] = static_cast<int32_t>(number);
  }
  *distinct = next;
  return JVMTI_RECORDING_OK;
}

int32_t jvmti_recording_distinct_stacks(const int64_t* offsets, uint64_t count,
                                        const int32_t* frames, uint64_t frame_count,
                                        int32_t* numbers, int32_t* first, uint64_t* distinct) {
  for (uint64_t row = 0; row <= count; ++row) {
    uint64_t offset = static_cast<uint64_t>(offsets[row]);
    if (offset > frame_count || (row > 0 && offsets[row] < offsets[row - 1])) {
      return JVMTI_RECORDING_BAD_ARGUMENT;
    }
  }
  Numbers known;
  if (!known.allocate(count)) return JVMTI_RECORDING_OUT_OF_MEMORY;
  uint32_t next = 0;
  for (uint64_t row = 0; row < count; ++row) {
    const int32_t* here = frames + offsets[row];
    uint64_t depth = static_cast<uint64_t>(offsets[row + 1] - offsets[row]);
    uint64_t hash = depth;
    for (uint64_t i = 0; i < depth; ++i) hash = mixed(hash, static_cast<uint32_t>(here[i]));
    uint32_t number = known.of(hash, next, [&](uint32_t other) {
      uint64_t place = static_cast<uint64_t>(first[other]);
      return static_cast<uint64_t>(offsets[place + 1] - offsets[place]) == depth &&
             std::memcmp(frames + offsets[place], here, depth * sizeof *here) == 0;
    });
    if (number == next) first[next++] = static_cast<int32_t>(row);
    numbers[row] = static_cast<int32_t>(number);
  }
  *distinct = next;
  return JVMTI_RECORDING_OK;
}
