// What travels on a channel: a header, then a payload of packed little-endian values.
// Both are declared in src/jvmti/layouts and src/jvmti/wire/protocol.py, and generated.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/no_copy.h"
#include "generated/layouts.h"
#include "generated/protocol.h"

namespace jvmti {

using layouts::Header;

// Reads a payload; running over its end sets `failed` and yields zeros.
class Reader {
 public:
  Reader() = default;
  Reader(const uint8_t* data, size_t size) : start_(data), at_(data), end_(data + size) {}

  template <class T>
  T number() {
    T value{};
    const uint8_t* from = take(sizeof(T));
    if (from != nullptr) std::memcpy(&value, from, sizeof(T));
    return value;
  }
  const uint8_t* take(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) {
      failed_ = true;
      at_ = end_;
      return nullptr;
    }
    const uint8_t* from = at_;
    at_ += size;
    return from;
  }
  // How many items come, each of at least this many bytes; false where they cannot all be there.
  bool count(uint32_t* items, size_t each) {
    *items = number<uint32_t>();
    if (*items > remaining() / each) failed_ = true;
    return *items <= remaining() / each;
  }
  void rewind() { at_ = start_; }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }

 private:
  const uint8_t* start_ = nullptr;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool failed_ = false;
};

// Builds a payload; a failed allocation sets `failed`.
class Writer : NoCopy {
 public:
  Writer() = default;
  ~Writer() { std::free(data_); }

  template <class T>
  void number(T value) {
    if (reserve(sizeof(T))) {
      std::memcpy(data_ + size_, &value, sizeof(T));
      size_ += sizeof(T);
    }
  }
  void bytes(const void* from, size_t count) {
    if (count != 0 && reserve(count)) {
      std::memcpy(data_ + size_, from, count);
      size_ += count;
    }
  }
  // Room for a value to be filled in later; the offset of it.
  size_t leave(size_t count) {
    size_t at = size_;
    if (reserve(count)) {
      std::memset(data_ + size_, 0, count);
      size_ += count;
    }
    return at;
  }
  template <class T>
  void fill(size_t at, T value) {
    if (!failed_) std::memcpy(data_ + at, &value, sizeof(T));
  }
  void truncate(size_t size) { size_ = size; }
  void swap(Writer& other) {
    Writer kept;
    kept.take(*this);
    take(other);
    other.take(kept);
  }
  void clear() {
    size_ = 0;
    failed_ = exhausted_ = false;
    if (capacity_ > kKeep) {
      std::free(data_);
      data_ = nullptr;
      capacity_ = 0;
    }
  }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool failed() const { return failed_; }
  // There was no memory, where otherwise there is too much for one message.
  bool exhausted() const { return exhausted_; }
  // A handle; `due` says that there is something for it, so that 0 is for want of memory.
  void handle(uint64_t issued, bool due) {
    number(issued);
    if (due && issued == 0) failed_ = exhausted_ = true;
  }

 private:
  void take(Writer& other) {
    data_ = other.data_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    failed_ = other.failed_;
    exhausted_ = other.exhausted_;
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
    other.failed_ = other.exhausted_ = false;
  }
  static constexpr size_t kKeep = 1u << 20;
  bool reserve(size_t count) {
    if (failed_) return false;
    if (size_ + count <= capacity_) return true;
    size_t capacity = capacity_ == 0 ? 256 : capacity_;
    while (capacity < size_ + count) capacity *= 2;
    uint8_t* grown = nullptr;
    if (capacity <= layouts::FrameLimits::kReply) {
      grown = static_cast<uint8_t*>(std::realloc(data_, capacity));
    }
    if (grown == nullptr) {
      exhausted_ = capacity <= layouts::FrameLimits::kReply;
      failed_ = true;
      return false;
    }
    data_ = grown;
    capacity_ = capacity;
    return true;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  bool failed_ = false;
  bool exhausted_ = false;
};

}  // namespace jvmti
