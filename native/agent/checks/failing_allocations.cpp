// Memory that runs out when asked to, for tests: the linker leads every allocation of the agent
// here.
//
// The file that JVMTI_ALLOCATIONS names is shared with the test, which says how many allocations
// are still to succeed, and reads which places in the agent have allocated since.

#include "agent/checks/failing_allocations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#pragma GCC diagnostic ignored "-Wframe-address"

extern "C" {
void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* memory, size_t size);
int __real_posix_memalign(void** memory, size_t alignment, size_t size);
char* __real_strdup(const char* text);
}

namespace jvmti {

namespace {

constexpr size_t kMostPlaces = 2000;

// As tests/robustness/faults/failing.py has it.
struct Shared {
  std::atomic<int64_t> left;  // the one that makes it 0 fails; below that none does
  std::atomic<int64_t> made;
  std::atomic<int64_t> failed;
  std::atomic<int64_t> place;   // that failed last
  std::atomic<int64_t> places;  // seen so far
  struct {
    std::atomic<int64_t> where;
    std::atomic<int64_t> first;  // the number of the first allocation there
  } seen[kMostPlaces];
};

Shared* shared = nullptr;

__attribute__((constructor)) void open_shared() {
  const char* path = getenv("JVMTI_ALLOCATIONS");
  int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) shared = static_cast<Shared*>(memory);
}

void note(int64_t where, int64_t number) {
  int64_t count = shared->places.load();
  for (int64_t i = 0; i < count; ++i) {
    if (shared->seen[i].where.load() == where) return;
  }
  int64_t at = shared->places.fetch_add(1);
  if (at >= static_cast<int64_t>(kMostPlaces)) {
    shared->places.fetch_sub(1);
    return;
  }
  shared->seen[at].first.store(number);
  shared->seen[at].where.store(where);
}

// Two callers identify a place: many allocations are made by a container for others.
bool fails(const void* caller, const void* its_caller) {
  if (shared == nullptr) return false;
  int64_t where = static_cast<int64_t>(reinterpret_cast<uintptr_t>(caller) * 31 +
                                       reinterpret_cast<uintptr_t>(its_caller));
  note(where, shared->made.fetch_add(1) + 1);
  if (shared->left.load() <= 0 || shared->left.fetch_sub(1) != 1) return false;
  shared->place.store(static_cast<int64_t>(reinterpret_cast<uintptr_t>(caller)));
  shared->failed.fetch_add(1);
  return true;
}

#define JVMTI_FAILS fails(__builtin_return_address(0), __builtin_return_address(1))

jvmtiInterface_1 failing;
jvmtiError(JNICALL* real_allocate)(jvmtiEnv*, jlong, unsigned char**);

jvmtiError JNICALL allocate(jvmtiEnv* env, jlong size, unsigned char** memory) {
  if (JVMTI_FAILS) return JVMTI_ERROR_OUT_OF_MEMORY;
  return real_allocate(env, size, memory);
}

}  // namespace

void fail_allocations(jvmtiEnv* env) {
  failing = *env->functions;
  real_allocate = failing.Allocate;
  failing.Allocate = allocate;
  env->functions = &failing;
}

}  // namespace jvmti

extern "C" {
void* __wrap_malloc(size_t size) { return jvmti::JVMTI_FAILS ? nullptr : __real_malloc(size); }
void* __wrap_calloc(size_t count, size_t size) {
  return jvmti::JVMTI_FAILS ? nullptr : __real_calloc(count, size);
}
void* __wrap_realloc(void* memory, size_t size) {
  return jvmti::JVMTI_FAILS ? nullptr : __real_realloc(memory, size);
}
int __wrap_posix_memalign(void** memory, size_t alignment, size_t size) {
  return jvmti::JVMTI_FAILS ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}
char* __wrap_strdup(const char* text) { return jvmti::JVMTI_FAILS ? nullptr : __real_strdup(text); }
}
