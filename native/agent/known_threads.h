// Threads that are to be known again, as global references.
//
// To compare two references takes a call into the VM, which no mutex is held in.  So the hash of the
// thread's identity comes first; where it fits, the reference stays for as long as it is looked at.
#pragma once

#include <jvmti.h>

#include "containers.h"
#include "lock.h"

namespace jvmti {

class KnownThreads {
 public:
  // False without memory; a thread that is in already stays in once.
  bool add(JNIEnv* jni, jthread thread);
  void remove(JNIEnv* jni, jthread thread);
  bool has(JNIEnv* jni, jthread thread);
  // New local references to all of them; false without memory.
  bool copy(JNIEnv* jni, Vector<jobject>* copies);
  // The references themselves, which may be gone: only to compare; false without memory.
  bool references(Vector<jobject>* found);
  // Takes any of them out, which is the caller's global reference then; null where there is none.
  jobject take(JNIEnv* jni);
  size_t size();

 private:
  struct Entry {
    jobject thread;  // null: the place is free
    jint hash;
    uint32_t looked_at;
    bool removed;
  };
  static constexpr size_t kNone = ~size_t{0};
  // From `start` on the first place that fits, which is looked at now; 0 fits every hash.
  size_t look(size_t start, jint hash, jobject* thread);
  // Looked at no more; null unless what was removed is to be deleted by the caller.
  jobject leave(size_t place, bool remove);
  void drop(JNIEnv* jni, size_t place, bool remove);
  size_t find(JNIEnv* jni, jthread thread);

  Mutex mutex_{Guards::kLists};
  Vector<Entry> entries_;
  size_t size_ = 0;
};

}  // namespace jvmti
