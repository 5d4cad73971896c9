// Steps: where a stepped thread is on its way, and what it does at each instruction.
#pragma once

#include "agent/engines/stops/stop_request.h"

namespace jvmti {

// The step that the current thread is in, kept until `leave`.
StopRequest* step_of(Session& session, JNIEnv* jni, jthread thread, StopHit* hits);

// The events of a stepped thread, from the VM or from the probes of the step.
void watch_steps(StopRequest& step, JNIEnv* jni, jthread thread, bool steps, bool pops);

}  // namespace jvmti
