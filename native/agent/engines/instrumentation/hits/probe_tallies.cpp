// What calls are counted by: each value has a number, and its tallies that place.

#include "agent/engines/instrumentation/probe_set.h"

namespace jvmti {

namespace {

using layouts::RecordedKind;

constexpr size_t kMostText = layouts::Plans::kLongestText;
constexpr size_t kHead = sizeof(layouts::RecordedObject);
constexpr uint64_t kMostKeys = layouts::ProbeTallies::kCount / 2 - 1;  // the first is for others

uint64_t hash_of(const uint8_t* data, size_t size) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 0x100000001B3u;
  return hash == 0 ? 1 : hash;
}

// What objects have in common that are counted together.
void generalize(uint8_t* at) {
  layouts::RecordedObject about;
  std::memcpy(&about, at, sizeof about);
  switch (static_cast<RecordedKind>(about.kind)) {
    case RecordedKind::kThrowable:
      about.text = 0;
      about.letter = 0;
      about.number = 0;
      break;
    case RecordedKind::kObject:
    case RecordedKind::kArray:
    case RecordedKind::kStack:
      about.number = 0;
      break;
    default:
      break;
  }
  std::memcpy(at, &about, sizeof about);
}

}  // namespace

jint ProbeSet::key(JNIEnv* jni, uint32_t number, jobject value, jint operand) {
  constexpr int kOwnFrames = 3;
  UsedProbes used(number);
  ProbeSet* set = used.get();
  if (set == nullptr || !set->active_) return 0;
  uint8_t found[kHead + kMostText] = {};
  set->describe(jni, value, operand, kOwnFrames, found);
  generalize(found);
  layouts::RecordedObject about;
  std::memcpy(&about, found, sizeof about);
  size_t size = kHead + set->text_size_;
  std::memset(found + kHead + about.text, 0, set->text_size_ - about.text);
  Locked locked(set->mutex_);
  for (uint64_t hash = hash_of(found, kHead + about.text);; ++hash) {
    if (hash == 0) continue;
    uint32_t known = set->key_numbers_.find(hash);
    if (known != 0) {
      const uint8_t* before = set->keys_.begin() + (known - 1) * size;
      if (std::memcmp(before, found, size) != 0) continue;
      return static_cast<jint>(known * 2);
    }
    uint64_t next = set->keys_.size() / size + 1;
    if (next > kMostKeys || !append(&set->keys_, found, size)) return 0;
    if (!set->key_numbers_.insert(hash, static_cast<uint32_t>(next))) {
      set->keys_.shrink(set->keys_.size() - size);
      return 0;
    }
    return static_cast<jint>(next * 2);
  }
}

jvmtiError ProbeSet::copy_keys(uint64_t offset, jint* count, unsigned char** bytes) {
  return copy(keys_, offset, count, bytes);
}

}  // namespace jvmti
