// Memory of the target that Java buffers have been made over.
//
// A direct buffer keeps the address of its memory, not the memory.  Were that freed while the
// program, or Python, can still reach the buffer, the next access would change whatever came to lie
// there.  So memory that is given back is freed only once every buffer over it has been collected;
// buffers that Java derives from one keep that one alive.  The book is the agent's, not a
// session's: a buffer may outlive its session by far.
#pragma once

#include <jvmti.h>

namespace jvmti::direct_buffers {

// Notes a buffer over memory; false without memory for the note.
bool note(JNIEnv* jni, void* memory, jobject buffer);
// Frees memory from Allocate, now or when the last buffer over it has gone.
jvmtiError give_back(JNIEnv* jni, void* memory);

}  // namespace jvmti::direct_buffers
