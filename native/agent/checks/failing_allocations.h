// Memory that runs out when asked to, in a build for tests (JVMTI_FAIL_ALLOCATIONS).
#pragma once

#include <jvmti.h>

namespace jvmti {

// Memory that comes from the VM by this environment fails like the agent's own.
#ifdef JVMTI_FAIL_ALLOCATIONS
void fail_allocations(jvmtiEnv* env);
#else
inline void fail_allocations(jvmtiEnv*) {}
#endif

}  // namespace jvmti
