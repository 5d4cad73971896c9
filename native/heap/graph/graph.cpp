// Questions to the graph other than dominators: what can be reached, the shortest ways from the
// roots, who refers to something, and sums over the dominator tree.

#include "graph/graph.h"

#include "graph/algorithms.h"

namespace jvmti {
namespace heap {

namespace {

constexpr uint64_t kBreath = 0x3FFFF;
constexpr uint64_t kAhead = 8;
constexpr uint64_t kFarAhead = 16;

bool is_cancelled(const jvmti_heap_progress* progress) {
  return progress != nullptr && __atomic_load_n(&progress->cancel, __ATOMIC_RELAXED) != 0;
}

template <class Row>
int32_t reach_in(const Graph<Row>& graph, const uint8_t* avoided, jvmti_heap_progress* progress,
                 uint8_t* reached) {
  Pages<uint32_t> stack;
  uint64_t objects = graph.objects();
  // Every object is on it once at most.
  if (!stack.reserve(objects + 1)) return JVMTI_HEAP_OUT_OF_MEMORY;
  std::memset(reached, 0, objects);
  uint64_t depth = 0;
  uint64_t breath = 0;
  auto visit = [&](uint32_t object) {
    if (reached[object] || (avoided != nullptr && avoided[object])) return;
    reached[object] = 1;
    if (!graph.leaf(object)) {
      graph.prefetch(object);
      stack[depth++] = object;
    }
  };
  const jvmti_heap_dump& dump = graph.dump();
  for (uint64_t i = 0; i < dump.roots.size(); ++i) {
    visit(dump.roots[i].object);
    while (depth > 0) {
      uint32_t object = stack[--depth];
      uint64_t skipped = graph.skipped(object);
      uint64_t last = graph.last(object);
      for (uint64_t k = graph.first(object); k < last; ++k) {
        if (k != skipped) visit(graph.target(k));
      }
      if ((++breath & kBreath) == 0 && is_cancelled(progress)) return JVMTI_HEAP_CANCELLED;
    }
  }
  return JVMTI_HEAP_OK;
}

bool has_bit(const uint8_t* bits, uint32_t object) { return bits[object >> 3] >> (object & 7) & 1; }

void set_bit(uint8_t* bits, uint32_t object) {
  bits[object >> 3] = static_cast<uint8_t>(bits[object >> 3] | 1u << (object & 7));
}

// A bit for each object says where the walk has been: random access to a few megabytes, which
// caches hold, and none to a column as large as the others.
template <class Row>
int32_t shortest_in(const Graph<Row>& graph, const uint32_t* roots, uint64_t root_count,
                    const uint32_t* wanted, uint64_t count, jvmti_heap_progress* progress,
                    const Ways& ways) {
  Pages<uint8_t> sought;
  if (!sought.reserve(uint64_t{graph.objects()} / 8 + 1)) return JVMTI_HEAP_OUT_OF_MEMORY;
  uint64_t found = ways.search->reached;
  uint64_t next = ways.search->followed;
  uint64_t left = 0;
  bool before = false;
  for (uint64_t i = 0; i < count; ++i) {
    if (has_bit(sought.data(), wanted[i])) continue;
    set_bit(sought.data(), wanted[i]);
    if (has_bit(ways.seen, wanted[i])) {
      before = true;
    } else {
      ++left;
    }
  }
  for (uint64_t i = 0; before && i < found; ++i) {
    if (has_bit(sought.data(), ways.order[i])) ways.marks[i] = JVMTI_HEAP_CHOSEN;
  }
  auto find = [&](uint32_t object, uint32_t above) {
    set_bit(ways.seen, object);
    ways.above[found] = above;
    if (has_bit(sought.data(), object)) {
      ways.marks[found] = JVMTI_HEAP_CHOSEN;
      --left;
    }
    ways.order[found++] = object;
  };
  if (found == 0) {
    const jvmti_heap_dump& dump = graph.dump();
    uint64_t all = roots != nullptr ? root_count : dump.roots.size();
    for (uint64_t i = 0; i < all; ++i) {
      uint32_t root = roots != nullptr ? roots[i] : dump.roots[i].object;
      if (!has_bit(ways.seen, root)) find(root, kNone);
    }
  }
  int32_t status = JVMTI_HEAP_OK;
  for (; next < found && left > 0; ++next) {
    if ((next & kBreath) == 0 && is_cancelled(progress)) {
      status = JVMTI_HEAP_CANCELLED;
      break;
    }
    uint32_t object = ways.order[next];
    // What is far apart in memory is asked for ahead, each from what has come of the one before.
    if (found - next > kFarAhead) {
      graph.prefetch(ways.order[next + kFarAhead]);
      graph.prefetch_targets(ways.order[next + kAhead]);
    }
    if (graph.leaf(object)) continue;
    uint64_t skipped = graph.skipped(object);
    uint64_t last = graph.last(object);
    for (uint64_t k = graph.first(object); k < last; ++k) {
      uint32_t target = graph.target(k);
      if (!has_bit(ways.seen, target) && k != skipped) find(target, static_cast<uint32_t>(next));
    }
  }
  ways.search->reached = found;
  ways.search->followed = next;
  return status;
}

template <class Row>
uint64_t referrers_in(const Graph<Row>& graph, const uint8_t* chosen, uint32_t* sources,
                      uint32_t* targets, uint64_t room) {
  uint64_t found = 0;
  uint32_t objects = graph.objects();
  uint64_t reference = 0;
  for (uint32_t object = 0; object < objects; ++object) {
    uint64_t last = graph.last(object);
    for (; reference < last; ++reference) {
      uint32_t target = graph.target(reference);
      if (!chosen[target]) continue;
      if (found < room) {
        sources[found] = object;
        targets[found] = target;
      }
      ++found;
    }
  }
  return found;
}

}  // namespace

int32_t reach(const jvmti_heap_dump& dump, uint32_t without, const uint8_t* avoided,
              jvmti_heap_progress* progress, uint8_t* reached) {
  if (dump.wide) return reach_in(Graph<uint64_t>(dump, without), avoided, progress, reached);
  return reach_in(Graph<uint32_t>(dump, without), avoided, progress, reached);
}

int32_t shortest(const jvmti_heap_dump& dump, uint32_t without, const uint32_t* roots,
                 uint64_t root_count, const uint32_t* wanted, uint64_t count,
                 jvmti_heap_progress* progress, const Ways& ways) {
  if (dump.wide) {
    return shortest_in(Graph<uint64_t>(dump, without), roots, root_count, wanted, count, progress,
                       ways);
  }
  return shortest_in(Graph<uint32_t>(dump, without), roots, root_count, wanted, count, progress,
                     ways);
}

bool mark_ways(const uint32_t* above, uint64_t reached, uint8_t* marks) {
  // Those above come before, so that one pass backwards reaches the roots, in order through memory.
  for (uint64_t i = reached; i-- > 0;) {
    if (marks[i] == 0 || above[i] == kNone) continue;
    if (above[i] >= i) return false;
    marks[above[i]] |= JVMTI_HEAP_ON_WAY;
  }
  return true;
}

bool gather_ways(const uint32_t* above, uint64_t reached, const uint8_t* marks, uint32_t* places,
                 uint32_t* parents, uint64_t room) {
  uint64_t found = 0;
  uint64_t parent = 0;
  for (uint64_t i = 0; i < reached; ++i) {
    if (marks[i] == 0) continue;
    if (found == room) return false;
    places[found] = static_cast<uint32_t>(i);
    if (above[i] == kNone) {
      parents[found++] = kNone;
      continue;
    }
    // Parents come in the order of their children.
    while (parent < found && places[parent] < above[i]) ++parent;
    if (parent == found || places[parent] != above[i]) return false;
    parents[found++] = static_cast<uint32_t>(parent);
  }
  return found == room;
}

uint64_t referrers(const jvmti_heap_dump& dump, const uint8_t* chosen, uint32_t* sources,
                   uint32_t* targets, uint64_t room) {
  if (dump.wide) return referrers_in(Graph<uint64_t>(dump, 0), chosen, sources, targets, room);
  return referrers_in(Graph<uint32_t>(dump, 0), chosen, sources, targets, room);
}

bool children(const uint32_t* idom, uint64_t objects, uint64_t* rows, uint32_t* items,
              uint64_t room) {
  // Counted two places further on, so that filling moves the beginnings to where they belong.
  std::memset(rows, 0, (objects + 2) * sizeof *rows);
  uint64_t count = 0;
  for (uint64_t i = 0; i < objects; ++i) {
    if (idom[i] == kNone) continue;
    if (idom[i] > objects) return false;
    if (uint64_t{idom[i]} + 2 < objects + 2) ++rows[uint64_t{idom[i]} + 2];
    ++count;
  }
  if (count > room) return false;
  for (uint64_t i = 1; i < objects + 2; ++i) rows[i] += rows[i - 1];
  for (uint64_t i = 0; i < objects; ++i) {
    if (idom[i] != kNone) items[rows[uint64_t{idom[i]} + 1]++] = static_cast<uint32_t>(i);
  }
  return true;
}

int32_t retained_by_group(const jvmti_heap_dump& dump, const uint32_t* group_of_class,
                          bool as_itself, const uint64_t* rows, const uint32_t* items,
                          const uint64_t* retained, uint64_t* totals, uint64_t groups) {
  uint64_t objects = dump.objects;
  Pages<uint32_t> open;
  Pages<uint64_t> cursor;
  Pages<uint32_t> stack;
  if (!open.reserve(groups + 1) || !cursor.reserve(objects + 1, false) ||
      !stack.reserve(objects + 2, false)) {
    return JVMTI_HEAP_OUT_OF_MEMORY;
  }
  auto group = [&](uint32_t object) {
    uint32_t extent = dump.extent[object];
    uint32_t of = as_itself && extent & kIsClass ? extent & ~kIsClass : dump.class_of[object];
    uint32_t found = group_of_class[of];
    return found < groups ? found : groups;
  };
  uint64_t depth = 0;
  stack[depth++] = static_cast<uint32_t>(objects);
  cursor[0] = rows[objects];
  while (depth > 0) {
    uint32_t object = stack[depth - 1];
    uint64_t& next = cursor[depth - 1];
    if (next < rows[uint64_t{object} + 1]) {
      uint32_t child = items[next++];
      if (child >= objects || depth > objects) return JVMTI_HEAP_BAD_ARGUMENT;
      uint64_t of = group(child);
      if (of < groups && open[of] == 0) totals[of] += retained[child];
      if (rows[child] == rows[uint64_t{child} + 1]) continue;
      ++open[of];
      stack[depth] = child;
      cursor[depth++] = rows[child];
    } else {
      if (object < objects) --open[group(object)];
      --depth;
    }
  }
  return JVMTI_HEAP_OK;
}

}  // namespace heap
}  // namespace jvmti
