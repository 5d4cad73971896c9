// Conditions about what objects hold: fields to any depth, lengths, texts, values in boxes.

#include "agent/engines/instrumentation/probe_set.h"
#include "agent/handles/field_values.h"

namespace jvmti {

namespace {

using layouts::RecordedKind;
constexpr size_t kLongestConstant = layouts::Plans::kLongestText;

constexpr uint32_t kLess = layouts::Outcomes::kLess;
constexpr uint32_t kEqual = layouts::Outcomes::kEqual;
constexpr uint32_t kGreater = layouts::Outcomes::kGreater;

template <class T>
bool compared(T one, T other, uint32_t holds) {
  if (one < other) return (holds & kLess) != 0;
  if (one > other) return (holds & kGreater) != 0;
  if (one == other) return (holds & kEqual) != 0;
  return holds == (kLess | kGreater);  // what is no number differs from everything
}

// As much of a text as patterns are for; false where it is longer.
bool copy_text(JNIEnv* jni, jstring text, char* to, size_t* size) {
  jsize length = jni->GetStringLength(text);
  if (static_cast<size_t>(length) > kLongestConstant) return false;
  if (length > 0) jni->GetStringUTFRegion(text, 0, length, to);
  *size = static_cast<size_t>(jni->GetStringUTFLength(text));
  return true;
}

bool is_same(JNIEnv* jni, jstring text, classfile::Text wanted) {
  char buffer[kLongestConstant + 4];
  if (wanted.size > kLongestConstant) return false;
  if (static_cast<uint32_t>(jni->GetStringUTFLength(text)) != wanted.size) return false;
  if (wanted.size == 0) return true;
  jni->GetStringUTFRegion(text, 0, jni->GetStringLength(text), buffer);
  return std::memcmp(buffer, wanted.data, wanted.size) == 0;
}

bool is_named(jvmtiEnv* env, jclass klass, classfile::Text wanted) {
  Deallocated<char> signature(env);
  if (env->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE) return false;
  size_t length = std::strlen(signature);
  return length == wanted.size + 2 && std::memcmp(signature + 1, wanted.data, wanted.size) == 0;
}

}  // namespace

// Looks in the class and in those that it extends; of NAME@CLASS in that one alone.
ProbeSet::KnownField ProbeSet::find_field(JNIEnv* jni, jclass klass, classfile::Text name) {
  LocalRef<jclass> at(jni, jni->NewLocalRef(klass));
  uint32_t size = 0;
  while (size < name.size && name.data[size] != '@') ++size;
  classfile::Text owner = name.from(size + 1);
  name = classfile::Text(name.data, size);
  for (; at != nullptr; at.reset(jni->GetSuperclass(at))) {
    if (owner.size != 0 && !is_named(env_, at, owner)) continue;
    Deallocated<jfieldID> fields(env_);
    jint count = 0;
    if (env_->GetClassFields(at, &count, fields.out()) != JVMTI_ERROR_NONE) break;
    for (jint i = 0; i < count; ++i) {
      Deallocated<char> found(env_);
      Deallocated<char> signature(env_);
      jint modifiers = 0;
      if (env_->GetFieldName(at, fields[i], found.out(), signature.out(), nullptr) !=
              JVMTI_ERROR_NONE ||
          env_->GetFieldModifiers(at, fields[i], &modifiers) != JVMTI_ERROR_NONE) {
        continue;
      }
      constexpr jint kStatic = 8;
      if ((modifiers & kStatic) == 0 && classfile::Text(found.get()) == name) {
        return {fields[i], signature[0] == '[' ? 'L' : signature[0]};
      }
    }
  }
  return {nullptr, 0};
}

ProbeSet::KnownField ProbeSet::field_of(JNIEnv* jni, jclass klass, uint64_t noted,
                                        classfile::Text name) {
  uint32_t number = static_cast<uint32_t>(noted);
  uint64_t key = number;
  for (uint32_t i = 0; i < name.size; ++i) key = (key ^ name.data[i]) * 0x100000001B3u;
  {
    Locked locked(mutex_);
    uint32_t known = number == 0 ? 0 : field_numbers_.find(key | 1);
    if (known != 0) return fields_[known - 1];
  }
  KnownField found = find_field(jni, klass, name);
  Locked locked(mutex_);
  if (number != 0 && field_numbers_.find(key | 1) == 0 && fields_.push(found)) {
    (void)field_numbers_.insert(key | 1, static_cast<uint32_t>(fields_.size()));
  }
  return found;
}

ProbeSet::Found ProbeSet::primitive(JNIEnv* jni, jobject object, jfieldID field, char type) {
  jvalue value = field_value(jni, object, field, type);
  if (type == 'F') return {type, 0, static_cast<double>(value.f)};
  if (type == 'D') return {type, 0, value.d};
  int64_t number = whole_number(value, type);
  return {type, number, static_cast<double>(number)};
}

// From an object on, which becomes the one that the path leads to; a path that meets null ends
// there.
ProbeSet::Found ProbeSet::follow(JNIEnv* jni, classfile::Text path, LocalRef<>* at) {
  Found found{'L', 0, 0};
  while (path.size != 0) {
    uint32_t size = 0;
    while (size < path.size && path.data[size] != '.') ++size;
    classfile::Text name(path.data, size);
    path = path.from(size + 1);
    if (found.type != 'L') return {'\0', 0, 0};
    if (*at == nullptr) return found;
    LocalRef<jclass> klass(jni, jni->GetObjectClass(*at));
    if (name == classfile::Text("class")) {
      at->reset(klass.release());
      continue;
    }
    uint64_t number = number_of(jni, klass);
    RecordedKind kind = kind_of(number);
    if (name == classfile::Text("length") && kind == RecordedKind::kArray) {
      jsize length = jni->GetArrayLength(static_cast<jarray>(at->get()));
      found = {'I', length, static_cast<double>(length)};
      continue;
    }
    if (name == classfile::Text("length") && kind == RecordedKind::kString) {
      jsize length = jni->GetStringLength(static_cast<jstring>(at->get()));
      found = {'I', length, static_cast<double>(length)};
      continue;
    }
    KnownField field = field_of(jni, klass, number, name);
    if (field.type == 0) return {'\0', 0, 0};
    if (field.type == 'L') {
      at->reset(jni->GetObjectField(*at, field.id));
    } else {
      found = primitive(jni, *at, field.id, field.type);
    }
  }
  return found;
}

// Whether a text is one of a step, or matches one of its patterns.
bool ProbeSet::answers(const classfile::Step& step, const char* text, size_t size) {
  classfile::Text whole(reinterpret_cast<const uint8_t*>(text), static_cast<uint32_t>(size));
  bool found = step.type == 'P'
                   ? matches_any(reinterpret_cast<const char*>(step.text.data), {text, text + size})
                   : step.type == 'S' && step.text == whole;
  return found ? (step.holds & kEqual) != 0 : step.holds == (kLess | kGreater);
}

// Of the method that called the one with the probe, as CLASS.METHOD.
bool ProbeSet::caller_is(JNIEnv* jni, const classfile::Step& step) {
  constexpr jint kOwnFrames = 3;
  jvmtiFrameInfo frame = frame_at(env_, nullptr, kOwnFrames);
  if (frame.method == nullptr) return answers(step, "", 0);
  uint64_t key = reinterpret_cast<uintptr_t>(frame.method) * 0x9E3779B97F4A7C15u ^
                 (reinterpret_cast<uintptr_t>(&step) << 1 | 1);
  {
    Locked locked(mutex_);
    uint32_t known = caller_answers_.find(key);
    if (known != 0) return known == 2;
  }
  LocalRef<jclass> klass(jni);
  Deallocated<char> signature(env_);
  Deallocated<char> name(env_);
  if (env_->GetMethodDeclaringClass(frame.method, klass.out()) != JVMTI_ERROR_NONE ||
      env_->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE ||
      env_->GetMethodName(frame.method, name.out(), nullptr, nullptr) != JVMTI_ERROR_NONE) {
    return false;
  }
  Vector<char> text;
  size_t length = std::strlen(signature);
  size_t more = std::strlen(name);
  if (length < 2 || !text.reserve(length + more)) return false;
  for (const char* at = signature + 1; *at != '\0' && *at != ';'; ++at) {
    text.put(*at == '/' ? '.' : *at);
  }
  text.put('.');
  for (size_t i = 0; i < more; ++i) text.put(name[i]);
  bool answer = answers(step, text.begin(), text.size());
  Locked locked(mutex_);
  if (caller_answers_.find(key) == 0) (void)caller_answers_.insert(key, answer ? 2 : 1);
  return answer;
}

// Of a class by its name.
bool ProbeSet::class_is(JNIEnv* jni, const classfile::Step& step, jobject klass) {
  constexpr uint64_t kNumber = 0xFFFFFFFF;
  uint64_t number = number_of(jni, static_cast<jclass>(klass)) & kNumber;
  uint64_t key = number * 0x9E3779B97F4A7C15u ^ (reinterpret_cast<uintptr_t>(&step) << 1 | 1);
  {
    Locked locked(mutex_);
    uint32_t known = number == 0 ? 0 : caller_answers_.find(key);
    if (known != 0) return known == 2;
  }
  Deallocated<char> signature(env_);
  if (env_->GetClassSignature(static_cast<jclass>(klass), signature.out(), nullptr) !=
      JVMTI_ERROR_NONE) {
    return false;
  }
  size_t length = std::strlen(signature);
  for (char* at = signature; *at != '\0'; ++at) {
    if (*at == '/') *at = '.';
  }
  bool answer = length > 2 && signature[0] == 'L' && answers(step, signature + 1, length - 2);
  Locked locked(mutex_);
  if (number != 0 && caller_answers_.find(key) == 0) {
    (void)caller_answers_.insert(key, answer ? 2 : 1);
  }
  return answer;
}

bool ProbeSet::holds(JNIEnv* jni, const classfile::Step& step, jobject from) {
  bool is_text = step.type == 'S' || step.type == 'P';
  if (step.operand->kind == classfile::OperandKind::kStack) return caller_is(jni, step);
  LocalRef<> at(jni, jni->NewLocalRef(from));
  Found found = follow(jni, step.path, &at);
  if (found.type == '\0') return false;
  bool is_object = found.type == 'L';
  if (step.type == 'L') {
    return is_object &&
           compared(at == nullptr, true, (step.holds & kEqual) != 0 ? kEqual : kLess | kGreater);
  }
  if (is_object && at == nullptr) return false;
  if (is_object) {
    LocalRef<jclass> klass(jni, jni->GetObjectClass(at));
    uint64_t what = number_of(jni, klass);
    RecordedKind kind = kind_of(what);
    if (is_text && kind == RecordedKind::kClass) return class_is(jni, step, at);
    if (step.type == 'P') {
      char text[kLongestConstant * 3 + 1];
      size_t size = 0;
      if (kind != RecordedKind::kString ||
          !copy_text(jni, static_cast<jstring>(at.get()), text, &size)) {
        return step.holds == (kLess | kGreater);
      }
      return answers(step, text, size);
    }
    if (step.type == 'S') {
      bool same =
          kind == RecordedKind::kString && is_same(jni, static_cast<jstring>(at.get()), step.text);
      return same ? (step.holds & kEqual) != 0 : step.holds == (kLess | kGreater);
    }
    if (kind != RecordedKind::kBoxed) return false;
    size_t box = box_of(what);
    found = primitive(jni, at, known_fields.boxed[box], kBoxTypes[box]);
  }
  if (step.type == 'J' && !found.is_real()) {
    return compared(found.number, step.constant, step.holds);
  }
  if (is_text) {
    return step.type == 'S' && found.type == 'C' &&
           compared(found.number, int64_t{classfile::character(step.text)}, step.holds);
  }
  double constant = static_cast<double>(step.constant);
  if (step.type == 'D') std::memcpy(&constant, &step.constant, sizeof constant);
  if (step.type == 'D' && found.type == 'F') constant = static_cast<float>(constant);
  return compared(found.real, constant, step.holds);
}

jint ProbeSet::test(JNIEnv* jni, uint32_t number, uint32_t step, jobject from) {
  UsedProbes used(number);
  ProbeSet* set = used.get();
  bool is_known = set != nullptr && set->active_ && step < set->plan_.steps().size();
  if (!is_known) return 0;
  const classfile::Step& it = set->plan_.steps()[step];
  bool holds = set->holds(jni, it, from);
  if (classfile::is_followed(it)) set->note_path(jni, step, from);
  return holds ? 1 : 0;
}

}  // namespace jvmti
