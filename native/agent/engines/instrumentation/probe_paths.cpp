// Paths of fields that conditions follow, as the helper class follows them itself: for each step of
// a set's conditions the classes of the objects on the path, and the offsets of the fields in them.
// It is noted as it was found, for objects of several classes; where one of another class comes by,
// the agent is asked.

#include "agent/engines/instrumentation/probe_set.h"

namespace jvmti {

namespace {

constexpr uint8_t kMostTries = 16;  // after which the classes there are too many

// What a path leads to, as the helper knows it.
constexpr jlong kReference = 0;
constexpr jlong kUnknown = -1;  // behind a null
constexpr jlong kCharacter = 5;
constexpr jlong kArrayLength = 7;
constexpr jlong kTextLength = 8;
constexpr jlong kAnswer = 11;  // for objects of that class

using layouts::RecordedKind;

bool wants_number(const classfile::Step& step) { return step.type == 'J' || step.type == 'D'; }

jlong known_type(char type) {
  constexpr const char* kTypes = "LIJZBCS__FD";  // the lengths among them
  const char* found = type == '\0' ? nullptr : std::strchr(kTypes, type);
  return found == nullptr ? kUnknown : found - kTypes;
}

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

ProbeSet::Path ProbeSet::find_path(JNIEnv* jni, const classfile::Step& step, jobject from) {
  Path found{};
  classfile::Text path = step.path;
  jobject at = from;
  auto add = [&](jclass klass, jfieldID field, jlong type) {
    jobject reflected = field == nullptr ? nullptr : jni->ToReflectedField(klass, field, JNI_FALSE);
    if (reflected != nullptr) {
      found.offsets[found.length] =
          jni->CallLongMethod(known_fields.unsafe, known_fields.offset_of, reflected);
    }
    found.classes[found.length++] = klass;
    found.type = type;
  };
  while (path.size != 0 && at != nullptr) {
    if (found.type != kReference || found.length == Path::kLongest) return {};
    uint32_t size = 0;
    while (size < path.size && path.data[size] != '.') ++size;
    classfile::Text name(path.data, size);
    path = path.from(size + 1);
    jclass klass = jni->GetObjectClass(at);
    uint64_t number = number_of(jni, klass);
    RecordedKind kind = kind_of(number);
    if (name == classfile::Text("class")) {
      found.offsets[found.length] = class_is(jni, step, klass) ? 1 : 0;
      add(klass, nullptr, kAnswer);
      continue;
    }
    if (name == classfile::Text("length") &&
        (kind == RecordedKind::kArray || kind == RecordedKind::kString)) {
      add(klass, nullptr, kind == RecordedKind::kArray ? kArrayLength : kTextLength);
      continue;
    }
    KnownField field = field_of(jni, klass, number, name);
    jlong type = known_type(field.type);
    if (type == kUnknown) return {};
    add(klass, field.id, type);
    if (type == kReference) at = jni->GetObjectField(at, field.id);
  }
  if (at == nullptr) {
    found.type = kUnknown;
    return found;
  }
  if (found.type != kReference) {
    bool is_text = found.type == kAnswer || (found.type == kCharacter && step.type == 'S');
    return wants_number(step) || is_text ? found : Path{};
  }
  jclass klass = jni->GetObjectClass(at);
  uint64_t number = number_of(jni, klass);
  if (wants_number(step)) {
    if (kind_of(number) != RecordedKind::kBoxed) return {};
    size_t box = box_of(number);
    add(klass, known_fields.boxed[box], known_type(kBoxTypes[box]));
  } else if (step.type == 'S' && kind_of(number) == RecordedKind::kClass) {
    return {};  // its name is compared
  }
  return found;
}

void ProbeSet::note_path(JNIEnv* jni, uint32_t step, jobject from) {
  {
    Locked locked(mutex_);
    if (step >= path_tries_.size() || path_tries_[step] == kMostTries) return;
    ++path_tries_[step];
  }
  LocalFrame frame(jni, 4 * Path::kLongest);
  if (!frame) return jni->ExceptionClear();
  Path found = find_path(jni, plan_.steps()[step], from);
  if (found.length == 0 || jni->ExceptionCheck()) return jni->ExceptionClear();
  jlongArray numbers = jni->NewLongArray(found.length + 1);
  jobjectArray cell = numbers == nullptr
                          ? nullptr
                          : jni->NewObjectArray(found.length + 2, known_fields.object, nullptr);
  if (cell == nullptr) return jni->ExceptionClear();
  found.offsets[found.length] = found.type;
  jni->SetLongArrayRegion(numbers, 0, found.length + 1, found.offsets);
  for (jsize i = 0; i < found.length; ++i) {
    jni->SetObjectArrayElement(cell, i, found.classes[i]);
  }
  jni->SetObjectArrayElement(cell, found.length, numbers);
  jobjectArray cells = static_cast<jobjectArray>(
      jni->GetObjectArrayElement(known_fields.paths, static_cast<jsize>(number_ % kProbeSets)));
  if (cells != nullptr && static_cast<jsize>(step) < jni->GetArrayLength(cells)) {
    jobject others = jni->GetObjectArrayElement(cells, static_cast<jsize>(step));
    jni->SetObjectArrayElement(cell, found.length + 1, others);
    jni->SetObjectArrayElement(cells, static_cast<jsize>(step), cell);
  }
}

}  // namespace jvmti
