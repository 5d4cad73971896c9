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
// both have one method id, which goes on to a later version that has other code. Then places in the
// running method are given with the id of code that it does not run, so that a debugger shows other
// lines. The VM sets breakpoints in both, finds the instruction under a breakpoint by the method's
// name and the index alone, executes an instruction of one version in the code of the other, and
// crashes. If no version has a method in common with the one before, each has an id of its own, and
// breakpoints are set in the newest only.
class DistinctVersions : NoCopy {
 public:
  DistinctVersions();
  ~DistinctVersions();

 private:
  jvmtiEnv* env_ = nullptr;
};

}  // namespace jvmti
