// Contents of objects; arguments are checked in library.cpp.
#pragma once

#include "dump.h"

namespace jvmti {
namespace heap {

void read_fields(const jvmti_heap_dump& dump, const uint32_t* objects, uint64_t count,
                 const int64_t* offsets, uint32_t width, void* values);
bool read_elements(const jvmti_heap_dump& dump, uint32_t object, uint32_t* elements,
                   uint64_t count);
bool read_text(const jvmti_heap_dump& dump, const uint32_t* arrays, const uint8_t* coders,
               uint64_t count, uint64_t most, uint64_t* ends, uint8_t* data, uint64_t room);
void hash_arrays(const jvmti_heap_dump& dump, const uint32_t* arrays, uint64_t count,
                 uint64_t* hashes);
void blank_arrays(const jvmti_heap_dump& dump, const uint8_t* blanked, uint8_t* copy);
void blank_fields(const jvmti_heap_dump& dump, const int64_t* offsets, uint32_t width,
                  uint8_t* copy);

}  // namespace heap
}  // namespace jvmti
