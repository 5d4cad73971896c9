// Classes that are woven once more when they have been prepared.
#pragma once

#include <jvmti.h>

#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

// A thread of the set's weaves them, and the one that has prepared a class waits for it, so that no
// code of the class runs before.  It must not do that itself: in HotSpot up to 17 it holds a lock
// of the class, which another thread that redefines the class may wait for, while it would wait for
// that one's end.  So nobody waits for ever.  The set and its thread share this; the last of them
// frees it.
class LateWeaving : NoCopy {
 public:
  // Null without memory, or without a thread.
  static LateWeaving* start(JNIEnv* jni, uint32_t set);
  // Returns when the class is woven, the set ends, or the time is over.
  void weave(JNIEnv* jni, jclass klass);
  // The thread ends soon, and nobody waits any more.
  void end();
  void release();

  explicit LateWeaving(uint32_t set) : set_(set) {}

 private:
  static void JNICALL serve(jvmtiEnv*, JNIEnv* jni, void* what);
  void work(JNIEnv* jni);

  const uint32_t set_;
  Mutex mutex_{Guards::kLists};
  Condition changed_;
  Vector<jobject> waiting_;
  size_t next_ = 0;     // of these
  uint64_t asked_ = 0;  // how many classes; and for how many that is done
  uint64_t done_ = 0;
  bool ended_ = false;
  int users_ = 1;
};

}  // namespace jvmti
