// An agent with one fault of each kind that sanitizers know, to see that they tell of it inside a JVM.
// The option names the fault.

#include <pthread.h>

#include <climits>
#include <cstdlib>
#include <cstring>

namespace {

int shared;

void* write_shared(void*) {
  for (int i = 0; i < 1000; ++i) ++shared;
  return nullptr;
}

void race() {
  pthread_t other;
  pthread_create(&other, nullptr, write_shared, nullptr);
  write_shared(nullptr);
  pthread_join(other, nullptr);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int Agent_OnLoad(void*, char* options, void*) {
  if (std::strcmp(options, "address") == 0) {
    volatile char* gone = static_cast<char*>(std::malloc(8));
    std::free(const_cast<char*>(gone));
    return gone[0] == 1 ? 2 : 0;
  }
  if (std::strcmp(options, "undefined") == 0) {
    volatile int most = INT_MAX;
    return most + 1 == 7 ? 2 : 0;
  }
  if (std::strcmp(options, "thread") == 0) race();
  return 0;
}
