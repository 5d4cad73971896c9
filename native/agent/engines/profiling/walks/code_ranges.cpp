#include "agent/engines/profiling/walks/code_ranges.h"

#include <cstdio>
#include <cstring>

#include "agent/core/agent.h"

namespace jvmti {

int CodeRanges::add(dl_phdr_info* info, size_t, void* what) {
  CodeRanges& all = *static_cast<CodeRanges*>(what);
  if (all.library_count_ == kMost) return 1;
  const char* slash = info->dlpi_name == nullptr ? nullptr : std::strrchr(info->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (name == nullptr || *name == '\0') name = "(program)";
  uint32_t library = all.library_count_++;
  snprintf(all.names_[library], kLongestName, "%s", name);
  // Where the VM's own functions are is known by one of them.
  uint64_t of_vm = reinterpret_cast<uint64_t>(agent.vm->functions->GetEnv);
  for (int i = 0; i < info->dlpi_phnum && all.range_count_ < kMost; ++i) {
    const ElfW(Phdr) & segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    all.ranges_[all.range_count_++] = Range{begin, begin + segment.p_memsz, library};
    if (begin <= of_vm && of_vm < begin + segment.p_memsz) all.vm_ = library;
  }
  return 0;
}

void CodeRanges::find() {
  dl_iterate_phdr(add, this);
  sort();
}

void CodeRanges::sort() {
  for (uint32_t i = 1; i < range_count_; ++i) {
    Range moved = ranges_[i];
    uint32_t at = i;
    for (; at > 0 && ranges_[at - 1].begin > moved.begin; --at) ranges_[at] = ranges_[at - 1];
    ranges_[at] = moved;
  }
}

uint32_t CodeRanges::of(uint64_t address) const {
  uint32_t low = 0;
  uint32_t high = range_count_;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (ranges_[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool inside = low < range_count_ && ranges_[low].begin <= address;
  return inside ? ranges_[low].library : kNone;
}

}  // namespace jvmti
