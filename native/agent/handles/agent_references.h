// The global references of the agent's own, of all sessions, in one list: a search for an object's
// referrers is about the program, so it must skip ours.
#pragma once

#include <jni.h>

#include "base/containers.h"

namespace jvmti {

// As NewGlobalRef and DeleteGlobalRef. Nothing in the agent calls those directly for itself.
jobject hold(JNIEnv* jni, jobject object);
void let_go(JNIEnv* jni, jobject reference);

// While one exists no reference is freed, so that those copied stay good; what is let go meanwhile
// is freed with the last.
class FrozenReferences : NoCopy {
 public:
  explicit FrozenReferences(JNIEnv* jni);
  ~FrozenReferences();

  // All of them; false without memory.
  bool copy(Vector<jobject>* references) const;

 private:
  JNIEnv* jni_;
};

}  // namespace jvmti
