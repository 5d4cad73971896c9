// Threads that were told to leave a frame, by PopFrame or ForceEarlyReturn, and have not run since.
#pragma once

#include <jvmti.h>

namespace jvmti {

// After a resumption: waits a little for the thread to leave the frame that it was told to, so that
// one that is suspended again at once is found in its caller.
void await_leaving(jthread thread);

}  // namespace jvmti
