// What the agent has to say for itself: off unless JVMTI_LOG or the option log= names a file.
#pragma once

namespace jvmti {

void log_to(const char* path);
void log(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace jvmti
