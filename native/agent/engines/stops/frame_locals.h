// The local variables of a thread that has come to a breakpoint, read from its frame.
//
// For each variable JVM TI brings the VM to a safepoint, a hundred times what a thread takes to
// come by.  But its frame is interpreted, and its own: HotSpot's interpreter keeps the variables
// there one after the other, and passes the places of some to native methods as references, as it
// is done here.  Nothing of that is believed before JVM TI has said the same, several times, for
// the same variable at the same place of the same version of the method.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "agent/core/vm_memory.h"
#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

// The topmost frame of the current thread, as long as that runs no Java code.
struct InterpretedFrame {
  uintptr_t method = 0;   // the VM's own; 0 where there is no such frame
  uintptr_t code = 0;     // where the thread is in it
  intptr_t distance = 0;  // from the frame's pointer to its first variable, in words
  jint changes = 0;       // how often the class has been redefined
  const uintptr_t* pointer = nullptr;

  // Null if unknown.
  const uintptr_t* slot(jint number, jint words) const {
    // What calls it returns to is above the pointer; the variables, the last one first, above that.
    constexpr intptr_t kFirst = 2;
    intptr_t place = distance - number - (words - 1);
    return method == 0 || number < 0 || place < kFirst ? nullptr : pointer + place;
  }
};

// What has been proven of the variables that are read at one breakpoint.
class FrameLocals : NoCopy {
 public:
  // On a Java thread, before the first. Does nothing where the VM or the processor is another one.
  static void prepare(jvmtiEnv* env, JNIEnv* jni);

  // For a number of variables that are read at an instruction of a method.
  [[nodiscard]] bool allocate(size_t count, jlocation location);
  // Of the thread that has come there; `klass` has the method.
  InterpretedFrame frame(JNIEnv* jni, jweak klass) const;

  // A variable; false where JVM TI refuses it.  `which` is its number among those of the place.
  template <class T>
  bool read(jvmtiError (jvmtiEnv::*by_vm)(jthread, jint, jint, T*), jvmtiEnv* env, jthread thread,
            const InterpretedFrame& frame, size_t which, jint slot, T* value) const {
    constexpr jint kWords = sizeof(T) / sizeof(jint);
    const uintptr_t* at = frame.slot(slot, kWords);
    T seen{};
    if (at != nullptr) std::memcpy(&seen, at, sizeof seen);
    if (at != nullptr && is_proven(frame, which, Proof::kNumber)) {
      *value = seen;
      return true;
    }
    if ((env->*by_vm)(thread, 0, slot, value) != JVMTI_ERROR_NONE) return false;
    if (at != nullptr) {
      compared(frame, which, Proof::kNumber, std::memcmp(&seen, value, sizeof seen) == 0);
    }
    return true;
  }
  // The same of an object, to which there is a new local reference.
  bool read(jvmtiEnv* env, JNIEnv* jni, jthread thread, const InterpretedFrame& frame, size_t which,
            jint slot, LocalRef<>* value) const;

 private:
  // Whether a variable holds a reference depends on the place alone, so that null proves nothing
  // of references.
  enum class Proof : uint8_t { kNumber, kNull, kReference };
  struct Proven {
    uint8_t times;
    uint8_t references;
  };
  bool is_proven(const InterpretedFrame& frame, size_t which, Proof what) const;
  void compared(const InterpretedFrame& frame, size_t which, Proof what, bool same) const;
  // Hold the mutex.
  bool is_known(const InterpretedFrame& frame) const;

  jlocation location_ = 0;
  mutable std::atomic<bool> differs_{false};  // the layout is another one
  mutable Mutex mutex_{Guards::kLists};
  mutable InterpretedFrame known_;
  Array<Proven> proven_;
};

}  // namespace jvmti
