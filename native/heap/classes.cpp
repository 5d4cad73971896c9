// The classes: their names, superclasses and fields, and where in a record the references are.
// The record of an object has the fields of its class first, then those of the superclass, and so
// on.  So a class keeps the offsets of its own references, and which class above it has more.

#include "dump.h"

bool jvmti_heap_dump::named(uint32_t class_index, const char* name) const {
  uint32_t number = classes[class_index].name;
  if (number == jvmti::heap::kNone) return false;
  const jvmti_heap_string& text = strings[number];
  if (text.length != std::strlen(name)) return false;
  for (uint32_t i = 0; i < text.length; ++i) {
    char here = static_cast<char>(file[text.position + i]);
    if (here != name[i] && !(here == '.' && name[i] == '/')) return false;
  }
  return true;
}

namespace jvmti {
namespace heap {

namespace {

struct Primitive {
  uint32_t type;
  char letter;
  const char* name;
};
constexpr Primitive kPrimitives[] = {
    {kBoolean, 'Z', "boolean"}, {kChar, 'C', "char"}, {kFloat, 'F', "float"},
    {kDouble, 'D', "double"},   {kByte, 'B', "byte"}, {kShort, 'S', "short"},
    {kInt, 'I', "int"},         {kLong, 'J', "long"},
};

// The type of an array's elements by the name of its class: [I, or int[] in some dumps.
uint32_t element_type(const jvmti_heap_dump& dump, uint32_t name) {
  if (name == kNone) return 0;
  const String& text = dump.strings[name];
  const char* letters = reinterpret_cast<const char*>(dump.file + text.position);
  uint32_t length = text.length;
  if (length >= 2 && letters[0] == '[') {
    if (length > 2) return kObject;
    for (const Primitive& one : kPrimitives) {
      if (one.letter == letters[1]) return one.type;
    }
    return kObject;
  }
  if (length >= 3 && letters[length - 1] == ']' && letters[length - 2] == '[') {
    for (const Primitive& one : kPrimitives) {
      if (std::strlen(one.name) == length - 2 && std::memcmp(one.name, letters, length - 2) == 0) {
        return one.type;
      }
    }
    return kObject;
  }
  return 0;
}

bool add_class(jvmti_heap_dump& dump, uint64_t id, uint32_t name, uint32_t serial, bool indexed,
               uint32_t* index) {
  uint32_t number = static_cast<uint32_t>(dump.classes.size());
  *index = number;
  if (indexed) {
    if (!dump.class_of_id.insert(id, number, index)) return false;
    if (*index != number) return true;
  }
  Class made = {};
  made.id = id;
  made.name = name;
  made.serial = serial;
  made.super = made.object = made.loader = made.next = kNone;
  made.element = element_type(dump, name);
  return dump.classes.push(made);
}

// The fields of a class from its record, which the scan has found to be whole.
bool read_class(jvmti_heap_dump& dump, const FoundClass& found, uint32_t index, uint32_t object) {
  uint32_t id = dump.id_size;
  const uint8_t* at = dump.file + found.position + 1 + 7 * id + 8;
  Class& made = dump.classes[index];
  made.flags |= JVMTI_HEAP_DUMPED;
  made.object = object;
  made.first_field = static_cast<uint32_t>(dump.fields.size());
  made.first_reference = static_cast<uint32_t>(dump.reference_offsets.size());
  uint32_t constants = load16(at);
  at += 2;
  for (uint32_t i = 0; i < constants; ++i) at += 3 + size_of_type(at[2], id);
  made.statics = load16(at);
  at += 2;
  for (uint32_t i = 0; i < made.statics; ++i) {
    uint32_t type = at[id];
    uint32_t size = size_of_type(type, id);
    const uint8_t* value = at + id + 1;
    uint64_t bits = size == 1   ? *value
                    : size == 2 ? load16(value)
                    : size == 4 ? load32(value)
                                : load64(value);
    if (!dump.fields.push(Field{bits, 0, dump.string(load_id(at, id)), index, type, 1})) {
      return false;
    }
    at += id + 1 + size;
  }
  made.fields = load16(at);
  at += 2;
  for (uint32_t i = 0; i < made.fields; ++i) {
    uint32_t type = at[id];
    if (!dump.fields.push(Field{0, made.own_bytes, dump.string(load_id(at, id)), index, type, 0})) {
      return false;
    }
    if (type == kObject) {
      if (!dump.reference_offsets.push(static_cast<uint32_t>(made.own_bytes))) return false;
      ++made.references;
    }
    made.own_bytes += size_of_type(type, id);
    at += id + 1;
  }
  return true;
}

uint32_t flags_by_name(const jvmti_heap_dump& dump, uint32_t index) {
  if (dump.named(index, "java/lang/ref/Reference")) return JVMTI_HEAP_REFERENCE;
  if (dump.named(index, "java/lang/ref/WeakReference")) return JVMTI_HEAP_WEAK;
  if (dump.named(index, "java/lang/ref/SoftReference")) return JVMTI_HEAP_SOFT;
  if (dump.named(index, "java/lang/ref/PhantomReference")) return JVMTI_HEAP_PHANTOM;
  if (dump.named(index, "java/lang/ref/FinalReference")) return JVMTI_HEAP_FINAL;
  return 0;
}

constexpr uint32_t kInherited = JVMTI_HEAP_REFERENCE | JVMTI_HEAP_WEAK | JVMTI_HEAP_SOFT |
                                JVMTI_HEAP_PHANTOM | JVMTI_HEAP_FINAL;

// What follows from superclasses.  A corrupt file may have them go round in a circle, which is
// cut where it closes.
bool inherit(jvmti_heap_dump& dump) {
  enum : uint8_t { kNew, kUnderWay, kDone };
  List<uint32_t> chain;
  Pages<uint8_t> state;
  if (!state.reserve(dump.classes.size(), false)) return false;
  for (uint32_t start = 0; start < dump.classes.size(); ++start) {
    chain.clear();
    for (uint32_t at = start; at != kNone && state[at] == kNew; at = dump.classes[at].super) {
      state[at] = kUnderWay;
      if (!chain.push(at)) return false;
      uint32_t super = dump.classes[at].super;
      if (super != kNone && state[super] == kUnderWay) {
        dump.fault(dump.positions[dump.classes[at].object], "a class is its own superclass");
        dump.classes[at].super = kNone;
      }
    }
    for (uint64_t i = chain.size(); i-- > 0;) {
      uint32_t index = chain[i];
      Class& one = dump.classes[index];
      one.layout_bytes = one.own_bytes;
      one.flags |= flags_by_name(dump, index);
      if (one.super != kNone) {
        const Class& above = dump.classes[one.super];
        one.layout_bytes += above.layout_bytes;
        one.flags |= above.flags & kInherited;
        if (above.references != 0) {
          one.next = one.super;
          one.next_offset = one.own_bytes;
        } else if (above.next != kNone) {
          one.next = above.next;
          one.next_offset = one.own_bytes + above.next_offset;
        }
      }
      state[index] = kDone;
    }
  }
  return true;
}

}  // namespace

int32_t make_classes(jvmti_heap_dump& dump) {
  uint32_t index;
  // What is not known has a class of its own, the first.
  if (!add_class(dump, 0, kNone, 0, false, &index)) return JVMTI_HEAP_OUT_OF_MEMORY;
  for (uint64_t i = 0; i < dump.loaded.size(); ++i) {
    const LoadedClass& one = dump.loaded[i];
    if (!add_class(dump, one.id, dump.string(one.name), one.serial, true, &index)) {
      return JVMTI_HEAP_OUT_OF_MEMORY;
    }
  }
  for (uint64_t i = 0; i < dump.found_classes.size(); ++i) {
    const FoundClass& found = dump.found_classes[i];
    if (!add_class(dump, found.id, kNone, 0, true, &index)) return JVMTI_HEAP_OUT_OF_MEMORY;
    if (dump.classes[index].flags & JVMTI_HEAP_DUMPED) {
      ++dump.summary.duplicates;
    } else if (!read_class(dump, found, index, static_cast<uint32_t>(i))) {
      return JVMTI_HEAP_OUT_OF_MEMORY;
    }
  }
  for (uint64_t i = 0; i < dump.found_classes.size(); ++i) {
    uint32_t of = dump.class_of_id.find(dump.found_classes[i].id);
    uint64_t super =
        load_id(dump.file + dump.found_classes[i].position + 1 + dump.id_size + 4, dump.id_size);
    Class& one = dump.classes[of];
    if (one.object == i && super != 0) {
      uint32_t above = dump.class_of_id.find(super);
      one.super = above == Index::kAbsent || above == of ? kNone : above;
    }
  }
  for (uint32_t i = static_cast<uint32_t>(dump.classes.size()); i-- > 1;) {
    const Class& one = dump.classes[i];
    if (one.element > kObject || (one.element == kObject && dump.named(i, "[Ljava/lang/Object;"))) {
      dump.array_classes[one.element] = i;
    }
    if (dump.named(i, "java/lang/Class")) dump.class_class = i;
  }
  // The classes of arrays that the file does not name.
  constexpr uint32_t kTypes[] = {2, 4, 5, 6, 7, 8, 9, 10, 11};
  for (uint32_t type : kTypes) {
    if (dump.array_classes[type] != 0) continue;
    if (!add_class(dump, 0, kNone, 0, false, &index)) return JVMTI_HEAP_OUT_OF_MEMORY;
    dump.classes[index].element = type;
    dump.array_classes[type] = index;
  }
  if (dump.class_class == kNone) dump.class_class = 0;
  return inherit(dump) ? JVMTI_HEAP_OK : JVMTI_HEAP_OUT_OF_MEMORY;
}

}  // namespace heap
}  // namespace jvmti
