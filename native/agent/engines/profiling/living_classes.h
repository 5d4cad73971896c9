// Classes whose methods are named some time after they were sampled.
#pragma once

#include <jni.h>

namespace jvmti {

// Whether a class that the VM has just given for a method is alive.
//
// Collectors that unload classes while the program runs, Shenandoah in the first place, leave the
// method's id valid for some milliseconds after the class object is garbage.  The VM then gives a
// reference to it, or to what has taken its place, and any further use of this ends the process.
bool is_living(JNIEnv* jni, jclass klass);

}  // namespace jvmti
