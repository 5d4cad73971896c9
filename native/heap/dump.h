// What is known of an open dump.  The files of this folder fill it one after the other:
// scan.cpp finds the records, classes.cpp makes the classes of them, identifiers.cpp the way
// from addresses to objects, references.cpp the graph, sizes.cpp what objects take in the VM.
#pragma once

#include "identifiers.h"
#include "jvmti_heap.h"
#include "memory.h"
#include "records.h"

namespace jvmti {
namespace heap {

using String = jvmti_heap_string;
using Class = jvmti_heap_class;
using Field = jvmti_heap_field;
using Root = jvmti_heap_root;
using Frame = jvmti_heap_frame;
using Trace = jvmti_heap_trace;
using Summary = jvmti_heap_summary;

constexpr uint32_t kNone = JVMTI_HEAP_NONE;
constexpr uint32_t kIsClass = JVMTI_HEAP_IS_CLASS;

struct Segment {
  uint64_t begin;
  uint64_t end;
};

struct LoadedClass {
  uint64_t id;
  uint64_t name;
  uint32_t serial;
};

// A root as the file has it, before there are objects.
struct FoundRoot {
  uint64_t id;
  uint64_t reference;  // the address of a JNI global reference, 0 for others
  uint64_t position;
  uint32_t kind;
  uint32_t thread;
  uint32_t frame;
};

// A class record: where it is, and where its tables begin.
struct FoundClass {
  uint64_t id;
  uint64_t position;
};

// How the size of an object follows from the length of its array, 0 for others.
struct SizeRule {
  uint32_t base;
  uint32_t stride;
};

// What is seen of sizes while the references are found: the distance from an object to the next.
struct Gaps {
  List<uint64_t> least;  // per class: of distance minus elements
  List<uint32_t> seen;
  uint64_t bases[4] = {};  // arrays whose size a header of 12, 16, 20 or 24 bytes explains
  uint64_t narrow = 0;     // arrays of objects too close to the next for elements of 8 bytes
  uint64_t wide = 0;       // those that are not
};

}  // namespace heap
}  // namespace jvmti

struct jvmti_heap_dump {
  const uint8_t* file = nullptr;
  uint64_t size = 0;
  uint32_t id_size = 8;
  uint32_t threads = 1;
  jvmti_heap_progress* progress = nullptr;
  jvmti::heap::Summary summary = {};

  // scan.cpp
  jvmti::heap::List<jvmti::heap::String> strings;
  jvmti::heap::Index string_of;
  jvmti::heap::List<jvmti::heap::LoadedClass> loaded;
  jvmti::heap::List<jvmti::heap::Segment> segments;
  jvmti::heap::List<jvmti::heap::Frame> frames;
  jvmti::heap::List<jvmti::heap::Trace> traces;
  jvmti::heap::List<uint64_t> frame_ids;
  jvmti::heap::List<jvmti::heap::FoundRoot> found_roots;
  jvmti::heap::List<jvmti::heap::FoundClass> found_classes;
  jvmti::heap::Pages<uint64_t> ids;  // while it is being opened only
  jvmti::heap::Pages<uint64_t> positions;
  uint64_t objects = 0;  // of them the first are the classes
  uint64_t class_objects = 0;
  uint64_t id_bits = 0;  // those that any address has

  // left_out.cpp
  jvmti::heap::List<uint64_t> left_out;  // positions of roots that are not wanted, in order

  // classes.cpp
  jvmti::heap::List<jvmti::heap::Class> classes;
  jvmti::heap::Index class_of_id;
  jvmti::heap::List<jvmti::heap::Field> fields;
  jvmti::heap::List<uint32_t> reference_offsets;
  uint32_t array_classes[12] = {};
  uint32_t class_class = jvmti::heap::kNone;
  uint32_t referent_class = jvmti::heap::kNone;  // java.lang.ref.Reference
  uint64_t referent_offset = 0;

  // identifiers.cpp
  jvmti::heap::Identifiers identifiers;

  // references.cpp
  jvmti::heap::Pages<uint32_t> class_of;
  jvmti::heap::Pages<uint32_t> extent;
  jvmti::heap::Pages<uint32_t> narrow_rows;
  jvmti::heap::Pages<uint64_t> wide_rows;
  jvmti::heap::Pages<uint32_t> targets;
  bool wide = false;
  jvmti::heap::List<jvmti::heap::Root> roots;

  // sizes.cpp
  jvmti::heap::List<jvmti::heap::SizeRule> rules;
  jvmti::heap::Gaps gaps;  // while it is being opened only

  bool cancelled() const {
    return progress != nullptr && __atomic_load_n(&progress->cancel, __ATOMIC_RELAXED) != 0;
  }
  void step(int32_t number, uint64_t total) {
    if (progress == nullptr) return;
    __atomic_store_n(&progress->done, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->total, total, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->step, number, __ATOMIC_RELAXED);
  }
  void advance(uint64_t by) {
    if (progress != nullptr) __atomic_fetch_add(&progress->done, by, __ATOMIC_RELAXED);
  }
  // The first invalid place is reported; the others are counted.
  void fault(uint64_t position, const char* format, ...) __attribute__((format(printf, 3, 4)));

  uint32_t string(uint64_t id) const { return id == 0 ? jvmti::heap::kNone : string_of.find(id); }
  bool named(uint32_t class_index, const char* name) const;
  // The object at an address, or NONE.
  uint32_t object(uint64_t id) const {
    uint32_t found = identifiers.find(id);
    if (found != jvmti::heap::kNone) return found;
    uint32_t index = class_of_id.find(id);
    return index == jvmti::heap::Index::kAbsent ? jvmti::heap::kNone : classes[index].object;
  }
  uint64_t size_of(uint64_t object) const {
    uint32_t length = extent[object];
    uint32_t of = class_of[object];
    if (length & jvmti::heap::kIsClass) {
      return classes[length & ~jvmti::heap::kIsClass].class_object_size;
    }
    const jvmti::heap::SizeRule& rule = rules[of];
    uint64_t bytes = rule.base + static_cast<uint64_t>(rule.stride) * length;
    uint64_t mask = summary.alignment - 1;
    return (bytes + mask) & ~mask;
  }
};

namespace jvmti {
namespace heap {

// The steps of opening, each of which gives one of the codes of the header.
int32_t scan(jvmti_heap_dump& dump);
int32_t leave_out(jvmti_heap_dump& dump, const jvmti_heap_references* references);
int32_t make_classes(jvmti_heap_dump& dump);
int32_t find_references(jvmti_heap_dump& dump);
int32_t compute_sizes(jvmti_heap_dump& dump);

// The size of a part of a heap dump from its tag on, 0 when it does not fit or makes no sense.
uint64_t size_of_part(const uint8_t* at, const uint8_t* end, uint32_t id_size);
// See jvmti_heap_copy; the size of the copy.
uint64_t copy_kept(const jvmti_heap_dump& dump, const uint8_t* source, const uint8_t* kept,
                   uint8_t* copy, uint64_t room);

void note_sizes(jvmti_heap_dump& dump, const Gaps& gaps);

}  // namespace heap
}  // namespace jvmti
