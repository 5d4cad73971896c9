// Whether a controller's process runs, as the kernel says.
#pragma once

#include <sys/types.h>

namespace jvmti {

// Whether a process is stopped by a signal or a debugger, or frozen with its control group.  False
// where the kernel does not say: for a group that this process does not see, for instance.
bool stands_still(pid_t pid);

}  // namespace jvmti
