// Memory of the controller's, taken only when it cannot shrink under us.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/no_copy.h"

namespace jvmti {

class SharedMemory : NoCopy {
 public:
  SharedMemory() = default;
  ~SharedMemory() { leave(); }
  // Why it cannot be taken, or null.  The descriptor is this object's from here on.
  // With an address it is mapped there, over what is there.
  const char* open(int descriptor, void* address = nullptr);
  void leave();
  // Lets go of it, with private pages in its place, whose address is returned; null without any.
  void* replace();
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace jvmti
