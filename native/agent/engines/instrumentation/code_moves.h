// Where instructions of classes with probes were before, whatever sets have put them there.
//
// The hooks of all sets see a class file one after the other, on one thread: each but the first
// what the one before has made of it.  What a set notes leads back to the class file as it was
// before the first.  Where another agent has changed it in between, it leads back to that.
#pragma once

#include <jvmti.h>

#include "classfile/instrumenter.h"

namespace jvmti {

// A class: its internal name, and its loader by its identity hash.
uint64_t hash_of_class(const char* name, size_t size, jint loader);
jint hash_of_loader(jvmtiEnv* env, jobject loader);

using MovedCode = Vector<classfile::Instrumenter::Moved>;

// A hook is about to put probes into a class file, or to leave it as it is: gives what earlier
// hooks have done to it; false without memory.
[[nodiscard]] bool begin_code_moves(uint64_t klass, const uint8_t* data, jint size,
                                    MovedCode* earlier);
// It has put probes into it; false without memory.
[[nodiscard]] bool note_code_moves(uint64_t klass, const classfile::Instrumenter& woven,
                                   const MovedCode& earlier);
// The class file that the next hook sees.
void hand_on_code_moves(uint64_t klass, const uint8_t* made, jint size);
// A hook of a set sees the class file of a class that this thread only reads, as it was before it
// got probes: notes it if it is the first to, and says that the hook shall leave it as it is.
bool is_read_before_probes(jclass redefined, const char* name, const uint8_t* data, jint size);
// This thread only reads the class file, as the VM runs it: its probes are those that it has.
bool is_read_with_probes(jclass redefined, const char* name);
// Where instructions of a method were.
void locate_before(jvmtiEnv* env, JNIEnv* jni, jmethodID method, jlocation* locations,
                   size_t count);
// How often classes that were loaded already have got other code, as far as sets of probes saw it.
jint code_changes();
void note_code_change();
// No set is left that could have moved anything.
void forget_code_moves();

}  // namespace jvmti
