// Arguments and results of intercepted JNI calls, and of extension events, as the controller gets
// them.
#pragma once

#include <stdarg.h>

#include "agent/calls/call.h"

namespace jvmti {

// Memory of the program's that a call hands over or gives back.
struct JniBuffer {
  void* at;
  size_t size;
  bool writable;
};

// What the first object among the arguments of a function says of a field: it has the field, it is
// the class that has it, or it is the field's reflection.
enum class Owner { kInstance, kClass, kReflection };

// Writes arguments and results, each behind a letter that says what it is.
class JniValues {
 public:
  // `slot` is that of the function; `buffers` is where those of the call are noted, null where a
  // pointer is only an address.
  JniValues(Call& call, Writer& out, Owner owner_kind, int slot = 0, JniBuffer* buffers = nullptr)
      : call_(call), out_(out), owner_kind_(owner_kind), slot_(slot), buffers_(buffers) {}
  // The result comes after the arguments, the first object of which it may belong to.
  void begin_result(jobject owner) {
    owner_ = owner;
    result_ = true;
  }
  // What a pointer leads to is known from the numbers beside it.
  template <class... A>
  void look(A... given) {
    (note(given), ...);
  }

  template <class T>
  void put(T value) {
    if constexpr (std::is_arithmetic<T>::value) {
      put_number(value);
    } else if constexpr (std::is_same<T, jmethodID>::value) {
      method_ = value;
      letter('m');
      out_.number(call_.session.methods.issue(value, call_.session.tags()));
    } else if constexpr (std::is_same<T, jfieldID>::value) {
      put_field(value);
    } else if constexpr (std::is_same<T, const char*>::value) {
      letter('T');
      Wire<Text>::write(call_, Sink{&out_, 0}, value);
    } else if constexpr (std::is_same<T, const jvalue*>::value) {
      put_arguments(value);
    } else if constexpr (std::is_convertible<T, jobject>::value) {
      if (owner_ == nullptr) owner_ = value;
      letter('L');
      out_.number(call_.issue(value, 0));
    } else if constexpr (std::is_enum<T>::value) {
      put_number(static_cast<jint>(value));
    } else if constexpr (std::is_same<T, const JNINativeMethod*>::value) {
      put_natives(value);
    } else if constexpr (std::is_same<T, void*>::value) {
      put_memory(value);
    } else if constexpr (element_letter<std::remove_cv_t<std::remove_pointer_t<T>>>() != 0) {
      using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
      put_buffer(element_letter<Element>(), sizeof(Element),
                 !std::is_const<std::remove_pointer_t<T>>::value, const_cast<Element*>(value));
    } else {
      letter('p');
      out_.number(reinterpret_cast<uint64_t>(value));
    }
  }
  void put_arguments(const jvalue* values);
  jobject owner() const { return owner_; }

 private:
  // Of what a pointer may lead to; 0 for anything else.
  template <class E>
  static constexpr char element_letter() {
    if constexpr (std::is_same<E, jboolean>::value) {
      return 'Z';
    } else if constexpr (std::is_same<E, jbyte>::value) {
      return 'B';
    } else if constexpr (std::is_same<E, char>::value) {
      return 'c';
    } else if constexpr (std::is_same<E, jchar>::value) {
      return 'C';
    } else if constexpr (std::is_same<E, jshort>::value) {
      return 'S';
    } else if constexpr (std::is_same<E, jint>::value) {
      return 'I';
    } else if constexpr (std::is_same<E, jlong>::value) {
      return 'J';
    } else if constexpr (std::is_same<E, jfloat>::value) {
      return 'F';
    } else if constexpr (std::is_same<E, jdouble>::value) {
      return 'D';
    } else {
      return 0;
    }
  }
  template <class T>
  void note(T value) {
    if constexpr (std::is_same<T, jint>::value) {
      before_ = last_;
      last_ = value;
    } else if constexpr (std::is_same<T, jlong>::value) {
      wide_ = value;
    } else if constexpr (std::is_convertible<T, jobject>::value) {
      if (owner_ == nullptr) owner_ = value;
    }
  }
  jint elements() const;
  void put_buffer(char type, size_t each, bool writable, void* at);
  // Memory without a type: that of a direct buffer, or only an address.
  void put_memory(void* at);
  void put_natives(const JNINativeMethod* natives);
  void letter(char value) { out_.number(static_cast<uint8_t>(value)); }
  void put_field(jfieldID field);
  jclass class_of_field();
  template <class T>
  void put_number(T value) {
    if constexpr (std::is_same<T, jboolean>::value) {
      put_primitive('Z', static_cast<uint64_t>(value != 0));
    } else if constexpr (std::is_same<T, jchar>::value) {
      put_primitive('C', static_cast<uint64_t>(value));
    } else if constexpr (std::is_floating_point<T>::value) {
      put_primitive('D', static_cast<double>(value));
    } else {
      put_primitive('J', static_cast<int64_t>(value));
    }
  }
  template <class T>
  void put_primitive(char type, T value) {
    letter(type);
    out_.number(value);
  }

  Call& call_;
  Writer& out_;
  const Owner owner_kind_;
  const int slot_;
  JniBuffer* buffers_;
  bool result_ = false;
  jint before_ = 0;  // the numbers among the arguments, the last two of them
  jint last_ = 0;
  jlong wide_ = 0;
  jobject owner_ = nullptr;
  jmethodID method_ = nullptr;
};

// The arguments of a variadic call, by the method's signature.
class JniArguments : NoCopy {
 public:
  JniArguments(jmethodID method, va_list* given);
  const jvalue* values() const { return values_.get(); }

 private:
  Array<jvalue> values_;
};

}  // namespace jvmti
