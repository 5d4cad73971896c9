// As much of the Java bytecode format as the checks need: where instructions start, and which
// local variables they store to.
#pragma once

#include <jvmti.h>

#include <cstdint>

namespace jvmti {

// The length of the instruction at `at`, 0 when it does not fit or is unknown.
jint instruction_length(const uint8_t* code, jint length, jint at);

// Sets boundaries[i] to 1 where an instruction starts.
void mark_boundaries(const uint8_t* code, jint length, uint8_t* boundaries);

// The local variable that the instruction at `at` stores to and its type (I J F D L); false where
// it stores to none.
bool store_at(const uint8_t* code, jint at, jint* slot, char* type);

template <class Visit>
void each_store(const uint8_t* code, jint length, Visit visit) {
  for (jint at = 0; at < length;) {
    jint slot;
    char type;
    if (store_at(code, at, &slot, &type)) visit(slot, type);
    jint size = instruction_length(code, length, at);
    if (size == 0) return;
    at += size;
  }
}

}  // namespace jvmti
