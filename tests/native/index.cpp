// `Index` beside a map of the standard library: the same after each insertion and removal.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/containers.h"

int main() {
  jvmti::Index index;
  std::map<uint64_t, uint32_t> expected;
  uint64_t random = 1;
  for (uint32_t step = 1; step < 200000; ++step) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    // Few keys, so that most are there, and their slots follow each other.
    uint64_t key = (random >> 33) % 97;
    if (expected.count(key) != 0) {
      index.remove(key);
      expected.erase(key);
    } else if (index.insert(key, step)) {
      expected[key] = step;
    }
    for (uint64_t one = 0; one < 97; ++one) {
      auto found = expected.find(one);
      if (index.find(one) == (found == expected.end() ? 0 : found->second)) continue;
      std::printf("step %u: key %u\n", step, static_cast<unsigned>(one));
      return EXIT_FAILURE;
    }
  }
  return EXIT_SUCCESS;
}
