// Instruments all classes of a file again and again, and prints the seconds of each round.
//
//     instrumenter PLAN CLASSES ROUNDS

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "classfile/jvmti_classfile.h"

namespace {

std::vector<char> read(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) std::abort();
  std::vector<char> data;
  char part[65536];
  while (size_t size = std::fread(part, 1, sizeof part, file)) data.insert(data.end(), part, part + size);
  std::fclose(file);
  return data;
}

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  std::vector<char> plan_data = read(arguments[1]);
  std::vector<char> all = read(arguments[2]);
  jvmti_classfile_plan* plan = nullptr;
  jvmti_classfile_instrumenter* work = nullptr;
  if (jvmti_classfile_plan_open(plan_data.data(), plan_data.size(), &plan) != 0) return 3;
  if (jvmti_classfile_open(&work) != 0) return 3;
  for (int left = std::atoi(arguments[3]); left > 0; --left) {
    unsigned long long made = 0;
    double began = now();
    for (size_t at = 0; at + 4 <= all.size();) {
      uint32_t size;
      std::memcpy(&size, &all[at], 4);
      jvmti_classfile_result result;
      if (jvmti_classfile_instrument(work, plan, &all[at + 4], size, 0, &result) != 0) return 4;
      made += result.file == nullptr ? size : result.size;
      at += 4 + size;
    }
    std::printf("%.6f %llu\n", now() - began, made);
  }
  return 0;
}
