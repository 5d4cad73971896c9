// The graph: for each object its class, the length of its array and what it refers to.  One pass
// over the file, in which references are written one behind the other, in the order of objects.
// Looking up an address waits for memory, so references are gathered, their places in the bitmap
// fetched ahead, and looked up some thousands at a time.

#include "dump.h"
#include "graph/parallel.h"

namespace jvmti {
namespace heap {

namespace {

constexpr uint32_t kGathered = 4096;
constexpr uint32_t kMarks = 1024;
constexpr uint32_t kSamples = 512;

// Loaders that the VM never gives up.
bool is_held_loader(const jvmti_heap_dump& dump, uint32_t loader) {
  const uint8_t* record = dump.file + dump.positions[loader];
  if (*record != kInstance) return false;
  Shape shape(dump.id_size);
  uint32_t of = dump.class_of_id.find(load_id(record + shape.instance_class(), dump.id_size));
  if (of == Index::kAbsent) return false;
  return dump.named(of, "jdk/internal/loader/ClassLoaders$AppClassLoader") ||
         dump.named(of, "jdk/internal/loader/ClassLoaders$PlatformClassLoader") ||
         dump.named(of, "jdk/internal/loader/ClassLoaders$BootClassLoader") ||
         dump.named(of, "sun/misc/Launcher$AppClassLoader") ||
         dump.named(of, "sun/misc/Launcher$ExtClassLoader");
}

void find_loaders(jvmti_heap_dump& dump) {
  uint64_t last = 0;
  uint32_t last_object = kNone;
  bool last_held = true;
  for (uint32_t i = 0; i < dump.classes.size(); ++i) {
    Class& one = dump.classes[i];
    if (!(one.flags & JVMTI_HEAP_DUMPED)) continue;
    const uint8_t* record = dump.file + dump.positions[one.object];
    uint64_t id = load_id(record + 1 + 4 + 2 * dump.id_size, dump.id_size);
    if (id != last) {
      last = id;
      last_object = id == 0 ? kNone : dump.object(id);
      last_held = last_object == kNone || is_held_loader(dump, last_object);
    }
    one.loader = last_object;
    one.flags |= last_held ? JVMTI_HEAP_HELD : JVMTI_HEAP_CLASS_EDGE;
  }
}

// The class objects come first; they are few.
template <class Row>
bool link_classes(jvmti_heap_dump& dump, Row* rows, List<uint32_t>& targets) {
  uint32_t id_size = dump.id_size;
  bool memory = true;
  auto refer = [&](uint64_t id) {
    if (id == 0) return;
    uint32_t target = dump.object(id);
    if (target == kNone) {
      ++dump.summary.dangling;
    } else {
      memory &= targets.push(target);
    }
  };
  for (uint32_t i = 0; i < dump.class_objects; ++i) {
    const uint8_t* record = dump.file + dump.positions[i];
    uint32_t index = dump.class_of_id.find(load_id(record + 1, id_size));
    const Class& one = dump.classes[index];
    dump.class_of[i] = dump.class_class;
    dump.extent[i] = kIsClass | index;
    if (one.object == i) {
      const uint8_t* at = record + 1 + id_size + 4;
      // Superclass, loader, signers, protection domain.
      for (uint32_t k = 0; k < 4; ++k) refer(load_id(at + k * id_size, id_size));
      for (uint32_t k = 0; k < one.statics; ++k) {
        const Field& field = dump.fields[one.first_field + k];
        if (field.type == kObject) refer(field.value);
      }
    }
    rows[i + 1] = static_cast<Row>(targets.size());
  }
  return memory;
}

struct Linked {
  uint64_t first = 0;  // objects
  uint64_t last = 0;
  uint64_t place = 0;  // in the column of targets
  uint64_t references = 0;
  uint64_t dangling = 0;
  uint64_t misshapen = 0;
  bool failed = false;
  Gaps gaps;
};

template <uint32_t kId, class Row>
class Link {
 public:
  Link(jvmti_heap_dump& dump, Row* rows, Linked* parts) : dump_(dump), rows_(rows), parts_(parts) {}

  void operator()(uint32_t number) {
    Linked& part = parts_[number];
    uint64_t classes = dump_.classes.size();
    part.failed = !part.gaps.least.reserve(classes) || !part.gaps.seen.reserve(classes);
    if (part.failed) return;
    for (uint64_t i = 0; i < classes; ++i) {
      part.gaps.least.push(UINT64_MAX);
      part.gaps.seen.push(0);
    }
    Gathering* gathering = static_cast<Gathering*>(std::calloc(1, sizeof(Gathering)));
    part.failed = gathering == nullptr;
    if (part.failed) return;
    gathering->out = dump_.targets.data() + part.place;
    for (uint64_t i = part.first; i < part.last; ++i) {
      if ((i & 0xFFFF) == 0) {
        if (dump_.cancelled()) break;
        dump_.advance(0x10000);
      }
      object(part, *gathering, i);
      gathering->marks[gathering->marked++] = Mark{i, gathering->count};
      if (gathering->marked == kMarks || gathering->count > kGathered - 64) flush(*gathering);
    }
    flush(*gathering);
    part.references = gathering->written;
    part.dangling = gathering->dangling;
    std::free(gathering);
  }

 private:
  struct Mark {
    uint64_t object;
    uint32_t end;
  };
  struct Gathering {
    uint32_t* out;
    uint64_t written;
    uint64_t dangling;
    uint32_t count;
    uint32_t marked;
    uint64_t ids[kGathered];
    Mark marks[kMarks];
    uint64_t class_ids[256];
    uint32_t class_numbers[256];
  };

  uint32_t class_of(Gathering& gathering, uint64_t id) const {
    uint32_t slot = static_cast<uint32_t>((id >> 3) * 0x9E3779B1u >> 24) & 255;
    if (gathering.class_ids[slot] == id && id != 0) return gathering.class_numbers[slot];
    uint32_t found = dump_.class_of_id.find(id);
    if (found == Index::kAbsent) found = 0;
    gathering.class_ids[slot] = id;
    gathering.class_numbers[slot] = found;
    return found;
  }
  void gather(Gathering& gathering, uint64_t id) const {
    if (id == 0) return;
    if (gathering.count == kGathered) flush(gathering);
    gathering.ids[gathering.count++] = id;
    dump_.identifiers.prefetch(id);
  }
  void flush(Gathering& gathering) const {
    uint32_t at = 0;
    uint64_t written = gathering.written;
    auto resolve = [&](uint32_t end) {
      for (; at < end; ++at) {
        uint32_t target = dump_.object(gathering.ids[at]);
        if (target == kNone) {
          ++gathering.dangling;
        } else {
          gathering.out[written++] = target;
        }
      }
    };
    for (uint32_t i = 0; i < gathering.marked; ++i) {
      resolve(gathering.marks[i].end);
      rows_[gathering.marks[i].object + 1] = static_cast<Row>(written);
    }
    // The last object's references may go on.
    resolve(gathering.count);
    gathering.written = written;
    gathering.count = gathering.marked = 0;
  }
  // The first of a class, and some of all, because the first ones may lie in an archive.
  bool sampled(const Linked& part, uint32_t of, uint64_t index) const {
    return part.gaps.seen[of] < kSamples || (index * 0x9E3779B1u >> 16 & 63) == 0;
  }
  void sample(Linked& part, uint32_t of, uint64_t index, uint64_t id) const {
    if (!sampled(part, of, index)) return;
    uint64_t gap = dump_.identifiers.gap(id);
    if (gap == 0) return;
    ++part.gaps.seen[of];
    if (gap < part.gaps.least[of]) part.gaps.least[of] = gap;
  }
  void sample_array(Linked& part, uint32_t of, uint64_t index, uint64_t id, uint64_t length,
                    uint32_t type) const {
    if (length > 200 || !sampled(part, of, index)) return;
    uint64_t gap = dump_.identifiers.gap(id);
    if (gap == 0) return;
    ++part.gaps.seen[of];
    uint32_t item = size_of_type(type, kId);
    if (type == kObject) {
      if (length >= 4) ++(gap < 8 * length + 8 ? part.gaps.narrow : part.gaps.wide);
    } else if (item <= 4) {
      for (uint32_t i = 0; i < 4; ++i) {
        part.gaps.bases[i] += ((12 + 4 * i + item * length + 7) & ~uint64_t{7}) == gap;
      }
    }
  }

  void object(Linked& part, Gathering& gathering, uint64_t index) const {
    constexpr uint32_t kInstanceClass = 1 + kId + 4;
    constexpr uint32_t kFields = 1 + 2 * kId + 8;
    const uint8_t* record = dump_.file + dump_.positions[index];
    const uint8_t* end = dump_.file + dump_.size;
    uint64_t id = load_id(record + 1, kId);
    if (*record == kInstance) {
      uint32_t of = class_of(gathering, load_id(record + kInstanceClass, kId));
      const Class* one = &dump_.classes[of];
      if (one->element != 0) one = &dump_.classes[of = 0];
      dump_.class_of[index] = of;
      sample(part, of, index, id);
      // Another process may change the file; what follows stays within it all the same.
      uint64_t length = load32(record + kFields - 4);
      const uint8_t* fields = record + kFields;
      if (of == 0 || length < one->layout_bytes || length > static_cast<uint64_t>(end - fields)) {
        ++part.misshapen;
        return;
      }
      if (one->flags & JVMTI_HEAP_CLASS_EDGE) gather(gathering, one->id);
      uint64_t referent = UINT64_MAX;
      if (one->flags & JVMTI_HEAP_REFERENCE && dump_.referent_class != kNone) {
        // The referent comes before all other fields, so that it can be distinguished from them.
        referent = one->layout_bytes - dump_.classes[dump_.referent_class].layout_bytes +
                   dump_.referent_offset;
        if (referent > one->layout_bytes - kId) referent = UINT64_MAX;
        uint64_t to = referent == UINT64_MAX ? 0 : load_id(fields + referent, kId);
        if (to != 0 && dump_.object(to) != kNone) {
          dump_.extent[index] = 1;
          gather(gathering, to);
        } else if (to != 0) {
          ++gathering.dangling;
        }
      }
      uint64_t offset = 0;
      for (;;) {
        const uint32_t* references = dump_.reference_offsets.data() + one->first_reference;
        for (uint32_t i = 0; i < one->references; ++i) {
          uint64_t at = offset + references[i];
          if (at != referent) gather(gathering, load_id(fields + at, kId));
        }
        if (one->next == kNone) break;
        offset += one->next_offset;
        one = &dump_.classes[one->next];
      }
    } else if (*record == kPrimitiveArray) {
      uint32_t type = record[kFields - 1 - kId + 1];
      uint32_t of = type < 12 ? dump_.array_classes[type] : 0;
      uint32_t length = load32(record + 1 + kId + 4) & ~kIsClass;
      dump_.class_of[index] = of;
      dump_.extent[index] = length;
      sample_array(part, of, index, id, length, type);
    } else {
      uint32_t of = class_of(gathering, load_id(record + 1 + kId + 8, kId));
      if (dump_.classes[of].element != kObject) {
        of = dump_.array_classes[kObject];
        ++part.misshapen;
      }
      uint64_t length = load32(record + 1 + kId + 4) & ~kIsClass;
      dump_.class_of[index] = of;
      dump_.extent[index] = static_cast<uint32_t>(length);
      sample_array(part, of, index, id, length, kObject);
      if (dump_.classes[of].flags & JVMTI_HEAP_CLASS_EDGE) gather(gathering, dump_.classes[of].id);
      const uint8_t* elements = record + kFields;
      if (length > static_cast<uint64_t>(end - elements) / kId) return;
      for (uint64_t i = 0; i < length; ++i) gather(gathering, load_id(elements + kId * i, kId));
    }
  }

  jvmti_heap_dump& dump_;
  Row* rows_;
  Linked* parts_;
};

template <class Row>
struct MoveRows {
  Row* rows;
  const Linked* parts;
  const uint64_t* bases;
  void operator()(uint32_t number) {
    for (uint64_t i = parts[number].first; i < parts[number].last; ++i) {
      rows[i + 1] += static_cast<Row>(bases[number]);
    }
  }
};

template <class Row>
int32_t link(jvmti_heap_dump& dump, Row* rows, List<uint32_t>& class_targets) {
  uint64_t records = dump.objects - dump.class_objects;
  uint32_t threads = records < 100000 ? 1 : dump.threads;
  Linked parts[kMostThreads];
  // As many bytes for each, for these are what costs time.
  uint64_t begin = records == 0 ? 0 : dump.positions[dump.class_objects];
  uint64_t object = dump.class_objects;
  for (uint32_t i = 0; i < threads; ++i) {
    parts[i].first = object;
    if (i + 1 == threads) {
      object = dump.objects;
    } else {
      uint64_t until = begin + (dump.size - begin) / threads * (i + 1);
      uint64_t high = dump.objects;
      while (object < high) {
        uint64_t middle = object + (high - object) / 2;
        if (dump.positions[middle] < until) {
          object = middle + 1;
        } else {
          high = middle;
        }
      }
    }
    parts[i].last = object;
    parts[i].place = class_targets.size();
    if (i > 0 && parts[i].first < dump.objects) {
      // No more references than the bytes before have room for.
      parts[i].place += dump.positions[parts[i].first] / dump.id_size;
    }
  }
  dump.step(2, records);
  if (dump.id_size == 8) {
    Link<8, Row> work(dump, rows, parts);
    in_parallel(threads, work);
  } else {
    Link<4, Row> work(dump, rows, parts);
    in_parallel(threads, work);
  }
  if (dump.cancelled()) return JVMTI_HEAP_CANCELLED;

  uint64_t count = class_targets.size();
  uint32_t* targets = dump.targets.data();
  uint64_t bases[kMostThreads] = {};
  if (count != 0) std::memcpy(targets, class_targets.data(), count * sizeof *targets);
  for (uint32_t i = 0; i < threads; ++i) {
    if (parts[i].failed) return JVMTI_HEAP_OUT_OF_MEMORY;
    bases[i] = count;
    if (parts[i].place != count && parts[i].references != 0) {
      std::memmove(targets + count, targets + parts[i].place,
                   parts[i].references * sizeof *targets);
    }
    count += parts[i].references;
    dump.summary.dangling += parts[i].dangling;
    dump.summary.misshapen += parts[i].misshapen;
  }
  MoveRows<Row> move{rows, parts, bases};
  in_parallel(threads, move);
  dump.targets.shrink(count);
  dump.summary.references = count;
  for (uint32_t i = 0; i < threads; ++i) note_sizes(dump, parts[i].gaps);
  return JVMTI_HEAP_OK;
}

bool find_roots(jvmti_heap_dump& dump) {
  if (!dump.roots.reserve(dump.found_roots.size() + dump.classes.size())) return false;
  for (uint64_t i = 0; i < dump.found_roots.size(); ++i) {
    const FoundRoot& found = dump.found_roots[i];
    uint32_t object = dump.object(found.id);
    if (object == kNone) {
      dump.summary.dangling += found.id != 0;
      continue;
    }
    dump.roots.push(Root{object, found.kind, found.thread, found.frame});
  }
  for (uint64_t i = 0; i < dump.classes.size(); ++i) {
    const Class& one = dump.classes[i];
    if (one.flags & JVMTI_HEAP_HELD) {
      dump.roots.push(Root{one.object, JVMTI_HEAP_ROOT_HELD_CLASS, kNone, kNone});
    }
  }
  return true;
}

void find_referent(jvmti_heap_dump& dump) {
  for (uint32_t i = 0; i < dump.classes.size(); ++i) {
    const Class& one = dump.classes[i];
    if (!dump.named(i, "java/lang/ref/Reference")) continue;
    for (uint32_t k = 0; k < one.fields; ++k) {
      const Field& field = dump.fields[one.first_field + one.statics + k];
      if (field.name == kNone || field.type != kObject) continue;
      const String& name = dump.strings[field.name];
      if (name.length == 8 && std::memcmp(dump.file + name.position, "referent", 8) == 0) {
        dump.referent_class = i;
        dump.referent_offset = field.offset;
        return;
      }
    }
  }
}

}  // namespace

int32_t find_references(jvmti_heap_dump& dump) {
  uint64_t records = dump.objects - dump.class_objects;
  // How much memory is reserved; what is used of it goes by the heap that is.
  uint64_t most = (UINT64_C(256) << 20) + 8 * dump.size;
  if (!dump.identifiers.build(dump.ids.data(), records, dump.id_bits,
                              static_cast<uint32_t>(dump.class_objects), most)) {
    return JVMTI_HEAP_OUT_OF_MEMORY;
  }
  dump.ids.release();
  dump.summary.duplicates += dump.identifiers.duplicates();
  dump.summary.in_order = dump.identifiers.in_order();
  find_loaders(dump);
  find_referent(dump);

  // Each reference, and the class of each object, has as many bytes in the file.
  uint64_t room = dump.size / dump.id_size + 1;
  dump.wide = 2 * room >= UINT32_MAX;
  uint64_t rows = dump.objects + 1;
  bool memory = dump.class_of.reserve(dump.objects) && dump.extent.reserve(dump.objects) &&
                (dump.wide ? dump.wide_rows.reserve(rows) : dump.narrow_rows.reserve(rows));
  if (!memory) return JVMTI_HEAP_OUT_OF_MEMORY;
  List<uint32_t> class_targets;
  memory = dump.wide ? link_classes(dump, dump.wide_rows.data(), class_targets)
                     : link_classes(dump, dump.narrow_rows.data(), class_targets);
  if (!memory || !dump.targets.reserve(class_targets.size() + room)) {
    return JVMTI_HEAP_OUT_OF_MEMORY;
  }
  int32_t status = dump.wide ? link(dump, dump.wide_rows.data(), class_targets)
                             : link(dump, dump.narrow_rows.data(), class_targets);
  if (status != JVMTI_HEAP_OK) return status;
  return find_roots(dump) ? JVMTI_HEAP_OK : JVMTI_HEAP_OUT_OF_MEMORY;
}

}  // namespace heap
}  // namespace jvmti
