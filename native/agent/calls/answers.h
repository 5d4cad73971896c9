// What the VM answers, checked where it comes in: a success that lacks what it says it has is made
// an error or an empty answer before anybody looks at it.
//
// Our environments call through a table of our own, whose entries (generated from the declarations)
// clear the places for results, call the VM's function and look at what it left there.  So no
// thunk, override or callback meets a null text, a count without its array, or a count that is
// negative or beyond the room that was given.  The VM keeps its own table; only ours, which it gave
// to us alone, are changed.
#pragma once

#include <jvmti.h>

#include <cstring>
#include <tuple>

namespace jvmti {

// A success without its result; as an error of a call it is INTERNAL and says so.
constexpr jvmtiError kNothingAnswered = static_cast<jvmtiError>(JVMTI_ERROR_MAX + 1);

// Has this environment call through the checking table.
void check_answers(jvmtiEnv* env);

namespace answers {

template <class F>
struct Signature;
template <class... A>
struct Signature<jvmtiError(JNICALL*)(jvmtiEnv*, A...)> {
  template <int place>
  using Parameter = std::tuple_element_t<place, std::tuple<A...>>;
};

template <class T>
void clear(T* result) {
  if (result != nullptr) std::memset(static_cast<void*>(result), 0, sizeof(T));
}

template <class T>
void clear_all(T* results, jint capacity) {
  if (results == nullptr || capacity <= 0) return;
  std::memset(static_cast<void*>(results), 0, static_cast<size_t>(capacity) * sizeof(T));
}

template <class T>
bool lacks(T* const* result) {
  return result != nullptr && *result == nullptr;
}

// An array that was wanted is there, as its count says.
template <class T>
void make_whole(jint* count, T* const* items) {
  if (count != nullptr && (*count < 0 || lacks(items))) *count = 0;
}

inline void limit(jint* count, jint capacity) {
  if (count == nullptr) return;
  if (*count > capacity) *count = capacity;
  if (*count < 0) *count = 0;
}

}  // namespace answers
}  // namespace jvmti
