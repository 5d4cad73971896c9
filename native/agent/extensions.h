// Functions and events of the VM's own, beyond JVM TI.
#pragma once

#include "session.h"

namespace jvmti {

// From now on nothing of the environment's extension events reaches the controller.
void silence_extensions(Environment* environment);

}  // namespace jvmti
