// What values are, as records have them: texts, numbers in boxes, lengths, stacks.

#include <cstdio>

#include "agent/engines/instrumentation/probe_set.h"

namespace jvmti {

namespace {

using layouts::RecordedKind;

constexpr int32_t kLongestText = layouts::Plans::kLongestText;
constexpr uint64_t kMostNames = 1 << 26;

}  // namespace

namespace {

// What a class's tag says beside its number.
constexpr int kKindAt = 32;
constexpr int kBoxAt = 40;
constexpr int kEnumAt = 48;

}  // namespace

// The number of a class and what objects of it are; 0 where it cannot be noted.
uint64_t ProbeSet::number_of(JNIEnv* jni, jclass klass) {
  jlong tag = 0;
  if (env_->GetTag(klass, &tag) == JVMTI_ERROR_NONE && tag != 0) return static_cast<uint64_t>(tag);
  Deallocated<char> signature(env_);
  if (env_->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE) return 0;
  RecordedKind kind = RecordedKind::kObject;
  uint64_t more = 0;
  size_t length = std::strlen(signature);
  classfile::Text name(reinterpret_cast<const uint8_t*>(signature.get()) + 1,
                       static_cast<uint32_t>(length < 2 ? 0 : length - 2));
  if (signature[0] == '[') {
    kind = RecordedKind::kArray;
  } else if (name == classfile::Text("java/lang/String")) {
    kind = RecordedKind::kString;
  } else if (name == classfile::Text("java/lang/Class")) {
    kind = RecordedKind::kClass;
  } else if (jni->IsAssignableFrom(klass, known_fields.throwable)) {
    kind = RecordedKind::kThrowable;
  } else if (jni->IsAssignableFrom(klass, known_fields.enumeration)) {
    more = uint64_t{1} << kEnumAt;
  } else {
    for (uint64_t i = 0; i < 8; ++i) {
      if (!(name == classfile::Text(kBoxClasses[i]))) continue;
      kind = RecordedKind::kBoxed;
      more = i << kBoxAt;
    }
  }
  uint32_t number;
  {
    Locked locked(mutex_);
    if (names_.size() > kMostNames || !append(&names_, signature.get(), length + 1)) return 0;
    number = ++named_;
  }
  uint64_t found = number | static_cast<uint64_t>(kind) << kKindAt | more;
  env_->SetTag(klass, static_cast<jlong>(found));
  return found;
}

// As much of a text as there is space for, cut between characters.
void ProbeSet::write_text(JNIEnv* jni, jstring text, uint8_t* into,
                          layouts::RecordedObject* about) {
  char buffer[kLongestText * 3 + 1];
  jsize length = jni->GetStringLength(text);
  jsize taken = length < static_cast<jsize>(text_size_) ? length : static_cast<jsize>(text_size_);
  jsize bytes = 0;
  if (taken > 0) {
    jni->GetStringUTFRegion(text, 0, taken, buffer);
    bytes = static_cast<jsize>(strnlen(buffer, sizeof buffer));
  }
  bool is_cut = taken < length || bytes > static_cast<jsize>(text_size_);
  if (bytes > static_cast<jsize>(text_size_)) {
    bytes = static_cast<jsize>(text_size_);
    while (bytes > 0 && (buffer[bytes] & 0xC0) == 0x80) --bytes;
  }
  std::memcpy(into, buffer, static_cast<size_t>(bytes));
  about->text = static_cast<uint16_t>(bytes);
  about->letter = is_cut ? 1 : 0;
}

// The line of a frame, 0 where that is unknown.
int ProbeSet::line_of(const jvmtiFrameInfo& frame) {
  Deallocated<jvmtiLineNumberEntry> lines(env_);
  jint count = 0;
  if (frame.location < 0 ||
      env_->GetLineNumberTable(frame.method, &count, lines.out()) != JVMTI_ERROR_NONE) {
    return 0;
  }
  int found = 0;
  jlocation nearest = -1;
  for (jint i = 0; i < count; ++i) {
    jlocation start = lines[i].start_location;
    if (start > frame.location || start < nearest) continue;
    nearest = start;
    found = lines[i].line_number;
  }
  return found;
}

// The number of a frame, whose name is among those of classes: signature, method and line, with a
// byte of 1 between them; 0 where it cannot be noted.
uint32_t ProbeSet::number_of(JNIEnv* jni, const jvmtiFrameInfo& frame) {
  uint64_t key = reinterpret_cast<uintptr_t>(frame.method) * 0x9E3779B97F4A7C15u ^
                 (static_cast<uint64_t>(frame.location) << 1 | 1);
  {
    Locked locked(mutex_);
    uint32_t known = frame_numbers_.find(key);
    if (known != 0) return known;
  }
  LocalRef<jclass> klass(jni);
  Deallocated<char> signature(env_);
  Deallocated<char> name(env_);
  if (env_->GetMethodDeclaringClass(frame.method, klass.out()) != JVMTI_ERROR_NONE ||
      env_->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE ||
      env_->GetMethodName(frame.method, name.out(), nullptr, nullptr) != JVMTI_ERROR_NONE) {
    return 0;
  }
  char line[16];
  std::snprintf(line, sizeof line, "%d", line_of(frame));
  Locked locked(mutex_);
  if (names_.size() > kMostNames) return 0;
  size_t before = names_.size();
  bool noted = append(&names_, signature.get(), std::strlen(signature)) &&
               append(&names_, "\1", 1) && append(&names_, name.get(), std::strlen(name)) &&
               append(&names_, "\1", 1) && append(&names_, line, std::strlen(line) + 1) &&
               frame_numbers_.insert(key, named_ + 1);
  if (!noted) {
    names_.shrink(before);
    return 0;
  }
  return ++named_;
}

// The callers of the method that has the probe; the helper's own frames and its are left out.
void ProbeSet::write_stack(JNIEnv* jni, int own_frames, jint wanted, uint8_t* into,
                           layouts::RecordedObject* about) {
  constexpr jint kMost = kLongestText / 4;
  jvmtiFrameInfo frames[kMost];
  jint space = static_cast<jint>(text_size_) / 4;
  if (wanted <= 0 || wanted > space) wanted = space;
  jint count = walk_stack(env_, nullptr, own_frames, frames, wanted < kMost ? wanted : kMost);
  if (count < 0) count = 0;
  for (jint i = 0; i < count; ++i) {
    uint32_t number = number_of(jni, frames[i]);
    std::memcpy(into + i * 4, &number, sizeof number);
  }
  about->kind = static_cast<uint8_t>(RecordedKind::kStack);
  about->text = static_cast<uint16_t>(count * 4);
}

void ProbeSet::record_object(JNIEnv* jni, uint8_t* record, jobject from, jint offset,
                             jint operand) {
  constexpr int kOwnFrames = 3;
  layouts::RecordedProbe head;
  std::memcpy(&head, record, sizeof head);
  UsedProbes used(head.probes);
  ProbeSet* set = used.get();
  // The controller can write there, too.
  bool fits = set != nullptr && offset > 0 &&
              static_cast<uint32_t>(offset) + sizeof(layouts::RecordedObject) + set->text_size_ <=
                  set->record_size_;
  if (fits) set->describe(jni, from, operand, kOwnFrames, record + offset);
}

void ProbeSet::describe(JNIEnv* jni, jobject from, jint operand, int own_frames, uint8_t* at) {
  layouts::RecordedObject about{};
  if (operand < 0 || static_cast<size_t>(operand) >= plan_.operands().size()) {
    return describe_object(jni, from, at);
  }
  const classfile::Operand& wanted = plan_.operands()[static_cast<size_t>(operand)];
  if (wanted.kind == classfile::OperandKind::kStack) {
    write_stack(jni, own_frames, static_cast<jint>(wanted.number), at + sizeof about, &about);
    std::memcpy(at, &about, sizeof about);
    return;
  }
  if (wanted.kind == classfile::OperandKind::kHeld) {
    about.kind = static_cast<uint8_t>(RecordedKind::kHeld);
    about.number = hold(jni, from);
    std::memcpy(at, &about, sizeof about);
    return;
  }
  LocalRef<> value(jni, jni->NewLocalRef(from));
  Found end = follow(jni, wanted.path, &value);
  if (end.type == 'L') return describe_object(jni, value, at);
  about.kind =
      static_cast<uint8_t>(end.type == '\0' ? RecordedKind::kAbsent : RecordedKind::kBoxed);
  about.letter = static_cast<uint8_t>(end.type);
  about.number = end.number;
  if (end.is_real()) std::memcpy(&about.number, &end.real, sizeof end.real);
  std::memcpy(at, &about, sizeof about);
}

void ProbeSet::describe_object(JNIEnv* jni, jobject value, uint8_t* at) {
  layouts::RecordedObject about{};
  if (value == nullptr) {
    std::memcpy(at, &about, sizeof about);
    return;
  }
  LocalRef<jclass> klass(jni, jni->GetObjectClass(value));
  uint64_t found = number_of(jni, klass);
  RecordedKind kind = static_cast<RecordedKind>(found >> kKindAt & 0xFF);
  about.kind = static_cast<uint8_t>(kind);
  about.klass = static_cast<uint32_t>(found);
  uint8_t* text = at + sizeof about;
  auto write_field = [&](jfieldID field) {
    LocalRef<jstring> message(jni, jni->GetObjectField(value, field));
    if (message != nullptr) write_text(jni, message, text, &about);
  };
  jint hash = 0;
  switch (kind) {
    case RecordedKind::kString:
      about.number = jni->GetStringLength(static_cast<jstring>(value));
      write_text(jni, static_cast<jstring>(value), text, &about);
      break;
    case RecordedKind::kThrowable:
      write_field(known_fields.message);
      env_->GetObjectHashCode(value, &hash);
      about.number = hash;
      break;
    case RecordedKind::kBoxed: {
      uint64_t box = found >> kBoxAt & 7;
      jfieldID field = known_fields.boxed[box];
      about.letter = static_cast<uint8_t>(kBoxTypes[box]);
      Found inside = primitive(jni, value, field, kBoxTypes[box]);
      about.number = inside.number;
      if (inside.is_real()) std::memcpy(&about.number, &inside.real, sizeof inside.real);
      break;
    }
    case RecordedKind::kArray:
      about.number = jni->GetArrayLength(static_cast<jarray>(value));
      break;
    case RecordedKind::kClass:
      about.number = static_cast<uint32_t>(number_of(jni, static_cast<jclass>(value)));
      break;
    default:
      if (found >> kEnumAt & 1) write_field(known_fields.name);
      env_->GetObjectHashCode(value, &hash);
      about.number = hash;
  }
  std::memcpy(at, &about, sizeof about);
}

}  // namespace jvmti
