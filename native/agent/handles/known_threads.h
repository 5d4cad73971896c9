// Threads that are to be known again, as global references.
//
// To compare two references takes a call into the VM, which no mutex is held in.  So the hash of
// the thread's identity comes first; where it fits, the reference stays while it is in use.
#pragma once

#include <jvmti.h>

#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

class KnownThreads {
 public:
  static constexpr size_t kNone = ~size_t{0};

  // False without memory; a thread that is in already stays in once.
  [[nodiscard]] bool add(JNIEnv* jni, jthread thread);
  // A place for a thread, before what it is to be known for is done; kNone without memory.  Then it
  // is taken, or given up: neither of them needs memory.
  [[nodiscard]] size_t prepare(JNIEnv* jni, jthread thread);
  void settle(JNIEnv* jni, size_t place, bool taken);
  void remove(JNIEnv* jni, jthread thread);
  bool has(JNIEnv* jni, jthread thread);
  // New local references to all of them; false without memory.
  bool copy(JNIEnv* jni, Vector<jobject>* copies);
  // The references themselves, which may be gone: only to compare; false without memory.
  bool references(Vector<jobject>* found);
  // Takes any of them out, kNone where there is none; the reference is good until `drop`.
  size_t take(jobject* thread);
  void drop(JNIEnv* jni, size_t place, bool remove = false);
  size_t size();

 private:
  struct Entry {
    jobject thread;  // null: the place is free
    jint hash;
    uint32_t looked_at;
    bool removed;
  };
  // From `start` on the first place that fits, which is looked at now; 0 fits every hash.
  size_t look(size_t start, jint hash, jobject* thread);
  // Looked at no more; null unless what was removed is to be deleted by the caller.
  jobject leave(size_t place, bool remove);
  size_t find(JNIEnv* jni, jthread thread);

  Mutex mutex_{Guards::kLists};
  Vector<Entry> entries_;
  size_t size_ = 0;
};

}  // namespace jvmti
