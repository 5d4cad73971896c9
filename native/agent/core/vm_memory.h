// Owners of what the VM hands out: local references and the memory of JVM TI results.  Where the
// moment of release matters, because a call that follows may stop the thread, the owner stands in a
// block of its own.
#pragma once

#include <jvmti.h>

#include <cstring>
#include <utility>

#include "base/no_copy.h"

namespace jvmti {

struct DeleteByJni {
  static void drop(JNIEnv* jni, jobject reference) { jni->DeleteLocalRef(reference); }
};

// A local reference, deleted at the end; null is none.
template <class T = jobject, class Delete = DeleteByJni>
class LocalRef {
 public:
  explicit LocalRef(JNIEnv* jni, jobject reference = nullptr)
      : jni_(jni), reference_(static_cast<T>(reference)) {}
  LocalRef(LocalRef&& other) noexcept : jni_(other.jni_), reference_(other.release()) {}
  LocalRef& operator=(LocalRef&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~LocalRef() { reset(); }
  T get() const { return reference_; }
  operator T() const { return reference_; }
  // For a function that writes a new reference there.
  T* out() {
    reset();
    return &reference_;
  }
  void reset(T reference = nullptr) {
    if (reference_ != nullptr) Delete::drop(jni_, reference_);
    reference_ = reference;
  }
  T release() { return std::exchange(reference_, nullptr); }

 private:
  JNIEnv* jni_;
  T reference_;
};

// Of a list that owns none of its references.
inline void delete_local(JNIEnv* jni, jobject reference) { LocalRef<> last(jni, reference); }

inline jvmtiCapabilities held(jvmtiEnv* env) {
  jvmtiCapabilities capabilities{};
  env->GetCapabilities(&capabilities);
  return capabilities;
}

// Everything made while it lasts is deleted at its end; false where the VM has no memory for it,
// with an exception.
class LocalFrame : NoCopy {
 public:
  LocalFrame(JNIEnv* jni, jint capacity)
      : jni_(jni), pushed_(jni->PushLocalFrame(capacity) == JNI_OK) {}
  ~LocalFrame() {
    if (pushed_) jni_->PopLocalFrame(nullptr);
  }
  explicit operator bool() const { return pushed_; }

 private:
  JNIEnv* jni_;
  const bool pushed_;
};

// The class of a weak reference, or null when it has been unloaded.
inline LocalRef<jclass> class_behind(JNIEnv* jni, jweak weak) {
  return LocalRef<jclass>(jni, jni->NewLocalRef(weak));
}

inline LocalRef<jclass> class_named(JNIEnv* jni, const char* name) {
  return LocalRef<jclass>(jni, jni->FindClass(name));
}

inline LocalRef<jthread> current_thread(jvmtiEnv* env, JNIEnv* jni) {
  LocalRef<jthread> thread(jni);
  env->GetCurrentThread(thread.out());
  return thread;
}

inline bool is_current(jvmtiEnv* env, JNIEnv* jni, jthread thread) {
  LocalRef<jthread> current = current_thread(env, jni);
  return current != nullptr && jni->IsSameObject(current, thread);
}

// Memory of a result, given back with the environment that allocated it.
template <class T>
class Deallocated : NoCopy {
 public:
  explicit Deallocated(jvmtiEnv* env, T* memory = nullptr) : env_(env), memory_(memory) {}
  ~Deallocated() { reset(); }
  T* get() const { return memory_; }
  operator T*() const { return memory_; }
  T** out() {
    reset();
    return &memory_;
  }
  void reset() {
    if (memory_ != nullptr) env_->Deallocate(reinterpret_cast<unsigned char*>(memory_));
    memory_ = nullptr;
  }
  T* release() { return std::exchange(memory_, nullptr); }

 private:
  jvmtiEnv* env_;
  T* memory_;
};

// Of a structure that owns none of its memory.
inline void deallocate(jvmtiEnv* env, void* memory) { Deallocated<void> last(env, memory); }

// An array of local references as the VM lists objects: both go at the end.
template <class T>
class LocalRefs {
 public:
  LocalRefs(jvmtiEnv* env, JNIEnv* jni) : jni_(jni), items_(env) {}
  ~LocalRefs() {
    for (T reference : *this) delete_local(jni_, reference);
  }
  jint count() const { return count_; }
  jint* count_out() { return &count_; }
  T** out() { return items_.out(); }
  T* begin() const { return items_; }
  T* end() const { return items_ == nullptr || count_ < 0 ? begin() : items_ + count_; }
  T operator[](jint i) const { return items_.get()[i]; }
  // Its reference is the caller's from here on.
  T take(jint i) { return std::exchange(items_.get()[i], nullptr); }

 private:
  JNIEnv* jni_;
  Deallocated<T> items_;
  jint count_ = 0;
};

// The frames of a stack from `start` on: how many came, or -1 where the VM has an error.  Whatever
// it says, they are never more than there is room for, and those that it leaves out are null.
inline jint walk_stack(jvmtiEnv* env, jthread thread, jint start, jvmtiFrameInfo* frames,
                       jint room) {
  if (room <= 0) return 0;
  std::memset(frames, 0, static_cast<size_t>(room) * sizeof *frames);
  jint count = 0;
  if (env->GetStackTrace(thread, start, room, frames, &count) != JVMTI_ERROR_NONE) return -1;
  return count < 0 ? 0 : count > room ? room : count;
}

// The one frame at a depth; null where there is none.
inline jvmtiFrameInfo frame_at(jvmtiEnv* env, jthread thread, jint depth) {
  jvmtiFrameInfo frame{};
  if (walk_stack(env, thread, depth, &frame, 1) != 1) frame = {};
  return frame;
}

}  // namespace jvmti
