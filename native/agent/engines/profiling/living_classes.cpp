#include "agent/engines/profiling/living_classes.h"

#include <atomic>
#include <cstdint>

#include "agent/core/vm_memory.h"
#include "agent/core/vm_structures.h"
#include "base/containers.h"
#include "generated/layouts.h"

namespace jvmti {

namespace {

// Says that objects of one class have the same word at that place, which is so but for compact
// headers; otherwise there is nothing to compare.
constexpr uint64_t kKnown = uint64_t{1} << 32;
constexpr uint64_t kNothing = uint64_t{1} << 33;
std::atomic<uint64_t> of_classes{0};

// The word of an object that says what class it is.
bool class_word(jobject reference, uint32_t* word) {
  constexpr uintptr_t kTags = 3;
  constexpr uintptr_t kPlace = 8;
  uintptr_t handle = reinterpret_cast<uintptr_t>(reference);
  if (handle == 0 || (handle & kTags) != 0) return false;
  uintptr_t object = in_vm<uintptr_t>(handle, 0);
  return read_vm(object + kPlace, word, sizeof *word);
}

uint64_t word_of_classes(JNIEnv* jni) {
  uint64_t known = of_classes.load(std::memory_order_relaxed);
  if (known != 0) return known;
  LocalRef<jclass> one(jni, jni->FindClass("java/lang/Object"));
  LocalRef<jclass> other(jni, jni->FindClass("java/lang/String"));
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  uint32_t first = 0;
  uint32_t second = 0;
  bool same = class_word(one, &first) && class_word(other, &second) && first == second;
  known = same && first != 0 ? kKnown | first : kNothing;
  of_classes.store(known, std::memory_order_relaxed);
  return known;
}

// Until 24 an id is the address of the address of the VM's own method, which begins with that of
// its virtual functions.
bool leads_to_functions(jmethodID id, const CodeRanges& ranges) {
  uintptr_t at = reinterpret_cast<uintptr_t>(id);
  for (int i = 0; i < 3; ++i) {
    if (!read_vm(at, &at, sizeof at)) return false;
  }
  uint32_t library = ranges.of(at);
  return library != CodeRanges::kNone && ranges.is_vm(library);
}

enum class Ids { kUnknown, kLead, kDoNot };
std::atomic<Ids> ids{Ids::kUnknown};

Ids kind_of_ids(JNIEnv* jni, const CodeRanges& ranges) {
  Ids known = ids.load(std::memory_order_relaxed);
  if (known != Ids::kUnknown) return known;
  LocalRef<jclass> object(jni, jni->FindClass("java/lang/Object"));
  jmethodID one = object == nullptr ? nullptr : jni->GetMethodID(object, "hashCode", "()I");
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  known = one != nullptr && leads_to_functions(one, ranges) ? Ids::kLead : Ids::kDoNot;
  ids.store(known, std::memory_order_relaxed);
  return known;
}

}  // namespace

bool is_living(JNIEnv* jni, jmethodID method, const CodeRanges& ranges) {
  if (kind_of_ids(jni, ranges) != Ids::kLead) return true;
  // This waits for the end of a safepoint, in which a method may go.
  jni->ExceptionCheck();
  return leads_to_functions(method, ranges);
}

void identify_former_methods(jvmtiEnv* env, JNIEnv* jni) {
  constexpr jint kDepth = layouts::Profiles::kDepth;
  LocalRefs<jthread> threads(env, jni);
  Vector<jvmtiFrameInfo> frames;
  if (!frames.reserve(kDepth) ||
      env->GetAllThreads(threads.count_out(), threads.out()) != JVMTI_ERROR_NONE) {
    return;
  }
  jint count = 0;
  // A thread may have ended.
  for (jthread thread : threads) env->GetStackTrace(thread, 0, kDepth, frames.begin(), &count);
}

bool is_living(JNIEnv* jni, jclass klass) {
  if (klass == nullptr) return false;
  uint64_t known = word_of_classes(jni);
  // The VM gives nothing for a weak reference to an object that it has not found alive.
  jweak weak = jni->NewWeakGlobalRef(klass);
  if (weak == nullptr) {
    jni->ExceptionClear();
    return false;
  }
  LocalRef<> strong(jni, jni->NewLocalRef(weak));
  jni->DeleteWeakGlobalRef(weak);
  if (strong == nullptr) return false;
  // Where the memory has been given away meanwhile, something else is there.
  uint32_t word = 0;
  if (known == kNothing || !class_word(strong, &word)) return true;
  return word == static_cast<uint32_t>(known);
}

}  // namespace jvmti
