// The parameters of a method, and where what was passed is found throughout it.
#include <utility>

#include "classfile/probes/method.h"

namespace jvmti::classfile {

bool Method::read_parameters() {
  uint32_t slot = 0;
  if (!method_->is_static()) {
    if (!keep(parameters_, {slot++, 'L', false, kNoSlot, Text("Ljava/lang/Object;")})) return false;
  }
  for (Types types(method_->descriptor); !types.at_end();) {
    Text type = types.next();
    char found = category(type);
    if (found == '\0' || found == 'V') return false;
    if (!keep(parameters_, {slot, found, false, kNoSlot, type})) return false;
    slot += slots(found);
  }
  return slot <= max_locals_;
}

// The frame that the method begins with.
bool Method::first_frame(Frame* frame) {
  frame->locals.clear();
  frame->stack.clear();
  Types types(method_->descriptor);
  if (!method_->is_static()) {
    Type self = Type::object(class_->name, class_->index);
    if (is_constructor_ && !(class_->name == Text("java/lang/Object")))
      self.tag = Tag::kUninitializedThis;
    if (!keep(frame->locals, self)) return false;
  }
  while (!types.at_end()) {
    if (!keep(frame->locals, Type::described(types.next()))) return false;
  }
  return true;
}

template <class Wrote>
void Method::each_store(Wrote wrote) const {
  for (uint32_t at = 0; at < size_; at += length_at(code_, at, size_)) {
    uint8_t op = code_[at];
    uint32_t slot = code_[at + 1 < size_ ? at + 1 : at];
    if (op == kWide) {
      op = code_[at + 1];
      slot = read2(code_ + at + 2);
    }
    if (op == kIinc) wrote(slot, 1);
    if (op >= kIstore && op <= kAstore) wrote(slot, op == 55 || op == 57 ? 2 : 1);
    if (op >= kIstore0 && op < kIastore) {
      uint32_t kind = (op - kIstore0) / 4;
      wrote((op - kIstore0) % 4u, kind == 1 || kind == 3 ? 2 : 1);
    }
  }
}

// Finds the slots that any instruction stores to.
bool Method::find_stored() {
  size_t count = max_locals_ + size_t{1};  // a wide one may be behind the last
  stored_.clear();
  if (!stored_.reserve(count)) return false;
  stored_.grow(count);
  std::memset(stored_.begin(), 0, count);
  each_store([&](uint32_t slot, uint32_t size) {
    for (uint32_t i = slot; i < slot + size && i < count; ++i) stored_[i] = 1;
  });
  return true;
}

// The slot that an instruction loads from or stores to, and its size there; the operation code is
// `first` for an int.
bool Method::takes_slot(uint32_t at, uint8_t first, uint8_t first_short, uint32_t* slot,
                        char* category) const {
  constexpr char kCategories[] = {'I', 'J', 'F', 'D', 'L'};
  uint8_t op = code_[at];
  bool is_wide = op == kWide;
  if (is_wide) op = code_[at + 1];
  if (op >= first && op < first + 5) {
    *slot = is_wide ? read2(code_ + at + 2) : code_[at + 1];
    *category = kCategories[op - first];
    return true;
  }
  if (is_wide || op < first_short || op >= first_short + 20) return false;
  *slot = (op - first_short) % 4u;
  *category = kCategories[(op - first_short) / 4];
  return true;
}

// Where an earlier set keeps what was passed: its code begins with that. A later one that keeps it
// there, too, makes no frame larger; sixty with slots of their own have sixty in each.
void Method::find_shared() {
  uint32_t inserted = earlier_->empty() ? 0 : (*earlier_)[0].place;
  if (!has_frames_ || is_constructor_ || inserted > size_) return;
  bool any = false;
  for (uint32_t at = 0; at < inserted;) {
    uint32_t from;
    uint32_t slot;
    char kind;
    if (!takes_slot(at, kIload, kIload0, &from, &kind)) break;
    at += length_at(code_, at, size_);
    if (at >= inserted || !takes_slot(at, kIstore, kIstore0, &slot, &kind)) break;
    at += length_at(code_, at, size_);
    if (slot < own_locals_) break;
    for (Parameter& one : parameters_) {
      if (one.slot == from && one.category == kind) one.shared = slot;
    }
    any = true;
  }
  if (!any) return;
  // Nothing else may be put there.
  uint32_t loaded = kNoSlot;
  for (uint32_t at = 0; at < size_; at += length_at(code_, at, size_)) {
    uint32_t slot;
    char kind;
    if (takes_slot(at, kIstore, kIstore0, &slot, &kind)) {
      for (Parameter& one : parameters_) {
        bool is_there = one.shared != kNoSlot && slot < one.shared + slots(one.category) &&
                        one.shared < slot + slots(kind);
        if (is_there && (slot != one.shared || loaded != one.slot)) one.shared = kNoSlot;
      }
    }
    loaded = kNoSlot;
    if (takes_slot(at, kIload, kIload0, &slot, &kind)) loaded = slot;
  }
}

// Every frame but that of the beginning, where ours comes anew, must have it.
void Method::share_only(const Vector<Type>& locals) {
  for (Parameter& one : parameters_) {
    if (one.shared == kNoSlot) continue;
    uint32_t slot = 0;
    size_t item = 0;
    for (; item < locals.size() && slot < one.shared; ++item)
      slot += locals[item].is_wide() ? 2 : 1;
    Type kept = kept_type(one);
    bool is_there = item < locals.size() && slot == one.shared && locals[item].tag == kept.tag &&
                    locals[item].dimensions == kept.dimensions && locals[item].name == kept.name;
    if (!is_there) one.shared = kNoSlot;
  }
}

// Frames have it from there on.
bool Method::keep_slot(uint32_t slot, const Type& type) {
  if (!keep(kept_slots_, {slot, type})) return false;
  // In rising order: those that are shared are in front of ours.
  for (size_t i = kept_slots_.size() - 1; i > 0 && kept_slots_[i].slot < kept_slots_[i - 1].slot;
       --i)
    std::swap(kept_slots_[i], kept_slots_[i - 1]);
  return true;
}

// Only what begins the method again needs to know the class.
Type Method::kept_type(const Parameter& one) const {
  if (one.slot == 0 && !method_->is_static()) return Type::object(class_->name, class_->index);
  return one.category == 'L' && !can_restart_ ? Type::object("java/lang/Object")
                                              : Type::described(one.type);
}

// Finds the parameters that somebody writes to, or that a frame does not have any more.
bool Method::find_dropped() {
  if (!keeps_parameters_) return true;
  each_store([&](uint32_t slot, uint32_t size) {
    for (Parameter& one : parameters_) {
      if (slot < one.slot + slots(one.category) && one.slot < slot + size) one.written = true;
    }
  });
  find_shared();
  if (frame_table_.at == nullptr) return true;
  if (!first_frame(&declared_)) return false;
  FrameReader frames(pool_, frame_table_);
  frames.decode(&declared_);
  while (frames.next()) {
    size_t item = 0;
    for (Parameter& one : parameters_) {
      Type held = item < declared_.locals.size() ? declared_.locals[item] : Type();
      if (held.category() != one.category && held.tag != Tag::kUninitializedThis)
        one.written = true;
      ++item;
    }
    if (frames.at != 0) share_only(declared_.locals);
  }
  out_->failed = out_->failed || frames.no_memory();
  return !frames.is_bad();
}

}  // namespace jvmti::classfile
