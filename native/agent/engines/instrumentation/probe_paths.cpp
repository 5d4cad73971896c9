// Paths of fields that conditions follow, as the helper class follows them itself: for each step of
// a set's conditions the classes of the objects on the path, and the offsets of the fields in them.
// It is noted as it was found last; where another object comes by, the agent is asked again.

#include "agent/engines/instrumentation/probe_set.h"

namespace jvmti {

namespace {

constexpr uint8_t kMostTries = 16;  // after which the classes there are too many
constexpr jsize kLongest = 8;
constexpr jlong kInt = 1;  // types of the last field, as the helper knows them
constexpr jlong kLong = 2;

}  // namespace

bool ProbeSet::make_paths(JNIEnv* jni) {
  jsize count = static_cast<jsize>(plan().steps().size());
  if (!path_tries_.reserve(static_cast<size_t>(count) + 1)) return false;
  path_tries_.grow(static_cast<size_t>(count));
  std::memset(path_tries_.begin(), 0, static_cast<size_t>(count));
  LocalRef<jobjectArray> made(jni);
  if (count != 0) made.reset(jni->NewObjectArray(count, known_fields.objects, nullptr));
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  if (count != 0 && made == nullptr) return false;
  jni->SetObjectArrayElement(known_fields.paths, static_cast<jsize>(number_ % kProbeSets), made);
  return true;
}

void ProbeSet::forget_paths(JNIEnv* jni) {
  if (known_fields.paths == nullptr) return;
  jni->SetObjectArrayElement(known_fields.paths, static_cast<jsize>(number_ % kProbeSets), nullptr);
}

void ProbeSet::note_path(JNIEnv* jni, uint32_t step, jobject from) {
  {
    Locked locked(mutex_);
    if (step >= path_tries_.size() || path_tries_[step] == kMostTries) return;
    ++path_tries_[step];
  }
  const classfile::Step& wanted = plan_.steps()[step];
  classfile::Text path = wanted.path;
  LocalRef<jobjectArray> cell(jni);
  jlong offsets[kLongest + 1] = {};
  jsize length = 1;
  for (uint32_t i = 0; i < path.size; ++i) length += path.data[i] == '.';
  if (length > kLongest) return;
  cell.reset(jni->NewObjectArray(length + 1, known_fields.object, nullptr));
  LocalRef<> at(jni, jni->NewLocalRef(from));
  for (jsize i = 0; cell != nullptr && i < length; ++i) {
    uint32_t size = 0;
    while (size < path.size && path.data[size] != '.') ++size;
    classfile::Text name(path.data, size);
    path = path.from(size + 1);
    if (at == nullptr) return;
    LocalRef<jclass> klass(jni, jni->GetObjectClass(at));
    KnownField field = field_of(jni, klass, number_of(jni, klass), name);
    bool is_number = wanted.type == 'J' && i + 1 == length;
    if (is_number ? field.type != 'I' && field.type != 'J' : field.type != 'L') return;
    if (is_number) offsets[length] = field.type == 'I' ? kInt : kLong;
    LocalRef<> reflected(jni, jni->ToReflectedField(klass, field.id, JNI_FALSE));
    if (reflected == nullptr) break;
    offsets[i] = jni->CallLongMethod(known_fields.unsafe, known_fields.offset_of, reflected.get());
    if (jni->ExceptionCheck()) break;
    jni->SetObjectArrayElement(cell, i, klass);
    if (!is_number) at.reset(jni->GetObjectField(at, field.id));
  }
  LocalRef<jlongArray> numbers(jni);
  if (cell != nullptr && !jni->ExceptionCheck()) numbers.reset(jni->NewLongArray(length + 1));
  if (numbers == nullptr) {
    jni->ExceptionClear();
    return;
  }
  jni->SetLongArrayRegion(numbers, 0, length + 1, offsets);
  jni->SetObjectArrayElement(cell, length, numbers);
  LocalRef<jobjectArray> cells(
      jni,
      jni->GetObjectArrayElement(known_fields.paths, static_cast<jsize>(number_ % kProbeSets)));
  if (cells != nullptr && static_cast<jsize>(step) < jni->GetArrayLength(cells)) {
    jni->SetObjectArrayElement(cells, static_cast<jsize>(step), cell);
  }
}

}  // namespace jvmti
