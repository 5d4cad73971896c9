// Messages of Protocol Buffers: their fields, and packed numbers, as columns.

#include "jvmti_recording.h"

namespace {

// Reads on within a range of the data, never past its end.
class Range {
 public:
  Range(const void* data, uint64_t size, int64_t begin, int64_t end)
      : data_(static_cast<const uint8_t*>(data)),
        at_(begin),
        end_(end),
        good_(0 <= begin && begin <= end && static_cast<uint64_t>(end) <= size) {}

  bool good() const { return good_; }
  bool more() const { return at_ < end_; }
  int64_t position() const { return at_; }

  // Ten bytes at most; bits that a number of 64 has no place for are left out.
  bool number(uint64_t* value) {
    uint64_t found = 0;
    for (unsigned shift = 0; shift < 70 && at_ < end_; shift += 7) {
      uint64_t byte = data_[at_++];
      found |= (byte & 0x7F) << shift;
      if (byte < 0x80) {
        *value = found;
        return true;
      }
    }
    return false;
  }

  bool skip(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(end_ - at_)) return false;
    at_ += static_cast<int64_t>(bytes);
    return true;
  }

 private:
  const uint8_t* data_;
  int64_t at_;
  int64_t end_;
  bool good_;
};

struct Field {
  int64_t number;
  int64_t value;
  int64_t end;
  bool is_kept;
};

bool read_field(Range& range, Field* field) {
  uint64_t key = 0;
  uint64_t value = 0;
  if (!range.number(&key) || key >> 3 == 0) return false;
  *field = Field{static_cast<int64_t>(key >> 3), 0, -1, true};
  switch (key & 7) {
    case 0:
      if (!range.number(&value)) return false;
      field->value = static_cast<int64_t>(value);
      return true;
    case 2:
      if (!range.number(&value)) return false;
      field->value = range.position();
      if (!range.skip(value)) return false;
      field->end = range.position();
      return true;
    case 1:
    case 5:
      field->is_kept = false;
      return range.skip((key & 7) == 1 ? 8 : 4);
    default:
      return false;
  }
}

}  // namespace

int32_t jvmti_recording_fields(const void* data, uint64_t size, const int64_t* begins,
                               const int64_t* ends, uint64_t count, uint64_t room, int64_t* columns,
                               uint64_t* found) {
  uint64_t row = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Range range(data, size, begins[i], ends[i]);
    if (!range.good()) return JVMTI_RECORDING_DAMAGED;
    Field field{};
    while (range.more()) {
      if (!read_field(range, &field)) return JVMTI_RECORDING_DAMAGED;
      if (!field.is_kept) continue;
      if (row < room) {
        columns[row] = static_cast<int64_t>(i);
        columns[room + row] = field.number;
        columns[2 * room + row] = field.value;
        columns[3 * room + row] = field.end;
      }
      ++row;
    }
  }
  *found = row;
  return JVMTI_RECORDING_OK;
}

int32_t jvmti_recording_numbers(const void* data, uint64_t size, const int64_t* begins,
                                const int64_t* ends, uint64_t count, uint64_t room,
                                int64_t* columns, uint64_t* found) {
  uint64_t row = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Range range(data, size, begins[i], ends[i]);
    if (!range.good()) return JVMTI_RECORDING_DAMAGED;
    uint64_t value = 0;
    while (range.more()) {
      if (!range.number(&value)) return JVMTI_RECORDING_DAMAGED;
      if (row < room) {
        columns[row] = static_cast<int64_t>(i);
        columns[room + row] = static_cast<int64_t>(value);
      }
      ++row;
    }
  }
  *found = row;
  return JVMTI_RECORDING_OK;
}
