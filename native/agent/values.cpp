// Values of fields, elements and linked objects, many in one reply: what an object is made of is
// seen with one crossing, and a map of thousands with a few.  No Java code runs, so that it can be
// done whatever the program's threads do meanwhile; what they change meanwhile may show or not.

#include <atomic>

#include "method_details.h"
#include "own.h"

namespace jvmti {
namespace own {

namespace {

struct Box {
  const char* name;
  char letter;
};
constexpr Box kBoxes[] = {
    {"java/lang/Integer", 'I'}, {"java/lang/Long", 'J'},  {"java/lang/Double", 'D'},
    {"java/lang/Boolean", 'Z'}, {"java/lang/Float", 'F'}, {"java/lang/Character", 'C'},
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
Mutex known_mutex;

bool find_known(JNIEnv* jni) {
  if (known.found.load(std::memory_order_acquire)) return true;
  Locked locked(known_mutex);
  if (known.found.load(std::memory_order_acquire)) return true;
  auto keep = [jni](const char* name) {
    jclass local = jni->FindClass(name);
    jclass global = local == nullptr ? nullptr : static_cast<jclass>(jni->NewGlobalRef(local));
    if (local != nullptr) jni->DeleteLocalRef(local);
    return global;
  };
  known.string = keep("java/lang/String");
  bool good = known.string != nullptr;
  for (int i = 0; i < kBoxCount && good; ++i) {
    const char type[] = {kBoxes[i].letter, 0};
    known.boxes[i] = keep(kBoxes[i].name);
    good = known.boxes[i] != nullptr;
    if (good) known.inside[i] = jni->GetFieldID(known.boxes[i], "value", type);
    good = good && known.inside[i] != nullptr;
  }
  if (good) known.found.store(true, std::memory_order_release);
  return good;
}

// The streams of `Values`, as they grow.
class ValueWriter {
 public:
  ValueWriter(Call& call, bool unbox, jint text, bool same)
      : call_(call), jni_(call.jni), unbox_(unbox), most_text_(text) {
    // Handles by the thousand are not identified: that takes a tag for each.
    if (!same) call.identify = false;
  }
  ~ValueWriter() {
    if (class_ != nullptr) jni_->DeleteLocalRef(class_);
  }
  ValueWriter(const ValueWriter&) = delete;
  ValueWriter& operator=(const ValueWriter&) = delete;

  bool good() const { return good_; }

  // So many values are to come, as far as is known: what they need grows no more.
  void expect(size_t values) { good_ = letters_.reserve(values) && numbers_.reserve(values) && good_; }

  // The object whose fields come next.
  void begin(jobject object) {
    object_ = object;
    is_instance_ = false;
  }

  void field(const FieldRecord* record) {
    if (!belongs(record)) {
      call_.refuse(JVMTI_ERROR_INVALID_FIELDID, "a field is not one of the object");
      good_ = false;
    } else if (record->is_static) {
      static_field(class_, record->id, record->type);
    } else {
      instance_field(object_, record->id, record->type);
    }
  }

  // Takes the local reference over.
  void object(jobject value) {
    if (value == nullptr) {
      letter('n');
      return;
    }
    if (jni_->IsInstanceOf(value, known.string)) {
      string(static_cast<jstring>(value));
      jni_->DeleteLocalRef(value);
      return;
    }
    for (int i = 0; unbox_ && i < kBoxCount; ++i) {
      if (!jni_->IsInstanceOf(value, known.boxes[i])) continue;
      instance_field(value, known.inside[i], kBoxes[i].letter);
      jni_->DeleteLocalRef(value);
      return;
    }
    letter('l');
    good_ = objects_.push(value) && good_;
  }

  jvmtiError finish(jint* size, unsigned char** data, jint* count, jobject** objects) {
    if (call_.refused()) return static_cast<jvmtiError>(call_.status);
    const uint32_t counts[] = {static_cast<uint32_t>(letters_.size()),
                               static_cast<uint32_t>(numbers_.size()),
                               static_cast<uint32_t>(lengths_.size())};
    size_t whole = sizeof counts + bytes_of(numbers_) + bytes_of(lengths_) + bytes_of(letters_) +
                   bytes_of(text_);
    if (!good_ || whole > protocol::kMaximumReply / 2) return JVMTI_ERROR_OUT_OF_MEMORY;
    jvmtiError error = agent.env->Allocate(static_cast<jlong>(whole), data);
    if (error != JVMTI_ERROR_NONE) return error;
    error = agent.env->Allocate(static_cast<jlong>(bytes_of(objects_) + 1),
                                reinterpret_cast<unsigned char**>(objects));
    if (error != JVMTI_ERROR_NONE) return error;
    *size = static_cast<jint>(whole);
    *count = static_cast<jint>(objects_.size());
    unsigned char* to = *data;
    std::memcpy(to, counts, sizeof counts);
    to = copy(numbers_, to + sizeof counts);
    to = copy(letters_, copy(lengths_, to));
    copy(text_, to);
    copy(objects_, reinterpret_cast<unsigned char*>(*objects));
    return JVMTI_ERROR_NONE;
  }

 private:
  template <class T>
  static size_t bytes_of(const Vector<T>& items) {
    return items.size() * sizeof(T);
  }

  template <class T>
  static unsigned char* copy(Vector<T>& items, unsigned char* to) {
    if (!items.empty()) std::memcpy(to, items.begin(), bytes_of(items));
    return to + bytes_of(items);
  }

  // Whether the object has the field.  Those of one class follow each other, and share the
  // reference to it: the first of them is looked at, and speaks for the others.
  bool belongs(const FieldRecord* record) {
    if (class_ == nullptr || record->klass != named_) {
      if (class_ != nullptr) jni_->DeleteLocalRef(class_);
      // The class keeps its fields: as long as it is there, the id is good.
      class_ = static_cast<jclass>(jni_->NewLocalRef(record->klass));
      named_ = record->klass;
      is_instance_ = false;
    }
    if (class_ == nullptr) return false;
    if (record->is_static || is_instance_) return true;
    return is_instance_ = jni_->IsInstanceOf(object_, class_);
  }

  void letter(char one) { good_ = letters_.push(static_cast<unsigned char>(one)) && good_; }

  void whole(char type, jlong value) {
    letter(type);
    good_ = numbers_.push(value) && good_;
  }

  void floating(char type, jdouble value) {
    jlong bits;
    std::memcpy(&bits, &value, sizeof bits);
    whole(type, bits);
  }

  void string(jstring value) {
    jsize all = jni_->GetStringLength(value);
    jsize length = most_text_ >= 0 && all > most_text_ ? most_text_ : all;
    size_t at = text_.size();
    size_t wanted = at + static_cast<size_t>(length);
    if (wanted > text_.capacity()) good_ = text_.reserve(wanted * 2) && good_;
    good_ = lengths_.push(length) && good_;
    letter(length < all ? 'u' : 't');
    if (!good_ || length == 0) return;
    jni_->GetStringRegion(value, 0, length, text_.begin() + at);
    text_.grow(wanted);
  }

  void instance_field(jobject object, jfieldID field, char type) {
    switch (type) {
      case 'Z': return whole(type, jni_->GetBooleanField(object, field) != 0);
      case 'B': return whole(type, jni_->GetByteField(object, field));
      case 'C': return whole(type, jni_->GetCharField(object, field));
      case 'S': return whole(type, jni_->GetShortField(object, field));
      case 'I': return whole(type, jni_->GetIntField(object, field));
      case 'J': return whole(type, jni_->GetLongField(object, field));
      case 'F': return floating(type, static_cast<jdouble>(jni_->GetFloatField(object, field)));
      case 'D': return floating(type, jni_->GetDoubleField(object, field));
      default: return this->object(jni_->GetObjectField(object, field));
    }
  }

  void static_field(jclass klass, jfieldID field, char type) {
    switch (type) {
      case 'Z': return whole(type, jni_->GetStaticBooleanField(klass, field) != 0);
      case 'B': return whole(type, jni_->GetStaticByteField(klass, field));
      case 'C': return whole(type, jni_->GetStaticCharField(klass, field));
      case 'S': return whole(type, jni_->GetStaticShortField(klass, field));
      case 'I': return whole(type, jni_->GetStaticIntField(klass, field));
      case 'J': return whole(type, jni_->GetStaticLongField(klass, field));
      case 'F':
        return floating(type, static_cast<jdouble>(jni_->GetStaticFloatField(klass, field)));
      case 'D': return floating(type, jni_->GetStaticDoubleField(klass, field));
      default: return object(jni_->GetStaticObjectField(klass, field));
    }
  }

  Call& call_;
  JNIEnv* jni_;
  bool unbox_;
  jint most_text_;
  bool good_ = true;
  jobject object_ = nullptr;
  jclass class_ = nullptr;      // of the field before, as a local reference
  jweak named_ = nullptr;       // what the field before names it with
  bool is_instance_ = false;    // the object is one of that class
  Vector<unsigned char> letters_;
  Vector<jlong> numbers_;
  Vector<jint> lengths_;
  Vector<jchar> text_;
  Vector<jobject> objects_;
};

bool ready(Call& call) {
  if (call.jni == nullptr) {
    call.refuse(JVMTI_ERROR_WRONG_PHASE, "there are no objects yet");
    return false;
  }
  if (find_known(call.jni)) return true;
  call.jni->ExceptionClear();
  call.refuse(JVMTI_ERROR_INTERNAL, "the classes of strings and boxes are not to be had");
  return false;
}

}  // namespace

jvmtiError ReadFields(Call& call, const In<kinds::Object>& object,
                      const In<List<kinds::Field>>& fields, const In<jboolean>& unbox,
                      const In<jint>& text, const In<jboolean>& same, jint* size, unsigned char** data, jint* count, jobject** objects) {
  if (!ready(call)) return static_cast<jvmtiError>(call.status);
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  writer.begin(object.c());
  writer.expect(static_cast<size_t>(fields.count()));
  for (jint i = 0; i < fields.count() && writer.good(); ++i) writer.field(fields.record(i));
  return writer.finish(size, data, count, objects);
}

jvmtiError ReadElements(Call& call, const In<kinds::ObjectArray>& array, const In<jint>& start,
                        const In<jint>& length, const In<jboolean>& unbox, const In<jint>& text,
                        const In<jboolean>& same, jint* size, unsigned char** data, jint* count, jobject** objects) {
  if (!ready(call)) return static_cast<jvmtiError>(call.status);
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  jsize there = call.jni->GetArrayLength(array.c());
  jint first = start.c() < 0 ? 0 : start.c();
  for (jint i = first; i < there && i - first < length.c() && writer.good(); ++i) {
    writer.object(call.jni->GetObjectArrayElement(array.c(), i));
  }
  return writer.finish(size, data, count, objects);
}

jvmtiError ReadLinked(Call& call, const In<kinds::Object>& start, const In<kinds::Field>& next,
                      const In<List<kinds::Field>>& fields, const In<jint>& most,
                      const In<jboolean>& unbox, const In<jint>& text, const In<jboolean>& same,
                      jint* size, unsigned char** data, jint* count, jobject** objects) {
  if (!ready(call)) return static_cast<jvmtiError>(call.status);
  JNIEnv* jni = call.jni;
  const FieldRecord* link = next.record();
  jclass linked = static_cast<jclass>(jni->NewLocalRef(link->klass));
  if (linked == nullptr || link->is_static || simple_type(link->type) != 'L') {
    call.refuse(JVMTI_ERROR_INVALID_FIELDID, "the field refers to no further object");
    return JVMTI_ERROR_INVALID_FIELDID;
  }
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  jobjectArray array = nullptr;
  jsize chains = 1;
  if (kind_of(start.handle()) == kinds::ObjectArray::kind) {
    array = static_cast<jobjectArray>(start.c());
    chains = jni->GetArrayLength(array);
  }
  jint left = most.c();
  for (jsize i = 0; i < chains && left > 0 && writer.good(); ++i) {
    jobject at = array == nullptr ? jni->NewLocalRef(start.c())
                                  : jni->GetObjectArrayElement(array, i);
    // A list that leads back into itself, as a race may leave it, ends with what is asked for.
    while (at != nullptr && jni->IsInstanceOf(at, linked) && left > 0 && writer.good()) {
      writer.begin(at);
      for (jint f = 0; f < fields.count() && writer.good(); ++f) writer.field(fields.record(f));
      jobject further = jni->GetObjectField(at, link->id);
      jni->DeleteLocalRef(at);
      at = further;
      --left;
    }
    if (at != nullptr) jni->DeleteLocalRef(at);
  }
  jni->DeleteLocalRef(linked);
  return writer.finish(size, data, count, objects);
}

}  // namespace own
}  // namespace jvmti
