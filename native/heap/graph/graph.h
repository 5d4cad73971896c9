// The graph of an open dump as its algorithms walk it.  Rows are narrow or wide; the algorithms
// are templates over that.
#pragma once

#include "dump.h"

namespace jvmti {
namespace heap {

template <class Row>
class Graph {
 public:
  // without: flags of the kinds of reference objects whose referent is not followed.
  Graph(const jvmti_heap_dump& dump, uint32_t without)
      : dump_(dump), without_(without), targets_(dump.targets.data()) {
    rows_ = rows_of(dump, static_cast<Row*>(nullptr));
  }

  uint32_t objects() const { return static_cast<uint32_t>(dump_.objects); }
  bool leaf(uint32_t object) const { return rows_[object] == rows_[object + 1]; }
  uint64_t first(uint32_t object) const { return rows_[object]; }
  uint64_t last(uint32_t object) const { return rows_[object + 1]; }
  uint32_t target(uint64_t reference) const { return targets_[reference]; }
  // The reference of an object that does not count, or a number that none has.
  uint64_t skipped(uint32_t object) const {
    if (without_ == 0 || dump_.extent[object] != 1) return UINT64_MAX;
    uint32_t flags = dump_.classes[dump_.class_of[object]].flags;
    if (!(flags & without_)) return UINT64_MAX;
    return rows_[object] + (flags & JVMTI_HEAP_CLASS_EDGE ? 1 : 0);
  }
  void prefetch(uint32_t object) const {
    __builtin_prefetch(rows_ + object);
    if (without_ != 0) __builtin_prefetch(dump_.extent.data() + object);
  }
  void prefetch_targets(uint32_t object) const { __builtin_prefetch(targets_ + rows_[object]); }
  const jvmti_heap_dump& dump() const { return dump_; }

 private:
  static const uint32_t* rows_of(const jvmti_heap_dump& dump, uint32_t*) {
    return dump.narrow_rows.data();
  }
  static const uint64_t* rows_of(const jvmti_heap_dump& dump, uint64_t*) {
    return dump.wide_rows.data();
  }

  const jvmti_heap_dump& dump_;
  uint32_t without_;
  const Row* rows_;
  const uint32_t* targets_;
};

}  // namespace heap
}  // namespace jvmti
