// Asks a dump everything that native/heap can be asked, and checks what must be true of the
// answers whatever is in the file.  tests/robustness/faults/fuzz_dumps.py links it with the heap library
// and the sanitizers, and calls it for each damaged file.

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "jvmti_heap.h"

namespace {

// A column of the caller's: exactly as long as it is said to be, so that the sanitizer sees
// all that goes beyond.
template <class T>
class Column {
 public:
  explicit Column(uint64_t count, int fill = 0)
      : items_(static_cast<T*>(std::malloc(count * sizeof(T)))), size_(count) {
    if (items_ == nullptr) std::abort();
    std::memset(static_cast<void*>(items_), fill, count * sizeof(T));
  }
  ~Column() { std::free(items_); }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  operator T*() { return items_; }
  T& operator[](uint64_t index) { return items_[index]; }
  uint64_t size() const { return size_; }

 private:
  T* items_;
  uint64_t size_;
};

template <class T>
struct View {
  const T* items = nullptr;
  uint64_t count = 0;
  View(const jvmti_heap_dump* dump, uint32_t which) {
    const void* data = nullptr;
    uint64_t size = 0;
    if (jvmti_heap_column(dump, which, &data, &count, &size) != JVMTI_HEAP_OK) std::abort();
    if (size != sizeof(T) && count != 0) std::abort();
    items = static_cast<const T*>(data);
  }
  const T& operator[](uint64_t index) const { return items[index]; }
};

// The line of the first statement that is not true.
#define CHECK(what) \
  do { \
    if (!(what)) return __LINE__; \
  } while (false)

int32_t check_tables(const jvmti_heap_dump* dump, uint64_t size, uint64_t objects) {
  View<jvmti_heap_class> classes(dump, JVMTI_HEAP_CLASSES);
  View<jvmti_heap_field> fields(dump, JVMTI_HEAP_FIELDS);
  View<jvmti_heap_string> strings(dump, JVMTI_HEAP_STRINGS);
  View<jvmti_heap_root> roots(dump, JVMTI_HEAP_ROOTS);
  View<jvmti_heap_frame> frames(dump, JVMTI_HEAP_FRAMES);
  View<jvmti_heap_trace> traces(dump, JVMTI_HEAP_TRACES);
  View<uint64_t> frame_ids(dump, JVMTI_HEAP_FRAME_IDS);
  struct Segment {
    uint64_t begin;
    uint64_t end;
  };
  View<Segment> segments(dump, JVMTI_HEAP_SEGMENTS);
  auto is = [](uint32_t index, uint64_t count) { return index == JVMTI_HEAP_NONE || index < count; };
  for (uint64_t i = 0; i < classes.count; ++i) {
    const jvmti_heap_class& one = classes[i];
    CHECK(is(one.name, strings.count) && is(one.super, classes.count) && one.super != i);
    CHECK(is(one.object, objects) && is(one.loader, objects));
    CHECK(uint64_t{one.first_field} + one.statics + one.fields <= fields.count);
    CHECK(one.own_bytes <= one.layout_bytes && is(one.next, classes.count));
  }
  for (uint64_t i = 0; i < fields.count; ++i) {
    CHECK(is(fields[i].name, strings.count) && fields[i].class_index < classes.count);
  }
  for (uint64_t i = 0; i < strings.count; ++i) {
    CHECK(strings[i].position <= size && strings[i].length <= size - strings[i].position);
  }
  for (uint64_t i = 0; i < roots.count; ++i) CHECK(roots[i].object < objects);
  for (uint64_t i = 0; i < frames.count; ++i) {
    CHECK(is(frames[i].method, strings.count) && is(frames[i].signature, strings.count) &&
          is(frames[i].source, strings.count));
  }
  for (uint64_t i = 0; i < traces.count; ++i) {
    CHECK(traces[i].first <= frame_ids.count &&
          traces[i].frames <= frame_ids.count - traces[i].first);
  }
  for (uint64_t i = 0; i < segments.count; ++i) {
    CHECK(segments[i].begin <= segments[i].end && segments[i].end <= size);
  }
  return 0;
}

int32_t check_graph(const jvmti_heap_dump* dump, const jvmti_heap_summary& summary) {
  uint64_t objects = summary.objects;
  View<jvmti_heap_class> classes(dump, JVMTI_HEAP_CLASSES);
  View<uint32_t> class_of(dump, JVMTI_HEAP_CLASS_OF);
  View<uint32_t> extent(dump, JVMTI_HEAP_EXTENT);
  View<uint32_t> rows(dump, JVMTI_HEAP_ROWS);
  View<uint32_t> targets(dump, JVMTI_HEAP_TARGETS);
  CHECK(class_of.count == objects && extent.count == objects && rows.count == objects + 1);
  CHECK(targets.count == summary.references && rows[0] == 0 && rows[objects] == targets.count);
  for (uint64_t i = 0; i < objects; ++i) {
    CHECK(rows[i] <= rows[i + 1] && class_of[i] < classes.count);
    if (extent[i] & JVMTI_HEAP_IS_CLASS) CHECK((extent[i] & ~JVMTI_HEAP_IS_CLASS) < classes.count);
  }
  for (uint64_t i = 0; i < targets.count; ++i) CHECK(targets[i] < objects);
  return 0;
}

int32_t ask_contents(jvmti_heap_dump* dump, uint64_t size, uint64_t objects) {
  View<jvmti_heap_class> classes(dump, JVMTI_HEAP_CLASSES);
  View<jvmti_heap_field> fields(dump, JVMTI_HEAP_FIELDS);
  View<uint32_t> class_of(dump, JVMTI_HEAP_CLASS_OF);
  View<uint32_t> extent(dump, JVMTI_HEAP_EXTENT);
  Column<uint32_t> every(objects), found(objects);
  for (uint64_t i = 0; i < objects; ++i) every[i] = static_cast<uint32_t>(i);
  Column<uint64_t> addresses(objects), sizes(objects), values(objects), ends(objects);
  CHECK(jvmti_heap_addresses(dump, every, objects, addresses) == JVMTI_HEAP_OK);
  CHECK(jvmti_heap_find(dump, addresses, objects, found) == JVMTI_HEAP_OK);
  for (uint64_t i = 0; i < objects; ++i) CHECK(found[i] < objects || addresses[i] == 0);
  CHECK(jvmti_heap_sizes(dump, every, objects, sizes) == JVMTI_HEAP_OK);

  Column<int64_t> offsets(classes.count);
  Column<uint8_t> copy(size);
  uint64_t step = 1 + fields.count / 40;  // of a whole dump not each field, for there are thousands
  for (uint64_t i = 0; i < fields.count; i += step) {
    if (fields[i].is_static) continue;
    // As if every class had the field there, and one behind the end and one far off.
    uint64_t at = i % 7 == 0 ? UINT64_MAX >> 1 : fields[i].offset;
    for (uint64_t k = 0; k < classes.count; ++k) offsets[k] = static_cast<int64_t>(at);
    constexpr uint32_t kWidths[] = {0, 1, 2, 4, 8};
    uint32_t width = kWidths[fields[i].type % 5];
    CHECK(jvmti_heap_read_fields(dump, every, objects, offsets, classes.count, width, values) ==
          JVMTI_HEAP_OK);
    CHECK(jvmti_heap_blank_fields(dump, offsets, classes.count, width, copy, size) ==
          JVMTI_HEAP_OK);
  }
  for (uint64_t i = 0; i < objects; ++i) {
    bool array = class_of[i] != 0 && classes[class_of[i]].element == 2;
    if (extent[i] & JVMTI_HEAP_IS_CLASS) continue;
    Column<uint32_t> elements(extent[i]);
    int32_t status = jvmti_heap_read_elements(dump, static_cast<uint32_t>(i), elements, extent[i]);
    CHECK(status == JVMTI_HEAP_OK || status == JVMTI_HEAP_BAD_ARGUMENT);
    CHECK(status == JVMTI_HEAP_OK || !array);
  }
  Column<uint8_t> coders(objects, 1), blanked(objects, 1);
  for (uint64_t i = 0; i < objects; i += 2) coders[i] = 0;
  for (uint64_t most : {UINT64_C(0), UINT64_C(5)}) {
    CHECK(jvmti_heap_read_text(dump, every, coders, objects, most, ends, nullptr, 0) ==
          JVMTI_HEAP_OK);
    uint64_t room = objects == 0 ? 0 : ends[objects - 1];
    Column<uint8_t> text(room);
    CHECK(jvmti_heap_read_text(dump, every, coders, objects, most, ends, text, room) ==
          JVMTI_HEAP_OK);
    CHECK(objects == 0 || ends[objects - 1] == room);
  }
  CHECK(jvmti_heap_hash_arrays(dump, every, objects, values) == JVMTI_HEAP_OK);
  CHECK(jvmti_heap_blank_arrays(dump, blanked, objects, copy, size) == JVMTI_HEAP_OK);
  return 0;
}

int32_t ask_graph(jvmti_heap_dump* dump, uint64_t objects, uint64_t classes, uint32_t without) {
  Column<uint32_t> idom(objects), wanted(objects), order(objects), above(objects);
  Column<uint8_t> marks(objects), seen(objects / 8 + 1);
  Column<uint64_t> retained(objects + 1), rows(objects + 2), sums(objects + 1);
  Column<uint64_t> counts(classes), bytes(classes);
  Column<uint8_t> reached(objects);
  CHECK(jvmti_heap_reach(dump, without, nullptr, nullptr, reached, objects) == JVMTI_HEAP_OK);
  CHECK(jvmti_heap_dominators(dump, without, nullptr, idom, objects, retained, objects + 1) ==
        JVMTI_HEAP_OK);
  uint64_t live = 0;
  for (uint64_t i = 0; i < objects; ++i) {
    live += reached[i];
    bool has = idom[i] != JVMTI_HEAP_NONE;
    CHECK(has == (reached[i] != 0));
    CHECK(!has || (idom[i] <= objects && idom[i] != i));
    wanted[i] = static_cast<uint32_t>(i);
  }
  // First as far as some need it, then to the end; the last word is on all that is reached.
  jvmti_heap_search search = {};
  for (uint64_t count : {objects / 3, objects}) {
    for (uint64_t i = 0; i < objects; ++i) marks[i] = 0;
    CHECK(jvmti_heap_shortest(dump, without, nullptr, 0, wanted, count, nullptr, &search, seen,
                              objects / 8 + 1, order, above, marks, objects) == JVMTI_HEAP_OK);
    uint64_t chosen = 0;
    for (uint64_t i = 0; i < search.reached; ++i) {
      CHECK(order[i] < objects && reached[order[i]] && (order[i] < count) == (marks[i] != 0));
      chosen += marks[i] != 0;
    }
    for (uint64_t i = 0; i < count; ++i) chosen -= reached[i];
    CHECK(chosen == 0);
  }
  uint64_t found = search.reached;
  CHECK(found == live);
  // The ways to all that is reached are all of it, and the roots lead to each once.
  CHECK(jvmti_heap_mark_ways(above, found, marks) == JVMTI_HEAP_OK);
  Column<uint32_t> places(found), parents(found);
  CHECK(jvmti_heap_gather_ways(above, found, marks, places, parents, found) == JVMTI_HEAP_OK);
  for (uint64_t i = 0; i < found; ++i) sums[i] = 1;
  CHECK(jvmti_heap_sum_ways(parents, found, sums) == JVMTI_HEAP_OK);
  uint64_t led = 0;
  for (uint64_t i = 0; i < found; ++i) {
    CHECK((marks[i] & JVMTI_HEAP_CHOSEN) != 0);
    if (parents[i] == JVMTI_HEAP_NONE) led += sums[i];
  }
  CHECK(led == live);
  // All that is reached is retained by the root above all, and the tree has each of it once.
  CHECK(jvmti_heap_histogram(dump, reached, counts, bytes, classes) == JVMTI_HEAP_OK);
  uint64_t total = 0;
  for (uint64_t i = 0; i < classes; ++i) total += bytes[i];
  CHECK(retained[objects] == total);
  Column<uint32_t> items(live);
  CHECK(jvmti_heap_children(dump, idom, objects, rows, objects + 2, items, live) == JVMTI_HEAP_OK);
  CHECK(rows[objects + 1] == live);
  Column<uint32_t> groups(classes);
  for (uint64_t i = 0; i < classes; ++i) groups[i] = static_cast<uint32_t>(i);
  CHECK(jvmti_heap_retained_by_group(dump, groups, classes, without != 0, rows, objects + 2, items,
                                     live, retained, objects + 1, counts, classes) ==
        JVMTI_HEAP_OK);
  for (uint64_t i = 0; i < classes; ++i) CHECK(counts[i] <= total);
  uint64_t room = 10;
  Column<uint32_t> sources(room), targets(room);
  CHECK(jvmti_heap_referrers(dump, reached, objects, sources, targets, room, &found) ==
        JVMTI_HEAP_OK);
  return 0;
}

int32_t ask(jvmti_heap_dump* dump, uint64_t size) {
  jvmti_heap_summary summary;
  CHECK(jvmti_heap_summarize(dump, &summary, sizeof summary) == JVMTI_HEAP_OK);
  CHECK(std::memchr(summary.fault, 0, sizeof summary.fault) != nullptr);
  CHECK((summary.faults == 0) == (summary.fault[0] == 0) && summary.fault_position <= size);
  CHECK(summary.skipped <= size);
  uint64_t objects = summary.objects;
  int32_t failed = check_tables(dump, size, objects);
  if (failed == 0) failed = check_graph(dump, summary);
  if (failed == 0) failed = ask_contents(dump, size, objects);
  uint64_t classes = View<jvmti_heap_class>(dump, JVMTI_HEAP_CLASSES).count;
  constexpr uint32_t kWeak =
      JVMTI_HEAP_WEAK | JVMTI_HEAP_SOFT | JVMTI_HEAP_PHANTOM | JVMTI_HEAP_FINAL;
  if (failed == 0) failed = ask_graph(dump, objects, classes, 0);
  if (failed == 0) failed = ask_graph(dump, objects, classes, kWeak);
  return failed;
}

}  // namespace

// The line of this file whose check failed, 0 if none did, -1 where the file is refused.
extern "C" __attribute__((visibility("default"))) int32_t jvmti_heap_fuzz(const void* file,
                                                                          uint64_t size) {
  // A copy that ends where the file ends.
  Column<uint8_t> exact(size);
  std::memcpy(exact, file, size);
  jvmti_heap_dump* dump = nullptr;
  int32_t status = jvmti_heap_open(exact, size, 2, nullptr, nullptr, &dump);
  if (status == JVMTI_HEAP_NOT_A_DUMP) return dump == nullptr ? -1 : __LINE__;
  CHECK(status == JVMTI_HEAP_OK && dump != nullptr);
  int32_t failed = ask(dump, size);
  jvmti_heap_close(dump);
  return failed;
}
