// What is in a dump because of the tool that made it: JNI global references of theirs, and their
// threads.  Those roots are taken away before anything is found out, and are not in copies either.

#include <algorithm>
#include <cstdlib>

#include "dump.h"

namespace jvmti {
namespace heap {

namespace {

// Addresses or identifiers, to look them up.
class Sorted {
 public:
  bool fill(const uint64_t* items, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      if (!items_.push(items[i])) return false;
    }
    return true;
  }
  bool push(uint64_t item) { return items_.push(item); }
  // The C library's sort: release wheels come without the library of C++.
  void sort() {
    if (items_.size() > 1) std::qsort(items_.data(), items_.size(), sizeof(uint64_t), compare);
  }
  bool has(uint64_t item) const {
    return std::binary_search(items_.data(), items_.data() + items_.size(), item);
  }

 private:
  static int compare(const void* left, const void* right) {
    uint64_t one = *static_cast<const uint64_t*>(left);
    uint64_t other = *static_cast<const uint64_t*>(right);
    return one < other ? -1 : one > other;
  }

  List<uint64_t> items_;
};

bool on_a_stack(const FoundRoot& root) {
  return root.kind == kRootJniLocal || root.kind == kRootJavaFrame ||
         root.kind == kRootNativeStack || root.kind == kRootThreadBlock;
}

}  // namespace

int32_t leave_out(jvmti_heap_dump& dump, const jvmti_heap_references* references) {
  if (references == nullptr || references->count == 0) return JVMTI_HEAP_OK;
  Sorted all;
  Sorted of_threads;
  Sorted threads;
  Sorted serials;
  if (!all.fill(references->all, references->count) ||
      !of_threads.fill(references->threads, references->thread_count)) {
    return JVMTI_HEAP_OUT_OF_MEMORY;
  }
  all.sort();
  of_threads.sort();
  List<FoundRoot>& roots = dump.found_roots;
  for (uint64_t i = 0; i < roots.size(); ++i) {
    if (roots[i].kind != kRootJniGlobal || !of_threads.has(roots[i].reference)) continue;
    if (!threads.push(roots[i].id)) return JVMTI_HEAP_OUT_OF_MEMORY;
  }
  threads.sort();
  for (uint64_t i = 0; i < roots.size(); ++i) {
    if (roots[i].kind != kRootThreadObject || !threads.has(roots[i].id)) continue;
    if (!serials.push(roots[i].thread)) return JVMTI_HEAP_OUT_OF_MEMORY;
  }
  serials.sort();
  uint64_t left = 0;
  for (uint64_t i = 0; i < roots.size(); ++i) {
    const FoundRoot root = roots[i];
    bool ours = root.kind == kRootJniGlobal      ? all.has(root.reference) || threads.has(root.id)
                : root.kind == kRootThreadObject ? threads.has(root.id)
                                                 : on_a_stack(root) && serials.has(root.thread);
    if (!ours) {
      roots[left++] = root;
    } else if (!dump.left_out.push(root.position)) {
      return JVMTI_HEAP_OUT_OF_MEMORY;
    }
  }
  roots.shrink(left);
  return JVMTI_HEAP_OK;
}

}  // namespace heap
}  // namespace jvmti
