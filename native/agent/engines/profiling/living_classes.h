// Classes and methods that are named some time after they were sampled.
#pragma once

#include <jvmti.h>

#include "agent/engines/profiling/walks/code_ranges.h"

namespace jvmti {

// Whether a class that the VM has just given for a method is alive.
//
// Collectors that unload classes while the program runs, Shenandoah in the first place, leave the
// method's id valid for some milliseconds after the class object is garbage.  The VM then gives a
// reference to it, or to what has taken its place, and any further use of this ends the process.
bool is_living(JNIEnv* jni, jclass klass);

// Whether there is a method behind its id, to be asked right before each use of the id.
//
// When a class is redefined, HotSpot before 11.0.22, 17.0.10 and 21.0.2 (JDK-8313816) frees its
// former methods, once no thread runs them, but not their ids: a use of one ends the process.
bool is_living(JNIEnv* jni, jmethodID method, const CodeRanges& ranges);

// Gives the former methods that platform threads run their ids, without which samples do not name
// them: a redefinition takes them away, and of a signal's handler the VM makes no new ones.
void identify_former_methods(jvmtiEnv* env, JNIEnv* jni);

}  // namespace jvmti
