#include "agent/engines/profiling/walks/code_ranges.h"

#include <cstdio>
#include <cstring>

#include "agent/core/agent.h"

namespace jvmti {

// The number of the library with this name, which it has if it was loaded before.
uint32_t CodeRanges::number_of(const char* name) {
  for (uint32_t i = 0; i < library_count_; ++i) {
    if (std::strncmp(names_[i], name, kLongestName - 1) == 0) return i;
  }
  if (library_count_ == kMost) return kNone;
  snprintf(names_[library_count_], kLongestName, "%s", name);
  return library_count_++;
}

int CodeRanges::add(dl_phdr_info* info, size_t, void* what) {
  CodeRanges& all = *static_cast<Search*>(what)->all;
  Table& table = *static_cast<Search*>(what)->found;
  const char* slash = info->dlpi_name == nullptr ? nullptr : std::strrchr(info->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (name == nullptr || *name == '\0') name = "(program)";
  uint32_t library = all.number_of(name);
  if (library == kNone) return 0;
  // Where the VM's own functions are is known by one of them.
  uint64_t of_vm = reinterpret_cast<uint64_t>(agent.vm->functions->GetEnv);
  for (int i = 0; i < info->dlpi_phnum && table.count < kMost; ++i) {
    const ElfW(Phdr) & segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    table.ranges[table.count++] = Range{begin, begin + segment.p_memsz, library};
    if (begin <= of_vm && of_vm < begin + segment.p_memsz) all.vm_ = library;
  }
  return 0;
}

// Whether libraries have come or gone, which the first one says of all.
int CodeRanges::look(dl_phdr_info* info, size_t, void* what) {
  CodeRanges& all = *static_cast<Search*>(what)->all;
  bool same = all.loaded_ == info->dlpi_adds && all.gone_ == info->dlpi_subs;
  all.loaded_ = info->dlpi_adds;
  all.gone_ = info->dlpi_subs;
  return same ? 1 : 2;
}

void CodeRanges::find() {
  const Table* current = current_;
  Search search{this, &tables_[current == &tables_[0]]};
  if (dl_iterate_phdr(look, &search) == 1) return;
  search.found->count = 0;
  dl_iterate_phdr(add, &search);
  sort(*search.found);
  current_.store(search.found, std::memory_order_release);
}

void CodeRanges::sort(Table& table) {
  for (uint32_t i = 1; i < table.count; ++i) {
    Range moved = table.ranges[i];
    uint32_t at = i;
    for (; at > 0 && table.ranges[at - 1].begin > moved.begin; --at) {
      table.ranges[at] = table.ranges[at - 1];
    }
    table.ranges[at] = moved;
  }
}

uint32_t CodeRanges::of(uint64_t address) const {
  const Table& table = *current_.load(std::memory_order_acquire);
  uint32_t low = 0;
  uint32_t high = table.count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (table.ranges[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool inside = low < table.count && table.ranges[low].begin <= address;
  return inside ? table.ranges[low].library : kNone;
}

}  // namespace jvmti
