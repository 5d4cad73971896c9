// What can be asked of the graph; arguments are checked in library.cpp.
#pragma once

#include "dump.h"

namespace jvmti {
namespace heap {

// Columns of jvmti_heap_shortest.
struct Ways {
  jvmti_heap_search* search;
  uint8_t* seen;
  uint32_t* order;
  uint32_t* above;
  uint8_t* marks;
};

int32_t find_dominators(const jvmti_heap_dump& dump, uint32_t without,
                        jvmti_heap_progress* progress, uint32_t* idom, uint64_t* retained);
int32_t reach(const jvmti_heap_dump& dump, uint32_t without, const uint8_t* avoided,
              jvmti_heap_progress* progress, uint8_t* reached);
int32_t shortest(const jvmti_heap_dump& dump, uint32_t without, const uint32_t* roots,
                 uint64_t root_count, const uint32_t* wanted, uint64_t count,
                 jvmti_heap_progress* progress, const Ways& ways);
bool mark_ways(const uint32_t* above, uint64_t reached, uint8_t* marks);
bool gather_ways(const uint32_t* above, uint64_t reached, const uint8_t* marks, uint32_t* places,
                 uint32_t* parents, uint64_t room);
uint64_t referrers(const jvmti_heap_dump& dump, const uint8_t* chosen, uint32_t* sources,
                   uint32_t* targets, uint64_t room);
bool children(const uint32_t* idom, uint64_t objects, uint64_t* rows, uint32_t* items,
              uint64_t room);
int32_t retained_by_group(const jvmti_heap_dump& dump, const uint32_t* group_of_class,
                          bool as_itself, const uint64_t* rows, const uint32_t* items,
                          const uint64_t* retained, uint64_t* totals, uint64_t groups);

}  // namespace heap
}  // namespace jvmti
