// Contents of objects, read from the mapped file when somebody asks: fields, elements, text; and
// their blanking in a copy of the file.  The scan has seen that every record is whole; what is
// read again is checked again, because another process may have changed the file since.

#include "contents.h"

namespace jvmti {
namespace heap {

namespace {

// The fields of an object within its record: null where it is none.
struct Contents {
  const uint8_t* at;
  uint64_t bytes;
  uint32_t type;  // of an array's elements, 0 for an object
  uint64_t length;
};

Contents contents(const jvmti_heap_dump& dump, uint64_t object) {
  const uint8_t* record = dump.file + dump.positions[object];
  uint64_t left = dump.size - dump.positions[object];
  uint32_t id = dump.id_size;
  Shape shape(id);
  Contents found = {nullptr, 0, 0, 0};
  if (*record == kInstance) {
    found.bytes = load32(record + shape.instance_length());
    found.at = record + shape.instance();
    left -= shape.instance();
  } else if (*record == kPrimitiveArray) {
    found.type = record[shape.primitive_array() - 1];
    found.length = load32(record + shape.array_length());
    found.bytes = found.length * size_of_type(found.type, id);
    found.at = record + shape.primitive_array();
    left -= shape.primitive_array();
  } else if (*record == kObjectArray) {
    found.type = kObject;
    found.length = load32(record + shape.array_length());
    found.bytes = found.length * id;
    found.at = record + shape.object_array();
    left -= shape.object_array();
  }
  if (found.bytes > left) found = Contents{nullptr, 0, 0, 0};
  return found;
}

// Writes UTF-8, or only counts.
class Utf8 {
 public:
  Utf8(uint8_t* data, uint64_t room) : data_(data), room_(room) {}
  void put(uint32_t point) {
    if (point < 0x80) {
      byte(point);
    } else if (point < 0x800) {
      byte(0xC0 | point >> 6);
      byte(0x80 | (point & 63));
    } else if (point < 0x10000) {
      byte(0xE0 | point >> 12);
      byte(0x80 | (point >> 6 & 63));
      byte(0x80 | (point & 63));
    } else {
      byte(0xF0 | point >> 18);
      byte(0x80 | (point >> 12 & 63));
      byte(0x80 | (point >> 6 & 63));
      byte(0x80 | (point & 63));
    }
  }
  uint64_t size() const { return size_; }

 private:
  void byte(uint32_t value) {
    if (data_ != nullptr && size_ < room_) data_[size_] = static_cast<uint8_t>(value);
    ++size_;
  }
  uint8_t* data_;
  uint64_t room_;
  uint64_t size_ = 0;
};

template <class Unit>
void put_utf16(Utf8& text, uint64_t units, uint64_t limit, Unit unit) {
  for (uint64_t i = 0; i < units && text.size() < limit; ++i) {
    uint32_t point = unit(i);
    if (point >= 0xD800 && point < 0xDC00 && i + 1 < units) {
      uint32_t low = unit(i + 1);
      if (low >= 0xDC00 && low < 0xE000) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        ++i;
      }
    }
    text.put(point);
  }
}

}  // namespace

void read_fields(const jvmti_heap_dump& dump, const uint32_t* objects, uint64_t count,
                 const int64_t* offsets, uint32_t width, void* values) {
  uint64_t bytes = width == 0 ? dump.id_size : width;
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t object = objects[i];
    int64_t offset = dump.extent[object] & kIsClass ? -1 : offsets[dump.class_of[object]];
    const uint8_t* at = nullptr;
    if (offset >= 0) {
      Contents found = contents(dump, object);
      if (found.at != nullptr && found.type == 0 && bytes <= found.bytes &&
          static_cast<uint64_t>(offset) <= found.bytes - bytes) {
        at = found.at + offset;
      }
    }
    switch (width) {
      case 0: {
        uint64_t id = at == nullptr ? 0 : load_id(at, dump.id_size);
        static_cast<uint32_t*>(values)[i] = id == 0 ? kNone : dump.object(id);
        break;
      }
      case 1:
        static_cast<uint8_t*>(values)[i] = at == nullptr ? 0 : *at;
        break;
      case 2:
        static_cast<uint16_t*>(values)[i] = at == nullptr ? 0 : load16(at);
        break;
      case 4:
        static_cast<uint32_t*>(values)[i] = at == nullptr ? 0 : load32(at);
        break;
      default:
        static_cast<uint64_t*>(values)[i] = at == nullptr ? 0 : load64(at);
        break;
    }
  }
}

bool read_elements(const jvmti_heap_dump& dump, uint32_t object, uint32_t* elements,
                   uint64_t count) {
  Contents found = contents(dump, object);
  if (found.at == nullptr || found.type != kObject || found.length != count) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t id = load_id(found.at + i * dump.id_size, dump.id_size);
    elements[i] = id == 0 ? kNone : dump.object(id);
  }
  return true;
}

bool read_text(const jvmti_heap_dump& dump, const uint32_t* arrays, const uint8_t* coders,
               uint64_t count, uint64_t most, uint64_t* ends, uint8_t* data, uint64_t room) {
  uint64_t end = 0;
  uint64_t limit = most == 0 ? UINT64_MAX : most;
  for (uint64_t i = 0; i < count; ++i) {
    if (arrays[i] != kNone) {
      Contents found = contents(dump, arrays[i]);
      Utf8 text(data == nullptr ? nullptr : data + end, room - end);
      if (found.type == kByte && coders[i] == 0) {
        for (uint64_t k = 0; k < found.bytes && text.size() < limit; ++k) text.put(found.at[k]);
      } else if (found.type == kByte) {
        // In the order of the machine that the VM ran on, and those are little-endian.
        put_utf16(text, found.bytes / 2, limit, [&](uint64_t k) {
          return static_cast<uint32_t>(found.at[2 * k] | found.at[2 * k + 1] << 8);
        });
      } else if (found.type == kChar) {
        put_utf16(text, found.length, limit,
                  [&](uint64_t k) { return uint32_t{load16(found.at + 2 * k)}; });
      }
      end += text.size();
      if (data != nullptr && end > room) return false;
    }
    ends[i] = end;
  }
  return true;
}

void hash_arrays(const jvmti_heap_dump& dump, const uint32_t* arrays, uint64_t count,
                 uint64_t* hashes) {
  for (uint64_t i = 0; i < count; ++i) {
    Contents found = contents(dump, arrays[i]);
    if (found.type <= kObject) {
      hashes[i] = 0;
      continue;
    }
    uint64_t hash = (found.length << 4 | found.type) * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t at = 0;
    for (; at + 8 <= found.bytes; at += 8) {
      hash = (hash ^ load64(found.at + at)) * UINT64_C(0xFF51AFD7ED558CCD);
      hash ^= hash >> 32;
    }
    for (; at < found.bytes; ++at) {
      hash = (hash ^ found.at[at]) * UINT64_C(0xFF51AFD7ED558CCD);
      hash ^= hash >> 32;
    }
    hashes[i] = hash == 0 ? 1 : hash;
  }
}

void blank_arrays(const jvmti_heap_dump& dump, const uint8_t* blanked, uint8_t* copy) {
  for (uint64_t i = 0; i < dump.objects; ++i) {
    if (!blanked[i]) continue;
    Contents found = contents(dump, i);
    if (found.at != nullptr && found.type > kObject) {
      std::memset(copy + (found.at - dump.file), 0, found.bytes);
    }
  }
}

void blank_fields(const jvmti_heap_dump& dump, const int64_t* offsets, uint32_t width,
                  uint8_t* copy) {
  for (uint64_t i = 0; i < dump.objects; ++i) {
    int64_t offset = dump.extent[i] & kIsClass ? -1 : offsets[dump.class_of[i]];
    if (offset < 0) continue;
    Contents found = contents(dump, i);
    if (found.at == nullptr || found.type != 0 || width > found.bytes ||
        static_cast<uint64_t>(offset) > found.bytes - width) {
      continue;
    }
    std::memset(copy + (found.at - dump.file) + offset, 0, width);
  }
}

}  // namespace heap
}  // namespace jvmti
