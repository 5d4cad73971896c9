// What a session has set in the VM and must take back: breakpoints and watches, which the VM keeps
// by themselves, whatever becomes of the environment that set them.
#pragma once

#include <jvmti.h>

#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

struct Placed {
  enum What { kBreakpoint, kAccessWatch, kModificationWatch } what;
  jvmtiEnv* env;
  void* member;
  jlocation location;
  jweak klass;

  bool operator==(const Placed& other) const {
    return what == other.what && env == other.env && member == other.member &&
           location == other.location;
  }
};

class UndoList {
 public:
  // After the VM has set it; false where it could not be noted and has been taken back.
  [[nodiscard]] bool note(JNIEnv* jni, Placed made, jclass klass);
  // After it has been cleared.
  void forget(JNIEnv* jni, const Placed& one);
  // Clears what an environment has set; null stands for all environments.
  void undo(JNIEnv* jni, jvmtiEnv* env);

 private:
  // One in a chain of those with the same hash.
  struct Entry {
    Placed placed;
    uint32_t next;  // its place plus one; 0 is none
  };
  bool add(const Placed& made);
  bool take(const Placed& one, Placed* taken);
  bool take_any(jvmtiEnv* env, size_t* before, Placed* taken);
  Placed remove(size_t place);
  bool grow();
  uint32_t* head_of(const Placed& one);
  uint32_t* link_to(size_t place);

  Mutex mutex_{Guards::kLists};
  Vector<Entry> entries_;
  Vector<uint32_t> heads_;  // a power of two of them
};

}  // namespace jvmti
