// The functions of jvmti_heap.h: they check what they are given, and the rest is elsewhere.

#include <new>

#include "contents.h"
#include "graph/algorithms.h"
#include "graph/parallel.h"

using namespace jvmti::heap;

namespace {

bool all_below(const uint32_t* items, uint64_t count, uint64_t limit, bool none = false) {
  for (uint64_t i = 0; i < count; ++i) {
    if (items[i] >= limit && !(none && items[i] == kNone)) return false;
  }
  return true;
}

void free_dump(jvmti_heap_dump* dump) {
  dump->~jvmti_heap_dump();
  std::free(dump);
}

}  // namespace

int32_t jvmti_heap_open(const void* file, uint64_t size, uint32_t threads,
                        jvmti_heap_progress* progress, const jvmti_heap_references* left_out,
                        jvmti_heap_dump** made) {
  if (made == nullptr) return JVMTI_HEAP_BAD_ARGUMENT;
  *made = nullptr;
  if (file == nullptr) return size == 0 ? JVMTI_HEAP_NOT_A_DUMP : JVMTI_HEAP_BAD_ARGUMENT;
  void* memory = std::malloc(sizeof(jvmti_heap_dump));
  if (memory == nullptr) return JVMTI_HEAP_OUT_OF_MEMORY;
  jvmti_heap_dump* dump = new (memory) jvmti_heap_dump();
  dump->file = static_cast<const uint8_t*>(file);
  dump->size = size;
  dump->threads = threads == 0 ? 1 : threads > kMostThreads ? kMostThreads : threads;
  dump->progress = progress;
  int32_t status = scan(*dump);
  if (status == JVMTI_HEAP_OK) status = leave_out(*dump, left_out);
  if (status == JVMTI_HEAP_OK) status = make_classes(*dump);
  if (status == JVMTI_HEAP_OK) status = find_references(*dump);
  if (status == JVMTI_HEAP_OK) status = compute_sizes(*dump);
  dump->progress = nullptr;
  if (status != JVMTI_HEAP_OK) {
    free_dump(dump);
    return status;
  }
  dump->loaded.release();
  dump->found_classes.release();
  dump->found_roots.release();
  dump->summary.objects = dump->objects;
  *made = dump;
  return JVMTI_HEAP_OK;
}

void jvmti_heap_close(jvmti_heap_dump* dump) {
  if (dump != nullptr) free_dump(dump);
}

int32_t jvmti_heap_summarize(const jvmti_heap_dump* dump, jvmti_heap_summary* summary,
                             uint64_t size) {
  if (dump == nullptr || summary == nullptr || size != sizeof *summary) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  *summary = dump->summary;
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_column(const jvmti_heap_dump* dump, uint32_t which, const void** data,
                          uint64_t* count, uint64_t* item_size) {
  if (dump == nullptr || data == nullptr || count == nullptr || item_size == nullptr) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  auto give = [&](const auto& column, uint64_t items) {
    *data = column.data();
    *count = items;
    *item_size = sizeof *column.data();
  };
  switch (which) {
    case JVMTI_HEAP_POSITIONS:
      give(dump->positions, dump->objects);
      break;
    case JVMTI_HEAP_CLASS_OF:
      give(dump->class_of, dump->objects);
      break;
    case JVMTI_HEAP_EXTENT:
      give(dump->extent, dump->objects);
      break;
    case JVMTI_HEAP_ROWS:
      if (dump->wide) {
        give(dump->wide_rows, dump->objects + 1);
      } else {
        give(dump->narrow_rows, dump->objects + 1);
      }
      break;
    case JVMTI_HEAP_TARGETS:
      give(dump->targets, dump->summary.references);
      break;
    case JVMTI_HEAP_CLASSES:
      give(dump->classes, dump->classes.size());
      break;
    case JVMTI_HEAP_FIELDS:
      give(dump->fields, dump->fields.size());
      break;
    case JVMTI_HEAP_STRINGS:
      give(dump->strings, dump->strings.size());
      break;
    case JVMTI_HEAP_ROOTS:
      give(dump->roots, dump->roots.size());
      break;
    case JVMTI_HEAP_FRAMES:
      give(dump->frames, dump->frames.size());
      break;
    case JVMTI_HEAP_TRACES:
      give(dump->traces, dump->traces.size());
      break;
    case JVMTI_HEAP_FRAME_IDS:
      give(dump->frame_ids, dump->frame_ids.size());
      break;
    case JVMTI_HEAP_SEGMENTS:
      give(dump->segments, dump->segments.size());
      break;
    case JVMTI_HEAP_LEFT_OUT:
      give(dump->left_out, dump->left_out.size());
      break;
    default:
      return JVMTI_HEAP_BAD_ARGUMENT;
  }
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_set_sizes(jvmti_heap_dump* dump, const uint32_t* classes, const uint32_t* sizes,
                             uint64_t count) {
  if (dump == nullptr || !all_below(classes, count, dump->classes.size())) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  for (uint64_t i = 0; i < count; ++i) {
    Class& one = dump->classes[classes[i]];
    if (one.element != 0) return JVMTI_HEAP_BAD_ARGUMENT;
    one.size = dump->rules[classes[i]].base = sizes[i];
    one.flags |= JVMTI_HEAP_MEASURED;
  }
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_sizes(const jvmti_heap_dump* dump, const uint32_t* objects, uint64_t count,
                         uint64_t* sizes) {
  if (dump == nullptr || sizes == nullptr) return JVMTI_HEAP_BAD_ARGUMENT;
  if (objects == nullptr) {
    if (count != dump->objects) return JVMTI_HEAP_BAD_ARGUMENT;
    for (uint64_t i = 0; i < count; ++i) sizes[i] = dump->size_of(i);
    return JVMTI_HEAP_OK;
  }
  if (!all_below(objects, count, dump->objects)) return JVMTI_HEAP_BAD_ARGUMENT;
  for (uint64_t i = 0; i < count; ++i) sizes[i] = dump->size_of(objects[i]);
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_addresses(const jvmti_heap_dump* dump, const uint32_t* objects, uint64_t count,
                             uint64_t* addresses) {
  if (dump == nullptr || addresses == nullptr) return JVMTI_HEAP_BAD_ARGUMENT;
  bool all = objects == nullptr;
  if (all ? count != dump->objects : !all_below(objects, count, dump->objects)) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t position = dump->positions[all ? i : objects[i]];
    addresses[i] = load_id(dump->file + position + 1, dump->id_size);
  }
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_find(jvmti_heap_dump* dump, const uint64_t* addresses, uint64_t count,
                        uint32_t* objects) {
  if (dump == nullptr || addresses == nullptr || objects == nullptr) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  for (uint64_t i = 0; i < count; ++i) {
    objects[i] = addresses[i] == 0 ? kNone : dump->object(addresses[i]);
  }
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_histogram(const jvmti_heap_dump* dump, const uint8_t* chosen, uint64_t* counts,
                             uint64_t* bytes, uint64_t classes) {
  if (dump == nullptr || counts == nullptr || bytes == nullptr || classes != dump->classes.size()) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  std::memset(counts, 0, classes * sizeof *counts);
  std::memset(bytes, 0, classes * sizeof *bytes);
  for (uint64_t i = 0; i < dump->objects; ++i) {
    if (chosen != nullptr && !chosen[i]) continue;
    ++counts[dump->class_of[i]];
    bytes[dump->class_of[i]] += dump->size_of(i);
  }
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_read_fields(jvmti_heap_dump* dump, const uint32_t* objects, uint64_t count,
                               const int64_t* offsets, uint64_t classes, uint32_t width,
                               void* values) {
  if (dump == nullptr || offsets == nullptr || classes != dump->classes.size() ||
      !(width <= 2 || width == 4 || width == 8) || !all_below(objects, count, dump->objects)) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  read_fields(*dump, objects, count, offsets, width, values);
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_read_elements(jvmti_heap_dump* dump, uint32_t object, uint32_t* elements,
                                 uint64_t count) {
  if (dump == nullptr || object >= dump->objects ||
      !read_elements(*dump, object, elements, count)) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_read_text(const jvmti_heap_dump* dump, const uint32_t* arrays,
                             const uint8_t* coders, uint64_t count, uint64_t most, uint64_t* ends,
                             uint8_t* data, uint64_t room) {
  if (dump == nullptr || !all_below(arrays, count, dump->objects, true) ||
      !read_text(*dump, arrays, coders, count, most, ends, data, room)) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_hash_arrays(const jvmti_heap_dump* dump, const uint32_t* arrays, uint64_t count,
                               uint64_t* hashes) {
  if (dump == nullptr || !all_below(arrays, count, dump->objects)) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  hash_arrays(*dump, arrays, count, hashes);
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_reach(const jvmti_heap_dump* dump, uint32_t without, const uint8_t* avoided,
                         jvmti_heap_progress* progress, uint8_t* reached, uint64_t count) {
  if (dump == nullptr || reached == nullptr || count != dump->objects) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  return reach(*dump, without, avoided, progress, reached);
}

int32_t jvmti_heap_dominators(const jvmti_heap_dump* dump, uint32_t without,
                              jvmti_heap_progress* progress, uint32_t* idom, uint64_t idoms,
                              uint64_t* retained, uint64_t retaineds) {
  if (dump == nullptr || idom == nullptr || retained == nullptr || idoms != dump->objects ||
      retaineds != dump->objects + 1) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  return find_dominators(*dump, without, progress, idom, retained);
}

int32_t jvmti_heap_children(const jvmti_heap_dump* dump, const uint32_t* idom, uint64_t idoms,
                            uint64_t* rows, uint64_t row_count, uint32_t* items,
                            uint64_t child_count) {
  if (dump == nullptr || idoms != dump->objects || row_count != dump->objects + 2 ||
      !children(idom, idoms, rows, items, child_count)) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_retained_by_group(const jvmti_heap_dump* dump, const uint32_t* group_of_class,
                                     uint64_t classes, uint32_t as_itself, const uint64_t* rows,
                                     uint64_t row_count, const uint32_t* items,
                                     uint64_t child_count, const uint64_t* retained,
                                     uint64_t retaineds, uint64_t* totals, uint64_t groups) {
  if (dump == nullptr || classes != dump->classes.size() || row_count != dump->objects + 2 ||
      retaineds != dump->objects + 1 || rows[dump->objects + 1] > child_count) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  for (uint64_t i = 0; i <= dump->objects; ++i) {
    if (rows[i] > rows[i + 1]) return JVMTI_HEAP_BAD_ARGUMENT;
  }
  std::memset(totals, 0, groups * sizeof *totals);
  return retained_by_group(*dump, group_of_class, as_itself != 0, rows, items, retained, totals,
                           groups);
}

int32_t jvmti_heap_shortest(const jvmti_heap_dump* dump, uint32_t without, const uint32_t* roots,
                            uint64_t root_count, const uint32_t* wanted, uint64_t wanted_count,
                            jvmti_heap_progress* progress, jvmti_heap_search* search, uint8_t* seen,
                            uint64_t seen_bytes, uint32_t* order, uint32_t* above, uint8_t* marks,
                            uint64_t count) {
  if (dump == nullptr || search == nullptr || count != dump->objects ||
      seen_bytes < count / 8 + 1 || search->reached > count || search->followed > search->reached ||
      !all_below(wanted, wanted_count, count) ||
      (roots != nullptr && !all_below(roots, root_count, count))) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  return shortest(*dump, without, roots, root_count, wanted, wanted_count, progress,
                  Ways{search, seen, order, above, marks});
}

int32_t jvmti_heap_mark_ways(const uint32_t* above, uint64_t reached, uint8_t* marks) {
  return mark_ways(above, reached, marks) ? JVMTI_HEAP_OK : JVMTI_HEAP_BAD_ARGUMENT;
}

int32_t jvmti_heap_gather_ways(const uint32_t* above, uint64_t reached, const uint8_t* marks,
                               uint32_t* places, uint32_t* parents, uint64_t room) {
  return gather_ways(above, reached, marks, places, parents, room) ? JVMTI_HEAP_OK
                                                                   : JVMTI_HEAP_BAD_ARGUMENT;
}

int32_t jvmti_heap_sum_ways(const uint32_t* parents, uint64_t count, uint64_t* sums) {
  for (uint64_t i = count; i-- > 0;) {
    if (parents[i] == kNone) continue;
    if (parents[i] >= i) return JVMTI_HEAP_BAD_ARGUMENT;
    sums[parents[i]] += sums[i];
  }
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_referrers(const jvmti_heap_dump* dump, const uint8_t* chosen, uint64_t count,
                             uint32_t* sources, uint32_t* targets, uint64_t room, uint64_t* found) {
  if (dump == nullptr || chosen == nullptr || count != dump->objects || found == nullptr) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  *found = referrers(*dump, chosen, sources, targets, room);
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_blank_arrays(const jvmti_heap_dump* dump, const uint8_t* blanked, uint64_t count,
                                void* copy, uint64_t size) {
  if (dump == nullptr || count != dump->objects || size != dump->size) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  blank_arrays(*dump, blanked, static_cast<uint8_t*>(copy));
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_blank_fields(const jvmti_heap_dump* dump, const int64_t* offsets,
                                uint64_t classes, uint32_t width, void* copy, uint64_t size) {
  if (dump == nullptr || classes != dump->classes.size() || size != dump->size || width > 8) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  blank_fields(*dump, offsets, width, static_cast<uint8_t*>(copy));
  return JVMTI_HEAP_OK;
}

int32_t jvmti_heap_copy(const jvmti_heap_dump* dump, const uint8_t* kept, uint64_t count,
                        const void* source, void* copy, uint64_t room, uint64_t* size) {
  if (dump == nullptr || size == nullptr || (kept != nullptr && count != dump->objects)) {
    return JVMTI_HEAP_BAD_ARGUMENT;
  }
  const void* from = source == nullptr ? dump->file : source;
  *size = copy_kept(*dump, static_cast<const uint8_t*>(from), kept, nullptr, 0);
  if (copy == nullptr) return JVMTI_HEAP_OK;
  if (room < *size) return JVMTI_HEAP_BAD_ARGUMENT;
  copy_kept(*dump, static_cast<const uint8_t*>(from), kept, static_cast<uint8_t*>(copy), room);
  return JVMTI_HEAP_OK;
}
