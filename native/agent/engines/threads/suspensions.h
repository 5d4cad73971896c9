// What a session has suspended.
//
// A thread that is suspended for a key stays so until the last key is resumed.  That needs a turn,
// and the thread that has it must finish; so only service threads take it, which are never
// suspended. For a thread of the program in a handler, a service thread does it.
#pragma once

#include <atomic>

#include "agent/handles/known_threads.h"

namespace jvmti {

class Session;

class Suspensions {
 public:
  explicit Suspensions(Session& session) : session_(session) {}

  // A suspension that cannot be noted would be for good: the place for the note comes before, and
  // then what has become of it.  `KnownThreads::kNone` without memory.
  [[nodiscard]] size_t prepare(JNIEnv* jni, jthread thread) { return noted_.prepare(jni, thread); }
  void settle(JNIEnv* jni, size_t place, bool suspended);
  // After the VM has resumed a thread for the session.
  void note_resumed(JNIEnv* jni, jthread thread) { noted_.remove(jni, thread); }
  // Suspends threads until the key is resumed, which may have happened already; `outcomes` has a
  // place for each.
  void suspend(JNIEnv* jni, jvmtiEnv* env, bool service_thread, int64_t key, jint count,
               const jthread* threads, jint* outcomes);
  jvmtiError resume(JNIEnv* jni, jvmtiEnv* env, bool service_thread, int64_t key);
  // Resumes all that was noted; no turn is waited for.
  void resume_all(JNIEnv* jni);
  // The session ends: true when no thread of ours is here any more.
  bool ended();
  void clear(JNIEnv* jni);

  std::atomic<bool> all_virtual{false};

 private:
  struct Suspension {
    int64_t key;
    jobject thread;
  };
  // What one thread asks another to do; on the stack of the one that waits.
  struct Work {
    jvmtiEnv* env;
    int64_t key;
    bool resuming;
    jint count;
    const jthread* threads;  // global references
    jint* outcomes;
    bool done;
    Work* next;
  };
  static void JNICALL serve(jvmtiEnv*, JNIEnv* jni, void* what);
  jvmtiError hand_over(JNIEnv* jni, Work* work);
  void work_off(JNIEnv* jni);
  void perform(JNIEnv* jni, Work* work);
  jvmtiError suspend_one(JNIEnv* jni, jvmtiEnv* env, jthread thread, int64_t key);
  void resume_key(JNIEnv* jni, jvmtiEnv* env, int64_t key);
  bool is_suspended(JNIEnv* jni, jthread thread);
  bool resume_by_others(JNIEnv* jni, jthread thread);

  Session& session_;
  KnownThreads noted_;
  Turn turn_;
  // By who has the turn:
  Vector<Suspension> suspended_;
  int64_t resumed_[64] = {};  // the latest keys, lest one be suspended for after it was resumed
  size_t resumed_count_ = 0;

  Mutex mutex_{Guards::kLists};
  Condition changed_;
  Work* first_ = nullptr;  // of those that wait to be worked off
  Work** last_ = &first_;
  int started_ = 0;    // threads of ours
  int serving_ = 0;    // of these, those that have come as far
  bool over_ = false;  // no more of them are to come
};

}  // namespace jvmti
