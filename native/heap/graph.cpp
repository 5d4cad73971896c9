// Questions to the graph other than dominators: what can be reached, the shortest ways from the
// roots, who refers to something, and sums over the dominator tree.

#include "graph.h"

#include "algorithms.h"

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

template <class Row>
int32_t shortest_in(const Graph<Row>& graph, const uint32_t* roots, uint64_t root_count,
                    jvmti_heap_progress* progress, const Ways& ways, uint64_t* reached) {
  std::memset(ways.place, 0xFF, graph.objects() * sizeof *ways.place);
  uint32_t found = 0;
  auto begin_at = [&](uint32_t root) {
    if (ways.place[root] != kNone) return;
    ways.place[root] = found;
    ways.above[found] = kNone;
    ways.order[found++] = root;
  };
  const jvmti_heap_dump& dump = graph.dump();
  if (roots != nullptr) {
    for (uint64_t i = 0; i < root_count; ++i) begin_at(roots[i]);
  } else {
    for (uint64_t i = 0; i < dump.roots.size(); ++i) begin_at(dump.roots[i].object);
  }
  for (uint32_t next = 0; next < found; ++next) {
    if ((next & kBreath) == 0 && is_cancelled(progress)) return JVMTI_HEAP_CANCELLED;
    uint32_t object = ways.order[next];
    // What is far apart in memory is asked for ahead, each from what has come of the one before.
    if (found - next > 24) {
      graph.prefetch(ways.order[next + 24]);
      graph.prefetch_targets(ways.order[next + 16]);
      uint32_t ahead = ways.order[next + 8];
      uint64_t end = graph.last(ahead);
      uint64_t most = graph.first(ahead) + kAhead;
      for (uint64_t k = graph.first(ahead); k < end && k < most; ++k) {
        __builtin_prefetch(ways.place + graph.target(k), 1);
      }
    }
    if (graph.leaf(object)) continue;
    uint64_t skipped = graph.skipped(object);
    uint64_t last = graph.last(object);
    for (uint64_t k = graph.first(object); k < last; ++k) {
      uint32_t target = graph.target(k);
      if (ways.place[target] != kNone || k == skipped) continue;
      ways.place[target] = found;
      ways.above[found] = next;
      ways.order[found++] = target;
    }
  }
  *reached = found;
  return JVMTI_HEAP_OK;
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
                 uint64_t root_count, jvmti_heap_progress* progress, const Ways& ways,
                 uint64_t* reached) {
  if (dump.wide) {
    return shortest_in(Graph<uint64_t>(dump, without), roots, root_count, progress, ways, reached);
  }
  return shortest_in(Graph<uint32_t>(dump, without), roots, root_count, progress, ways, reached);
}

bool mark_ways(const uint32_t* place, uint64_t objects, const uint32_t* above, uint64_t reached,
               const uint32_t* chosen, uint64_t count, uint8_t* marks) {
  for (uint64_t i = 0; i < count; ++i) {
    if (i + kFarAhead < count && chosen[i + kFarAhead] < objects) {
      __builtin_prefetch(place + chosen[i + kFarAhead]);
    }
    if (chosen[i] >= objects) return false;
    uint32_t at = place[chosen[i]];
    if (at == kNone) continue;
    if (at >= reached) return false;
    marks[at] = JVMTI_HEAP_CHOSEN;
  }
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
                          bool as_itself, const uint64_t* rows, const uint32_t* items, const uint64_t* retained,
                          uint64_t* totals, uint64_t groups) {
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
