#include "classfile/frames.h"

namespace jvmti::classfile {

Type Type::described(Text descriptor) {
  switch (descriptor[0]) {
    case 'Z':
    case 'B':
    case 'C':
    case 'S':
    case 'I':
      return of(Tag::kInt);
    case 'J':
      return of(Tag::kLong);
    case 'F':
      return of(Tag::kFloat);
    case 'D':
      return of(Tag::kDouble);
    case '[':
      return object(descriptor);
    case 'L':
      return descriptor.size < 3 ? Type() : object(Text(descriptor.data + 1, descriptor.size - 2));
    default:
      return Type();
  }
}

char Type::category() const {
  switch (tag) {
    case Tag::kInt:
      return 'I';
    case Tag::kFloat:
      return 'F';
    case Tag::kDouble:
      return 'D';
    case Tag::kLong:
      return 'J';
    case Tag::kNull:
    case Tag::kObject:
      return 'L';
    default:
      return '\0';
  }
}

// ---- reading

bool FrameReader::read_types(uint32_t count, Vector<Type>* into) {
  for (uint32_t i = 0; i < count; ++i) {
    uint8_t tag = rest_.u1();
    if (rest_.bad || tag > static_cast<uint8_t>(Tag::kUninitialized)) return !(bad_ = true);
    Type type = Type::of(static_cast<Tag>(tag));
    uint32_t value = tag >= static_cast<uint8_t>(Tag::kObject) ? rest_.u2() : 0;
    has_places = has_places || type.tag == Tag::kUninitialized;
    if (into == nullptr) continue;
    if (type.tag == Tag::kObject) {
      type = Type::object(pool_.class_name(value), static_cast<uint16_t>(value));
      if (type.name.size == 0) return !(bad_ = true);
    }
    type.origin = value;
    if (!into->push(type)) return !(bad_ = no_memory_ = true);
  }
  return !rest_.bad;
}

bool FrameReader::next() {
  if (left_ == 0 || is_bad()) return false;
  --left_;
  kind = rest_.u1();
  if (kind >= 128 && kind < 247) return !(bad_ = true);
  uint32_t delta = kind < 64 ? kind : kind < 128 ? kind - 64u : rest_.u2();
  at = first_ ? delta : at + delta + 1;
  first_ = false;
  has_places = false;
  const uint8_t* start = rest_.at;
  if (frame_ != nullptr) {
    frame_->stack.clear();
    if (kind == 255) frame_->locals.clear();
    if (kind >= 248 && kind < 251) {
      uint32_t gone = 251u - kind;
      if (gone > frame_->locals.size()) return !(bad_ = true);
      frame_->locals.shrink(frame_->locals.size() - gone);
    }
  }
  Vector<Type>* locals = frame_ == nullptr ? nullptr : &frame_->locals;
  Vector<Type>* stack = frame_ == nullptr ? nullptr : &frame_->stack;
  if (kind == 255) {
    if (!read_types(rest_.u2(), locals) || !read_types(rest_.u2(), stack)) return false;
  } else if (kind >= 252) {
    if (!read_types(kind - 251u, locals)) return false;
  } else if ((kind >= 64 && kind < 128) || kind == 247) {
    if (!read_types(1, stack)) return false;
  }
  types = Bytes(start, static_cast<uint64_t>(rest_.at - start));
  return !rest_.bad;
}

// ---- writing

void FrameWriter::begin(uint32_t code_size) {
  code_size_ = code_size;
  start_ = out_.size();
  count_ = 0;
  out_.u2(0);
}

uint32_t FrameWriter::delta(uint32_t at) {
  uint32_t found = count_ == 0 ? at : at - last_ - 1;
  last_ = at;
  ++count_;
  return found;
}

void FrameWriter::types(Bytes& from, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    uint8_t tag = from.u1();
    out_.u1(tag);
    if (tag < static_cast<uint8_t>(Tag::kObject)) continue;
    uint32_t value = from.u2();
    bool is_place = tag == static_cast<uint8_t>(Tag::kUninitialized) && value < code_size_;
    out_.u2(is_place ? moves_.place(value) : value);
  }
}

void FrameWriter::copy(const FrameReader& frame, uint32_t at) {
  uint32_t moved = delta(at);
  Bytes from = frame.types;
  uint8_t kind = frame.kind;
  if (kind < 64 || kind == 251) {
    out_.u1(moved < 64 ? moved : 251);
    if (moved >= 64) out_.u2(moved);
    return;
  }
  if (kind < 128 || kind == 247) {
    out_.u1(moved < 64 ? 64 + moved : 247);
    if (moved >= 64) out_.u2(moved);
  } else {
    out_.u1(kind);
    out_.u2(moved);
  }
  if (!frame.has_places) {
    out_.copy(from.at, from.left());
  } else if (kind < 128 || kind == 247) {
    types(from, 1);
  } else if (kind == 255) {
    for (int part = 0; part < 2; ++part) {
      uint32_t count = from.u2();
      out_.u2(count);
      types(from, count);
    }
  } else if (kind >= 252) {
    types(from, kind - 251u);
  }
}

void FrameWriter::type(const Type& one) {
  out_.u1(static_cast<uint8_t>(one.tag));
  if (one.tag == Tag::kUninitialized) {
    out_.u2(one.origin < code_size_ ? moves_.place(one.origin) : 0);
  } else if (one.tag == Tag::kObject) {
    if (one.index != 0 && one.dimensions == 0) {
      out_.u2(one.index);
    } else if (one.dimensions == 0) {
      out_.u2(pool_.add_class(one.name));
    } else {
      Output name;
      for (uint32_t i = 0; i < one.dimensions; ++i) name.u1('[');
      bool is_class = one.name[0] != '[';
      if (is_class) name.u1('L');
      name.copy(one.name.data, one.name.size);
      if (is_class) name.u1(';');
      if (name.failed) out_.failed = true;
      out_.u2(pool_.add_class(Text(name.data(), name.size())));
    }
  }
}

void FrameWriter::full(uint32_t at, const Type* locals, size_t local_count, const Type* stack,
                       size_t stack_count) {
  out_.u1(255);
  out_.u2(delta(at));
  out_.u2(static_cast<uint32_t>(local_count));
  for (size_t i = 0; i < local_count; ++i) type(locals[i]);
  out_.u2(static_cast<uint32_t>(stack_count));
  for (size_t i = 0; i < stack_count; ++i) type(stack[i]);
}

bool FrameWriter::end() {
  out_.set2(start_, count_);
  return count_ != 0;
}

}  // namespace jvmti::classfile
