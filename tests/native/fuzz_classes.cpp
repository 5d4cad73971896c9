// Instruments damaged class files, by damaged plans too.  tests/robustness/faults/fuzz_classes.py
// links it with the class file library and the sanitizers.
//
//     fuzz_classes PLANS CLASSES COUNT SEED [KEPT]
//
// PLANS and CLASSES hold plans and class files, each behind its length.  A class file that ends the
// program is written to KEPT.

#include <sanitizer/common_interface_defs.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "classfile/jvmti_classfile.h"

namespace {

using Data = std::vector<uint8_t>;

// Probes between so many probes take seconds in a large class.
constexpr uint64_t kLargestAgain = 100'000;

uint64_t state;

uint64_t next() {  // splitmix64
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

size_t below(size_t limit) { return limit == 0 ? 0 : next() % limit; }

Data read(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) std::abort();
  Data data;
  uint8_t part[65536];
  while (size_t size = std::fread(part, 1, sizeof part, file))
    data.insert(data.end(), part, part + size);
  std::fclose(file);
  return data;
}

std::vector<Data> parts(const Data& all) {
  std::vector<Data> found;
  for (size_t at = 0; at + 4 <= all.size();) {
    uint32_t size;
    std::memcpy(&size, &all[at], 4);
    found.emplace_back(all.begin() + at + 4, all.begin() + at + 4 + size);
    at += 4 + size;
  }
  return found;
}

void damage(Data& data) {
  constexpr uint8_t kEdges[] = {0,   1,   0x7F, 0x80, 0xFF, 0xFE, 255 - 7,
                                252, 251, 247,  170,  171,  196};
  // Most files that lose or gain a byte are refused before their code is looked at.
  bool as_long = next() % 4 != 0;
  for (size_t left = 1 + below(1 + below(6)); left > 0 && !data.empty(); --left) {
    size_t at = below(data.size());
    switch (next() % (as_long ? 5 : 8)) {
      case 0:
        data[at] ^= static_cast<uint8_t>(1u << next() % 8);
        break;
      case 1:
        data[at] = static_cast<uint8_t>(next());
        break;
      case 2:
        data[at] = kEdges[below(sizeof kEdges)];
        break;
      case 3:
        data[at] = data[below(data.size())];
        if (at + 1 < data.size()) data[at + 1] = kEdges[below(sizeof kEdges)];
        break;
      case 4: {
        size_t size = below(data.size() - at > 64 ? 64 : data.size() - at);
        Data copy(data.begin() + at, data.begin() + at + size);
        size_t to = below(data.size() - size);
        if (size != 0) std::memcpy(data.data() + to, copy.data(), size);
        break;
      }
      case 5:
        data.erase(data.begin() + at,
                   data.begin() + at + below(data.size() - at > 16 ? 16 : data.size() - at));
        break;
      case 6:
        if (next() % 8 == 0) data.resize(at);
        break;
      default:
        data.insert(data.begin() + at, static_cast<uint8_t>(next()));
    }
  }
}

const char* kept = nullptr;
const Data* at_work = nullptr;

void keep() {
  if (kept == nullptr || at_work == nullptr) return;
  std::FILE* file = std::fopen(kept, "wb");
  if (file == nullptr) return;
  std::fwrite(at_work->data(), 1, at_work->size(), file);
  std::fclose(file);
}

void end_late(int) {
  std::fputs("a case took 20 s\n", stderr);
  keep();
  _exit(4);
}

// As long as it is said to be, so that the sanitizer sees reads beyond.
struct Exact {
  explicit Exact(const Data& data)
      : bytes(static_cast<uint8_t*>(std::malloc(data.size()))), size(data.size()) {
    if (size != 0) std::memcpy(bytes, data.data(), size);
  }
  ~Exact() { std::free(bytes); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  uint8_t* bytes;
  size_t size;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) return 2;
  std::vector<Data> plans = parts(read(arguments[1]));
  std::vector<Data> files = parts(read(arguments[2]));
  uint64_t cases = std::strtoull(arguments[3], nullptr, 10);
  state = std::strtoull(arguments[4], nullptr, 10);
  kept = count > 5 ? arguments[5] : nullptr;
  __sanitizer_set_death_callback(keep);
  std::signal(SIGVTALRM, end_late);
  std::sort(files.begin(), files.end(),
            [](const Data& a, const Data& b) { return a.size() < b.size(); });
  std::vector<jvmti_classfile_plan*> opened;
  for (const Data& plan : plans) {
    opened.push_back(nullptr);
    if (jvmti_classfile_plan_open(plan.data(), plan.size(), &opened.back()) != 0) return 3;
  }
  jvmti_classfile_instrumenter* work = nullptr;
  if (opened.empty() || files.empty() || jvmti_classfile_open(&work) != 0) return 3;
  uint64_t seen[6] = {};
  uint64_t changed = 0;
  for (uint64_t i = 0; i < cases; ++i) {
    // Of its own processor time: the run may be stopped for minutes while others measure.
    itimerval limit = {{0, 0}, {20, 0}};
    setitimer(ITIMER_VIRTUAL, &limit, nullptr);
    // The smallest of four: a large file takes a hundred times as long as a small one, and shows
    // little more.
    Data data = files[std::min(
        {below(files.size()), below(files.size()), below(files.size()), below(files.size())})];
    damage(data);
    at_work = &data;
    size_t chosen = below(plans.size());
    jvmti_classfile_plan* plan = opened[chosen];
    jvmti_classfile_plan* used = plan;
    if (next() % 16 == 0) {
      Data other = plans[chosen];
      damage(other);
      Exact exact(other);
      if (jvmti_classfile_plan_open(exact.bytes, exact.size, &used) != 0) used = plan;
    }
    jvmti_classfile_result result;
    {
      Exact exact(data);
      int32_t status = jvmti_classfile_instrument(work, used, exact.bytes, exact.size, 0, &result);
      ++seen[status < 0 || status > 4 ? 5 : status];
    }
    changed += result.file != nullptr;
    if (result.file != nullptr && result.size < kLargestAgain && next() % 8 == 0) {
      // What came out may be instrumented again, or refused for what the first plan did not look
      // at.
      Data made(static_cast<const uint8_t*>(result.file),
                static_cast<const uint8_t*>(result.file) + result.size);
      Exact exact(made);
      (void)jvmti_classfile_instrument(work, plan, exact.bytes, exact.size, 0, &result);
    }
    if (used != plan) jvmti_classfile_plan_close(used);
    at_work = nullptr;
  }
  jvmti_classfile_close(work);
  for (jvmti_classfile_plan* plan : opened) jvmti_classfile_plan_close(plan);
  std::printf(
      "%llu cases: %llu taken, %llu of them changed, %llu refused, %llu too large, %llu others\n",
      static_cast<unsigned long long>(cases), static_cast<unsigned long long>(seen[0]),
      static_cast<unsigned long long>(changed), static_cast<unsigned long long>(seen[2]),
      static_cast<unsigned long long>(seen[4]),
      static_cast<unsigned long long>(seen[1] + seen[3] + seen[5]));
  return 0;
}
