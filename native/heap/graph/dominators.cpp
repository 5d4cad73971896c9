// Dominators and retained sizes.
//
// Semidominators as Lengauer and Tarjan compute them, and from them the dominators by climbing
// the tree that is being made (semi-NCA, Georgiadis).  Three things make it fit for heaps:
//
// - Objects without references, about half of them, need no number of their own.  What
//   dominates such a leaf is the nearest common ancestor of what refers to it.
// - The climb takes the jumps of Myers' skew-binary ancestors, so that a linked list of
//   millions whose nodes refer to the same few objects costs a logarithm and not a walk.
// - References from an ancestor in the depth-first tree are dealt with when they are reached;
//   only those from behind are kept for later.
//
// Numbers are those of the depth-first search, from 1; 0 is the root above all roots.

#include "graph/graph.h"

namespace jvmti {
namespace heap {

namespace {

constexpr uint32_t kLeaf = 0xFFFFFFFEu;  // reached, in place of a number

struct Behind {
  uint32_t from;
  uint32_t to;
};

template <class Row>
class Dominators {
 public:
  Dominators(const jvmti_heap_dump& dump, uint32_t without, jvmti_heap_progress* progress,
             uint32_t* idom, uint64_t* retained)
      : graph_(dump, without), dump_(dump), progress_(progress), idom_(idom), retained_(retained) {}

  int32_t run() {
    uint32_t objects = graph_.objects();
    if (!number_.reserve(objects) || !vertex_.reserve(uint64_t{objects} + 1) ||
        !parent_.reserve(uint64_t{objects} + 1) || !semi_.reserve(uint64_t{objects} + 1) ||
        !cursor_.reserve(uint64_t{objects} + 1)) {
      return JVMTI_HEAP_OUT_OF_MEMORY;
    }
    if (!search()) return failed();
    if (!sort_behind()) return JVMTI_HEAP_OUT_OF_MEMORY;
    if (!semidominators()) return failed();
    if (!climb()) return failed();
    leaves();
    sizes();
    return cancelled() ? JVMTI_HEAP_CANCELLED : JVMTI_HEAP_OK;
  }

 private:
  bool cancelled() const {
    return progress_ != nullptr && __atomic_load_n(&progress_->cancel, __ATOMIC_RELAXED) != 0;
  }
  int32_t failed() const { return cancelled() ? JVMTI_HEAP_CANCELLED : JVMTI_HEAP_OUT_OF_MEMORY; }
  void done(uint64_t count) const {
    if (progress_ != nullptr) __atomic_store_n(&progress_->done, count, __ATOMIC_RELAXED);
  }

  // Numbers what can be reached.  cursor_ says how many references of a node are dealt with.
  bool search() {
    for (uint64_t i = 0; i < dump_.roots.size(); ++i) {
      uint32_t root = dump_.roots[i].object;
      if (graph_.leaf(root)) {
        // A leaf that is a root is dominated by nothing else; see leaves().
        number_[root] = kLeaf;
        continue;
      }
      if (number_[root] == 0) {
        enter(root, 0);
        if (!descend()) return false;
      } else {
        semi_[number_[root]] = 0;
      }
    }
    vertex_.shrink(uint64_t{count_} + 1);
    parent_.shrink(uint64_t{count_} + 1);
    semi_.shrink(uint64_t{count_} + 1);
    cursor_.shrink(uint64_t{count_} + 1);
    return true;
  }
  void enter(uint32_t object, uint32_t from) {
    uint32_t number = ++count_;
    number_[object] = number;
    vertex_[number] = object;
    parent_[number] = semi_[number] = from;
    cursor_[number] = 0;
  }
  bool descend() {
    uint32_t at = count_;
    uint32_t top = parent_[at];
    while (at != top) {
      uint32_t object = vertex_[at];
      uint64_t first = graph_.first(object);
      uint64_t last = graph_.last(object);
      uint64_t skipped = graph_.skipped(object);
      uint64_t reference = first + cursor_[at];
      if (reference == first) {
        uint64_t ahead = last - first < 16 ? last : first + 16;
        for (uint64_t k = first; k < ahead; ++k) {
          __builtin_prefetch(number_.data() + graph_.target(k), 1);
          graph_.prefetch(graph_.target(k));
        }
      }
      bool entered = false;
      for (; reference < last; ++reference) {
        if (reference == skipped) continue;
        uint32_t target = graph_.target(reference);
        uint32_t number = number_[target];
        if (number == kLeaf) continue;
        if (number == 0) {
          if (graph_.leaf(target)) {
            number_[target] = kLeaf;
            continue;
          }
          cursor_[at] = static_cast<uint32_t>(reference + 1 - first);
          enter(target, at);
          at = count_;
          entered = true;
          break;
        }
        if (number > at) {
          if (at < semi_[number]) semi_[number] = at;
        } else if (number < at) {
          if (!behind_.push(Behind{at, number})) return false;
        }
      }
      if (entered) {
        if ((at & 0x3FFFF) == 0) {
          done(at);
          if (cancelled()) return false;
        }
        continue;
      }
      at = parent_[at];
    }
    return true;
  }

  // The references from behind, by what they lead to.
  bool sort_behind() {
    uint64_t edges = behind_.size();
    if (!first_.reserve(uint64_t{count_} + 2) || !sources_.reserve(edges)) return false;
    for (uint64_t i = 0; i < edges; ++i) ++first_[behind_[i].to + 1];
    for (uint64_t i = 1; i < uint64_t{count_} + 2; ++i) first_[i] += first_[i - 1];
    // Filled from the back, which leaves the beginnings where the ends were.
    for (uint64_t i = edges; i-- > 0;) {
      sources_[--first_[behind_[i].to + 1]] = behind_[i].from;
    }
    behind_.release();
    return true;
  }

  bool semidominators() {
    Pages<uint32_t> stack;
    if (!ancestor_.reserve(uint64_t{count_} + 1) || !stack.reserve(uint64_t{count_} + 1, false)) {
      return false;
    }
    std::memcpy(ancestor_.data(), parent_.data(), (uint64_t{count_} + 1) * sizeof(uint32_t));
    uint32_t* label = cursor_.data();  // the least semidominator on the way up
    for (uint32_t node = count_; node >= 1; --node) {
      uint32_t least = semi_[node];
      // first_[node + 1] is where the node's begin, first_[node + 2] where the next one's do.
      uint64_t end = node == count_ ? sources_.size() : first_[uint64_t{node} + 2];
      for (uint64_t i = first_[uint64_t{node} + 1]; i < end && least != 0; ++i) {
        uint32_t source = sources_[i];
        if (ancestor_[source] > node) compress(source, node, stack.data(), label);
        if (label[source] < least) least = label[source];
      }
      semi_[node] = label[node] = least;
      if ((node & 0x3FFFF) == 0 && cancelled()) return false;
    }
    sources_.release();
    first_.release();
    return true;
  }
  void compress(uint32_t node, uint32_t below, uint32_t* stack, uint32_t* label) {
    uint32_t depth = 0;
    uint32_t at = node;
    do {
      stack[depth++] = at;
      at = ancestor_[at];
    } while (ancestor_[at] > below);
    while (depth > 0) {
      uint32_t one = stack[--depth];
      if (label[at] < label[one]) label[one] = label[at];
      ancestor_[one] = ancestor_[at];
      at = one;
    }
  }

  // parent_ becomes the dominators; ancestor_ is the depth in their tree then, cursor_ the jumps.
  bool climb() {
    uint32_t* depth = ancestor_.data();
    uint32_t* jump = cursor_.data();
    depth[0] = jump[0] = 0;
    parent_[0] = 0;
    for (uint32_t node = 1; node <= count_; ++node) {
      uint32_t wanted = semi_[node];
      uint32_t at = parent_[node];
      while (at > wanted) at = jump[at] > wanted ? jump[at] : parent_[at];
      parent_[node] = at;
      depth[node] = depth[at] + 1;
      uint32_t far = jump[at];
      jump[node] = depth[at] - depth[far] == depth[far] - depth[jump[far]] ? jump[far] : at;
      if ((node & 0x3FFFF) == 0 && cancelled()) return false;
    }
    semi_.release();
    return true;
  }
  uint32_t common(uint32_t one, uint32_t other) const {
    const uint32_t* depth = ancestor_.data();
    const uint32_t* jump = cursor_.data();
    if (depth[one] < depth[other]) {
      uint32_t swapped = one;
      one = other;
      other = swapped;
    }
    uint32_t wanted = depth[other];
    while (depth[one] > wanted) one = depth[jump[one]] >= wanted ? jump[one] : parent_[one];
    while (one != other) {
      if (jump[one] != jump[other]) {
        one = jump[one];
        other = jump[other];
      } else {
        one = parent_[one];
        other = parent_[other];
      }
    }
    return one;
  }

  // While they are found, what dominates the leaves is a number.
  void leaves() {
    uint32_t objects = graph_.objects();
    std::memset(idom_, 0xFF, uint64_t{objects} * sizeof *idom_);
    for (uint64_t i = 0; i < dump_.roots.size(); ++i) {
      uint32_t root = dump_.roots[i].object;
      if (number_[root] == kLeaf) idom_[root] = 0;
    }
    for (uint32_t node = 1; node <= count_; ++node) {
      uint32_t object = vertex_[node];
      uint64_t skipped = graph_.skipped(object);
      uint64_t last = graph_.last(object);
      for (uint64_t reference = graph_.first(object); reference < last; ++reference) {
        uint32_t target = graph_.target(reference);
        if (number_[target] != kLeaf || reference == skipped) continue;
        uint32_t& dominator = idom_[target];
        if (dominator == kNone) {
          dominator = node;
        } else if (dominator != node && dominator != 0) {
          dominator = common(dominator, node);
        }
      }
    }
    ancestor_.release();
    cursor_.release();
  }

  void sizes() {
    uint32_t objects = graph_.objects();
    // The number of an object that is not a root; a root's is the number of objects.
    vertex_[0] = objects;
    retained_[objects] = 0;
    for (uint32_t object = 0; object < objects; ++object) {
      uint32_t number = number_[object];
      retained_[object] = number == 0 ? 0 : dump_.size_of(object);
      if (number == kLeaf) {
        idom_[object] = vertex_[idom_[object]];
      } else if (number != 0) {
        idom_[object] = vertex_[parent_[number]];
      }
    }
    for (uint32_t object = 0; object < objects; ++object) {
      if (number_[object] == kLeaf) retained_[idom_[object]] += retained_[object];
    }
    for (uint32_t node = count_; node >= 1; --node) {
      uint32_t object = vertex_[node];
      retained_[idom_[object]] += retained_[object];
    }
  }

  Graph<Row> graph_;
  const jvmti_heap_dump& dump_;
  jvmti_heap_progress* progress_;
  uint32_t* idom_;
  uint64_t* retained_;
  uint32_t count_ = 0;
  Pages<uint32_t> number_;  // per object: its number, kLeaf, or 0
  Pages<uint32_t> vertex_;  // per number, and so on
  Pages<uint32_t> parent_;
  Pages<uint32_t> semi_;
  Pages<uint32_t> cursor_;
  Pages<uint32_t> ancestor_;
  Pages<Row> first_;
  Pages<uint32_t> sources_;
  List<Behind> behind_;
};

}  // namespace

int32_t find_dominators(const jvmti_heap_dump& dump, uint32_t without,
                        jvmti_heap_progress* progress, uint32_t* idom, uint64_t* retained) {
  if (progress != nullptr) {
    __atomic_store_n(&progress->done, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->total, dump.objects, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->step, 3, __ATOMIC_RELAXED);
  }
  if (dump.wide) return Dominators<uint64_t>(dump, without, progress, idom, retained).run();
  return Dominators<uint32_t>(dump, without, progress, idom, retained).run();
}

}  // namespace heap
}  // namespace jvmti
