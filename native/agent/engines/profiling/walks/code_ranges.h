// What a program counter outside of Java belongs to: the libraries of the process.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "base/no_copy.h"

namespace jvmti {

class CodeRanges : NoCopy {
 public:
  static constexpr uint32_t kMost = 512;
  static constexpr size_t kLongestName = 64;
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Those that are loaded now, for good; later ones are not known.
  void find();
  // The number of the library, from a signal handler.
  uint32_t of(uint64_t address) const;
  const char* name(uint32_t number) const { return names_[number]; }
  bool is_vm(uint32_t number) const { return number == vm_; }

 private:
  static int add(dl_phdr_info* info, size_t size, void* ranges);
  void sort();

  struct Range {
    uint64_t begin;
    uint64_t end;
    uint32_t library;
  };
  Range ranges_[kMost];
  uint32_t range_count_ = 0;
  char names_[kMost][kLongestName];
  uint32_t library_count_ = 0;
  uint32_t vm_ = kNone;
};

}  // namespace jvmti
