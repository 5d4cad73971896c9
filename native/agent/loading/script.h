// Agents that are Python files: a process of its own for each, started by the JVM that it is for.
#pragma once

#include <sys/types.h>

#include "agent/loading/options.h"

namespace jvmti {

// Whether the script is for this JVM: not where the options came down from a JVM that has had it,
// unless it follows.  What this JVM starts from now on knows that they did.
bool script_is_for_us(const Options& options, const char* text);

// Starts the script's process and returns a socket to it; -1 when it cannot, after saying so on
// standard error.
int start_script(const Options& options, pid_t* process);

// Says why a script that was started has not let the VM start.
void report_script(const Options& options, pid_t process, bool overran);

// Waits for the end of the script's process for a while, so that nothing is left of it.
void reap_script(pid_t process);

}  // namespace jvmti
