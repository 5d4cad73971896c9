#include "base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace jvmti {

namespace {

constexpr long kTmpfs = 0x01021994;  // TMPFS_MAGIC

}  // namespace

void SharedMemory::leave() {
  if (data_ != nullptr) munmap(data_, size_);
  if (descriptor_ >= 0) close(descriptor_);
  data_ = nullptr;
  descriptor_ = -1;
}

void* SharedMemory::replace() {
  void* address = data_;
  if (address != nullptr) {
    mmap(address, size_, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  data_ = nullptr;
  leave();
  return address;
}

const char* SharedMemory::open(int descriptor, void* address) {
  descriptor_ = descriptor;
  int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0) return "the shared memory is not a memfd";
  if ((seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW)) {
    return "the shared memory is not sealed against shrinking and growing";
  }
  struct stat about;
  if (fstat(descriptor, &about) != 0 || about.st_size <= 0) return "the shared memory is empty";
  struct statfs system;
  // Huge pages can be taken away again in spite of the seals, which would kill the target.
  if (fstatfs(descriptor, &system) != 0 || system.f_type != kTmpfs) {
    return "the shared memory is not made of ordinary pages";
  }
  size_ = static_cast<size_t>(about.st_size);
  int flags = MAP_SHARED | (address == nullptr ? 0 : MAP_FIXED);
  void* mapped = mmap(address, size_, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (mapped == MAP_FAILED) return "the shared memory cannot be mapped";
  data_ = static_cast<uint8_t*>(mapped);
  return nullptr;
}

}  // namespace jvmti
