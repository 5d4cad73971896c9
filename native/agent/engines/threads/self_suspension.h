// A thread that suspends itself in a handler.  Suspended at once it could answer none of the
// handler's calls, so it is when the handler has returned.
#pragma once

#include "agent/calls/call.h"

namespace jvmti {

// The current thread is to be suspended when the outermost of its handlers has returned.
jvmtiError suspend_when_handled(Call& call);

// Whether a thread is to be suspended, and has not been yet.
bool is_to_be_suspended(JNIEnv* jni, jthread thread);

// A thread that the VM says is not suspended: it need not be suspended any more.  False where that
// was not to be anyway.
bool resume_before_suspended(JNIEnv* jni, jvmtiEnv* env, jthread thread);

// The current thread's outermost handler has returned: it is suspended here, where that was asked
// for, until somebody resumes it.
void suspend_as_asked(JNIEnv* jni);

// Nothing of an ending session is suspended any more; false where a thread is on its way there, and
// has been noted in the session as suspended.
bool forget_self_suspensions(JNIEnv* jni, Session& session);

}  // namespace jvmti
