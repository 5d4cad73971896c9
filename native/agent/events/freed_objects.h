// ObjectFree, which HotSpot cannot turn off without danger.
//
// From 16 on, a thread that turns the event off, changes callbacks or disposes of the environment
// waits for the thread that reports freed objects, and lets no safepoint begin meanwhile.  If one
// has begun, all of them wait for ever.  So an environment that has once turned the event on keeps
// it on, with callbacks for all events, and the agent passes on what is wanted.  Where it goes, its
// tags go first, and the reports on their way are waited for.
#pragma once

#include <jvmti.h>

namespace jvmti {

struct Environment;

// Enables or disables the event in all threads.
jvmtiError set_object_free(Environment& environment, jvmtiEventMode mode);

// To the VM; `environment` has no more calls and no handlers.
void dispose(jvmtiEnv* env, Environment& environment);

}  // namespace jvmti
