// One call on its way through: where its arguments come from, where its results go, and the typed
// inputs and outputs that the generated thunks are made of.
//
// Inputs and outputs are the same for a single call and for a map request: an input reads from the
// reader of its parameter, an output writes to the writers of its leaves.  In a single call these
// are all one stream; in a map request each has its own, so that columns come out as columns.
#pragma once

#include <jvmti.h>

#include "answers.h"
#include "channel.h"
#include "frames.h"
#include "handles.h"
#include "session.h"
#include "vm_memory.h"

namespace jvmti {

constexpr int kMaximumParameters = 16;
constexpr int kMaximumLeaves = 64;

// The bytes of one element of an array.
inline uint64_t width_of(jvmtiPrimitiveType type) {
  switch (type) {
    case JVMTI_PRIMITIVE_TYPE_BOOLEAN:
    case JVMTI_PRIMITIVE_TYPE_BYTE:
      return 1;
    case JVMTI_PRIMITIVE_TYPE_CHAR:
    case JVMTI_PRIMITIVE_TYPE_SHORT:
      return 2;
    case JVMTI_PRIMITIVE_TYPE_INT:
    case JVMTI_PRIMITIVE_TYPE_FLOAT:
      return 4;
    default:
      return 8;
  }
}

struct Call {
  // Of the controller's, whose environment comes with its frame; or of an event of an environment.
  Call(Channel& channel, JNIEnv* jni, Environment* environment = nullptr)
      : session(channel.session),
        channel(channel),
        jni(jni),
        env(environment == nullptr ? nullptr : environment->env.load()),
        environment(environment),
        environment_number(environment == nullptr ? 0 : environment->number) {
    detail[0] = '\0';
  }

  Session& session;
  Channel& channel;
  JNIEnv* jni;
  jvmtiEnv* env;
  Environment* environment;
  uint32_t environment_number;
  Reader* readers = nullptr;
  int reader_step = 0;
  Writer* writers = nullptr;
  int writer_step = 0;
  bool identify = true;
  int status = 0;
  uint64_t exception = 0;
  char detail[320];
  int64_t issued_size = 0;  // what `Allocate` was asked for, kept with the handle
  int parameters = 0;
  bool jni_function = false;  // of the JNI table, with that table's rules
  bool throws = false;        // to the program, when the handler has returned
  bool global = false;        // the result is a global reference: of its own, and outside of local frames

  const jvmtiInterface_1_* table() const { return env->functions; }
  bool refused() const { return status != 0; }
  // All inputs were read and are good.
  bool ready() {
    for (int i = 0; i < parameters; ++i) {
      if (reader(i).failed()) refuse(protocol::kMalformedRequest, "the arguments end too early");
    }
    return status == 0;
  }
  void refuse(int error, const char* format = nullptr, ...) __attribute__((format(printf, 3, 4)));
  // Takes a JVM TI result over; true when it is a success.
  bool returned(jvmtiError error) {
    if (error == kNothingAnswered) {
      refuse(error);
    } else if (error != JVMTI_ERROR_NONE) {
      status = error;
    }
    return status == 0;
  }
  // Takes a pending Java exception over; true when there is none.
  bool settled();
  Reader& reader(int parameter) { return readers[parameter * reader_step]; }
  uint64_t issue(jobject object, uint8_t kind);
  void deallocate(void* memory);
};

struct Sink {
  Writer* writers;
  int step;
  Writer& leaf(int number) const { return writers[number * step]; }
  Sink from(int number) const { return Sink{writers + number * step, step}; }
};

// ---- inputs ---------------------------------------------------------------------------------

template <class T, class = void>
class In;

template <class T>
class In<T, typename std::enable_if<std::is_arithmetic<T>::value>::type> {
 public:
  In(Call& call, int parameter) : value_(call.reader(parameter).number<T>()) {}
  T c() const { return value_; }
  void set(T value) { value_ = value; }

 private:
  T value_;
};

template <class T>
class In<T, typename std::enable_if<std::is_enum<T>::value>::type> {
 public:
  In(Call& call, int parameter)
      : value_(static_cast<T>(call.reader(parameter).number<int32_t>())) {}
  T c() const { return value_; }

 private:
  T value_;
};

// The reference behind an object handle for the time of the call.
class Borrowed {
 public:
  Borrowed() = default;
  ~Borrowed() { release(); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
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
class In<Kind, typename std::enable_if<Kind::is_object>::type> : public ObjectInput<Kind, false> {
 public:
  using ObjectInput<Kind, false>::ObjectInput;
};
template <class Kind>
class In<Nullable<Kind>, typename std::enable_if<Kind::is_object>::type>
    : public ObjectInput<Kind, true> {
 public:
  using ObjectInput<Kind, true>::ObjectInput;
};

template <>
class In<kinds::Method> {
 public:
  In(Call& call, int parameter);
  jmethodID c() const { return record_ == nullptr ? nullptr : record_->id; }
  MethodRecord* record() const { return record_; }

 private:
  MethodRecord* record_;
};

template <>
class In<kinds::Field> {
 public:
  In(Call& call, int parameter);
  jfieldID c() const { return record_ == nullptr ? nullptr : record_->id; }
  FieldRecord* record() const { return record_; }

 private:
  FieldRecord* record_;
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
class In<Kind, typename std::enable_if<Kind::is_pointer>::type> : public PointerInput<Kind> {
 public:
  In(Call& call, int parameter) : PointerInput<Kind>(call, parameter, false) {}
};
template <class Kind>
class In<Nullable<Kind>, typename std::enable_if<Kind::is_pointer>::type>
    : public PointerInput<Kind> {
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
    if (!bytes_.allocate(size)) {
      call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
      return;
    }
    std::memcpy(bytes_.get(), from, size);
    count_ = static_cast<jint>(size / sizeof(T));
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
  In(Call& call, int parameter) {
    std::memset(&value_, 0, sizeof value_);
    uint64_t bits = call.reader(parameter).number<uint64_t>();
    std::memcpy(&value_, &bits, sizeof bits);
    bits_ = bits;
  }
  const jvmtiCapabilities* c() const { return &value_; }
  uint64_t bits() const { return bits_; }

 private:
  jvmtiCapabilities value_;
  uint64_t bits_;
};

// (count, array) of numbers.
template <class T>
class In<List<T>, typename std::enable_if<std::is_arithmetic<T>::value>::type> : public Copied<T> {
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
    uint32_t count = reader.number<uint32_t>();
    if (count > reader.remaining() / sizeof(uint64_t)) {
      reader.fail();
      return;
    }
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
class In<List<Kind>, typename std::enable_if<Kind::is_object>::type>
    : public ObjectListInput<Kind, false> {
 public:
  using ObjectListInput<Kind, false>::ObjectListInput;
};
template <class Kind>
class In<List<Nullable<Kind>>, typename std::enable_if<Kind::is_object>::type>
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

// ---- results --------------------------------------------------------------------------------

template <class T, class = void>
struct Wire;

template <class T>
struct Wire<T, typename std::enable_if<std::is_arithmetic<T>::value>::type> {
  using C = T;
  static constexpr int leaves = 1;
  static void write(Call&, Sink sink, C value) { sink.leaf(0).number(value); }
  static void blank(Sink sink) { sink.leaf(0).template number<T>(0); }
  static void dispose(Call&, C) {}
};

template <class T>
struct Wire<T, typename std::enable_if<std::is_enum<T>::value>::type> {
  using C = T;
  static constexpr int leaves = 1;
  static void write(Call&, Sink sink, C value) {
    sink.leaf(0).number(static_cast<int32_t>(value));
  }
  static void blank(Sink sink) { sink.leaf(0).template number<int32_t>(0); }
  static void dispose(Call&, C) {}
};

template <class Kind>
struct Wire<Kind, typename std::enable_if<Kind::is_object>::type> {
  using C = typename Kind::C;
  static constexpr int leaves = 1;
  static void write(Call& call, Sink sink, C value) {
    LocalRef<> owned(call.jni, value);
    sink.leaf(0).number(call.issue(value, Kind::kind == kinds::Object::kind ? 0 : Kind::kind));
  }
  static void blank(Sink sink) { sink.leaf(0).template number<uint64_t>(0); }
  static void dispose(Call&, C) {}
};

template <>
struct Wire<kinds::WeakReference> {
  using C = jweak;
  static constexpr int leaves = 1;
  static void write(Call& call, Sink sink, C value) {
    LocalRef<> owned(call.jni, value);
    sink.leaf(0).number(call.session.objects.issue_weak(call.jni, value));
  }
  static void blank(Sink sink) { sink.leaf(0).number<uint64_t>(0); }
  static void dispose(Call&, C) {}
};

template <>
struct Wire<kinds::Method> {
  using C = jmethodID;
  static constexpr int leaves = 1;
  static void write(Call& call, Sink sink, C value) {
    sink.leaf(0).handle(call.session.methods.issue(value), value != nullptr);
  }
  static void blank(Sink sink) { sink.leaf(0).number<uint64_t>(0); }
  static void dispose(Call&, C) {}
};

struct ClassField {
  jclass klass;
  jfieldID field;
};
template <>
struct Wire<kinds::Field> {
  using C = ClassField;
  static constexpr int leaves = 1;
  static void write(Call& call, Sink sink, ClassField value) {
    sink.leaf(0).handle(
        call.session.fields.issue(call.jni, call.session.tags(), value.klass, value.field),
        value.field != nullptr);
  }
  static void blank(Sink sink) { sink.leaf(0).number<uint64_t>(0); }
  static void dispose(Call&, ClassField) {}
};

template <class Kind>
struct Wire<Kind, typename std::enable_if<Kind::is_pointer>::type> {
  using C = typename Kind::C;
  static constexpr int leaves = 1;
  static void write(Call& call, Sink sink, C value) {
    void* pointer = reinterpret_cast<void*>(value);
    uint64_t handle = call.session.pointers.issue(pointer, Kind::kind, call.issued_size);
    sink.leaf(0).handle(handle, pointer != nullptr);
    if (handle != 0 || pointer == nullptr) return;
    // Nobody can give it back.
    if (Kind::kind == kinds::Memory::kind) call.deallocate(pointer);
    if (Kind::kind == kinds::RawMonitor::kind) {
      call.env->DestroyRawMonitor(static_cast<jrawMonitorID>(pointer));
    }
  }
  static void blank(Sink sink) { sink.leaf(0).template number<uint64_t>(0); }
  static void dispose(Call&, C) {}
};

template <>
struct Wire<Text> {
  using C = char*;
  static constexpr int leaves = 2;
  static void write(Call&, Sink sink, const char* value) {
    if (value == nullptr) return blank(sink);
    size_t length = std::strlen(value);
    sink.leaf(0).number(static_cast<int32_t>(length));
    sink.leaf(1).bytes(value, length);
  }
  static void blank(Sink sink) { sink.leaf(0).number<int32_t>(-1); }
  static void dispose(Call& call, C value) { call.deallocate(value); }
};

template <class T>
struct Wire<T*, typename std::enable_if<std::is_void<T>::value || std::is_function<T>::value>::type> {
  using C = T*;
  static constexpr int leaves = 1;
  static void write(Call&, Sink sink, C value) {
    sink.leaf(0).number(reinterpret_cast<uint64_t>(value));
  }
  static void blank(Sink sink) { sink.leaf(0).template number<uint64_t>(0); }
  static void dispose(Call&, C) {}
};

template <>
struct Wire<Stored> {
  using C = void*;
  static constexpr int leaves = 1;
  static void write(Call&, Sink sink, C value) {
    sink.leaf(0).number(reinterpret_cast<uint64_t>(value));
  }
  static void blank(Sink sink) { sink.leaf(0).number<uint64_t>(0); }
  static void dispose(Call&, C) {}
};

template <>
struct Wire<jvmtiCapabilities> {
  using C = jvmtiCapabilities;
  static constexpr int leaves = 1;
  static void write(Call&, Sink sink, const C& value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    sink.leaf(0).number(bits);
  }
  static void blank(Sink sink) { sink.leaf(0).number<uint64_t>(0); }
  static void dispose(Call&, const C&) {}
};

// Memory that the agent itself made for a result: data, a length in bytes, freed afterwards.
struct Buffer {
  void* data = nullptr;
  uint32_t size = 0;
  bool null = false;
};
template <>
struct Wire<Bytes> {
  using C = Buffer;
  static constexpr int leaves = 2;
  static void write(Call&, Sink sink, const C& value) {
    if (value.null) return blank(sink);
    sink.leaf(0).number(static_cast<int32_t>(value.size));
    sink.leaf(1).bytes(value.data, value.size);
    std::free(value.data);
  }
  static void blank(Sink sink) { sink.leaf(0).number<int32_t>(-1); }
  static void dispose(Call&, const C&) {}
};
template <>
struct Wire<Utf16> : Wire<Bytes> {};
template <class T>
struct Wire<Elements<T>> : Wire<Bytes> {};

template <class T>
struct Wire<List<T>> {
  static constexpr int leaves = 1 + Wire<T>::leaves;
  template <class Item>
  static void write(Call& call, Sink sink, jint count, Item* items, bool owned) {
    if (items == nullptr || count < 0) count = 0;
    sink.leaf(0).number(static_cast<int32_t>(count));
    for (jint i = 0; i < count; ++i) {
      Wire<T>::write(call, sink.from(1), items[i]);
      Wire<T>::dispose(call, items[i]);
    }
    if (owned) call.deallocate(items);
  }
  static void blank(Sink sink) { sink.leaf(0).template number<int32_t>(0); }
};
// A list of bytes goes as one piece.
template <>
struct Wire<List<unsigned char>> {
  static constexpr int leaves = 2;
  static void write(Call& call, Sink sink, jint count, unsigned char* items, bool owned) {
    if (items == nullptr || count < 0) count = 0;
    sink.leaf(0).number(static_cast<int32_t>(count));
    sink.leaf(1).bytes(items, static_cast<size_t>(count));
    if (owned) call.deallocate(items);
  }
  static void blank(Sink sink) { sink.leaf(0).number<int32_t>(-1); }
};

template <class T>
class Out {
 public:
  Out() { std::memset(static_cast<void*>(&value_), 0, sizeof value_); }
  typename Wire<T>::C* argument() { return &value_; }
  typename Wire<T>::C& value() { return value_; }
  void write(Call& call, int leaf) {
    Wire<T>::write(call, Sink{call.writers, call.writer_step}.from(leaf), value_);
    Wire<T>::dispose(call, value_);
  }

 private:
  typename Wire<T>::C value_;
};

// What a JNI function returned.
template <class T>
void write_result(Call& call, int leaf, typename Wire<T>::C value) {
  Wire<T>::write(call, Sink{call.writers, call.writer_step}.from(leaf), value);
}

template <class T>
struct Item {
  using C = typename Wire<T>::C;
};
template <>
struct Item<unsigned char> {
  using C = unsigned char;
};

// An array that the VM allocates.
template <class T>
class OutList {
 public:
  jint* count() { return &count_; }
  typename Item<T>::C** items() { return &items_; }
  void write(Call& call, int leaf) { write_counted(call, leaf, count_); }
  void write_counted(Call& call, int leaf, jint count) {
    count_ = count;
    Wire<List<T>>::write(call, Sink{call.writers, call.writer_step}.from(leaf), count, items_,
                         true);
  }
  jint counted() const { return count_; }

 private:
  jint count_ = 0;
  typename Item<T>::C* items_ = nullptr;
};

// Fields, which are named together with their class.
class OutFields {
 public:
  jint* count() { return &count_; }
  jfieldID** items() { return &items_; }
  void write(Call& call, int leaf, jclass klass) {
    Sink sink = Sink{call.writers, call.writer_step}.from(leaf);
    if (items_ == nullptr || count_ < 0) count_ = 0;
    sink.leaf(0).number(static_cast<int32_t>(count_));
    for (jint i = 0; i < count_; ++i) {
      Wire<kinds::Field>::write(call, sink.from(1), ClassField{klass, items_[i]});
    }
    call.deallocate(items_);
  }

 private:
  jint count_ = 0;
  jfieldID* items_ = nullptr;
};

// An array that the caller provides.
template <class T>
class OutBuffer {
 public:
  OutBuffer(Call& call, jint capacity) {
    if (call.refused() || capacity < 0) return;
    if (!items_.allocate(static_cast<size_t>(capacity))) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
  jint* count() { return &count_; }
  typename Wire<T>::C* items() { return items_.get(); }
  void write(Call& call, int leaf) { write_counted(call, leaf, count_); }
  void write_counted(Call& call, int leaf, jint count) {
    Wire<List<T>>::write(call, Sink{call.writers, call.writer_step}.from(leaf), count,
                         items_.get(), false);
  }

 private:
  jint count_ = 0;
  Array<typename Wire<T>::C> items_;
};

// ---- the table ------------------------------------------------------------------------------

struct Function {
  const char* name;
  void (*thunk)(Call&);
  void (*blank)(Sink);
  uint16_t number;
  uint8_t parameters;
  uint8_t leaves;
  uint8_t since;  // major version
  bool own;
  bool callback_safe;
  bool runs_java;
};

// Generated, sorted by number.
extern const Function kFunctions[];
extern const unsigned kFunctionCount;
extern const char kInterfaceDigest[];

namespace own {
// The exception that the last call threw; one that was thrown to the program stays.
void forget_pending(Call& call);
}  // namespace own

const Function* find_function(uint16_t number);
// Whether the VM has come so far that a call may end with an exception.
bool can_throw();
// Runs one call whose streams are set up; its outcome is in `call.status` and `call.exception`.
void invoke(Call& call, const Function& function);

}  // namespace jvmti
