// The listening socket, for programs that others start: kept only when the options ask for it.
#pragma once

#include <jvmti.h>
#include <sys/types.h>

namespace jvmti {

// Takes connections at `path`, or at the default place for an empty one.
bool listen_at(JNIEnv* jni, const char* path);
void stop_listening();

// A session on a connected socket, which is closed when that fails.
// `script` is the process that was started for it, if one was.
bool begin_session(JNIEnv* jni, int descriptor, const char* token, pid_t script = 0);

}  // namespace jvmti
