// What objects take in the VM.  A dump says what their fields take in the dump, which is something
// else: there are headers, references may be compressed, and the VM lays fields out its own way.
//
// Addresses tell.  An object ends where the next one begins, or before; so the least distance that
// any object of a class has to the next is its size.  Where too few were seen it is computed from
// the fields.

#include "dump.h"

namespace jvmti {
namespace heap {

namespace {

constexpr uint32_t kEnough = 16;

uint64_t align(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

// Bytes of an object's fields in the VM, without gaps.
uint64_t field_bytes(const jvmti_heap_dump& dump, const Class& of) {
  uint64_t references = of.references;
  for (const Class* one = &of; one->next != kNone; one = &dump.classes[one->next]) {
    references += dump.classes[one->next].references;
  }
  return of.layout_bytes - references * dump.id_size + references * dump.summary.reference_size;
}

// The header of an array: the one that explains most of those that were seen.
uint32_t array_base(const jvmti_heap_dump& dump) {
  const uint64_t* bases = dump.gaps.bases;
  uint32_t best = dump.id_size == 4 ? 0 : 1;
  for (uint32_t i = 0; i < 4; ++i) {
    if (bases[i] >= kEnough && bases[i] > bases[best]) best = i;
  }
  return 12 + 4 * best;
}

}  // namespace

void note_sizes(jvmti_heap_dump& dump, const Gaps& gaps) {
  Gaps& all = dump.gaps;
  if (all.seen.size() == 0) {
    if (!all.least.append(gaps.least) || !all.seen.append(gaps.seen)) return;
  } else {
    for (uint64_t i = 0; i < gaps.seen.size(); ++i) {
      all.seen[i] += gaps.seen[i];
      if (gaps.least[i] < all.least[i]) all.least[i] = gaps.least[i];
    }
  }
  for (uint32_t i = 0; i < 4; ++i) all.bases[i] += gaps.bases[i];
  all.narrow += gaps.narrow;
  all.wide += gaps.wide;
}

int32_t compute_sizes(jvmti_heap_dump& dump) {
  const Gaps& gaps = dump.gaps;
  Summary& summary = dump.summary;
  bool many = dump.objects > 1000;
  summary.alignment = dump.identifiers.alignment();
  // By chance a few addresses have more zeros.
  if (summary.alignment < 8 || !many) summary.alignment = 8;
  if (dump.id_size == 4) {
    summary.reference_size = 4;
  } else {
    summary.reference_size = gaps.narrow == 0 && gaps.wide >= kEnough ? 8 : 4;
  }
  // An array's header tells the header of an object: four bytes less, for the length.
  uint32_t base = array_base(dump);
  summary.header_size = base == 12 ? 8 : base == 16 ? 12 : 16;

  if (!dump.rules.reserve(dump.classes.size())) return JVMTI_HEAP_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < dump.classes.size(); ++i) {
    Class& one = dump.classes[i];
    if (one.element != 0) {
      one.stride =
          one.element == kObject ? summary.reference_size : size_of_type(one.element, dump.id_size);
      // Elements begin where their size allows.
      one.size = static_cast<uint32_t>(align(base, one.stride));
      if (base == 20 && one.stride < 4) one.size = base;
    } else {
      uint64_t computed = align(summary.header_size + field_bytes(dump, one), summary.alignment);
      one.size = static_cast<uint32_t>(computed > UINT32_MAX - 512 ? 0 : computed);
      uint64_t least = gaps.seen.size() == 0 ? UINT64_MAX : gaps.least[i];
      uint64_t trusted = gaps.seen.size() != 0 && gaps.seen[i] >= kEnough ? 24 : 8;
      // It has fields that no dump shows, and only those of primitive types are seen.
      if (i == dump.class_class) trusted = 128;
      if (i != 0 && least > one.size && least <= one.size + trusted) {
        one.size = static_cast<uint32_t>(least);
      }
      if (least != UINT64_MAX && gaps.seen[i] >= kEnough) one.flags |= JVMTI_HEAP_MEASURED;
    }
    dump.rules.push(SizeRule{one.size, one.stride});
  }
  // A class object is an object of java.lang.Class with the static fields behind it.
  uint64_t class_object = dump.classes[dump.class_class].size;
  for (uint32_t i = 0; i < dump.classes.size(); ++i) {
    Class& one = dump.classes[i];
    uint64_t statics = 0;
    for (uint32_t k = 0; k < one.statics; ++k) {
      const Field& field = dump.fields[one.first_field + k];
      // Such as <resolved_references>, which the VM shows as a field and keeps elsewhere.
      if (field.name != kNone && dump.strings[field.name].length != 0 &&
          dump.file[dump.strings[field.name].position] == '<') {
        continue;
      }
      uint32_t type = field.type;
      statics += type == kObject ? summary.reference_size : size_of_type(type, dump.id_size);
    }
    one.class_object_size = align(class_object + statics, summary.alignment);
  }
  return JVMTI_HEAP_OK;
}

}  // namespace heap
}  // namespace jvmti
