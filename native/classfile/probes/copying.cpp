// The copy of a method's code with probes: each instruction moves, and what branches to it follows.
#include "classfile/probes/method.h"

namespace jvmti::classfile {

// Slots for what probes keep through the method, and the code at its beginning.
bool Method::entry() {
  next_temporary_ = first_temporary_ = max_locals_;
  most_locals_ = max_locals_;
  numbers_.clear();
  kept_.clear();
  kept_slots_.clear();
  if (is_quick_) return emit_all_plain(Site::kEntry, 0);
  Place place;
  place.is_entry = true;
  if (!select_all(Site::kEntry)) return false;
  if (keeps_parameters_) {
    for (Parameter& one : parameters_) {
      one.saved = kNoSlot;
      // What is not initialized is not to be kept: nobody could have it.
      if (!one.written || (is_constructor_ && one.slot == 0 && !method_->is_static())) continue;
      one.saved = one.shared != kNoSlot ? one.shared : temporary(one.category);
      if (!keep_slot(one.saved, kept_type(one))) return false;
      depth_ = 0;
      load(one.category, one.slot);
      store(one.category, one.saved);
    }
  }
  for (const Probe* probe : selected_) {
    // Those who read what is not kept are not possible either.
    if (probe->outcome != Outcome::kKeep || !is_possible(*probe, place)) continue;
    uint32_t slot = temporary('J');
    if (!keep(kept_, {probe->number, slot})) return false;
    if (!keep_slot(slot, Type::of(Tag::kLong))) return false;
  }
  first_temporary_ = next_temporary_;
  numbers_.clear();
  return run(selected_, place);
}

// The instructions at which there is more to do than to copy; null without memory.
const Vector<uint16_t>* Method::find_handled() {
  uint32_t marks = kBusy;
  if (is_wanted(Site::kLine)) marks |= kLineStart;
  if (is_wanted(Site::kCatch)) marks |= kHandlerStart;
  if (tracks_ || (is_constructor_ && ready_at_ == kNowhere)) marks = kStart;
  if (marks == kBusy && wide_.empty() && ready_at_ == kNowhere) return &busy_;
  handled_.clear();
  if (!handled_.reserve(size_)) return nullptr;
  for (uint32_t at = 0; at < size_; ++at) {
    if (at == 0 || (marks_[at] & marks) != 0 || is_wide(at) || at == ready_at_) {
      handled_.put(static_cast<uint16_t>(at));
    }
  }
  return &handled_;
}

bool Method::generate() {
  fixups_.clear();
  moves_.clear();
  inserted_.clear();
  inserted_types_.clear();
  ranges_.clear();
  bad_branch_ = false;
  unwind_at_ = kNowhere;
  find_stops();
  line_ = 0;
  next_line_ = 0;
  deepest_ = 0;
  ready_ = !is_constructor_;
  pending_ = 0;
  FrameReader frames(pool_, frame_table_);
  bool more = false;
  if (tracks_) {
    if (!first_frame(&first_) || !tracker_.begin(Type::object(class_->name, class_->index), first_,
                                                 max_locals_, max_stack_)) {
      out_->failed = out_->failed || tracker_.no_memory();
      return false;
    }
    if (frame_table_.at != nullptr) {
      frames.decode(&first_);
      more = frames.next();
      out_->failed = out_->failed || frames.no_memory();
      if (frames.is_bad()) return false;
    }
  }
  pass_lines(0);
  const Vector<uint16_t>* handled = find_handled();
  if (handled == nullptr) return !(out_->failed = true);
  if (!entry()) return false;
  bool covers = is_wanted(Site::kUnwind);
  bool open = false;
  uint32_t moved = 0;  // how far what comes next has
  for (size_t i = 0; i < handled->size(); ++i) {
    uint32_t at = (*handled)[i];
    uint8_t op = code_[at];
    uint32_t end = i + 1 < handled->size() ? (*handled)[i + 1] : size_;
    here_ = at;
    if (more && frames.at == at) {
      if (!tracker_.enter(first_)) return false;
      more = frames.next();
      out_->failed = out_->failed || frames.no_memory();
      if (frames.is_bad() || (more && frames.at <= at)) return false;
    }
    pass_lines(at);
    uint32_t target = pc();
    if (covers && is_ready() != open) {
      open = !open;
      if (open && !keep(ranges_, {pc(), 0})) return false;
      if (!open) ranges_[ranges_.size() - 1].end = pc();
    }
    bool is_return = op >= kIreturn && op <= kReturn;
    if (is_quick_ && is_return ? !emit_all_plain(Site::kReturn, at) : !before(at, op)) return false;
    uint32_t place = pc();
    if (at == 0 || target != place || target - at != moved) moves(at, target, place);
    moved = place - at;
    if (is_quick_ && is_return && !tracks_) {
      out_->copy(code_ + at, end - at);
      continue;
    }
    uint32_t next = at + length_at(code_, at, size_);
    copy_instruction(at, next - at);
    if (tracks_) tracker_.step(code_, at);
    bool is_turned = is_wide(at) && has_frames_ && op != kGoto && op != kJsr;
    if (is_turned && !(more && frames.at == next) && !insert_frame(pc())) return false;
    if (!has_frames_ && is_constructor_) {
      Member made;
      if (op == kNew) ++pending_;
      if (op == kInvokespecial && pool_.member(read2(code_ + at + 1), &made) &&
          made.name == Text("<init>")) {
        if (pending_ > 0) {
          --pending_;
        } else {
          ready_ = initializes_once_;
        }
      }
    }
    if (bad_branch_ || !after(at, op) || out_->failed) return false;
    if (pc() - next != moved) {
      moves(next, pc(), pc());
      moved = pc() - next;
    }
    // Those that only move are copied together.
    out_->copy(code_ + next, end - next);
  }
  if (open) ranges_[ranges_.size() - 1].end = pc();
  moves(size_, pc(), pc());  // what follows has come in addition
  return unwind() && leave() && restart();
}

// To the line of an instruction.
void Method::pass_lines(uint32_t at) {
  while (next_line_ < lines_.size() && lines_[next_line_].at <= at) {
    line_ = lines_[next_line_++].number;
  }
}

void Method::moves(uint32_t at, uint32_t target, uint32_t place) {
  if (!moves_.note(at, target, place)) out_->failed = true;
}

bool Method::is_ready() {
  if (!is_constructor_) return true;
  if (!has_frames_) return ready_;
  if (tracks_) return tracker_.is_known() && !tracker_.this_is_uninitialized();
  return ready_at_ == kNowhere || here_ >= ready_at_;
}

// The handler that sees every exception that leaves the method.
bool Method::unwind() {
  if (!is_wanted(Site::kUnwind) || ranges_.empty()) return true;
  uint32_t start = pc();
  size_t before = inserted_probes_.size();
  Place place;
  place.at = size_;
  place.is_unwind = true;
  place.value_type = "Ljava/lang/Throwable;";
  line_ = 0;
  next_temporary_ = first_temporary_;
  numbers_.clear();
  deepest_ = deepest_ > 1 ? deepest_ : 1;
  bool done = is_quick_ ? emit_all_plain(Site::kUnwind, size_)
                        : select_all(Site::kUnwind) && run_with_value(selected_, place);
  if (!done) return false;
  if (inserted_probes_.size() == before) {
    out_->cut(start_ + start);
    return true;
  }
  depth_ = 1;
  op(kAthrow, -1);
  unwind_at_ = start;
  if (!has_frames_) return true;
  Inserted frame{start, inserted_types_.size(), 0, 1};
  uint32_t slot = 0;
  if (uses_parameters_) {
    // Objects are only handed over as such, whatever their classes.
    for (const Parameter& one : parameters_) {
      Type type = one.written           ? Type()
                  : one.category == 'L' ? Type::object("java/lang/Object")
                                        : Type::described(one.type);
      if (!keep(inserted_types_, type)) return false;
      slot += one.written ? 1 : slots(one.category);
      if (one.written && slots(one.category) == 2) {
        if (!keep(inserted_types_, Type())) return false;
        ++slot;
      }
    }
  }
  if (!append_kept(inserted_types_, slot)) return false;
  frame.locals = inserted_types_.size() - frame.first;
  if (throwable_ == 0) throwable_ = pool_.add_class("java/lang/Throwable");
  return keep(inserted_types_, Type::object("java/lang/Throwable", throwable_)) &&
         keep(inserted_, frame);
}

// The slots that probes keep, behind those that end before this slot.
bool Method::append_kept(Vector<Type>& locals, uint32_t slot) {
  for (const KeptSlot& one : kept_slots_) {
    if (one.slot < slot) continue;  // an earlier set has it there
    for (; slot < one.slot; ++slot) {
      if (!keep(locals, Type())) return false;
    }
    if (!keep(locals, one.type)) return false;
    slot += one.type.is_wide() ? 2 : 1;
  }
  return true;
}

// Remembers a frame for here, as the tracker has it.
bool Method::insert_frame(uint32_t place) {
  if (!tracks_ || !tracker_.is_known()) return false;
  Inserted frame{place, inserted_types_.size(), 0, 0};
  if (!tracker_.append_locals(&inserted_types_)) return !(out_->failed = true);
  uint32_t slot = 0;
  for (size_t i = frame.first; i < inserted_types_.size(); ++i)
    slot += inserted_types_[i].is_wide() ? 2 : 1;
  if (!append_kept(inserted_types_, slot)) return false;
  frame.locals = inserted_types_.size() - frame.first;
  size_t before = inserted_types_.size();
  if (!tracker_.append_stack(&inserted_types_)) return !(out_->failed = true);
  frame.stack = inserted_types_.size() - before;
  return keep(inserted_, frame);
}

void Method::copy_instruction(uint32_t at, uint32_t length) {
  uint8_t op = code_[at];
  if (op == kTableswitch || op == kLookupswitch) {
    switch_table(at, op);
  } else if (op == kGotoW || op == kJsrW || is_wide(at)) {
    far_branch(at, op);
  } else {
    out_->copy(code_ + at, length);
  }
}

void Method::far_branch(uint32_t at, uint8_t op) {
  bool is_far = op == kGotoW || op == kJsrW;
  int64_t distance = is_far ? static_cast<int32_t>(read4(code_ + at + 1))
                            : static_cast<int16_t>(read2(code_ + at + 1));
  uint32_t from = pc();
  if (!is_far && op != kGoto && op != kJsr) {
    // Around a jump of four bytes.
    out_->u1(op >= kIfnull ? op ^ 1 : static_cast<uint8_t>(((op + 1) ^ 1) - 1));
    out_->u2(8);
    from = pc();
    out_->u1(kGotoW);
  } else {
    out_->u1(op == kJsr || op == kJsrW ? kJsrW : kGotoW);
  }
  far_jump(at + distance, from);
}

// The four bytes of a distance.
void Method::far_jump(int64_t to, uint32_t from) {
  if (to < 0 || to >= size_ || !is_start(static_cast<uint32_t>(to))) {
    bad_branch_ = true;
    return;
  }
  if (!fixups_.push({pc(), from, static_cast<uint32_t>(to)})) out_->failed = true;
  out_->u4(0);
}

void Method::switch_table(uint32_t at, uint8_t op) {
  uint32_t from = pc();
  out_->u1(op);
  while (pc() % 4 != 0) out_->u1(0);
  const uint8_t* table = code_ + at + 4 - at % 4;
  auto jump = [&](const uint8_t* distance) {
    far_jump(at + static_cast<int64_t>(static_cast<int32_t>(read4(distance))), from);
  };
  jump(table);
  uint32_t count;
  if (op == kTableswitch) {
    out_->copy(table + 4, 8);
    count = read4(table + 8) - read4(table + 4) + 1;
  } else {
    count = read4(table + 4);
    out_->u4(count);
  }
  table += op == kTableswitch ? 12 : 8;
  for (uint32_t i = 0; i < count && !bad_branch_; ++i) {
    if (op == kLookupswitch) {
      out_->copy(table, 4);
      table += 4;
    }
    jump(table);
    table += 4;
  }
}

// Writes the distances of branches; those that have become too long need more bytes next time.
bool Method::write_distances() {
  for (const Fixup& one : fixups_) {
    out_->set4(start_ + one.where, moves_.target(one.to) - one.from);
  }
  for (uint32_t at : branches_) {
    if (is_wide(at)) continue;
    int64_t to = static_cast<int64_t>(at) + static_cast<int16_t>(read2(code_ + at + 1));
    if (to < 0 || to >= size_ || !is_start(static_cast<uint32_t>(to))) return false;
    uint32_t place = moves_.place(at);
    uint32_t target = moves_.target(static_cast<uint32_t>(to));
    int64_t distance = static_cast<int64_t>(target) - place;
    if (distance == to - at) continue;
    if (distance >= -32768 && distance <= 32767) {
      out_->set2(start_ + place + 1, static_cast<uint32_t>(distance));
      continue;
    }
    if (wide_.empty()) {
      if (!wide_.reserve(size_)) return !(out_->failed = true);
      wide_.grow(size_);
      std::memset(wide_.begin(), 0, size_);
    }
    wide_[at] = 1;
    grew_ = true;
  }
  return !out_->failed;
}

// Writes the distances of branches, and how large everything has become.
Woven Method::patch() {
  uint32_t size = pc();
  // Where exceptions leave, one is on the stack.
  uint32_t own_stack = unwind_at_ != kNowhere && max_stack_ == 0 ? 1 : max_stack_;
  uint32_t stack = own_stack + static_cast<uint32_t>(deepest_);
  if (size > 65535 && can_be_bare()) {
    is_bare_ = grew_ = true;
    wide_.clear();
    return Woven::kChanged;
  }
  if (size > 65535 || stack > 65535 || most_locals_ > 65535) {
    inserted_probes_.shrink(first_inserted_);
    for (const Probe* probe : *probes_) omit(*probe, 0, LeftOut::kTooLarge);
    return Woven::kUnchanged;
  }
  if (!moves_.spread(size_)) out_->failed = true;
  if (out_->failed || !write_distances())
    return out_->failed ? Woven::kOutOfMemory : Woven::kMalformed;
  if (grew_) {
    // The frame behind a branch that is turned round comes from the tracker.
    tracks_ = tracks_ || has_frames_;
    return Woven::kChanged;
  }
  out_->set2(start_ - 8, stack);
  out_->set2(start_ - 6, most_locals_);
  out_->set4(start_ - 4, size);
  return Woven::kChanged;
}

}  // namespace jvmti::classfile
