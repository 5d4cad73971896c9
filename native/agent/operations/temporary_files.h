// Files of the controller that the VM itself is to write to by name: a heap dump's.
//
// The file has no name of its own and comes as a descriptor; `/proc/self/fd` gives it one.  A VM
// that dumps in parallel (22 and later) puts the parts beside it first, so there the name is a link
// in a directory made for it, and both go with the file.
#pragma once

#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

class TemporaryFiles {
 public:
  static constexpr size_t kLongestName = 64;
  // Takes the descriptor, in any case.  The name is written to `name`; false with errno set when
  // there is none. With `room`, it is one in a directory with that many bytes free.
  bool name_for(int descriptor, int64_t capacity, char* name);
  // False when no file has that name.
  bool give_back(const char* name);
  void clear();

 private:
  struct File {
    int descriptor;
    char name[kLongestName];
    bool linked;
  };
  static void remove(const File& file);

  Mutex mutex_{Guards::kLists};
  Vector<File> files_;
};

}  // namespace jvmti
