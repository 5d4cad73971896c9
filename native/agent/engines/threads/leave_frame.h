// Threads with a request to leave a frame, by PopFrame or ForceEarlyReturn, that have not run
// since; and threads that cannot take one, because of what the VM is doing in them.
#pragma once

#include <jvmti.h>

#include "base/no_copy.h"

namespace jvmti {

// After a resumption: waits briefly for the thread to leave the requested frame, so that one that
// is suspended again at once is in the caller.
void await_leaving(jthread thread);

// Whether the current thread is still in a frame that it has a request to leave.  The VM leaves the
// next frame that comes back to the interpreter: Java code that this thread ran now would be left
// in its place.
bool is_leaving();

// A frame of the current thread returns: it is the one with the request, unless the request came in
// this very event, which other environments receive, too.
void frame_ends(jvmtiEnv* env, int event);

// A handler of the current thread's has returned.
void handler_ended();

// From now on frames can be left: an environment has the capability.
void expect_leaving();

// While it lasts, the thread takes no request to leave a frame, or an early return only: the VM
// calls us in the middle of its own work.  Null stands for the current thread.
class FixedFrames : NoCopy {
 public:
  FixedFrames(JNIEnv* jni, jthread thread, bool returnable);
  ~FixedFrames();
  // Whether a thread refuses PopFrame, or else ForceEarlyReturn.
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
class StopThreadLater : NoCopy {
 public:
  explicit StopThreadLater(JNIEnv* jni) : jni_(jni) {}
  ~StopThreadLater();

 private:
  JNIEnv* jni_;
};

}  // namespace jvmti
