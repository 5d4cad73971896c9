// The class that probes call first by which threads are stepped.
//
// While it is closed its method has nothing to say, and compiled code inlines that: the probes cost
// nothing.  To open it is to retransform it, for which the VM discards the code with it inlined.
#pragma once

#include <jvmti.h>

namespace jvmti {

// One more set of probes needs it open, or no longer does.
void open_step_gate(jvmtiEnv* env, JNIEnv* jni);
void close_step_gate(jvmtiEnv* env, JNIEnv* jni);

// In the hook for class files: gives the class as it is to be; false for any other class.
bool hook_step_gate(jvmtiEnv* env, const char* name, jint* new_size, unsigned char** new_data);

}  // namespace jvmti
