// The typed results of the generated thunks: each writes to the writers of its leaves.
#pragma once

#include "agent/calls/inputs.h"

namespace jvmti {

// Memory of the VM's for a list that is a result.  Without items it has some, too.
template <class T>
jvmtiError allocate_list(size_t count, T** list) {
  jlong size = static_cast<jlong>((count + 1) * sizeof(T));
  return agent.env->Allocate(size, reinterpret_cast<unsigned char**>(list));
}

// A copy of items as a result; the count is of `T`s, of which an item may have several.
template <class T, class Item>
jvmtiError give(const Item* from, size_t items, jint* count, T** list) {
  static_assert(sizeof(Item) % sizeof(T) == 0);
  size_t size = items * (sizeof(Item) / sizeof(T));
  if (jvmtiError error = size > INT32_MAX ? JVMTI_ERROR_OUT_OF_MEMORY : allocate_list(size, list))
    return error;
  if (size > 0) std::memcpy(*list, from, size * sizeof(T));
  *count = static_cast<jint>(size);
  return JVMTI_ERROR_NONE;
}
template <class T, class Item>
jvmtiError give(const Vector<Item>& from, jint* count, T** list) {
  return give(from.begin(), from.size(), count, list);
}

inline jvmtiError give_text(const char* text, char** copy) {
  jvmtiError error = allocate_list(std::strlen(text), copy);
  if (error == JVMTI_ERROR_NONE) std::memcpy(*copy, text, std::strlen(text) + 1);
  return error;
}

template <class T, class = void>
struct Wire;

// Of a result that is one leaf, a `Leaf` on the way.
template <class Result, class Leaf = Result>
struct OneLeaf {
  using C = Result;
  static constexpr int leaves = 1;
  static void blank(Sink sink) { sink.leaf(0).template number<Leaf>(0); }
  static void dispose(Call&, const C&) {}
};

template <class T>
struct Wire<T, std::enable_if_t<std::is_arithmetic_v<T>>> : OneLeaf<T> {
  static void write(Call&, Sink sink, T value) { sink.leaf(0).number(value); }
};

template <class T>
struct Wire<T, std::enable_if_t<std::is_enum_v<T>>> : OneLeaf<T, int32_t> {
  static void write(Call&, Sink sink, T value) { sink.leaf(0).number(static_cast<int32_t>(value)); }
};

template <class Kind>
struct Wire<Kind, std::enable_if_t<Kind::is_object>> : OneLeaf<typename Kind::C, uint64_t> {
  static void write(Call& call, Sink sink, typename Kind::C value) {
    LocalRef<> owned(call.jni, value);
    sink.leaf(0).number(call.issue(value, Kind::kind == kinds::Object::kind ? 0 : Kind::kind));
  }
};

template <>
struct Wire<kinds::WeakReference> : OneLeaf<jweak, uint64_t> {
  static void write(Call& call, Sink sink, jweak value) {
    LocalRef<> owned(call.jni, value);
    sink.leaf(0).number(call.session.objects.issue_weak(call.jni, value));
  }
};

template <>
struct Wire<kinds::Method> : OneLeaf<jmethodID, uint64_t> {
  static void write(Call& call, Sink sink, jmethodID value) {
    sink.leaf(0).handle(call.session.methods.issue(value, call.session.tags()), value != nullptr);
  }
};

struct ClassField {
  jclass klass;
  jfieldID field;
};
template <>
struct Wire<kinds::Field> : OneLeaf<ClassField, uint64_t> {
  static void write(Call& call, Sink sink, ClassField value) {
    sink.leaf(0).handle(
        call.session.fields.issue(call.jni, call.session.tags(), value.klass, value.field),
        value.field != nullptr);
  }
};

template <class Kind>
struct Wire<Kind, std::enable_if_t<Kind::is_pointer>> : OneLeaf<typename Kind::C, uint64_t> {
  static void write(Call& call, Sink sink, typename Kind::C value) {
    void* pointer = reinterpret_cast<void*>(value);
    uint64_t handle = call.session.pointers.issue(pointer, Kind::kind, call.issued_size);
    sink.leaf(0).handle(handle, pointer != nullptr);
    if (handle != 0 || pointer == nullptr) return;
    // Nothing can release it.
    if (Kind::kind == kinds::Memory::kind) call.deallocate(pointer);
    if (Kind::kind == kinds::RawMonitor::kind) {
      call.env->DestroyRawMonitor(static_cast<jrawMonitorID>(pointer));
    }
  }
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
struct Wire<T*, std::enable_if_t<std::is_void_v<T> || std::is_function_v<T>>>
    : OneLeaf<T*, uint64_t> {
  static void write(Call&, Sink sink, T* value) {
    sink.leaf(0).number(reinterpret_cast<uint64_t>(value));
  }
};

template <>
struct Wire<Stored> : Wire<void*> {};

template <>
struct Wire<jvmtiCapabilities> : OneLeaf<jvmtiCapabilities, uint64_t> {
  static void write(Call&, Sink sink, const jvmtiCapabilities& value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    sink.leaf(0).number(bits);
  }
};

// Memory that the agent itself made for a result: data and a length in bytes.
struct Buffer {
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data(std::exchange(other.data, nullptr)), size(other.size), null(other.null) {}
  ~Buffer() { std::free(data); }
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
    Wire<T>::write(call, call.sink(leaf), value_);
    Wire<T>::dispose(call, value_);
  }

 private:
  typename Wire<T>::C value_;
};

// What a JNI function returned.
template <class T>
void write_result(Call& call, int leaf, const typename Wire<T>::C& value) {
  Wire<T>::write(call, call.sink(leaf), value);
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
    Wire<List<T>>::write(call, call.sink(leaf), count, items_, true);
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
    Sink sink = call.sink(leaf);
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
    Wire<List<T>>::write(call, call.sink(leaf), count, items_.get(), false);
  }

 private:
  jint count_ = 0;
  Array<typename Wire<T>::C> items_;
};

}  // namespace jvmti
