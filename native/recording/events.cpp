// Places of events: each event begins with its size and its type, so that they are a chain.

#include "fields.h"
#include "jvmti_recording.h"

using jvmti::recording::Reader;

namespace {

// Finds the place of a type among those that are wanted: most numbers are below 4096.
class Wanted {
 public:
  static constexpr uint64_t kNone = 255;
  static constexpr uint64_t kMost = kNone;

  Wanted(const int64_t* types, uint64_t count) : types_(types), count_(count) {
    for (uint8_t& one : small_) one = kNone;
    for (uint64_t i = count; i > 0; --i) {
      uint64_t type = static_cast<uint64_t>(types[i - 1]);
      if (type < kSmall) small_[type] = static_cast<uint8_t>(i - 1);
    }
  }

  uint64_t place(uint64_t type) const {
    if (type < kSmall) return small_[type];
    for (uint64_t i = 0; i < count_; ++i) {
      if (static_cast<uint64_t>(types_[i]) == type) return i;
    }
    return kNone;
  }

 private:
  static constexpr uint64_t kSmall = 4096;
  const int64_t* types_;
  uint64_t count_;
  uint8_t small_[kSmall];
};

template <class Found>
int32_t follow(const void* data, uint64_t size, uint64_t begin, const int64_t* types,
               uint64_t type_count, Found found) {
  if (begin > size || type_count >= Wanted::kMost) return JVMTI_RECORDING_BAD_ARGUMENT;
  Wanted wanted(types, type_count);
  for (uint64_t at = begin; at < size;) {
    Reader reader(data, size, at);
    uint64_t length = 0;
    uint64_t type = 0;
    if (!reader.number(&length) || length > size - at || !reader.number(&type) ||
        reader.position() - at > length) {
      return JVMTI_RECORDING_DAMAGED;
    }
    uint64_t place = wanted.place(type);
    if (place != Wanted::kNone && !found(place, reader.position())) {
      return JVMTI_RECORDING_BAD_ARGUMENT;
    }
    at += length;
  }
  return JVMTI_RECORDING_OK;
}

}  // namespace

int32_t jvmti_recording_count(const void* data, uint64_t size, uint64_t begin, const int64_t* types,
                              uint64_t type_count, uint64_t* counts) {
  for (uint64_t i = 0; i < type_count; ++i) counts[i] = 0;
  return follow(data, size, begin, types, type_count, [&](uint64_t place, uint64_t) {
    ++counts[place];
    return true;
  });
}

int32_t jvmti_recording_places(const void* data, uint64_t size, uint64_t begin,
                               const int64_t* types, uint64_t type_count, const uint64_t* counts,
                               int64_t* places) {
  int64_t* next[Wanted::kMost];
  int64_t* ends[Wanted::kMost];
  if (type_count >= Wanted::kMost) return JVMTI_RECORDING_BAD_ARGUMENT;
  for (uint64_t i = 0; i < type_count; ++i) {
    next[i] = places;
    places += counts[i];
    ends[i] = places;
  }
  return follow(data, size, begin, types, type_count, [&](uint64_t place, uint64_t position) {
    if (next[place] == ends[place]) return false;
    *next[place]++ = static_cast<int64_t>(position);
    return true;
  });
}
