// Steps: where a stepped thread is on its way, and what it does at each instruction.
#pragma once

#include "agent/engines/stops/stop_request.h"

namespace jvmti {

// The step that the current thread is in, kept until `leave`.
StopRequest* step_of(Session& session, JNIEnv* jni, jthread thread, StopHit* hits);

// The events of a stepped thread.
void watch_steps(jvmtiEnv* env, jthread thread, bool steps, bool pops);

}  // namespace jvmti
