// What can be asked of the graph; arguments are checked in library.cpp.
#pragma once

#include "dump.h"

namespace jvmti {
namespace heap {

int32_t find_dominators(const jvmti_heap_dump& dump, uint32_t without,
                        jvmti_heap_progress* progress, uint32_t* idom, uint64_t* retained);
int32_t reach(const jvmti_heap_dump& dump, uint32_t without, const uint8_t* avoided,
              jvmti_heap_progress* progress, uint8_t* reached);
int32_t shortest(const jvmti_heap_dump& dump, uint32_t without, jvmti_heap_progress* progress,
                 uint32_t* before, uint32_t* order, uint64_t* reached);
uint64_t referrers(const jvmti_heap_dump& dump, const uint8_t* chosen, uint32_t* sources,
                   uint32_t* targets, uint64_t room);
bool children(const uint32_t* idom, uint64_t objects, uint64_t* rows, uint32_t* items,
              uint64_t room);
int32_t retained_by_group(const jvmti_heap_dump& dump, const uint32_t* group_of_class,
                          bool as_itself, const uint64_t* rows, const uint32_t* items, const uint64_t* retained,
                          uint64_t* totals, uint64_t groups);

}  // namespace heap
}  // namespace jvmti
