// Numbers of a recording, and fields of other forms.
#pragma once

#include <cstdint>

namespace jvmti::recording {

// Reads on from a place, never past the end.
class Reader {
 public:
  Reader(const void* data, uint64_t size, uint64_t at)
      : data_(static_cast<const uint8_t*>(data)),
        at_(data_ + (at < size ? at : size)),
        end_(data_ + size) {}

  uint64_t position() const { return static_cast<uint64_t>(at_ - data_); }
  uint64_t left() const { return static_cast<uint64_t>(end_ - at_); }

  bool number(uint64_t* value) {
    if (at_ == end_) return false;
    uint64_t byte = *at_++;
    if (byte < 0x80) {
      *value = byte;
      return true;
    }
    uint64_t found = byte & 0x7F;
    for (int shift = 7; shift < 56; shift += 7) {
      if (at_ == end_) return false;
      byte = *at_++;
      found |= (byte & 0x7F) << shift;
      if (byte < 0x80) {
        *value = found;
        return true;
      }
    }
    if (at_ == end_) return false;
    *value = found | static_cast<uint64_t>(*at_++) << 56;
    return true;
  }

  bool skip(uint64_t bytes) {
    if (bytes > left()) return false;
    at_ += bytes;
    return true;
  }

  bool byte(uint8_t* value) {
    if (at_ == end_) return false;
    *value = *at_++;
    return true;
  }

  // A field of a form that has a column; see jvmti_recording.h.
  bool field(char form, int64_t* value) {
    uint64_t number_ = 0;
    uint8_t byte_ = 0;
    bool good = false;
    switch (form) {
      case 'n':
        good = number(&number_);
        *value = static_cast<int64_t>(number_);
        return good;
      case 'b':
        good = byte(&byte_);
        *value = byte_;
        return good;
      case 't':
        *value = static_cast<int64_t>(position());
        return skip_text();
      default:
        *value = 0;
        return skip(form == 'f' ? 4 : 8);
    }
  }

 private:
  bool skip_text() {
    uint8_t encoding = 0;
    uint64_t length = 0;
    if (!byte(&encoding) || encoding > 5) return false;
    if (encoding < 2) return true;  // none, or empty
    if (!number(&length)) return false;
    if (encoding == 2) return true;  // that was the number of a constant
    if (encoding != 4) return skip(length);
    for (uint64_t i = 0, unit = 0; i < length; ++i) {
      if (!number(&unit)) return false;
    }
    return true;
  }

  const uint8_t* data_;
  const uint8_t* at_;
  const uint8_t* end_;
};

inline bool is_form(const char* form, uint64_t fields) {
  for (uint64_t i = 0; i < fields; ++i) {
    char one = form[i];
    if (one != 'n' && one != 'b' && one != 'f' && one != 'd' && one != 's' && one != 't')
      return false;
  }
  return true;
}

}  // namespace jvmti::recording
