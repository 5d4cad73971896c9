// Finds every record of the file and where it is.  First the records of the file itself, one
// after the other, which is quick, because a heap dump is skipped by its length.  Then what the
// heap dumps are made of, in parallel.  Nothing is remembered of a record that does not lie
// within its segment and the file, so that later steps find everything where it should be.

#include <cstdarg>
#include <cstdio>

#include "dump.h"
#include "graph/parallel.h"

void jvmti_heap_dump::fault(uint64_t position, const char* format, ...) {
  ++summary.faults;
  if (summary.faults > 1 && position >= summary.fault_position) return;
  summary.fault_position = position;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(summary.fault, sizeof summary.fault, format, arguments);
  va_end(arguments);
}

namespace jvmti {
namespace heap {

namespace {

constexpr char kMagic[] = "JAVA PROFILE 1.0.";

// What one thread finds in the segments that it is given.
struct Part {
  uint64_t first = 0;  // segments
  uint64_t last = 0;
  uint64_t place = 0;  // in the columns of ids and positions
  uint64_t objects = 0;
  uint64_t id_bits = 0;
  List<FoundRoot> roots;
  List<FoundClass> classes;
  uint64_t faults = 0;
  uint64_t fault_position = 0;
  uint64_t skipped = 0;
  const char* reason = nullptr;
  uint32_t tag = 0;
  bool out_of_memory = false;
  bool cancelled = false;
};

// The size of a class record from its tag on, 0 when it does not fit.
uint64_t class_record(const uint8_t* at, const uint8_t* end, uint32_t id_size) {
  const uint8_t* start = at;
  auto left = [&] { return static_cast<uint64_t>(end - at); };
  uint64_t fixed = 1 + 7 * id_size + 8;
  if (left() < fixed + 2) return 0;
  at += fixed;
  uint32_t constants = load16(at);
  at += 2;
  for (uint32_t i = 0; i < constants; ++i) {
    if (left() < 3) return 0;
    uint32_t size = size_of_type(at[2], id_size);
    if (size == 0 || left() < 3 + size) return 0;
    at += 3 + size;
  }
  if (left() < 2) return 0;
  uint32_t statics = load16(at);
  at += 2;
  for (uint32_t i = 0; i < statics; ++i) {
    if (left() < id_size + 1) return 0;
    uint32_t size = size_of_type(at[id_size], id_size);
    if (size == 0 || left() < id_size + 1 + size) return 0;
    at += id_size + 1 + size;
  }
  if (left() < 2) return 0;
  uint32_t fields = load16(at);
  at += 2;
  for (uint32_t i = 0; i < fields; ++i) {
    if (left() < id_size + 1 || size_of_type(at[id_size], id_size) == 0) return 0;
    at += id_size + 1;
  }
  return static_cast<uint64_t>(at - start);
}

template <uint32_t kId>
void scan_segment(jvmti_heap_dump& dump, Part& part, const Segment& segment) {
  const uint8_t* at = dump.file + segment.begin;
  const uint8_t* end = dump.file + segment.end;
  const Shape shape(kId);
  uint64_t* ids = dump.ids.data() + part.place;
  uint64_t* positions = dump.positions.data() + dump.loaded.size() + part.place;
  uint64_t objects = part.objects;
  uint64_t bits = part.id_bits;
  const char* reason = nullptr;
  auto found = [&](uint64_t record) {
    uint64_t id = load_id(at + 1, kId);
    ids[objects] = id;
    bits |= id;
    positions[objects] = static_cast<uint64_t>(at - dump.file);
    ++objects;
    at += record;
  };
  while (at < end) {
    uint64_t left = static_cast<uint64_t>(end - at);
    uint8_t tag = *at;
    if (tag == kInstance) {
      if (left < shape.instance()) {
        reason = "an object is cut off";
        break;
      }
      uint64_t record = shape.instance() + uint64_t{load32(at + shape.instance_length())};
      if (left < record) {
        reason = "the fields of an object do not fit";
        break;
      }
      found(record);
    } else if (tag == kPrimitiveArray) {
      if (left < shape.primitive_array()) {
        reason = "an array is cut off";
        break;
      }
      uint32_t type = at[shape.primitive_array() - 1];
      uint64_t item = type == kObject ? 0 : size_of_type(type, kId);
      if (item == 0) {
        reason = "an array has elements of no known type";
        break;
      }
      uint32_t length = load32(at + shape.array_length());
      uint64_t record = shape.primitive_array() + item * length;
      if (length >= kIsClass || left < record) {
        reason = "the elements of an array do not fit";
        break;
      }
      found(record);
    } else if (tag == kObjectArray) {
      if (left < shape.object_array()) {
        reason = "an array is cut off";
        break;
      }
      uint32_t length = load32(at + shape.array_length());
      uint64_t record = shape.object_array() + uint64_t{kId} * length;
      if (length >= kIsClass || left < record) {
        reason = "the elements of an array do not fit";
        break;
      }
      found(record);
    } else if (tag == kClassDump) {
      uint64_t record = class_record(at, end, kId);
      if (record == 0) {
        reason = "the record of a class does not fit";
        break;
      }
      FoundClass made{load_id(at + 1, kId), static_cast<uint64_t>(at - dump.file)};
      if (!part.classes.push(made)) {
        part.out_of_memory = true;
        return;
      }
      at += record;
    } else {
      uint32_t size = size_of_root(tag, kId);
      if (size == 0) {
        reason = "no part of a heap dump begins with this byte";
        break;
      }
      if (left < 1 + size) {
        reason = "a root is cut off";
        break;
      }
      FoundRoot root{
          load_id(at + 1, kId), 0, static_cast<uint64_t>(at - dump.file), tag, kNone, kNone};
      const uint8_t* more = at + 1 + kId;
      if (tag == kRootJniGlobal) root.reference = load_id(more, kId);
      if (tag == kRootJniLocal || tag == kRootJavaFrame || tag == kRootThreadObject) {
        root.thread = load32(more);
        root.frame = load32(more + 4);
      } else if (tag == kRootNativeStack || tag == kRootThreadBlock) {
        root.thread = load32(more);
      }
      if (!part.roots.push(root)) {
        part.out_of_memory = true;
        return;
      }
      at += 1 + size;
    }
  }
  part.objects = objects;
  part.id_bits = bits;
  if (reason == nullptr) return;
  if (part.faults++ == 0) {
    part.fault_position = static_cast<uint64_t>(at - dump.file);
    part.reason = reason;
    part.tag = *at;
  }
  part.skipped += static_cast<uint64_t>(end - at);
}

// Maps pages of the file many at a time, which takes a third of what a fault for each does.
void fetch(const uint8_t* begin, const uint8_t* end) {
  constexpr int kPopulateRead = 22;  // Linux 5.14, newer than some headers; others refuse it
  uintptr_t first = reinterpret_cast<uintptr_t>(begin) & ~(kPage - 1);
  madvise(reinterpret_cast<void*>(first), reinterpret_cast<uintptr_t>(end) - first, kPopulateRead);
}

struct ScanSegments {
  jvmti_heap_dump& dump;
  Part* parts;
  void operator()(uint32_t number) {
    Part& part = parts[number];
    for (uint64_t i = part.first; i < part.last && !part.out_of_memory; ++i) {
      if (dump.cancelled()) {
        part.cancelled = true;
        return;
      }
      const Segment& segment = dump.segments[i];
      fetch(dump.file + segment.begin, dump.file + segment.end);
      if (dump.id_size == 8) {
        scan_segment<8>(dump, part, segment);
      } else {
        scan_segment<4>(dump, part, segment);
      }
      dump.advance(segment.end - segment.begin);
    }
  }
};

// Whether a record could begin there, or the file ends.
bool plausible(const jvmti_heap_dump& dump, uint64_t position) {
  if (position == dump.size) return true;
  if (position > dump.size) return false;
  if (dump.size - position < kRecordHeader) return false;
  return is_record(dump.file[position]) &&
         load32(dump.file + position + 5) <= dump.size - position - kRecordHeader;
}

// One record of the file, whose body lies within it.  False without memory.
bool take(jvmti_heap_dump& dump, uint8_t tag, uint64_t begin, uint64_t end) {
  const uint8_t* body = dump.file + begin;
  uint64_t size = end - begin;
  uint32_t id = dump.id_size;
  uint64_t wanted = 0;
  switch (tag) {
    case kString: {
      wanted = id;
      if (size < wanted) break;
      uint32_t number = static_cast<uint32_t>(dump.strings.size());
      String made{load_id(body, id), begin + id, static_cast<uint32_t>(size - id), 0};
      uint32_t has;
      return dump.strings.push(made) && dump.string_of.insert(made.id, number, &has);
    }
    case kLoadClass:
      wanted = 8 + 2 * id;
      if (size < wanted) break;
      return dump.loaded.push(
          LoadedClass{load_id(body + 4, id), load_id(body + 8 + id, id), load32(body)});
    case kStackFrame:
      wanted = 4 * id + 8;
      if (size < wanted) break;
      // Strings may come later, so their indices are looked up at the end.
      return dump.frame_ids.size() < UINT64_MAX &&
             dump.frames.push(Frame{begin, 0, 0, 0, load32(body + 4 * id),
                                    static_cast<int32_t>(load32(body + 4 * id + 4)), 0});
    case kStackTrace: {
      wanted = 12;
      if (size < wanted) break;
      uint32_t count = load32(body + 8);
      if ((size - 12) / id < count) {
        wanted = 12 + uint64_t{id} * count;
        break;
      }
      Trace made{dump.frame_ids.size(), load32(body), load32(body + 4), count, 0};
      for (uint32_t i = 0; i < count; ++i) {
        if (!dump.frame_ids.push(load_id(body + 12 + uint64_t{id} * i, id))) return false;
      }
      return dump.traces.push(made);
    }
    case kHeapDump:
    case kHeapDumpSegment:
      return size == 0 || dump.segments.push(Segment{begin, end});
    default:
      return true;
  }
  dump.fault(begin - kRecordHeader, "a record of kind 0x%02x has %llu bytes and needs %llu", tag,
             static_cast<unsigned long long>(size), static_cast<unsigned long long>(wanted));
  return true;
}

int32_t scan_records(jvmti_heap_dump& dump, uint64_t position) {
  while (position < dump.size) {
    if (dump.size - position < kRecordHeader) {
      dump.fault(position, "the file ends within the head of a record");
      dump.summary.skipped += dump.size - position;
      break;
    }
    uint8_t tag = dump.file[position];
    uint64_t begin = position + kRecordHeader;
    uint64_t length = load32(dump.file + position + 5);
    bool heap = tag == kHeapDump || tag == kHeapDumpSegment;
    if (!is_record(tag)) {
      dump.fault(position, "no record begins with the byte 0x%02x", tag);
      if (length > dump.size - begin || !plausible(dump, begin + length)) {
        dump.summary.skipped += dump.size - position;
        break;
      }
      dump.summary.skipped += kRecordHeader + length;
      position = begin + length;
      continue;
    }
    uint64_t end = begin + length;
    if (length > dump.size - begin) {
      dump.fault(position, "the file ends within a record of %llu bytes, after %llu",
                 static_cast<unsigned long long>(length),
                 static_cast<unsigned long long>(dump.size - begin));
      if (!heap) {
        dump.summary.skipped += dump.size - position;
        break;
      }
      end = dump.size;
    } else if (heap && length == 0 && !plausible(dump, end)) {
      // A VM that was killed did not come to write the length.
      dump.fault(position, "a heap dump was not finished: its length is not there");
      end = dump.size;
    }
    if (!take(dump, tag, begin, end)) return JVMTI_HEAP_OUT_OF_MEMORY;
    position = end;
  }
  // A frame's place in the file becomes its names.
  for (uint64_t i = 0; i < dump.frames.size(); ++i) {
    Frame& frame = dump.frames[i];
    const uint8_t* body = dump.file + frame.id;
    frame.id = load_id(body, dump.id_size);
    frame.method = dump.string(load_id(body + dump.id_size, dump.id_size));
    frame.signature = dump.string(load_id(body + 2 * dump.id_size, dump.id_size));
    frame.source = dump.string(load_id(body + 3 * dump.id_size, dump.id_size));
  }
  return JVMTI_HEAP_OK;
}

int32_t scan_segments(jvmti_heap_dump& dump) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < dump.segments.size(); ++i) {
    bytes += dump.segments[i].end - dump.segments[i].begin;
  }
  dump.step(1, bytes);
  uint32_t threads = bytes < (1u << 22) ? 1 : dump.threads;
  if (threads > dump.segments.size()) threads = static_cast<uint32_t>(dump.segments.size());
  if (threads == 0) threads = 1;
  // The smallest record of an object is that of an empty array.
  uint64_t smallest = Shape(dump.id_size).primitive_array();
  uint64_t room = bytes / smallest + threads;
  if (!dump.ids.reserve(room) || !dump.positions.reserve(room + dump.loaded.size())) {
    return JVMTI_HEAP_OUT_OF_MEMORY;
  }
  Part parts[kMostThreads];
  uint64_t segment = 0;
  uint64_t before = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    Part& part = parts[i];
    part.first = segment;
    part.place = before / smallest + i;
    while (segment < dump.segments.size() &&
           (i + 1 == threads || before < bytes / threads * (i + 1))) {
      before += dump.segments[segment].end - dump.segments[segment].begin;
      ++segment;
    }
    part.last = segment;
  }
  ScanSegments work{dump, parts};
  in_parallel(threads, work);

  uint64_t objects = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    if (parts[i].cancelled) return JVMTI_HEAP_CANCELLED;
    if (parts[i].out_of_memory || !dump.found_classes.append(parts[i].classes) ||
        !dump.found_roots.append(parts[i].roots)) {
      return JVMTI_HEAP_OUT_OF_MEMORY;
    }
    objects += parts[i].objects;
  }
  uint64_t classes = dump.found_classes.size();
  if (objects + classes >= kNone - 1 || classes >= kIsClass - 64) {
    return JVMTI_HEAP_TOO_MANY_OBJECTS;
  }
  // The columns of the threads are put together, the classes go before everything else.
  uint64_t end = 0;
  uint64_t reserved = dump.loaded.size();
  for (uint32_t i = 0; i < threads; ++i) {
    const Part& part = parts[i];
    dump.id_bits |= part.id_bits;
    if (part.place != end && part.objects != 0) {
      std::memmove(dump.ids.data() + end, dump.ids.data() + part.place, part.objects * 8);
      std::memmove(dump.positions.data() + reserved + end,
                   dump.positions.data() + reserved + part.place, part.objects * 8);
    }
    end += part.objects;
    if (part.faults != 0) {
      dump.fault(part.fault_position, "%s (byte 0x%02x)", part.reason, part.tag);
      dump.summary.faults += part.faults - 1;
      dump.summary.skipped += part.skipped;
    }
  }
  if (classes != reserved && objects != 0) {
    // More records of classes than classes: there is room, for such a record is the larger one.
    std::memmove(dump.positions.data() + classes, dump.positions.data() + reserved, objects * 8);
  }
  for (uint64_t i = 0; i < classes; ++i) dump.positions[i] = dump.found_classes[i].position;
  dump.ids.shrink(objects);
  dump.positions.shrink(objects + classes);
  dump.class_objects = classes;
  dump.objects = objects + classes;
  return JVMTI_HEAP_OK;
}

}  // namespace

uint64_t size_of_part(const uint8_t* at, const uint8_t* end, uint32_t id_size) {
  const Shape shape(id_size);
  uint64_t left = static_cast<uint64_t>(end - at);
  uint64_t size = 0;
  switch (*at) {
    case kInstance:
      if (left < shape.instance()) return 0;
      size = shape.instance() + uint64_t{load32(at + shape.instance_length())};
      break;
    case kPrimitiveArray: {
      if (left < shape.primitive_array()) return 0;
      uint32_t type = at[shape.primitive_array() - 1];
      uint64_t item = type == kObject ? 0 : size_of_type(type, id_size);
      if (item == 0) return 0;
      size = shape.primitive_array() + item * load32(at + shape.array_length());
      break;
    }
    case kObjectArray:
      if (left < shape.object_array()) return 0;
      size = shape.object_array() + uint64_t{id_size} * load32(at + shape.array_length());
      break;
    case kClassDump:
      size = class_record(at, end, id_size);
      break;
    default: {
      uint32_t root = size_of_root(*at, id_size);
      size = root == 0 ? 0 : 1 + root;
    }
  }
  return size > left ? 0 : size;
}

int32_t scan(jvmti_heap_dump& dump) {
  // "JAVA PROFILE 1.0.2", a zero, the size of identifiers, the time.
  constexpr uint64_t kHead = sizeof kMagic - 1 + 2 + 12;
  if (dump.size < kHead || std::memcmp(dump.file, kMagic, sizeof kMagic - 1) != 0) {
    return JVMTI_HEAP_NOT_A_DUMP;
  }
  uint8_t last = dump.file[sizeof kMagic - 1];
  if (last < '1' || last > '3' || dump.file[sizeof kMagic] != 0) return JVMTI_HEAP_NOT_A_DUMP;
  dump.summary.version = 100u + (last - '0');
  dump.id_size = load32(dump.file + kHead - 12);
  if (dump.id_size != 4 && dump.id_size != 8) return JVMTI_HEAP_NOT_A_DUMP;
  dump.summary.identifier_size = dump.id_size;
  dump.summary.milliseconds = load64(dump.file + kHead - 8);
  int32_t status = scan_records(dump, kHead);
  return status != JVMTI_HEAP_OK ? status : scan_segments(dump);
}

}  // namespace heap
}  // namespace jvmti
