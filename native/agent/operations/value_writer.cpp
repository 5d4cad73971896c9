// Values of fields and elements as they are written: numbers, texts and objects in streams of their
// own. No Java code runs.

#include "agent/operations/value_writer.h"

#include <atomic>
#include <utility>

#include "agent/engines/threads/leave_frame.h"

namespace jvmti {

using layouts::Letter;

namespace {

struct Box {
  const char* name;
  char letter;
};
constexpr Box kBoxes[] = {{"java/lang/Integer", 'I'}, {"java/lang/Long", 'J'},
                          {"java/lang/Double", 'D'},  {"java/lang/Boolean", 'Z'},
                          {"java/lang/Float", 'F'},   {"java/lang/Character", 'C'},
                          {"java/lang/Short", 'S'},   {"java/lang/Byte", 'B'}};
constexpr int kBoxCount = sizeof kBoxes / sizeof kBoxes[0];

// What is looked up once in a VM's life: classes of the bootstrap loader, which are never unloaded.
struct KnownClasses {
  std::atomic<bool> found;
  jclass string;
  jclass boxes[kBoxCount];
  jfieldID inside[kBoxCount];
};
KnownClasses known;
Mutex known_mutex{Guards::kLists};

bool find_known(JNIEnv* jni) {
  if (known.found.load(std::memory_order_acquire)) return true;
  if (is_leaving()) return false;
  KnownClasses looked_up{};
  auto keep = [jni](const char* name) {
    LocalRef<jclass> local = class_named(jni, name);
    return local == nullptr ? nullptr : static_cast<jclass>(hold(jni, local));
  };
  looked_up.string = keep("java/lang/String");
  bool good = looked_up.string != nullptr;
  for (int i = 0; i < kBoxCount && good; ++i) {
    const char type[] = {kBoxes[i].letter, 0};
    looked_up.boxes[i] = keep(kBoxes[i].name);
    good = looked_up.boxes[i] != nullptr;
    if (good) looked_up.inside[i] = jni->GetFieldID(looked_up.boxes[i], "value", type);
    good = good && looked_up.inside[i] != nullptr;
  }
  {
    Locked locked(known_mutex);
    if (good && !known.found) {
      known.string = looked_up.string;
      std::memcpy(known.boxes, looked_up.boxes, sizeof known.boxes);
      std::memcpy(known.inside, looked_up.inside, sizeof known.inside);
      known.found.store(true, std::memory_order_release);
      return true;
    }
  }
  // Another thread was first, or something is missing.
  if (looked_up.string != nullptr) let_go(jni, looked_up.string);
  for (jclass box : looked_up.boxes) {
    if (box != nullptr) let_go(jni, box);
  }
  return good;
}

template <class T>
size_t bytes_of(const Vector<T>& items) {
  return items.size() * sizeof(T);
}

template <class T>
unsigned char* copy(Vector<T>& items, unsigned char* to) {
  if (!items.empty()) std::memcpy(to, items.begin(), bytes_of(items));
  return to + bytes_of(items);
}

}  // namespace

bool can_write_values(Call& call) {
  if (call.jni == nullptr) return call.refuse(JVMTI_ERROR_WRONG_PHASE, "there are no objects yet");
  if (find_known(call.jni)) return true;
  if (is_leaving()) call.refuse(layouts::Status::kLeavingFrame);
  call.jni->ExceptionClear();
  return call.refuse(JVMTI_ERROR_INTERNAL, "the classes of strings and boxes are not available");
}

void ValueWriter::field(const FieldRecord* record) {
  if (!belongs(record)) {
    call_.refuse(JVMTI_ERROR_INVALID_FIELDID, "a field is not one of the object");
    good_ = false;
  } else if (record->is_static) {
    field(class_.get(), true, record->id, record->type);
  } else {
    field(object_, false, record->id, record->type);
  }
}

void ValueWriter::object(jobject taken) {
  LocalRef<> value(jni_, taken);
  if (value == nullptr) {
    letter(Letter::kNull);
    return;
  }
  if (jni_->IsInstanceOf(value, known.string)) {
    string(static_cast<jstring>(value.get()));
    return;
  }
  for (int i = 0; unbox_ && i < kBoxCount; ++i) {
    if (!jni_->IsInstanceOf(value, known.boxes[i])) continue;
    field(value, false, known.inside[i], kBoxes[i].letter);
    return;
  }
  letter(Letter::kObject);
  good_ = objects_.push(value) && good_;
  jobject written = value.release();  // the result's
  if (items_ > 0 && good_) contents(written);
}

void ValueWriter::contents(jobject value) {
  uint8_t kind = kind_of_object(jni_, value);
  LocalRef<jarray> array(jni_);
  jsize size = -1;
  if (kind >= kinds::ObjectArray::kind && kind <= kinds::DoubleArray::kind) {
    array = LocalRef<jarray>(jni_, static_cast<jarray>(jni_->NewLocalRef(value)));
    if (array == nullptr) return;  // no memory for the reference
    size = jni_->GetArrayLength(array);
  }
  for (jint i = 0; size < 0 && sized_ != nullptr && i + 1 < sized_->count(); i += 2) {
    const FieldRecord* count = sized_->record(i);
    const FieldRecord* items = sized_->record(i + 1);
    LocalRef<jclass> its(jni_, jni_->GetObjectClass(value));
    if (count->type != 'I' || count->is_static || items->is_static ||
        simple_type(items->type) != 'L' || !jni_->IsSameObject(its, count->klass) ||
        !jni_->IsSameObject(its, items->klass)) {
      continue;
    }
    LocalRef<> held(jni_, jni_->GetObjectField(value, items->id));
    if (held == nullptr || kind_of_object(jni_, held) != kinds::ObjectArray::kind) return;
    kind = kinds::ObjectArray::kind;
    size = jni_->GetIntField(value, count->id);
    array = LocalRef<jarray>(jni_, static_cast<jarray>(held.release()));
  }
  if (size < 0) return;
  whole(static_cast<char>(Letter::kContents), size);
  // Objects within them have none of their own, so that no circle is followed.
  jint items = items_;
  bool unbox = unbox_;
  std::swap(most_text_, item_text_);
  items_ = 0;
  unbox_ = true;
  jsize there = jni_->GetArrayLength(array);
  jsize count = size < items ? size : items;
  elements(array, kind, count < there ? count : there);
  items_ = items;
  unbox_ = unbox;
  std::swap(most_text_, item_text_);
  letter(Letter::kEnd);
}

void ValueWriter::elements(jarray array, uint8_t kind, jsize count) {
#define JVMTI_ELEMENT(Type, T, write)                                        \
  case kinds::Type##Array::kind: {                                           \
    T item{};                                                                \
    jni_->Get##Type##ArrayRegion(static_cast<T##Array>(array), i, 1, &item); \
    write;                                                                   \
    break;                                                                   \
  }
  for (jsize i = 0; i < count && good_; ++i) {
    switch (kind) {
      JVMTI_ELEMENT(Boolean, jboolean, whole('Z', item != 0))
      JVMTI_ELEMENT(Byte, jbyte, whole('B', item))
      JVMTI_ELEMENT(Char, jchar, whole('C', item))
      JVMTI_ELEMENT(Short, jshort, whole('S', item))
      JVMTI_ELEMENT(Int, jint, whole('I', item))
      JVMTI_ELEMENT(Long, jlong, whole('J', item))
      JVMTI_ELEMENT(Float, jfloat, floating('F', static_cast<jdouble>(item)))
      JVMTI_ELEMENT(Double, jdouble, floating('D', item))
      default:
        object(jni_->GetObjectArrayElement(static_cast<jobjectArray>(array), i));
    }
  }
#undef JVMTI_ELEMENT
}

void ValueWriter::string(jstring value) {
  jsize all = jni_->GetStringLength(value);
  jsize length = most_text_ >= 0 && all > most_text_ ? most_text_ : all;
  size_t at = text_.size();
  size_t wanted = at + static_cast<size_t>(length);
  if (wanted > text_.capacity()) good_ = text_.reserve(wanted * 2) && good_;
  good_ = lengths_.push(length) && good_;
  letter(length < all ? Letter::kTextCut : Letter::kText);
  if (!good_ || length == 0) return;
  jni_->GetStringRegion(value, 0, length, text_.begin() + at);
  text_.grow(wanted);
}

bool ValueWriter::belongs(const FieldRecord* record) {
  if (class_ == nullptr || record->klass != named_) {
    // The class keeps its fields: while it is loaded, the id is valid.
    class_ = class_behind(jni_, record->klass);
    named_ = record->klass;
    is_instance_ = false;
  }
  if (class_ == nullptr) return false;
  if (record->is_static || is_instance_) return true;
  return is_instance_ = jni_->IsInstanceOf(object_, class_);
}

void ValueWriter::field(jobject holder, bool is_static, jfieldID field, char type) {
#define JVMTI_READ(Type)                                                        \
  (is_static ? jni_->GetStatic##Type##Field(static_cast<jclass>(holder), field) \
             : jni_->Get##Type##Field(holder, field))
  switch (type) {
    case 'Z':
      return whole(type, JVMTI_READ(Boolean) != 0);
    case 'B':
      return whole(type, JVMTI_READ(Byte));
    case 'C':
      return whole(type, JVMTI_READ(Char));
    case 'S':
      return whole(type, JVMTI_READ(Short));
    case 'I':
      return whole(type, JVMTI_READ(Int));
    case 'J':
      return whole(type, JVMTI_READ(Long));
    case 'F':
      return floating(type, static_cast<jdouble>(JVMTI_READ(Float)));
    case 'D':
      return floating(type, JVMTI_READ(Double));
    default:
      return object(JVMTI_READ(Object));
  }
#undef JVMTI_READ
}

jvmtiError ValueWriter::finish(jint* size, unsigned char** data, jint* count, jobject** objects) {
  if (call_.refused()) return call_.outcome();
  const layouts::ValueCounts counts{static_cast<uint32_t>(letters_.size()),
                                    static_cast<uint32_t>(numbers_.size()),
                                    static_cast<uint32_t>(lengths_.size())};
  size_t whole = sizeof counts + bytes_of(numbers_) + bytes_of(lengths_) + bytes_of(letters_) +
                 bytes_of(text_);
  if (!good_ || whole > layouts::FrameLimits::kReply / 2) return JVMTI_ERROR_OUT_OF_MEMORY;
  if (jvmtiError error = agent.env->Allocate(static_cast<jlong>(whole), data)) return error;
  if (jvmtiError error = give(objects_, count, objects)) return error;
  *size = static_cast<jint>(whole);
  unsigned char* to = *data;
  std::memcpy(to, &counts, sizeof counts);
  to = copy(numbers_, to + sizeof counts);
  to = copy(letters_, copy(lengths_, to));
  copy(text_, to);
  return JVMTI_ERROR_NONE;
}

}  // namespace jvmti
