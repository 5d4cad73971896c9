// The typed inputs of the generated thunks: each reads from the reader of its parameter.
#pragma once

#include "agent/calls/call.h"

namespace jvmti {

template <class T, class = void>
class In;

template <class T>
class In<T, std::enable_if_t<std::is_arithmetic_v<T>>> {
 public:
  In(Call& call, int parameter) : value_(call.reader(parameter).number<T>()) {}
  T c() const { return value_; }
  void set(T value) { value_ = value; }

 private:
  T value_;
};

template <class T>
class In<T, std::enable_if_t<std::is_enum_v<T>>> {
 public:
  In(Call& call, int parameter)
      : value_(static_cast<T>(call.reader(parameter).number<int32_t>())) {}
  T c() const { return value_; }

 private:
  T value_;
};

// The reference behind an object handle for the time of the call.
class Borrowed : NoCopy {
 public:
  Borrowed() = default;
  ~Borrowed() { release(); }
  bool borrow(Call& call, uint64_t handle, uint8_t kind, bool any_array);
  jobject reference() const { return reference_; }
  // Why it could not be had: the handle is a weak reference, and its object is no more.
  bool collected() const { return collected_; }

 private:
  void release();
  Call* call_ = nullptr;
  uint64_t handle_ = 0;
  jobject reference_ = nullptr;
  bool local_ = false;
  bool collected_ = false;
};

template <class Kind>
struct Nullable {};

template <class Kind, bool null_allowed>
class ObjectInput {
 public:
  ObjectInput(Call& call, int parameter) : handle_(call.reader(parameter).number<uint64_t>()) {
    if (handle_ == 0 && null_allowed) return;
    if (!borrowed_.borrow(call, handle_, Kind::kind, Kind::any_array)) {
      // To JNI a weak reference to a collected object is null.
      if (null_allowed && call.jni_function && borrowed_.collected()) return;
      call.refuse(Kind::error, "parameter %d: handle %llx is not a live %s of this session",
                  parameter + 1, static_cast<unsigned long long>(handle_), Kind::name);
    }
  }
  typename Kind::C c() const { return static_cast<typename Kind::C>(borrowed_.reference()); }
  uint64_t handle() const { return handle_; }

 private:
  uint64_t handle_;
  Borrowed borrowed_;
};

template <class Kind>
class In<Kind, std::enable_if_t<Kind::is_object>> : public ObjectInput<Kind, false> {
 public:
  using ObjectInput<Kind, false>::ObjectInput;
};
template <class Kind>
class In<Nullable<Kind>, std::enable_if_t<Kind::is_object>> : public ObjectInput<Kind, true> {
 public:
  using ObjectInput<Kind, true>::ObjectInput;
};

// Before the start phase there are no objects, methods or fields, so it is the phase that is wrong
// with a handle of one.
bool too_early(Call& call);

// HotSpot frees an obsolete method some time after it has run for the last time, and leaves its id,
// which then leads anywhere.  Refuses those that no thread runs any more.
void check_runs(Call& call, jmethodID obsolete);

// A method or a field, which was issued here.
template <class Kind, class Record>
class RecordInput {
 public:
  RecordInput(Call& call, int parameter, Issued<Kind, Record>& issued, const char* noun) {
    uint64_t handle = call.reader(parameter).number<uint64_t>();
    record_ = issued.find(handle);
    if (record_ == nullptr && !too_early(call)) {
      call.refuse(Kind::error, "parameter %d: %s %llx was not issued here", parameter + 1, noun,
                  static_cast<unsigned long long>(handle));
    }
  }
  typename Kind::C c() const { return record_ == nullptr ? nullptr : record_->id; }
  Record* record() const { return record_; }

 private:
  Record* record_;
};
template <>
class In<kinds::Method> : public RecordInput<kinds::Method, MethodRecord> {
 public:
  In(Call& call, int parameter) : RecordInput(call, parameter, call.session.methods, "method") {
    if (record() != nullptr && record()->obsolete) check_runs(call, record()->id);
  }
};
template <>
class In<kinds::Field> : public RecordInput<kinds::Field, FieldRecord> {
 public:
  In(Call& call, int parameter) : RecordInput(call, parameter, call.session.fields, "field") {}
};

template <class Kind>
class PointerInput {
 public:
  PointerInput(Call& call, int parameter, bool null_allowed)
      : handle_(call.reader(parameter).number<uint64_t>()) {
    if (handle_ == 0 && null_allowed) return;
    pointer_ = call.session.pointers.find(handle_, Kind::kind, &size_);
    if (pointer_ == nullptr) {
      call.refuse(Kind::error, "parameter %d: handle %llx is not a live %s of this session",
                  parameter + 1, static_cast<unsigned long long>(handle_), Kind::name);
    }
  }
  typename Kind::C c() const { return reinterpret_cast<typename Kind::C>(pointer_); }
  uint64_t handle() const { return handle_; }
  int64_t size() const { return size_; }

 private:
  uint64_t handle_;
  void* pointer_ = nullptr;
  int64_t size_ = 0;
};

template <class Kind>
class In<Kind, std::enable_if_t<Kind::is_pointer>> : public PointerInput<Kind> {
 public:
  In(Call& call, int parameter) : PointerInput<Kind>(call, parameter, false) {}
};
template <class Kind>
class In<Nullable<Kind>, std::enable_if_t<Kind::is_pointer>> : public PointerInput<Kind> {
 public:
  In(Call& call, int parameter) : PointerInput<Kind>(call, parameter, true) {}
};

struct Text {};
struct Bytes {};
struct Utf16 {};
struct Stored {};
struct Arguments {};
template <class T>
struct Elements {};
template <class T>
struct List {};

// Checked to be well-formed modified UTF-8: the VM reads such strings without looking for the end.
template <>
class In<Nullable<Text>> {
 public:
  In(Call& call, int parameter);
  const char* c() const { return text_; }

 private:
  const char* text_;
};
template <>
class In<Text> : public In<Nullable<Text>> {
 public:
  In(Call& call, int parameter) : In<Nullable<Text>>(call, parameter) {
    if (c() == nullptr) call.refuse(JVMTI_ERROR_NULL_POINTER);
  }
};

template <>
class In<Bytes> {
 public:
  In(Call& call, int parameter) {
    Reader& reader = call.reader(parameter);
    size_ = reader.number<uint32_t>();
    data_ = reader.take(size_);
    if (data_ == nullptr) size_ = 0;
  }
  const uint8_t* data() const { return data_; }
  jint size() const { return static_cast<jint>(size_); }
  const jbyte* jbytes() const { return reinterpret_cast<const jbyte*>(data_); }

 private:
  uint32_t size_;
  const uint8_t* data_;
};

// A copy, because a frame's payload need not be aligned.
template <class T>
class Copied {
 public:
  Copied(Call& call, int parameter) {
    Reader& reader = call.reader(parameter);
    uint32_t size = reader.number<uint32_t>();
    const uint8_t* from = reader.take(size);
    if (from == nullptr) return;
    if (bytes_.allocate(size)) {
      std::memcpy(bytes_.get(), from, size);
      count_ = static_cast<jint>(size / sizeof(T));
    } else {
      call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    }
  }
  const T* data() const { return reinterpret_cast<const T*>(bytes_.get()); }
  jint size() const { return count_; }

 private:
  Array<uint8_t> bytes_;
  jint count_ = 0;
};
template <>
class In<Utf16> : public Copied<jchar> {
  using Copied<jchar>::Copied;
};
template <class T>
class In<Elements<T>> : public Copied<T> {
 public:
  using Copied<T>::Copied;
};

template <>
class In<Stored> {
 public:
  In(Call& call, int parameter) : token_(call.reader(parameter).number<uint64_t>()) {}
  const void* c() const { return reinterpret_cast<const void*>(token_); }
  uint64_t token() const { return token_; }

 private:
  uint64_t token_;
};

template <>
class In<jvmtiCapabilities> {
 public:
  In(Call& call, int parameter) : bits_(call.reader(parameter).number<uint64_t>()) {
    std::memcpy(&value_, &bits_, sizeof bits_);
  }
  const jvmtiCapabilities* c() const { return &value_; }
  uint64_t bits() const { return bits_; }

 private:
  jvmtiCapabilities value_{};
  uint64_t bits_;
};

// (count, array) of numbers.
template <class T>
class In<List<T>, std::enable_if_t<std::is_arithmetic_v<T>>> : public Copied<T> {
 public:
  using Copied<T>::Copied;
  jint count() const { return this->size(); }
  const T* items() const { return this->data(); }
};

// Where an item may be null, one that names nothing is: its result says so, and the others go on.
template <class Kind, bool null_allowed>
class ObjectListInput {
 public:
  ObjectListInput(Call& call, int parameter) {
    Reader& reader = call.reader(parameter);
    uint32_t count = 0;
    if (!reader.count(&count, sizeof(uint64_t))) return;
    // Taken whole: in a map request the next row's follows, also if this one is refused.
    Reader items(reader.take(count * sizeof(uint64_t)), count * sizeof(uint64_t));
    if (!borrowed_.allocate(count) || !items_.allocate(count)) {
      call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
      return;
    }
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t handle = items.number<uint64_t>();
      if (!borrowed_[i].borrow(call, handle, Kind::kind, Kind::any_array) && !null_allowed) {
        call.refuse(Kind::error, "item %u: handle %llx is not a live %s of this session", i,
                    static_cast<unsigned long long>(handle), Kind::name);
        return;
      }
      items_[i] = static_cast<typename Kind::C>(borrowed_[i].reference());
      count_ = static_cast<jint>(i) + 1;
    }
  }
  jint count() const { return count_; }
  const typename Kind::C* items() const { return items_.get(); }
  void set_null(jint item) const { items_[static_cast<size_t>(item)] = nullptr; }

 private:
  Array<Borrowed> borrowed_;
  Array<typename Kind::C> items_;
  jint count_ = 0;
};
template <class Kind>
class In<List<Kind>, std::enable_if_t<Kind::is_object>> : public ObjectListInput<Kind, false> {
 public:
  using ObjectListInput<Kind, false>::ObjectListInput;
};
template <class Kind>
class In<List<Nullable<Kind>>, std::enable_if_t<Kind::is_object>>
    : public ObjectListInput<Kind, true> {
 public:
  using ObjectListInput<Kind, true>::ObjectListInput;
};

template <>
class In<List<kinds::Field>> {
 public:
  In(Call& call, int parameter);
  jint count() const { return count_; }
  const FieldRecord* record(jint item) const { return items_[static_cast<size_t>(item)]; }

 private:
  Array<const FieldRecord*> items_;
  jint count_ = 0;
};

template <>
class In<List<kinds::Method>> {
 public:
  In(Call& call, int parameter);
  jint count() const { return count_; }
  const jmethodID* items() const { return items_.get(); }

 private:
  Array<jmethodID> items_;
  jint count_ = 0;
};

template <>
class In<List<Text>> {
 public:
  In(Call& call, int parameter);
  jint count() const { return count_; }
  // The C signature has no const although the VM only reads.
  char** items() const { return items_.get(); }

 private:
  Array<char*> items_;
  jint count_ = 0;
};

template <>
class In<List<jvmtiClassDefinition>> {
 public:
  In(Call& call, int parameter);
  jint count() const { return count_; }
  const jvmtiClassDefinition* items() const { return items_.get(); }

 private:
  Array<jvmtiClassDefinition> items_;
  Array<Borrowed> borrowed_;
  jint count_ = 0;
};

using layouts::CallbackMode;
struct Callback {};
template <>
class In<Callback> {
 public:
  In(Call& call, int parameter) : In(call.reader(parameter)) {}
  explicit In(Reader& reader) {
    uint8_t number = reader.number<uint8_t>();
    if (number >= layouts::kCallbackModeCount) reader.fail();
    mode_ = static_cast<CallbackMode>(number);
  }
  CallbackMode mode() const { return mode_; }
  explicit operator bool() const { return mode_ != CallbackMode::kNever; }

 private:
  CallbackMode mode_;
};

template <>
class In<jvmtiHeapCallbacks> {
 public:
  In(Call& call, int parameter)
      : iteration(call.reader(parameter)),
        reference(call.reader(parameter)),
        primitive_field(call.reader(parameter)),
        array(call.reader(parameter)),
        string(call.reader(parameter)) {
    constexpr size_t kReserved = 11;
    call.reader(parameter).take(kReserved);
  }
  const In<Callback> iteration, reference, primitive_field, array, string;
};

// Java arguments, checked against the signature of the method by the guard.
union Slot {
  uint64_t bits;
  jvalue value;
};
template <>
class In<Arguments> {
 public:
  In(Call& call, int parameter);
  uint32_t count() const { return count_; }
  char type(uint32_t index) const { return types_[index]; }
  jvalue& value(uint32_t index) { return values_[index]; }
  const jvalue* c() const { return values_.get(); }

 private:
  static constexpr uint32_t kMaximum = 255;
  uint32_t count_ = 0;
  char types_[kMaximum];
  Array<jvalue> values_;
  Array<Borrowed> borrowed_;
};

}  // namespace jvmti
