// What classes were redefined as, for a VM that forgets it.
#pragma once

#include <jvmti.h>

namespace jvmti {

// The VM keeps the class file that a hook has changed, and shows it to the hooks of the next
// retransformation. Before 20 it goes on to show that one after the class has been redefined
// (JDK-7124710): to set a breakpoint by a probe would bring back the code from before.

// Classes have been redefined.
void note_redefined(jvmtiEnv* env, JNIEnv* jni, const jvmtiClassDefinition* definitions,
                    jint count);
// As RetransformClasses, but classes that were redefined begin with what they were redefined as.
jvmtiError retransform_classes(jvmtiEnv* env, JNIEnv* jni, const jclass* classes, jint count);

}  // namespace jvmti
