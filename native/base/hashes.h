// Hashes of texts and numbers.
#pragma once

#include <cstdint>

namespace jvmti {

// FNV-1a.
inline uint64_t hash_of(const char* text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<uint8_t>(*text)) * 0x100000001B3u;
  return hash;
}

}  // namespace jvmti
