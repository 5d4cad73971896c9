// A dump of a part of the objects: the file again, record by record, with segments as long as what
// is left in them.

#include "dump.h"

namespace jvmti {
namespace heap {

namespace {

// Writes, or only counts; pieces that lie one behind the other go at once.
class Output {
 public:
  Output(const uint8_t* source, uint8_t* copy, uint64_t room)
      : source_(source), copy_(copy), room_(room) {}

  void add(uint64_t begin, uint64_t end) {
    if (begin != end_) {
      flush();
      begin_ = begin;
    }
    end_ = end;
  }
  void flush() {
    uint64_t length = end_ - begin_;
    if (copy_ != nullptr && length <= room_ - size_) {
      std::memcpy(copy_ + size_, source_ + begin_, length);
    }
    size_ += length;
    begin_ = end_;
  }
  // The length of a segment that was written from there on.
  void set_length(uint64_t header, uint64_t length) {
    if (copy_ == nullptr) return;
    uint32_t value = __builtin_bswap32(static_cast<uint32_t>(length));
    std::memcpy(copy_ + header + 5, &value, sizeof value);
  }
  uint64_t size() const { return size_ + (end_ - begin_); }

 private:
  const uint8_t* source_;
  uint8_t* copy_;
  uint64_t room_;
  uint64_t size_ = 0;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

}  // namespace

uint64_t copy_kept(const jvmti_heap_dump& dump, const uint8_t* source, const uint8_t* kept,
                   uint8_t* copy, uint64_t room) {
  Output output(source, copy, room);
  uint64_t position = 0;
  uint64_t object = dump.class_objects;  // their records come in this order
  uint64_t klass = 0;
  uint64_t root = 0;
  for (uint64_t i = 0; i < dump.segments.size(); ++i) {
    const Segment& segment = dump.segments[i];
    output.add(position, segment.begin);
    output.flush();
    uint64_t header = output.size() - kRecordHeader;
    uint64_t at = segment.begin;
    while (at < segment.end) {
      uint8_t tag = dump.file[at];
      uint64_t record = size_of_part(dump.file + at, dump.file + segment.end, dump.id_size);
      if (record == 0) record = segment.end - at;  // what makes no sense stays
      bool wanted = true;
      uint64_t* number = tag == kClassDump ? &klass
                         : tag == kInstance || tag == kObjectArray || tag == kPrimitiveArray
                             ? &object
                             : nullptr;
      if (number != nullptr && *number < dump.objects && dump.positions[*number] == at) {
        wanted = kept == nullptr || kept[*number] != 0;
        ++*number;
      } else if (root < dump.left_out.size() && dump.left_out[root] == at) {
        wanted = false;
        ++root;
      }
      if (wanted) output.add(at, at + record);
      at += record;
    }
    output.flush();
    output.set_length(header, output.size() - header - kRecordHeader);
    position = segment.end;
  }
  output.add(position, dump.size);
  output.flush();
  return output.size();
}

}  // namespace heap
}  // namespace jvmti
