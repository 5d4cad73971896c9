// Values of fields, elements and linked objects, many in one reply: what an object is made of is
// seen with one crossing, and a map of thousands with a few.  No Java code runs, so that it can be
// done whatever the program's threads do meanwhile; what they change meanwhile may show or not.

#include <atomic>

#include "agent/engines/threads/leave_frame.h"
#include "agent/guards/method_details.h"
#include "agent/handles/agent_references.h"
#include "generated/overrides.h"

namespace jvmti::operations {

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

using layouts::Letter;

// The streams of `Values`, as they grow.
class ValueWriter : NoCopy {
 public:
  ValueWriter(Call& call, bool unbox, jint text, bool same)
      : call_(call), jni_(call.jni), unbox_(unbox), most_text_(text), class_(call.jni) {
    // Handles by the thousand are not identified: that takes a tag for each.
    if (!same) call.identify = false;
  }

  bool good() const { return good_; }
  // For want of memory, which the result says then.
  void fail() { good_ = false; }

  // About this many values will follow: reserves their memory.
  void expect(size_t values) {
    good_ = letters_.reserve(values) && numbers_.reserve(values) && good_;
  }

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
      field(class_.get(), true, record->id, record->type);
    } else {
      field(object_, false, record->id, record->type);
    }
  }

  // Takes the local reference over.
  void object(jobject taken) {
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
    value.release();  // the result's
  }

  jvmtiError finish(jint* size, unsigned char** data, jint* count, jobject** objects) {
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
      // The class keeps its fields: while it is loaded, the id is valid.
      class_ = class_behind(jni_, record->klass);
      named_ = record->klass;
      is_instance_ = false;
    }
    if (class_ == nullptr) return false;
    if (record->is_static || is_instance_) return true;
    return is_instance_ = jni_->IsInstanceOf(object_, class_);
  }

  void letter(Letter one) { letter(static_cast<char>(one)); }
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
    letter(length < all ? Letter::kTextCut : Letter::kText);
    if (!good_ || length == 0) return;
    jni_->GetStringRegion(value, 0, length, text_.begin() + at);
    text_.grow(wanted);
  }

  // Of an object, or of a class where it is static.
  void field(jobject holder, bool is_static, jfieldID field, char type) {
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

  Call& call_;
  JNIEnv* jni_;
  bool unbox_;
  jint most_text_;
  bool good_ = true;
  jobject object_ = nullptr;
  LocalRef<jclass> class_;    // of the field before, as a local reference
  jweak named_ = nullptr;     // what the field before names it with
  bool is_instance_ = false;  // the object is one of that class
  Vector<unsigned char> letters_;
  Vector<jlong> numbers_;
  Vector<jint> lengths_;
  Vector<jchar> text_;
  Vector<jobject> objects_;
};

bool ready(Call& call) {
  if (call.jni == nullptr) return call.refuse(JVMTI_ERROR_WRONG_PHASE, "there are no objects yet");
  if (find_known(call.jni)) return true;
  if (is_leaving()) call.refuse(layouts::Status::kLeavingFrame);
  call.jni->ExceptionClear();
  return call.refuse(JVMTI_ERROR_INTERNAL, "the classes of strings and boxes are not available");
}

}  // namespace

jvmtiError ReadFields(Call& call, const In<kinds::Object>& object,
                      const In<List<kinds::Field>>& fields, const In<jboolean>& unbox,
                      const In<jint>& text, const In<jboolean>& same, jint* size,
                      unsigned char** data, jint* count, jobject** objects) {
  if (!ready(call)) return call.outcome();
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  writer.begin(object.c());
  writer.expect(static_cast<size_t>(fields.count()));
  for (jint i = 0; i < fields.count() && writer.good(); ++i) writer.field(fields.record(i));
  return writer.finish(size, data, count, objects);
}

jvmtiError ReadElements(Call& call, const In<kinds::ObjectArray>& array, const In<jint>& start,
                        const In<jint>& length, const In<jboolean>& unbox, const In<jint>& text,
                        const In<jboolean>& same, jint* size, unsigned char** data, jint* count,
                        jobject** objects) {
  if (!ready(call)) return call.outcome();
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  jsize there = call.jni->GetArrayLength(array.c());
  jint first = start.c() < 0 ? 0 : start.c();
  for (jint i = first; i < there && i - first < length.c() && writer.good(); ++i) {
    writer.object(call.jni->GetObjectArrayElement(array.c(), i));
  }
  return writer.finish(size, data, count, objects);
}

namespace {

// Walks over objects that refer to each other, and writes fields of each.
class Walk : NoCopy {
 public:
  Walk(Call& call, ValueWriter& writer, const In<List<kinds::Field>>& fields, jint most)
      : call_(call),
        jni_(call.jni),
        writer_(writer),
        fields_(fields),
        left_(most),
        array_(call.jni) {}
  ~Walk() {
    for (Link& one : aside_) delete_local(jni_, one.of);
    delete_local(jni_, next_.of);
    delete_local(jni_, before_.of);
  }

  bool follow(const FieldRecord* next) { return open(next, &next_); }
  bool follow_first(const FieldRecord* before) { return open(before, &before_); }

  bool lead_aside(const In<List<kinds::Field>>& aside) {
    for (jint i = 0; i < aside.count(); ++i) {
      Link link{};
      if (!open(aside.record(i), &link)) return false;
      if (!aside_.push(link)) {
        delete_local(jni_, link.of);
        return call_.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
      }
    }
    return true;
  }

  // All chains that begin in an array.
  void chains(jobjectArray table) {
    jsize count = jni_->GetArrayLength(table);
    for (jsize i = 0; i < count && has_more(); ++i) {
      chain(jni_->GetObjectArrayElement(table, i), i, count, 0);
    }
  }

  // One chain, which begins at one of the places of an array; takes the local reference over.
  void chain(jobject first, jsize place, jsize places, int depth) {
    LocalRef<> at(jni_, first);
    LocalRef<> seen(jni_);  // one of those before: a race may lead a chain back into itself
    for (size_t step = 1, mark = 1; at != nullptr && has_more(); ++step) {
      if (seen != nullptr && jni_->IsSameObject(at, seen)) break;
      if (step == mark) {
        seen.reset(jni_->NewLocalRef(at));
        mark *= 2;
      }
      const Link* aside = aside_of(at);
      if (aside == nullptr && !jni_->IsInstanceOf(at, next_.of)) break;
      if (aside == nullptr) write(at);
      at.reset(jni_->GetObjectField(at, (aside == nullptr ? next_ : *aside).id));
      if (aside != nullptr && at != nullptr && is_array(at)) {
        moved(static_cast<jobjectArray>(at.get()), place, places, depth);
        break;
      }
    }
  }

  // A binary tree in its order; takes the local reference over.
  void tree(jobject root) {
    LocalRef<> at(jni_, root);
    Vector<jobject> above;
    while (has_more() && (at != nullptr || !above.empty())) {
      // The two fields may be of different classes; in an object without one of them its place is
      // somebody else's.
      if (at != nullptr && above.size() < kDeepest && jni_->IsInstanceOf(at, next_.of) &&
          jni_->IsInstanceOf(at, before_.of)) {
        if (!above.push(at)) {
          writer_.fail();
          break;
        }
        at = LocalRef<>(jni_, jni_->GetObjectField(at.release(), before_.id));
        continue;
      }
      at.reset();
      if (above.empty()) break;
      LocalRef<> top(jni_, above.pop());
      write(top);
      at.reset(jni_->GetObjectField(top, next_.id));
    }
    for (jobject one : above) delete_local(jni_, one);
  }

 private:
  struct Link {
    jclass of;
    jfieldID id;
  };

  // A table that doubles each time has no more sizes, a balanced tree no more levels.
  static constexpr int kDeepest = 64;

  bool has_more() const { return left_ > 0 && writer_.good(); }

  bool open(const FieldRecord* record, Link* link) {
    if (!record->is_static && simple_type(record->type) == 'L') {
      link->of = static_cast<jclass>(jni_->NewLocalRef(record->klass));
      link->id = record->id;
    }
    if (link->of != nullptr) return true;
    return call_.refuse(JVMTI_ERROR_INVALID_FIELDID, "the field refers to no further object");
  }

  const Link* aside_of(jobject at) {
    for (const Link& one : aside_) {
      if (jni_->IsInstanceOf(at, one.of)) return &one;
    }
    return nullptr;
  }

  bool is_array(jobject at) {
    if (array_ == nullptr) array_ = class_named(jni_, "[Ljava/lang/Object;");
    return array_ != nullptr && jni_->IsInstanceOf(at, array_);
  }

  // What was at one place of a table is at several of a larger one.
  void moved(jobjectArray table, jsize place, jsize places, int depth) {
    if (depth >= kDeepest) return;
    jsize count = jni_->GetArrayLength(table);
    for (jlong i = place; i < count && has_more(); i += places) {
      jsize there = static_cast<jsize>(i);
      chain(jni_->GetObjectArrayElement(table, there), there, count, depth + 1);
    }
  }

  void write(jobject at) {
    writer_.begin(at);
    for (jint f = 0; f < fields_.count() && writer_.good(); ++f) writer_.field(fields_.record(f));
    --left_;
  }

  Call& call_;
  JNIEnv* jni_;
  ValueWriter& writer_;
  const In<List<kinds::Field>>& fields_;
  jint left_;
  Link next_{};
  Link before_{};
  Vector<Link> aside_;
  LocalRef<jclass> array_;
};

}  // namespace

jvmtiError ReadLinked(Call& call, const In<kinds::Object>& start, const In<kinds::Field>& next,
                      const In<List<kinds::Field>>& aside, const In<List<kinds::Field>>& fields,
                      const In<jint>& most, const In<jboolean>& unbox, const In<jint>& text,
                      const In<jboolean>& same, jint* size, unsigned char** data, jint* count,
                      jobject** objects) {
  if (!ready(call)) return call.outcome();
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  Walk walk(call, writer, fields, most.c());
  if (!walk.follow(next.record()) || !walk.lead_aside(aside)) {
    return call.outcome();
  }
  if (kind_of(start.handle()) == kinds::ObjectArray::kind) {
    walk.chains(static_cast<jobjectArray>(start.c()));
  } else {
    walk.chain(call.jni->NewLocalRef(start.c()), 0, 1, 0);
  }
  return writer.finish(size, data, count, objects);
}

jvmtiError ReadTree(Call& call, const In<kinds::Object>& root, const In<kinds::Field>& left,
                    const In<kinds::Field>& right, const In<List<kinds::Field>>& fields,
                    const In<jint>& most, const In<jboolean>& unbox, const In<jint>& text,
                    const In<jboolean>& same, jint* size, unsigned char** data, jint* count,
                    jobject** objects) {
  if (!ready(call)) return call.outcome();
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  Walk walk(call, writer, fields, most.c());
  if (!walk.follow(right.record()) || !walk.follow_first(left.record())) {
    return call.outcome();
  }
  walk.tree(call.jni->NewLocalRef(root.c()));
  return writer.finish(size, data, count, objects);
}

}  // namespace jvmti::operations
