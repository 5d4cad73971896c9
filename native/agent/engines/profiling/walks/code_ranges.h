// What a program counter outside of Java belongs to: the libraries of the process.
#pragma once

#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/no_copy.h"

namespace jvmti {

class CodeRanges : NoCopy {
 public:
  static constexpr uint32_t kMost = 512;
  static constexpr size_t kLongestName = 64;
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Those that are loaded now. By one thread at a time, also while handlers look; a library keeps
  // its number.
  void find();
  // The number of the library, from a signal handler.
  uint32_t of(uint64_t address) const;
  const char* name(uint32_t number) const { return names_[number]; }
  bool is_vm(uint32_t number) const { return number == vm_; }

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint32_t library;
  };
  struct Table {
    Range ranges[kMost];  // in their order
    uint32_t count;
  };
  // A list of the libraries that are loaded, as it is being made.
  struct Search {
    CodeRanges* all;
    Table* found;
  };
  static int add(dl_phdr_info* info, size_t size, void* search);
  static int look(dl_phdr_info* info, size_t size, void* changed);
  static void sort(Table& table);
  uint32_t number_of(const char* name);

  // One is in use. The other one was a while ago, when libraries came or went before.
  Table tables_[2];
  std::atomic<const Table*> current_{&tables_[0]};
  uint64_t loaded_ = 0;  // how many ever were
  uint64_t gone_ = 0;
  char names_[kMost][kLongestName];
  uint32_t library_count_ = 0;
  uint32_t vm_ = kNone;
};

}  // namespace jvmti
