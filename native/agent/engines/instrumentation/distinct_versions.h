// Versions of a class that differ in each of their methods.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include "base/no_copy.h"

namespace jvmti {

// While it lasts, classes that this thread retransforms get an operand stack that is one or two
// slots deeper in every method than the class file says, in turns.
//
// HotSpot keeps a method that runs while its class changes. If the new version has the same code,
// the VM sets breakpoints in both. It goes on to do so when a later version has other code, but
// finds the instruction under a breakpoint by the method's name and the index alone. So it executes
// an instruction of one version in the code of the other, and crashes. If no version has a method
// in common with the one before, breakpoints are set in the newest only.
//
// Does nothing in a VM that cannot have breakpoints: methods that run stay the current version
// there.
class DistinctVersions : NoCopy {
 public:
  DistinctVersions();
  ~DistinctVersions();

 private:
  jvmtiEnv* env_ = nullptr;
};

}  // namespace jvmti
