// Instruments damaged class files, by damaged plans too.  tests/robustness/faults/fuzz_classes.py
// links it with the class file library and the sanitizers.
//
//     fuzz_classes PLAN CLASSES COUNT SEED [KEPT]
//
// CLASSES holds class files, each behind its length.  What is at work is written to KEPT first.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "classfile/jvmti_classfile.h"

namespace {

using Data = std::vector<uint8_t>;

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

void damage(Data& data) {
  constexpr uint8_t kEdges[] = {0,   1,   0x7F, 0x80, 0xFF, 0xFE, 255 - 7,
                                252, 251, 247,  170,  171,  196};
  for (size_t left = 1 + below(6); left > 0 && !data.empty(); --left) {
    size_t at = below(data.size());
    switch (next() % 8) {
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
      case 4:
        if (next() % 8 == 0) data.resize(at);
        break;
      case 5:
        data.erase(data.begin() + at,
                   data.begin() + at + below(data.size() - at > 16 ? 16 : data.size() - at));
        break;
      case 6: {
        size_t size = below(data.size() - at > 64 ? 64 : data.size() - at);
        Data copy(data.begin() + at, data.begin() + at + size);
        size_t to = below(data.size() - size);
        if (size != 0) std::memcpy(data.data() + to, copy.data(), size);
        break;
      }
      default:
        data.insert(data.begin() + at, static_cast<uint8_t>(next()));
    }
  }
}

void keep(const char* path, const Data& data) {
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "wb");
  if (file == nullptr) std::abort();
  std::fwrite(data.data(), 1, data.size(), file);
  std::fclose(file);
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
  Data plan_data = read(arguments[1]);
  Data all = read(arguments[2]);
  uint64_t cases = std::strtoull(arguments[3], nullptr, 10);
  state = std::strtoull(arguments[4], nullptr, 10);
  const char* kept = count > 5 ? arguments[5] : nullptr;
  std::vector<Data> files;
  for (size_t at = 0; at + 4 <= all.size();) {
    uint32_t size;
    std::memcpy(&size, &all[at], 4);
    files.emplace_back(all.begin() + at + 4, all.begin() + at + 4 + size);
    at += 4 + size;
  }
  std::sort(files.begin(), files.end(),
            [](const Data& a, const Data& b) { return a.size() < b.size(); });
  jvmti_classfile_plan* plan = nullptr;
  jvmti_classfile_instrumenter* work = nullptr;
  if (jvmti_classfile_plan_open(plan_data.data(), plan_data.size(), &plan) != 0) return 3;
  if (jvmti_classfile_open(&work) != 0) return 3;
  uint64_t seen[6] = {};
  uint64_t changed = 0;
  for (uint64_t i = 0; i < cases; ++i) {
    alarm(20);
    // The smaller of two: a large file takes a hundred times as long as a small one, and shows
    // little more.
    Data data = files[std::min(below(files.size()), below(files.size()))];
    damage(data);
    keep(kept, data);
    jvmti_classfile_plan* used = plan;
    if (next() % 16 == 0) {
      Data other = plan_data;
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
    if (result.file != nullptr) {
      ++changed;
      // What came out may be instrumented again, or refused for what the first plan did not look
      // at.
      Data made(static_cast<const uint8_t*>(result.file),
                static_cast<const uint8_t*>(result.file) + result.size);
      Exact exact(made);
      (void)jvmti_classfile_instrument(work, plan, exact.bytes, exact.size, 0, &result);
    }
    if (used != plan) jvmti_classfile_plan_close(used);
  }
  jvmti_classfile_close(work);
  jvmti_classfile_plan_close(plan);
  std::printf(
      "%llu cases: %llu taken, %llu of them changed, %llu refused, %llu too large, %llu others\n",
      static_cast<unsigned long long>(cases), static_cast<unsigned long long>(seen[0]),
      static_cast<unsigned long long>(changed), static_cast<unsigned long long>(seen[2]),
      static_cast<unsigned long long>(seen[4]),
      static_cast<unsigned long long>(seen[1] + seen[3] + seen[5]));
  return 0;
}
