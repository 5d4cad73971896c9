#include "classfile/instructions.h"

namespace jvmti::classfile {

uint32_t varying_length_at(const uint8_t* code, uint32_t at, uint32_t size) {
  uint8_t op = code[at];
  uint32_t left = size - at;
  if (op > kJsrW) return 0;
  if (op == kWide) {
    if (left < 4) return 0;
    uint8_t of = code[at + 1];
    if (of == kIinc) return 6;
    bool is_local =
        (of >= kIload && of <= kAload) || (of >= kIstore && of <= kAstore) || of == kRet;
    return is_local ? 4 : 0;
  }
  uint32_t head = 1 + (3 - at % 4);
  if (left < head + (op == kTableswitch ? 12 : 8)) return 0;
  const uint8_t* table = code + at + head;
  if (op == kTableswitch) {
    int64_t low = static_cast<int32_t>(read4(table + 4));
    int64_t high = static_cast<int32_t>(read4(table + 8));
    if (high < low || high - low >= 65536) return 0;
    return head + 12 + 4 * static_cast<uint32_t>(high - low + 1);
  }
  uint32_t pairs = read4(table + 4);
  return pairs >= 65536 ? 0 : head + 8 + 8 * pairs;
}

uint64_t hash_of_code(const uint8_t* code, uint32_t size) {
  uint64_t hash = 0xCBF29CE484222325u ^ size;
  for (uint32_t at = 0, length = 0; at < size; at += length) {
    length = length_at(code, at, size);
    if (length == 0) length = size - at;
    hash = (hash ^ code[at] ^ uint64_t{length} << 8) * 0x100000001B3u;
  }
  return hash;
}

}  // namespace jvmti::classfile
