// What a session has set in the VM and must take back: breakpoints and watches, which the VM keeps
// by themselves, whatever becomes of the environment that set them.
#pragma once

#include <jvmti.h>

#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

// A breakpoint or a watch in the VM.
struct VmSetting {
  jvmtiEvent event;  // the one that comes of it
  jvmtiEnv* env;
  void* member;
  jlocation location;
  jweak klass;  // of what is in an undo list

  void clear(jclass of) const;
  bool operator==(const VmSetting& other) const {
    return event == other.event && env == other.env && member == other.member &&
           location == other.location;
  }
};

class UndoList {
 public:
  // After the VM has set it; false where it could not be noted and has been taken back.
  [[nodiscard]] bool note(JNIEnv* jni, VmSetting made, jclass klass);
  // After it has been cleared.
  void forget(JNIEnv* jni, const VmSetting& one);
  // Clears what an environment has set; null stands for all environments.
  void undo(JNIEnv* jni, jvmtiEnv* env);

 private:
  // One in a chain of those with the same hash.
  struct Entry {
    VmSetting setting;
    uint32_t next;  // the number of its entry plus one; 0 is none
  };
  bool add(const VmSetting& made);
  bool take(const VmSetting& one, VmSetting* taken);
  bool take_any(jvmtiEnv* env, size_t* before, VmSetting* taken);
  VmSetting remove(size_t place);
  bool grow();
  uint32_t* head_of(const VmSetting& one);
  uint32_t* link_to(size_t place);

  Mutex mutex_{Guards::kLists};
  Vector<Entry> entries_;
  Vector<uint32_t> heads_;  // a power of two of them
};

}  // namespace jvmti
