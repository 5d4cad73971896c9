// The tables of a method's code that refer to places in it.
#include "classfile/annotations.h"
#include "classfile/probes/method.h"

namespace jvmti::classfile {

// Where an instruction is now; a table may name what is not the start of any.
uint32_t Method::nearest(uint32_t at) const {
  if (at >= size_) return moves_.end();
  while (at > 0 && !is_start(at)) --at;
  return at == 0 ? 0 : moves_.target(at);
}

bool Method::exception_table() {
  uint32_t ours = unwind_at_ == kNowhere ? 0 : static_cast<uint32_t>(ranges_.size());
  uint32_t where = out_->size();
  out_->u2(0);
  uint32_t count = handler_count_;
  Bytes handlers = handlers_;
  // What leaves early is nobody else's.
  for (const Range& one : stops_) {
    ++count;
    out_->u2(one.start);
    out_->u2(one.end);
    out_->u2(leave_at_);
    out_->u2(pool_.add_class(kLeaving));
  }
  for (const Range& one : restarts_) {
    ++count;
    out_->u2(one.start);
    out_->u2(one.end);
    out_->u2(restart_at_);
    out_->u2(pool_.add_class(kRestarting));
  }
  for (uint32_t i = 0; i < handler_count_; ++i) {
    for (int place = 0; place < 3; ++place) out_->u2(moves_.target(handlers.u2()));
    out_->u2(handlers.u2());
  }
  for (uint32_t i = 0; i < ours; ++i) {
    if (ranges_[i].start >= ranges_[i].end) continue;
    ++count;
    out_->u2(ranges_[i].start);
    out_->u2(ranges_[i].end);
    out_->u2(unwind_at_);
    out_->u2(0);
  }
  out_->set2(where, count);
  return count <= 65535;
}

// Writes the table of frames; false where the old one makes no sense.
bool Method::write_frames() {
  table_.clear();
  frames_.begin(size_);
  FrameReader old(pool_, frame_table_);
  size_t next = 0;
  // Once there is one of ours, those behind it are not differences to their neighbours any more.
  bool decodes = !kept_slots_.empty() || (!inserted_.empty() && inserted_[0].place < mapped(size_));
  Vector<Type> locals;
  if (decodes) {
    if (!first_frame(&declared_)) return false;
    old.decode(&declared_);
  }
  auto write_inserted = [&](uint32_t limit) {
    for (; next < inserted_.size() && inserted_[next].place < limit; ++next) {
      const Inserted& one = inserted_[next];
      const Type* types = inserted_types_.begin() + one.first;
      frames_.full(one.place, types, one.locals, types + one.locals, one.stack);
    }
  };
  bool needs_first = restart_at_ != kNowhere;
  while (frame_table_.at != nullptr && old.next()) {
    if (old.at >= size_ || !is_start(old.at)) return false;
    uint32_t at = moves_.target(old.at);
    if (needs_first && at != 0) frames_.first();
    needs_first = false;
    write_inserted(at);
    if (!decodes) {
      frames_.copy(old, at);
      continue;
    }
    locals.clear();
    uint32_t slot = 0;
    for (const Type& one : declared_.locals) {
      if (!keep(locals, one)) return false;
      slot += one.is_wide() ? 2 : 1;
    }
    if (!append_kept(locals, slot)) return false;
    frames_.full(at, locals.begin(), locals.size(), declared_.stack.begin(),
                 declared_.stack.size());
  }
  out_->failed = out_->failed || old.no_memory();
  if (frame_table_.at != nullptr && old.is_bad()) return false;
  if (needs_first) frames_.first();
  write_inserted(kNowhere);
  if (table_.failed) out_->failed = true;
  return !pool_.is_full();
}

bool Method::line_numbers(Bytes table) {
  uint32_t count = table.u2();
  const uint8_t* from = table.take(uint64_t{count} * kLineSize);
  if (table.bad) return false;
  out_->u2(count);
  uint8_t* to = out_->space(uint64_t{count} * kLineSize);
  if (to == nullptr) return false;
  for (uint32_t i = 0; i < count; ++i, from += kLineSize, to += kLineSize) {
    write2(to, mapped(read2(from)));
    std::memcpy(to + 2, from + 2, 2);
  }
  return true;
}

// Of variables, and of their generic types.
bool Method::local_variables(Bytes table) {
  uint32_t count = table.u2();
  const uint8_t* from = table.take(uint64_t{count} * kVariableSize);
  if (table.bad) return false;
  out_->u2(count);
  uint8_t* to = out_->space(uint64_t{count} * kVariableSize);
  if (to == nullptr) return false;
  for (uint32_t i = 0; i < count; ++i, from += kVariableSize, to += kVariableSize) {
    uint32_t start = read2(from);
    uint32_t end = start + read2(from + 2);
    if (end > size_) return false;
    uint32_t moved = mapped(start);
    write2(to, moved);
    write2(to + 2, mapped(end) - moved);
    std::memcpy(to + 4, from + 4, kVariableSize - 4);
  }
  return true;
}

bool Method::type_annotations(Bytes table) {
  uint32_t count = table.u2();
  out_->u2(count);
  auto place = [&](uint32_t at) {
    return at < size_ && is_start(at) ? moves_.place(at) : mapped(at);
  };
  for (uint32_t i = 0; i < count && !table.bad; ++i) {
    uint8_t kind = table.u1();
    out_->u1(kind);
    const uint8_t* rest = table.at;
    if (kind == 0x40 || kind == 0x41) {
      uint32_t variables = table.u2();
      out_->u2(variables);
      for (; variables > 0 && !table.bad; --variables) {
        uint32_t start = table.u2();
        uint32_t end = start + table.u2();
        if (end > size_) return false;
        out_->u2(mapped(start));
        out_->u2(mapped(end) - mapped(start));
        out_->u2(table.u2());
      }
      rest = table.at;
    } else if (kind >= 0x43 && kind <= 0x4B) {
      out_->u2(place(table.u2()));
      rest = table.at;
      if (kind >= 0x47) table.u1();
    } else if (kind == 0x42) {
      table.u2();
    } else {
      return false;
    }
    table.take(2u * table.u1());
    if (table.bad || !skip_annotation(table, 0)) return false;
    out_->copy(rest, static_cast<uint64_t>(table.at - rest));
  }
  return !table.bad;
}

// What stands behind the code.
Woven Method::tables() {
  auto failure = [&] { return out_->failed ? Woven::kOutOfMemory : Woven::kMalformed; };
  if (!exception_table()) return failure();
  bool frames = has_frames_ && (frame_table_.at != nullptr || !inserted_.empty());
  if (frames && !write_frames()) return failure();
  uint32_t where = out_->size();
  Bytes attributes = attributes_;
  uint32_t left = attributes.u2();
  uint32_t count = 0;
  out_->u2(0);
  auto write_table = [&](uint32_t name) {
    bool any = frames_.end();
    if (!any) return;
    ++count;
    out_->u2(name);
    out_->u4(table_.size());
    out_->copy(table_.data(), table_.size());
  };
  for (; left > 0; --left) {
    uint32_t index = attributes.u2();
    Attribute name = pool_.attribute(index);
    Bytes contents = attributes.part(attributes.u4());
    if (name == Attribute::kStackMapTable) {
      if (frames) write_table(index);
      frames = false;
      continue;
    }
    uint32_t start = out_->size();
    out_->u2(index);
    out_->u4(0);
    bool good = true;
    if (name == Attribute::kLineNumberTable) {
      good = line_numbers(contents);
    } else if (name == Attribute::kLocalVariableTable ||
               name == Attribute::kLocalVariableTypeTable) {
      good = local_variables(contents);
    } else if (name == Attribute::kVisibleTypeAnnotations ||
               name == Attribute::kInvisibleTypeAnnotations) {
      // The VM does not look at these; what makes no sense is left out.
      if (!type_annotations(contents)) {
        out_->cut(start);
        continue;
      }
    } else {
      out_->copy(contents.at, contents.left());
    }
    if (!good) return failure();
    ++count;
    out_->set4(start + 2, out_->size() - start - 6);
  }
  if (frames) {
    if (frame_table_name_ == 0) frame_table_name_ = pool_.add_utf8("StackMapTable");
    write_table(frame_table_name_);
  }
  out_->set2(where, count);
  return out_->failed ? Woven::kOutOfMemory : Woven::kChanged;
}

}  // namespace jvmti::classfile
