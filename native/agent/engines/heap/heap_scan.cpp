// One pass over all objects: counted by class, or written into columns.
//
// Only classes are tagged, with their numbers in the request from 1.  The columns are memory that
// the controller has made beforehand, as large as it found necessary; an object for which there is
// no row left is counted and nothing else.  HotSpot calls for an object, and then for its primitive
// fields, its elements or its text, before it calls for the next object; so the last row is what
// these belong to.

#include "agent/engines/heap/heap_pass.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

// ---- counting -----------------------------------------------------------------------------------

struct HeapCount {
  PassControl& control;
  jint classes;
  jlong* count;
  jlong* bytes;
};

jint JNICALL count_object(jlong class_tag, jlong size, jlong*, jint, void* data) {
  HeapCount& counted = *static_cast<HeapCount*>(data);
  if (!counted.control.go_on()) return JVMTI_VISIT_ABORT;
  if (class_tag < 0 || class_tag > counted.classes) class_tag = 0;
  ++counted.count[class_tag];
  counted.bytes[class_tag] += size;
  return 0;
}

// ---- columns ------------------------------------------------------------------------------------

constexpr uint32_t kNoText = layouts::ScanUnits::kNoText;

class HeapScan {
 public:
  HeapScan(PassControl& control, jint classes, jint string_class)
      : control_(control), classes_(classes), string_class_(string_class) {}

  using Capacity = layouts::ScanColumns;
  // The bytes of all; 0 for what no memory can hold.
  static uint64_t size_of(const Capacity& capacity) {
    constexpr uint64_t kMost = uint64_t{1} << 48;
    if (capacity.rows > kMost || capacity.strings > kMost || capacity.text > kMost ||
        capacity.values > kMost || capacity.elements > kMost) {
      return 0;
    }
    return capacity.end_offset();
  }
  bool prepare(const Capacity& capacity) {
    capacity_ = capacity;
    uint8_t* memory = control_.data();
    class_ = capacity.class_number_column(memory);
    size_ = capacity.size_column(memory);
    length_ = capacity.length_column(memory);
    string_ = capacity.string_column(memory);
    text_ = capacity.text_column(memory);
    values_ = capacity.value_column(memory);
    elements_ = capacity.element_column(memory);
    return layouts_.allocate(static_cast<size_t>(classes_) + 1);
  }

  jint object(jlong class_tag, jlong size, jint length) {
    if (!control_.go_on()) return JVMTI_VISIT_ABORT;
    if (with_values_) close_values();
    current_ = -1;
    if (class_tag < 0 || class_tag > classes_) class_tag = 0;
    if (rows == capacity_.rows) {
      ++missed;
      return 0;
    }
    constexpr jlong kUnits = layouts::ScanUnits::kSize;
    class_[rows] = static_cast<uint32_t>(class_tag);
    size_[rows] = static_cast<uint32_t>(size / kUnits);
    length_[rows] = length;
    ++rows;
    current_ = static_cast<jint>(class_tag);
    if (current_ == string_class_ && current_ != 0) {
      has_text_ = strings < capacity_.strings;
      if (has_text_) {
        string_[strings++] = kNoText;
      } else {
        ++missed_text;
      }
    }
    return 0;
  }

  void text(const jchar* value, jint length) {
    if (current_ != string_class_ || current_ <= 0 || !has_text_ || length < 0) return;
    uint64_t count = static_cast<uint64_t>(length);
    jchar all = 0;
    for (uint64_t i = 0; i < count; ++i) all = static_cast<jchar>(all | value[i]);
    bool wide = all > 0xFF;
    uint64_t size = wide ? count * 2 : count;
    if (size > capacity_.text - text_size) {
      ++missed_text;
      return;
    }
    uint8_t* to = text_ + text_size;
    if (wide) {
      std::memcpy(to, value, size);
    } else {
      for (uint64_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(value[i]);
    }
    text_size += size;
    string_[strings - 1] = static_cast<uint32_t>(count << 1 | (wide ? 1 : 0));
  }

  void elements(const void* from, jint count, jvmtiPrimitiveType type) {
    // Fillers of unused memory are arrays of a class that is none.
    if (current_ <= 0 || !layouts_[current_].array || elements_full_ || count < 0) return;
    uint64_t size = static_cast<uint64_t>(count) * width_of(type);
    if (size > capacity_.elements - elements_size) {
      elements_full_ = true;
      return;
    }
    if (size != 0) std::memcpy(elements_ + elements_size, from, size);
    elements_size += size;
  }

  void with_elements_of(jint number) { layouts_[number].array = true; }
  void with_values() { with_values_ = true; }

  // The first object of a class says which fields there are; those that follow must have the same.
  void value(const jvalue& value, jint index, jvmtiPrimitiveType type) {
    if (current_ <= 0 || values_full_) return;
    Layout& layout = layouts_[current_];
    uint64_t width = width_of(type);
    if (!layout.known) {
      if (!fields.push(layouts::ScannedField{current_, index, type})) values_full_ = true;
    } else {
      const layouts::ScannedField* expected =
          position_ < layout.count ? &fields[layout.start + position_] : nullptr;
      if (expected == nullptr || expected->index != index || expected->type != type) {
        values_full_ = true;
      }
    }
    if (width > capacity_.values - values_size - pending_) values_full_ = true;
    if (values_full_) return;
    std::memcpy(values_ + values_size + pending_, &value, width);
    pending_ += width;
    ++position_;
  }

  void close_values() {
    if (current_ < 0) return;
    Layout& layout = layouts_[current_];
    if (!layout.known) {
      layout.known = true;
      layout.count = position_;
      layout.start = fields.size() - position_;
    } else if (position_ != layout.count) {
      values_full_ = true;
    }
    if (!values_full_) values_size += pending_;
    pending_ = 0;
    position_ = 0;
  }

  uint64_t rows = 0;
  uint64_t missed = 0;
  uint64_t strings = 0;
  uint64_t missed_text = 0;
  uint64_t text_size = 0;
  uint64_t values_size = 0;
  uint64_t elements_size = 0;
  Vector<layouts::ScannedField> fields;

 private:
  struct Layout {
    size_t start;
    size_t count;
    bool known;
    bool array;  // of numbers, whose elements are wanted
  };
  PassControl& control_;
  const jint classes_;
  const jint string_class_;
  Capacity capacity_{};
  uint32_t* class_ = nullptr;
  uint32_t* size_ = nullptr;
  int32_t* length_ = nullptr;
  uint32_t* string_ = nullptr;
  uint8_t* text_ = nullptr;
  uint8_t* values_ = nullptr;
  uint8_t* elements_ = nullptr;
  Array<Layout> layouts_;
  jint current_ = -1;  // the class of the last row, -1 where the object has none
  bool has_text_ = false;
  bool with_values_ = false;
  bool values_full_ = false;
  bool elements_full_ = false;
  uint64_t pending_ = 0;  // bytes of the object's values so far
  size_t position_ = 0;
};

HeapScan& scan_of(void* data) { return *static_cast<HeapScan*>(data); }

jint JNICALL scan_object(jlong class_tag, jlong size, jlong*, jint length, void* data) {
  return scan_of(data).object(class_tag, size, length);
}

jint JNICALL scan_text(jlong, jlong, jlong*, const jchar* value, jint length, void* data) {
  scan_of(data).text(value, length);
  return 0;
}

jint JNICALL scan_elements(jlong, jlong, jlong*, jint count, jvmtiPrimitiveType type,
                           const void* from, void* data) {
  scan_of(data).elements(from, count, type);
  return 0;
}

jint JNICALL scan_value(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                        jlong*, jvalue value, jvmtiPrimitiveType type, void* data) {
  if (kind == JVMTI_HEAP_REFERENCE_FIELD) scan_of(data).value(value, info->field.index, type);
  return 0;
}

}  // namespace

namespace operations {

jvmtiError CountHeap(Call& call, const In<List<kinds::Class>>& classes, const In<jlong>& limit,
                     jint* count, jlong** counts, jint* byte_count, jlong** bytes, jlong* stopped,
                     jboolean* whole) {
  PassControl control(call, limit.c());
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  PassTags tags;
  if (jvmtiError error = tags.number(classes.items(), classes.count())) return error;
  size_t places = static_cast<size_t>(classes.count()) + 1;
  jvmtiError error = allocate_list(places, counts);
  if (error == JVMTI_ERROR_NONE) error = allocate_list(places, bytes);
  if (error != JVMTI_ERROR_NONE) return error;
  std::memset(*counts, 0, places * sizeof(jlong));
  std::memset(*bytes, 0, places * sizeof(jlong));
  HeapCount counted{control, classes.count(), *counts, *bytes};
  jvmtiHeapCallbacks callbacks{};
  callbacks.heap_iteration_callback = count_object;
  error = control.iterate(tags.env(), 0, nullptr, callbacks, &counted);
  *count = *byte_count = static_cast<jint>(places);
  control.report(stopped, whole);
  return error;
}

jvmtiError ScanHeap(Call& call, const In<List<kinds::Class>>& classes, const In<jboolean>& all,
                    const In<jint>& string_class, const In<jboolean>& fields,
                    const In<List<jint>>& arrays, const In<List<jlong>>& capacity,
                    const In<jlong>& limit, jlong* rows, jlong* missed, jlong* strings,
                    jlong* missed_text, jlong* text, jlong* values, jlong* elements, jlong* stopped,
                    jboolean* whole, jint* count, jlong** found) {
  HeapScan::Capacity wanted;
  if (static_cast<size_t>(capacity.count()) != sizeof wanted / sizeof(jlong)) {
    return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  }
  for (jint i = 0; i < capacity.count(); ++i) {
    if (capacity.items()[i] < 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  }
  std::memcpy(&wanted, capacity.items(), sizeof wanted);
  uint64_t size = HeapScan::size_of(wanted);
  PassControl control(call, limit.c());
  if (size == 0 || string_class.c() < 0 || string_class.c() > classes.count()) {
    return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  }
  if (!control.open(size - layouts::PassControlPage::kSize)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  PassTags tags;
  if (jvmtiError error = tags.number(classes.items(), classes.count())) return error;
  HeapScan scan(control, classes.count(), string_class.c());
  if (!scan.prepare(wanted)) return JVMTI_ERROR_OUT_OF_MEMORY;
  for (jint i = 0; i < arrays.count(); ++i) {
    jint number = arrays.items()[i];
    if (number <= 0 || number > classes.count()) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
    scan.with_elements_of(number);
  }

  jvmtiHeapCallbacks callbacks{};
  callbacks.heap_iteration_callback = scan_object;
  if (string_class.c() != 0) callbacks.string_primitive_value_callback = scan_text;
  if (arrays.count() > 0) callbacks.array_primitive_value_callback = scan_elements;
  if (fields.c()) {
    callbacks.primitive_field_callback = scan_value;
    scan.with_values();
  }
  if (jvmtiError error = control.iterate(tags.env(), all.c() ? 0 : kOnlyTaggedClasses,
                                         all.c() ? nullptr : single(classes), callbacks, &scan))
    return error;
  scan.close_values();

  if (jvmtiError error = give(scan.fields, count, found)) return error;
  *rows = static_cast<jlong>(scan.rows);
  *missed = static_cast<jlong>(scan.missed);
  *strings = static_cast<jlong>(scan.strings);
  *missed_text = static_cast<jlong>(scan.missed_text);
  *text = static_cast<jlong>(scan.text_size);
  *values = static_cast<jlong>(scan.values_size);
  *elements = static_cast<jlong>(scan.elements_size);
  control.report(stopped, whole);
  return JVMTI_ERROR_NONE;
}

}  // namespace operations
}  // namespace jvmti
