// The streams of `Values`, many values in one reply.
#pragma once

#include "agent/calls/call.h"
#include "agent/guards/method_details.h"
#include "agent/handles/agent_references.h"

namespace jvmti {

// Whether there are objects by now, and what the writer knows of classes is there; refuses the call
// otherwise.
bool can_write_values(Call& call);

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

  // After each object among them its contents, as far as it is an array, or of a class that
  // declares two of these fields: how many elements it has, and where these are.
  void with_contents(jint items, jint text, const In<List<kinds::Field>>* sized) {
    items_ = items;
    item_text_ = text;
    sized_ = sized;
  }

  // About this many values will follow: reserves their memory.
  void expect(size_t values) {
    good_ = letters_.reserve(values) && numbers_.reserve(values) && good_;
  }

  // The object whose fields come next.
  void begin(jobject object) {
    object_ = object;
    is_instance_ = false;
  }

  void field(const FieldRecord* record);

  // Takes the local reference over.
  void object(jobject taken);

  jvmtiError finish(jint* size, unsigned char** data, jint* count, jobject** objects);

 private:
  // Whether the object has the field.  Those of one class follow each other, and share the
  // reference to it: the first of them is looked at, and speaks for the others.
  bool belongs(const FieldRecord* record);
  void letter(layouts::Letter one) { letter(static_cast<char>(one)); }
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

  void string(jstring value);
  // Of an array or a list, how long it is and how it begins.
  void contents(jobject value);
  void elements(jarray array, uint8_t kind, jsize count);
  // Of an object, or of a class where it is static.
  void field(jobject holder, bool is_static, jfieldID field, char type);

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
  jint items_ = 0;  // of the contents of each object at most
  jint item_text_ = -1;
  const In<List<kinds::Field>>* sized_ = nullptr;
};

}  // namespace jvmti
