#include "classfile/class_file.h"

namespace jvmti::classfile {

namespace {

// Of each kind of constant; of a text without its bytes.
constexpr uint8_t kSizes[] = {0, 3, 0, 5, 5, 9, 9, 3, 3, 5, 5, 5, 5, 0, 0, 4, 3, 5, 5, 3, 3};

}  // namespace

Status ConstantPool::read(Bytes& bytes) {
  full_ = false;
  named_count_ = 0;
  added_.clear();
  known_.clear();
  std::memset(last_known_, 0, sizeof last_known_);
  start_ = bytes.at;
  read_ = count_ = bytes.u2();
  if (read_ == 0) return Status::kMalformed;
  if (!offsets_.reserve(65536)) return Status::kOutOfMemory;
  offsets_.grow(read_);
  uint32_t* offsets = offsets_.begin();
  const uint8_t* at = bytes.at;
  const uint8_t* end = bytes.end;
  offsets[0] = 0;
  for (uint32_t i = 1; i < read_; ++i) {
    if (end - at < 3) return Status::kMalformed;
    offsets[i] = static_cast<uint32_t>(at - start_);
    uint8_t tag = *at;
    if (tag >= sizeof kSizes || kSizes[tag] == 0) return Status::kMalformed;
    // The processor predicts the order of constants, mostly, and need not wait for this one's tag.
    uint32_t size = 5;
    if (tag == kUtf8) {
      size = 3u + read2(at + 1);
    } else if (tag == kClass || tag == kString) {
      size = 3;
    } else if (tag < kFieldref || tag > kNameAndType) {
      size = kSizes[tag];
    }
    if (static_cast<uint64_t>(end - at) < size) return Status::kMalformed;
    at += size;
    if (kSizes[tag] == 9 && ++i < read_) offsets[i] = 0;
  }
  bytes.at = at;
  return Status::kOk;
}

bool has_nan(const uint8_t* data, uint64_t size) {
  constexpr uint64_t kPool = 10;
  if (size < kPool) return false;
  uint32_t count = read2(data + kPool - 2);
  const uint8_t* at = data + kPool;
  const uint8_t* end = data + size;
  for (uint32_t i = 1; i < count && end - at >= 9; ++i) {
    uint8_t tag = *at;
    if (tag >= sizeof kSizes || kSizes[tag] == 0) return false;
    if (tag == kFloat && (read4(at + 1) & 0x7FFFFFFF) > 0x7F800000) return true;
    if (tag == kDouble) {
      uint32_t high = read4(at + 1) & 0x7FFFFFFF;
      if (high > 0x7FF00000 || (high == 0x7FF00000 && read4(at + 5) != 0)) return true;
    }
    uint32_t length = tag == kUtf8 ? read2(at + 1) : 0;
    if (static_cast<uint64_t>(end - at) < kSizes[tag] + length) return false;
    at += kSizes[tag] + length;
    if (kSizes[tag] == 9) ++i;
  }
  return false;
}

bool deepen_stacks(uint8_t* data, uint64_t size, uint32_t by) {
  constexpr uint32_t kDeepest = 0xFFFF;
  Bytes bytes(data, size);
  ConstantPool pool;
  bytes.take(8);  // magic number and version
  if (bytes.bad || pool.read(bytes) != Status::kOk) return false;
  bytes.take(6);  // access flags, class, superclass
  bytes.take(UINT64_C(2) * bytes.u2());
  bool found = false;
  for (bool methods : {false, true}) {
    uint32_t members = bytes.u2();
    for (uint32_t i = 0; i < members && !bytes.bad; ++i) {
      bytes.take(6);  // access flags, name, descriptor
      uint32_t attributes = bytes.u2();
      for (uint32_t j = 0; j < attributes && !bytes.bad; ++j) {
        Text name = pool.utf8(bytes.u2());
        Bytes attribute = bytes.part(bytes.u4());
        if (!methods || !(name == "Code") || attribute.left() < 2) continue;
        uint8_t* deepest = data + (attribute.at - data);
        if (read2(deepest) + by > kDeepest) continue;
        write2(deepest, read2(deepest) + by);
        found = true;
      }
    }
  }
  return found;
}

uint8_t ConstantPool::tag(uint32_t index) const {
  return index == 0 || index >= read_ || offsets_[index] == 0 ? 0 : start_[offsets_[index]];
}

const uint8_t* ConstantPool::at(uint32_t index, uint8_t wanted) const {
  return tag(index) == wanted ? start_ + offsets_[index] + 1 : nullptr;
}

Text ConstantPool::utf8(uint32_t index) const {
  const uint8_t* found = at(index, kUtf8);
  return found == nullptr ? Text() : Text(found + 2, read2(found));
}

Attribute ConstantPool::find_attribute(uint32_t index) {
  constexpr const char* kNames[] = {"Code",
                                    "StackMapTable",
                                    "LineNumberTable",
                                    "LocalVariableTable",
                                    "LocalVariableTypeTable",
                                    "RuntimeVisibleTypeAnnotations",
                                    "RuntimeInvisibleTypeAnnotations"};
  Text name = utf8(index);
  uint8_t found = 0;
  for (uint8_t i = 0; found == 0 && i < sizeof kNames / sizeof *kNames; ++i) {
    if (name == Text(kNames[i])) found = static_cast<uint8_t>(i + 1);
  }
  Attribute attribute = static_cast<Attribute>(found);
  if (named_count_ < kMostNamed) named_[named_count_++] = {index, attribute};
  return attribute;
}

Text ConstantPool::class_name(uint32_t index) const {
  const uint8_t* found = at(index, kClass);
  return found == nullptr ? Text() : utf8(read2(found));
}

bool ConstantPool::member(uint32_t index, Member* found) const {
  uint8_t kind = tag(index);
  if (kind < kFieldref || kind > kInterfaceMethodref) return false;
  const uint8_t* constant = start_ + offsets_[index] + 1;
  const uint8_t* pair = at(read2(constant + 2), kNameAndType);
  if (pair == nullptr) return false;
  *found = {class_name(read2(constant)), utf8(read2(pair)), utf8(read2(pair + 2))};
  return found->owner.size != 0 && found->descriptor.size != 0;
}

Text ConstantPool::dynamic_descriptor(uint32_t index) const {
  uint8_t kind = tag(index);
  if (kind != kDynamic && kind != kInvokeDynamic) return Text();
  const uint8_t* pair = at(read2(start_ + offsets_[index] + 3), kNameAndType);
  return pair == nullptr ? Text() : utf8(read2(pair + 2));
}

uint16_t ConstantPool::next(uint32_t slots) {
  if (count_ + slots > 65535) {
    full_ = true;
    return 0;
  }
  uint16_t index = static_cast<uint16_t>(count_);
  count_ += slots;
  return index;
}

uint16_t ConstantPool::known(uint64_t key, Text text) const {
  for (uint32_t number = last_known_[chain_of(key)]; number != 0;) {
    const Known& one = known_[number - 1];
    if (one.key == key && Text(const_cast<Output&>(added_).data() + one.start, one.size) == text)
      return one.index;
    number = one.before;
  }
  return 0;
}

uint16_t ConstantPool::remember(uint64_t key, Text text, uint32_t start, uint16_t index) {
  // Without memory for the note a constant is written twice; without any there is nothing to find.
  uint32_t& last = last_known_[chain_of(key)];
  if (!added_.failed && known_.push({key, start, text.size, last, index}))
    last = static_cast<uint32_t>(known_.size());
  return index;
}

namespace {

uint64_t key_of(uint8_t tag, uint64_t value) { return static_cast<uint64_t>(tag) << 56 ^ value; }

uint64_t hash(Text text) {
  uint64_t value = 1469598103934665603u;
  for (uint32_t i = 0; i < text.size; ++i) value = (value ^ text.data[i]) * 1099511628211u;
  return value & 0x00FFFFFFFFFFFFFFu;
}

}  // namespace

uint16_t ConstantPool::add_utf8(Text text) {
  if (text.size > 65535) {
    full_ = true;
    return 0;
  }
  uint64_t key = key_of(kUtf8, hash(text));
  if (uint16_t index = known(key, text)) return index;
  uint16_t index = next();
  if (index == 0) return 0;
  added_.u1(kUtf8);
  added_.u2(text.size);
  uint32_t start = added_.size();
  added_.copy(text.data, text.size);
  return remember(key, text, start, index);
}

uint16_t ConstantPool::add_pair(uint8_t tag, uint16_t first, uint16_t second) {
  bool single = tag == kClass || tag == kString;
  if (first == 0 || (second == 0 && !single)) return 0;
  uint64_t key = key_of(tag, static_cast<uint64_t>(first) << 16 | second);
  if (uint16_t index = known(key, Text())) return index;
  uint16_t index = next();
  if (index == 0) return 0;
  added_.u1(tag);
  added_.u2(first);
  if (!single) added_.u2(second);
  return remember(key, Text(), 0, index);
}

uint16_t ConstantPool::add_class(Text name) { return add_pair(kClass, add_utf8(name), 0); }

uint16_t ConstantPool::add_string(Text text) { return add_pair(kString, add_utf8(text), 0); }

uint16_t ConstantPool::add_int(int32_t value) {
  uint64_t key = key_of(kInteger, static_cast<uint32_t>(value));
  if (uint16_t index = known(key, Text())) return index;
  uint16_t index = next();
  if (index == 0) return 0;
  added_.u1(kInteger);
  added_.u4(static_cast<uint32_t>(value));
  return remember(key, Text(), 0, index);
}

uint16_t ConstantPool::add_wide(uint8_t tag, int64_t value) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (56 - 8 * i));
  Text text(bytes, sizeof bytes);
  uint64_t key = key_of(tag, hash(text));
  if (uint16_t index = known(key, text)) return index;
  uint16_t index = next(2);
  if (index == 0) return 0;
  added_.u1(tag);
  uint32_t start = added_.size();
  added_.copy(bytes, sizeof bytes);
  return remember(key, text, start, index);
}

uint16_t ConstantPool::add_long(int64_t value) { return add_wide(kLong, value); }

uint16_t ConstantPool::add_double(int64_t bits) { return add_wide(kDouble, bits); }

uint16_t ConstantPool::add_field(Text owner, Text name, Text descriptor) {
  uint16_t pair = add_pair(kNameAndType, add_utf8(name), add_utf8(descriptor));
  return add_pair(kFieldref, add_class(owner), pair);
}

uint16_t ConstantPool::add_method(Text owner, Text name, Text descriptor) {
  uint16_t pair = add_pair(kNameAndType, add_utf8(name), add_utf8(descriptor));
  return add_pair(kMethodref, add_class(owner), pair);
}

}  // namespace jvmti::classfile
