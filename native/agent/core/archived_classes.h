// Classes that the VM maps from an archive of shared classes, instead of reading their class files.
#pragma once

#include <jvmti.h>

namespace jvmti {

// Before classes change. Once one of them is an interface, the VM reads every class that it loads
// from its class file, for good.
//
// Before 16 HotSpot maps a class with the default methods that its interfaces had when the archive
// was made (JDK-8256640). If such an interface has changed meanwhile, the class runs the version of
// before, or the VM ends: "Could not resolve to latest version of redefined method".
void leave_class_archive(jvmtiEnv* env, jclass changed);

}  // namespace jvmti
