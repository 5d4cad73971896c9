// The structure of a class file: reading it with every length checked, and adding constants.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/containers.h"
#include "base/patterns.h"

namespace jvmti::classfile {

enum class Status : int32_t {
  kOk = 0,
  kOutOfMemory = 1,
  kMalformed = 2,
  kBadPlan = 3,
  kTooLarge = 4,
  kTooMany = 5  // the set of probes has no place for more
};

// A text of a class file, in Java's own kind of UTF-8.
struct Text {
  const uint8_t* data = nullptr;
  uint32_t size = 0;

  Text() = default;
  Text(const uint8_t* at, uint32_t length) : data(at), size(length) {}
  Text(const char* literal)  // NOLINT: a literal is a text
      : data(reinterpret_cast<const uint8_t*>(literal)),
        size(static_cast<uint32_t>(std::strlen(literal))) {}
  bool operator==(const Text& other) const {
    return size == other.size && (size == 0 || std::memcmp(data, other.data, size) == 0);
  }
  bool starts_with(Text other) const {
    return size >= other.size && Text(data, other.size) == other;
  }
  uint8_t operator[](uint32_t at) const { return at < size ? data[at] : 0; }
  Text from(uint32_t start) const {
    return start < size ? Text(data + start, size - start) : Text();
  }
  Slice slice() const {
    const char* begin = reinterpret_cast<const char*>(data);
    return {begin, begin + size};
  }
};

inline uint16_t read2(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }
inline void write2(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}
inline uint32_t read4(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 24 | static_cast<uint32_t>(at[1]) << 16 |
         static_cast<uint32_t>(at[2]) << 8 | at[3];
}

// A place in bytes that moves on as they are read. Reading past the end gives zeros, and `bad`.
struct Bytes {
  const uint8_t* at = nullptr;
  const uint8_t* end = nullptr;
  bool bad = false;

  Bytes() = default;
  Bytes(const uint8_t* begin, uint64_t size) : at(begin), end(begin + size) {}
  uint64_t left() const { return static_cast<uint64_t>(end - at); }
  const uint8_t* take(uint64_t size) {
    if (size > left()) {
      bad = true;
      at = end;
      return nullptr;
    }
    const uint8_t* taken = at;
    at += size;
    return taken;
  }
  uint8_t u1() {
    const uint8_t* p = take(1);
    return p == nullptr ? 0 : *p;
  }
  uint16_t u2() {
    const uint8_t* p = take(2);
    return p == nullptr ? 0 : read2(p);
  }
  uint32_t u4() {
    const uint8_t* p = take(4);
    return p == nullptr ? 0 : read4(p);
  }
  Bytes part(uint64_t size) {
    const uint8_t* p = take(size);
    return p == nullptr ? Bytes() : Bytes(p, size);
  }
};

// Bytes that are written. Without memory it is `failed`, and goes on writing over the same place.
class Output {
 public:
  bool failed = false;

  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
  uint8_t* data() { return bytes_.begin(); }
  const uint8_t* data() const { return bytes_.begin(); }
  void clear() {
    bytes_.clear();
    failed = false;
  }
  void cut(uint32_t size) { bytes_.shrink(size); }
  void u1(uint32_t value) {
    if (uint8_t* at = space(1)) at[0] = static_cast<uint8_t>(value);
  }
  void u2(uint32_t value) {
    if (uint8_t* at = space(2)) write2(at, value);
  }
  void u4(uint32_t value) {
    if (uint8_t* at = space(4)) put4(at, value);
  }
  void copy(const uint8_t* from, uint64_t size) {
    if (size == 0 || from == nullptr) return;
    if (uint8_t* at = space(size)) std::memcpy(at, from, size);
  }
  // Space for more bytes; null if memory is short.
  uint8_t* space(uint64_t size) {
    uint64_t used = bytes_.size();
    if (failed) return nullptr;
    if (used + size > bytes_.capacity()) {
      uint64_t wanted = (used + size) * 2 + 256;
      if (used + size > kMost || !bytes_.reserve(wanted)) {
        failed = true;
        return nullptr;
      }
    }
    bytes_.grow(used + size);
    return bytes_.begin() + used;
  }
  void set2(uint32_t where, uint32_t value) {
    if (!failed) write2(data() + where, value);
  }
  void set4(uint32_t where, uint32_t value) {
    if (!failed) put4(data() + where, value);
  }

 private:
  static constexpr uint64_t kMost = UINT64_C(1) << 30;
  static void put4(uint8_t* at, uint32_t value) {
    write2(at, value >> 16);
    write2(at + 2, value);
  }
  Vector<uint8_t> bytes_;
};

// What a field or method constant names.
struct Member {
  Text owner;
  Text name;
  Text descriptor;
};

enum Constant : uint8_t {
  kUtf8 = 1,
  kInteger = 3,
  kFloat = 4,
  kLong = 5,
  kDouble = 6,
  kClass = 7,
  kString = 8,
  kFieldref = 9,
  kMethodref = 10,
  kInterfaceMethodref = 11,
  kNameAndType = 12,
  kMethodHandle = 15,
  kMethodType = 16,
  kDynamic = 17,
  kInvokeDynamic = 18,
  kModule = 19,
  kPackage = 20
};

// The attributes that mean something here, by their names.
enum class Attribute : uint8_t {
  kOther,
  kCode,
  kStackMapTable,
  kLineNumberTable,
  kLocalVariableTable,
  kLocalVariableTypeTable,
  kVisibleTypeAnnotations,
  kInvisibleTypeAnnotations
};

// The constants of a class, and those that are added behind them.
class ConstantPool {
 public:
  Status read(Bytes& bytes);
  uint8_t tag(uint32_t index) const;
  // Empty where the constant is not of that kind.
  Text utf8(uint32_t index) const;
  Text class_name(uint32_t index) const;
  bool member(uint32_t index, Member* found) const;
  Text dynamic_descriptor(uint32_t index) const;
  // Which attribute has its name there; the same few constants are asked for at every method.
  Attribute attribute(uint32_t index) {
    for (uint32_t i = 0; i < named_count_; ++i) {
      if (named_[i].index == index) return named_[i].attribute;
    }
    return find_attribute(index);
  }

  // The number of a constant like that; 0 when there are too many.
  uint16_t add_utf8(Text text);
  uint16_t add_class(Text name);
  uint16_t add_string(Text text);
  uint16_t add_int(int32_t value);
  uint16_t add_long(int64_t value);
  uint16_t add_double(int64_t bits);
  uint16_t add_method(Text owner, Text name, Text descriptor);
  uint16_t add_field(Text owner, Text name, Text descriptor);

  uint32_t count() const { return count_; }
  // Whether more than half of the numbers are taken.
  bool is_filling() const { return count_ > 32768; }
  bool is_full() const { return full_; }
  const Output& added() const { return added_; }
  Output& added() { return added_; }

 private:
  struct Known {
    uint64_t key;
    uint32_t start;  // of what was added, for a text or eight bytes
    uint32_t size;
    uint32_t before;  // the number of the one before it in its chain; 0 for none
    uint16_t index;
  };
  const uint8_t* at(uint32_t index, uint8_t tag) const;
  Attribute find_attribute(uint32_t index);
  uint16_t next(uint32_t slots = 1);
  static constexpr uint32_t kChains = 1024;
  static uint32_t chain_of(uint64_t key) {
    return static_cast<uint32_t>(key * 0x9E3779B97F4A7C15u >> 54);
  }
  uint16_t known(uint64_t key, Text text) const;
  uint16_t remember(uint64_t key, Text text, uint32_t start, uint16_t index);
  uint16_t add_wide(uint8_t tag, int64_t value);
  uint16_t add_pair(uint8_t tag, uint16_t first, uint16_t second);

  const uint8_t* start_ = nullptr;
  Vector<uint32_t> offsets_;
  uint32_t read_ = 0;   // constants that were read, 0 included
  uint32_t count_ = 0;  // with those that were added
  bool full_ = false;
  static constexpr uint32_t kMostNamed = 8;
  struct Named {
    uint32_t index;
    Attribute attribute;
  };
  Named named_[kMostNamed] = {};
  uint32_t named_count_ = 0;
  Output added_;
  Vector<Known> known_;
  uint32_t last_known_[kChains] = {};  // of each chain; numbers count from 1
};

// Whether a class file has a constant that is no number, which equals nothing, not even itself.
bool has_nan(const uint8_t* data, uint64_t size);

// Gives every method's code more room on its operand stack than it asks for; false if none has
// code.
bool deepen_stacks(uint8_t* data, uint64_t size, uint32_t by);

}  // namespace jvmti::classfile
