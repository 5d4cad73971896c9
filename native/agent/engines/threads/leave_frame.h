// Threads that were told to leave a frame, by PopFrame or ForceEarlyReturn, and have not run since;
// and threads that cannot be told, because of what the VM is doing in them.
#pragma once

#include <jvmti.h>

namespace jvmti {

// After a resumption: waits a little for the thread to leave the frame that it was told to, so that
// one that is suspended again at once is found in its caller.
void await_leaving(jthread thread);

// Whether the current thread was told to leave a frame that it is still in.  The VM leaves the next
// frame that comes back to the interpreter: Java code that this thread ran now would be left in its
// place.
bool is_leaving();

// The current thread is told that a frame returns: it is the one that it was told to leave, unless
// it was told so in this very event, of which other environments hear, too.
void frame_ends(jvmtiEnv* env, int event);

// A handler of the current thread's has returned.
void handler_ended();

// From now on frames can be left: somebody has the capability.
void expect_leaving();

// While it lasts, the thread cannot be told to leave a frame, or by an early return only: the VM
// calls us in the middle of its own work.  Null stands for the current thread.
class FixedFrames {
 public:
  FixedFrames(JNIEnv* jni, jthread thread, bool returnable);
  ~FixedFrames();
  FixedFrames(const FixedFrames&) = delete;
  FixedFrames& operator=(const FixedFrames&) = delete;
  // Whether a thread cannot be told, by PopFrame or else by ForceEarlyReturn.
  static bool hold(jthread thread, bool pop);

 private:
  bool listed_ = false;
  const bool returnable_;
  bool named_ = false;
  jint hash_ = 0;
  FixedFrames* next_ = nullptr;
};

// For a callback that must not return with an exception: the VM gives a thread the exception of
// StopThread in whatever function of JNI it calls next, also in ours.  It is sent once more then,
// and reaches the thread when the callback has returned.
class StopThreadLater {
 public:
  explicit StopThreadLater(JNIEnv* jni) : jni_(jni) {}
  ~StopThreadLater();
  StopThreadLater(const StopThreadLater&) = delete;
  StopThreadLater& operator=(const StopThreadLater&) = delete;

 private:
  JNIEnv* jni_;
};

}  // namespace jvmti
