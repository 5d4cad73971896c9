// Space for many items of which most stay unused: the kernel gives memory where one is written.
#pragma once

#include <sys/mman.h>

#include <cstdint>

namespace jvmti {

// Null if there is none; all bytes are zero.
template <class T>
T* reserve(uint64_t count) {
  void* made = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<T*>(made);
}

}  // namespace jvmti
