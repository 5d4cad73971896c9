// The words of the HPROF format, and how its numbers are read: big-endian, identifiers of 4 or
// 8 bytes.
#pragma once

#include <cstdint>
#include <cstring>

namespace jvmti {
namespace heap {

// Records of the file: tag, 4 bytes of time, 4 bytes of length.
enum Record : uint8_t {
  kString = 0x01,
  kLoadClass = 0x02,
  kUnloadClass = 0x03,
  kStackFrame = 0x04,
  kStackTrace = 0x05,
  kAllocSites = 0x06,
  kHeapSummary = 0x07,
  kStartThread = 0x0A,
  kEndThread = 0x0B,
  kHeapDump = 0x0C,
  kCpuSamples = 0x0D,
  kControlSettings = 0x0E,
  kHeapDumpSegment = 0x1C,
  kHeapDumpEnd = 0x2C,
};
constexpr uint64_t kRecordHeader = 9;

inline bool is_record(uint8_t tag) {
  return (tag >= kString && tag <= kHeapSummary) ||
         (tag >= kStartThread && tag <= kControlSettings) || tag == kHeapDumpSegment ||
         tag == kHeapDumpEnd;
}

// What a heap dump is made of.
enum Part : uint8_t {
  kRootJniGlobal = 0x01,
  kRootJniLocal = 0x02,
  kRootJavaFrame = 0x03,
  kRootNativeStack = 0x04,
  kRootStickyClass = 0x05,
  kRootThreadBlock = 0x06,
  kRootMonitorUsed = 0x07,
  kRootThreadObject = 0x08,
  kClassDump = 0x20,
  kInstance = 0x21,
  kObjectArray = 0x22,
  kPrimitiveArray = 0x23,
  kRootUnknown = 0xFF,
};

enum Type : uint8_t {
  kObject = 2,
  kBoolean = 4,
  kChar = 5,
  kFloat = 6,
  kDouble = 7,
  kByte = 8,
  kShort = 9,
  kInt = 10,
  kLong = 11,
};

inline uint16_t load16(const uint8_t* at) {
  uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap16(value);
}
inline uint32_t load32(const uint8_t* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap32(value);
}
inline uint64_t load64(const uint8_t* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap64(value);
}
inline uint64_t load_id(const uint8_t* at, uint32_t size) {
  return size == 8 ? load64(at) : load32(at);
}

// Bytes of a value of a type, 0 for what is no type.
inline uint32_t size_of_type(uint32_t type, uint32_t identifier_size) {
  switch (type) {
    case kObject:
      return identifier_size;
    case kBoolean:
    case kByte:
      return 1;
    case kChar:
    case kShort:
      return 2;
    case kFloat:
    case kInt:
      return 4;
    case kDouble:
    case kLong:
      return 8;
    default:
      return 0;
  }
}

// Bytes of a root behind its tag, 0 for what is no root.
inline uint32_t size_of_root(uint8_t tag, uint32_t identifier_size) {
  switch (tag) {
    case kRootUnknown:
    case kRootStickyClass:
    case kRootMonitorUsed:
      return identifier_size;
    case kRootJniGlobal:
      return 2 * identifier_size;
    case kRootJniLocal:
    case kRootJavaFrame:
    case kRootThreadObject:
      return identifier_size + 8;
    case kRootNativeStack:
    case kRootThreadBlock:
      return identifier_size + 4;
    default:
      return 0;
  }
}

// Where an object's contents are within its record, from its tag on.  The class of an instance
// stands behind its serial number, that of an array of objects behind its length.
struct Shape {
  explicit Shape(uint32_t id) : id_size(id) {}
  uint32_t id_size;
  uint32_t instance_class() const { return 1 + id_size + 4; }
  uint32_t instance_length() const { return 1 + 2 * id_size + 4; }
  uint32_t instance() const { return 1 + 2 * id_size + 8; }
  uint32_t array_length() const { return 1 + id_size + 4; }
  uint32_t array_class() const { return 1 + id_size + 8; }
  uint32_t object_array() const { return 1 + 2 * id_size + 8; }
  uint32_t primitive_array() const { return 1 + id_size + 9; }
};

}  // namespace heap
}  // namespace jvmti
