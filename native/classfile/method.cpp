// The code of a method as it is, and its copy with probes: each instruction moves, and what
// branches to it follows.
#include "classfile/method.h"

namespace jvmti {
namespace classfile {

namespace {

constexpr uint32_t bit(Site site) { return 1u << static_cast<uint32_t>(site); }

// The sites that an instruction may be.
uint32_t sites_of(uint8_t op) {
  if (op < kIreturn || op > kMultianewarray) return 0;
  if (op <= kReturn) return bit(Site::kReturn);
  if (op == kGetstatic || op == kGetfield) return bit(Site::kRead);
  if (op == kPutstatic || op == kPutfield) return bit(Site::kWrite);
  if (op <= kInvokeinterface) return bit(Site::kCall) | bit(Site::kCalled) | bit(Site::kNew);
  if (op == kNewarray || op == kAnewarray || op == kMultianewarray) return bit(Site::kNew);
  if (op == kAthrow) return bit(Site::kThrow);
  if (op == kMonitorenter) return bit(Site::kMonitorEnter);
  return op == kMonitorexit ? bit(Site::kMonitorExit) : 0;
}

}  // namespace

Woven Method::weave(const ClassInfo& of, const MethodInfo& method, Bytes code,
                    const Vector<const Probe*>& probes, uint32_t first_site, Output& out) {
  class_ = &of;
  method_ = &method;
  probes_ = &probes;
  first_site_ = first_site;
  out_ = &out;
  first_placed_ = placed_.size();
  size_t first_omitted = omitted_.size();
  wanted_ = 0;
  uses_parameters_ = false;
  bool uses_this = false;
  bool uses_locals = false;
  for (const Probe* probe : probes) {
    wanted_ |= 1u << static_cast<uint32_t>(probe->site);
    bool hands_this = probe->hands_over(OperandKind::kThis);
    bool hands_named = probe->hands_over(OperandKind::kNamed);
    bool hands_arguments = probe->hands_over(OperandKind::kArgument) ||
                           probe->hands_over(OperandKind::kArguments) || hands_named;
    if (probe->site != Site::kEntry && (hands_this || hands_arguments)) uses_parameters_ = true;
    if (hands_this || probe->hands_over(OperandKind::kTarget) || probe->site == Site::kNew)
      uses_this = true;
    if (probe->hands_over(OperandKind::kLocal) || hands_named) uses_locals = true;
  }
  if (!read(code)) return Woven::kMalformed;
  is_constructor_ = method.name == Text("<init>");
  if (!scan()) return out.failed ? Woven::kOutOfMemory : Woven::kMalformed;
  if (!is_worth_it()) return Woven::kUnchanged;
  if (!read_parameters() || !find_dropped())
    return out.failed ? Woven::kOutOfMemory : Woven::kMalformed;
  tracks_ =
      has_frames_ && ((is_constructor_ && (uses_this || is_wanted(Site::kUnwind))) || uses_locals);
  if (!wide_.reserve(size_)) return Woven::kOutOfMemory;
  wide_.grow(size_);
  std::memset(wide_.begin(), 0, size_);
  uint32_t head = out.size();
  for (int tries = 0; tries < 16; ++tries) {
    out.cut(head);
    placed_.shrink(first_placed_);
    omitted_.shrink(first_omitted);
    out.u2(0);
    out.u2(0);
    out.u4(0);
    start_ = out.size();
    grew_ = false;
    if (!generate()) return out.failed ? Woven::kOutOfMemory : Woven::kMalformed;
    if (placed_.size() == first_placed_) return Woven::kUnchanged;
    Woven patched = patch();
    if (grew_) continue;  // some branches are wide now, and everything behind them moves
    if (patched != Woven::kChanged) return patched;
    return tables();
  }
  return Woven::kMalformed;
}

bool Method::read(Bytes code) {
  max_stack_ = code.u2();
  max_locals_ = code.u2();
  size_ = code.u4();
  code_ = code.take(size_);
  handler_count_ = code.u2();
  handlers_ = code.part(uint64_t{handler_count_} * 8);
  attributes_ = code;
  if (code.bad || size_ == 0 || size_ > 65535) return false;
  return read_attributes(attributes_);
}

bool Method::read_attributes(Bytes attributes) {
  line_table_ = variable_table_ = frame_table_ = Bytes();
  for (uint32_t left = attributes.u2(); left > 0; --left) {
    Text name = pool_.utf8(attributes.u2());
    Bytes contents = attributes.part(attributes.u4());
    if (attributes.bad) return false;
    if (name == Text("StackMapTable")) frame_table_ = contents;
    if (name == Text("LineNumberTable") && line_table_.at == nullptr) line_table_ = contents;
    if (name == Text("LocalVariableTable") && variable_table_.at == nullptr)
      variable_table_ = contents;
  }
  // Version 50 may be without, and is then verified as before; a method that needs none tells
  // nothing.
  has_frames_ =
      class_->major >= 51 || (class_->major == 50 && (frame_table_.at != nullptr || !jumps()));
  return true;
}

// Whether there is any place that a table of frames would describe.
bool Method::jumps() const {
  if (handler_count_ != 0) return true;
  for (uint32_t at = 0, length; at < size_; at += length) {
    uint8_t op = code_[at];
    length = length_at(code_, at, size_);
    if (length == 0 || is_branch(op) || op == kGotoW || op == kJsrW || op == kTableswitch ||
        op == kLookupswitch) {
      return true;
    }
  }
  return false;
}

// Finds where the instructions are, and what is done to them.
bool Method::scan() {
  if (!target_.reserve(size_ + 1) || !place_.reserve(size_ + 1) || !marks_.reserve(size_ + 1) ||
      !line_at_.reserve(size_ + 1)) {
    out_->failed = true;
    return false;
  }
  target_.grow(size_ + 1);
  place_.grow(size_ + 1);
  marks_.grow(size_ + 1);
  std::memset(target_.begin(), 0xFF, (size_ + 1) * sizeof target_[0]);
  std::memset(marks_.begin(), 0, size_ + 1);
  choose_busy();
  for (uint32_t at = 0, length; at < size_; at += length) {
    length = length_at(code_, at, size_);
    if (length == 0) return false;
    target_[at] = 0;
    marks_[at] = busy_[code_[at]];
  }
  line_at_.grow(size_ + 1);
  std::memset(line_at_.begin(), 0, (size_ + 1) * sizeof line_at_[0]);
  Bytes lines = line_table_;
  for (uint32_t left = lines.at == nullptr ? 0 : lines.u2(); left > 0; --left) {
    uint32_t at = lines.u2();
    uint32_t line = lines.u2();
    if (lines.bad || at >= size_) return false;
    if (target_[at] == kNowhere) continue;
    marks_[at] |= kLineStart;
    line_at_[at] = static_cast<uint16_t>(line);
  }
  Bytes handlers = handlers_;
  for (uint32_t left = handler_count_; left > 0; --left) {
    uint32_t start = handlers.u2();
    uint32_t end = handlers.u2();
    uint32_t handler = handlers.u2();
    handlers.u2();
    if (end > size_ || start >= end || handler >= size_ || target_[start] == kNowhere ||
        (end < size_ && target_[end] == kNowhere) || target_[handler] == kNowhere) {
      return false;
    }
    marks_[handler] |= kHandlerStart;
  }
  return true;
}

// Whether the code has anything that a probe is for.
bool Method::is_worth_it() {
  constexpr uint32_t kAlways = bit(Site::kEntry) | bit(Site::kUnwind) | bit(Site::kIndex);
  if ((wanted_ & kAlways) != 0) return true;
  if (is_wanted(Site::kLine) && line_table_.at != nullptr) return true;
  if (is_wanted(Site::kCatch) && handler_count_ != 0) return true;
  for (uint32_t at = 0; at < size_; at += length_at(code_, at, size_)) {
    if ((wanted_ & sites_of(code_[at])) != 0) return true;
  }
  return false;
}

// Which instructions are more than a copy.
void Method::choose_busy() {
  if (busy_for_ == wanted_) return;
  busy_for_ = wanted_;
  for (uint32_t op = 0; op < sizeof busy_; ++op) {
    uint8_t code = static_cast<uint8_t>(op);
    bool jumps = is_branch(code) || code == kGotoW || code == kJsrW || code == kTableswitch ||
                 code == kLookupswitch;
    busy_[op] = jumps || is_wanted(Site::kIndex) || (wanted_ & sites_of(code)) != 0 ? kBusy : 0;
  }
}

bool Method::read_parameters() {
  parameters_.clear();
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

// Finds the parameters that somebody writes to, or that a frame does not have any more.
bool Method::find_dropped() {
  if (!uses_parameters_) return true;
  auto wrote = [&](uint32_t slot, uint32_t size) {
    for (Parameter& one : parameters_) {
      if (slot < one.slot + slots(one.category) && one.slot < slot + size) one.written = true;
    }
  };
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
  }
  out_->failed = out_->failed || frames.no_memory();
  return !frames.is_bad();
}

// Slots for what probes keep through the method, and the code at its beginning.
bool Method::entry() {
  Place place;
  place.is_entry = true;
  next_temporary_ = kept_from_ = max_locals_;
  most_locals_ = max_locals_;
  kept_.clear();
  kept_types_.clear();
  if (!select_all(Site::kEntry)) return false;
  if (uses_parameters_) {
    for (Parameter& one : parameters_) {
      one.saved = kNoSlot;
      // What is not initialized is not to be kept: nobody could have it.
      if (!one.written || (is_constructor_ && one.slot == 0 && !method_->is_static())) continue;
      one.saved = temporary(one.category);
      Type type =
          one.category == 'L' ? Type::object("java/lang/Object") : Type::described(one.type);
      if (!keep(kept_types_, type)) return false;
      depth_ = 0;
      load(one.category, one.slot);
      store(one.category, one.saved);
    }
  }
  for (const Probe* probe : selected_) {
    // Those who read what is not kept are not possible either.
    if (probe->outcome != Outcome::kKeep || !is_possible(*probe, place)) continue;
    if (!keep(kept_, {probe->number, temporary('J')})) return false;
    if (!keep(kept_types_, Type::of(Tag::kLong))) return false;
  }
  first_temporary_ = next_temporary_;
  return run(selected_, place);
}

bool Method::generate() {
  fixups_.clear();
  inserted_.clear();
  inserted_types_.clear();
  ranges_.clear();
  bad_branch_ = false;
  unwind_at_ = kNowhere;
  line_ = 0;
  deepest_ = 0;
  ready_ = !is_constructor_;
  pending_ = 0;
  Frame first;
  FrameReader frames(pool_, frame_table_);
  bool more = false;
  if (tracks_) {
    if (!first_frame(&first) || !tracker_.begin(Type::object(class_->name, class_->index), first,
                                                max_locals_, max_stack_)) {
      out_->failed = out_->failed || tracker_.no_memory();
      return false;
    }
    if (frame_table_.at != nullptr) {
      frames.decode(&first);
      more = frames.next();
      out_->failed = out_->failed || frames.no_memory();
      if (frames.is_bad()) return false;
    }
  }
  line_ = line_at_[0];
  if (!entry()) return false;
  bool covers = is_wanted(Site::kUnwind);
  bool open = false;
  // Instructions that only move are copied together, once the next one that does more is there.
  bool copies_many = !tracks_ && !is_constructor_;
  uint8_t alone = kBusy | kHandlerStart | (is_wanted(Site::kLine) ? kLineStart : 0);
  uint32_t waiting = 0;  // bytes that end before the present instruction
  for (uint32_t at = 0, length; at < size_; at += length) {
    length = length_at(code_, at, size_);
    if (copies_many && at != 0 && (marks_[at] & alone) == 0) {
      if ((marks_[at] & kLineStart) != 0) line_ = line_at_[at];
      target_[at] = place_[at] = pc() + waiting;
      waiting += length;
      continue;
    }
    if (waiting != 0) out_->copy(code_ + at - waiting, waiting);
    waiting = 0;
    uint8_t op = code_[at];
    if (more && frames.at == at) {
      if (!tracker_.enter(first)) return false;
      more = frames.next();
      out_->failed = out_->failed || frames.no_memory();
      if (frames.is_bad() || (more && frames.at <= at)) return false;
    }
    if ((marks_[at] & kLineStart) != 0) line_ = line_at_[at];
    target_[at] = pc();
    if (covers && is_ready() != open) {
      open = !open;
      if (open && !keep(ranges_, {pc(), 0})) return false;
      if (!open) ranges_[ranges_.size() - 1].end = pc();
    }
    if (!before(at, op)) return false;
    place_[at] = pc();
    copy_instruction(at, length);
    if (tracks_) tracker_.step(code_, at);
    bool is_turned = wide_[at] != 0 && has_frames_ && op != kGoto && op != kJsr;
    if (is_turned && !(more && frames.at == at + length) && !insert_frame(pc())) return false;
    if (!has_frames_ && is_constructor_) {
      Member made;
      if (op == kNew) ++pending_;
      if (op == kInvokespecial && pool_.member(read2(code_ + at + 1), &made) &&
          made.name == Text("<init>")) {
        if (pending_ > 0) {
          --pending_;
        } else {
          ready_ = true;
        }
      }
    }
    if (bad_branch_ || !after(at, op) || out_->failed) return false;
  }
  if (waiting != 0) out_->copy(code_ + size_ - waiting, waiting);
  target_[size_] = pc();
  if (open) ranges_[ranges_.size() - 1].end = pc();
  return unwind();
}

bool Method::is_ready() {
  if (!is_constructor_) return true;
  if (!has_frames_) return ready_;
  return !tracks_ || (tracker_.is_known() && !tracker_.this_is_uninitialized());
}

// The handler that sees every exception that leaves the method.
bool Method::unwind() {
  if (!is_wanted(Site::kUnwind) || ranges_.empty()) return true;
  if (!select_all(Site::kUnwind)) return false;
  if (selected_.empty()) return true;
  uint32_t start = pc();
  size_t placed = placed_.size();
  Place place;
  place.at = size_;
  place.is_unwind = true;
  place.value_type = "Ljava/lang/Throwable;";
  line_ = 0;
  next_temporary_ = first_temporary_;
  deepest_ = deepest_ > 1 ? deepest_ : 1;
  if (!run_with_value(selected_, place)) return false;
  if (placed_.size() == placed) {
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
  if (!kept_types_.empty()) {
    for (; slot < kept_from_; ++slot) {
      if (!keep(inserted_types_, Type())) return false;
    }
    for (const Type& type : kept_types_) {
      if (!keep(inserted_types_, type)) return false;
    }
  }
  frame.locals = inserted_types_.size() - frame.first;
  return keep(inserted_types_, Type::object("java/lang/Throwable")) && keep(inserted_, frame);
}

// Remembers a frame for here, as the tracker has it.
bool Method::insert_frame(uint32_t place) {
  if (!tracks_ || !tracker_.is_known()) return false;
  Inserted frame{place, inserted_types_.size(), 0, 0};
  if (!tracker_.append_locals(&inserted_types_)) return !(out_->failed = true);
  if (!kept_types_.empty()) {
    uint32_t slot = 0;
    for (size_t i = frame.first; i < inserted_types_.size(); ++i)
      slot += inserted_types_[i].is_wide() ? 2 : 1;
    for (; slot < kept_from_; ++slot) {
      if (!keep(inserted_types_, Type())) return false;
    }
    for (const Type& type : kept_types_) {
      if (!keep(inserted_types_, type)) return false;
    }
  }
  frame.locals = inserted_types_.size() - frame.first;
  size_t before = inserted_types_.size();
  if (!tracker_.append_stack(&inserted_types_)) return !(out_->failed = true);
  frame.stack = inserted_types_.size() - before;
  return keep(inserted_, frame);
}

void Method::copy_instruction(uint32_t at, uint32_t length) {
  uint8_t op = code_[at];
  if (is_branch(op) || op == kGotoW || op == kJsrW) {
    branch(at, op);
  } else if (op == kTableswitch || op == kLookupswitch) {
    switch_table(at, op);
  } else {
    out_->copy(code_ + at, length);
  }
}

void Method::branch(uint32_t at, uint8_t op) {
  bool is_far = op == kGotoW || op == kJsrW;
  int64_t distance = is_far ? static_cast<int32_t>(read4(code_ + at + 1))
                            : static_cast<int16_t>(read2(code_ + at + 1));
  uint32_t to = static_cast<uint32_t>(at + distance);
  if (at + distance < 0 || to >= size_ || target_[to] == kNowhere) {
    bad_branch_ = true;
    return;
  }
  uint32_t from = pc();
  bool wide = is_far || wide_[at] != 0;
  if (wide && !is_far && op != kGoto && op != kJsr) {
    // Around a jump of four bytes.
    uint8_t inverted = op >= kIfnull ? op ^ 1 : static_cast<uint8_t>(((op + 1) ^ 1) - 1);
    out_->u1(inverted);
    out_->u2(8);
    from = pc();
    out_->u1(kGotoW);
  } else {
    uint8_t far = op == kGoto || op == kGotoW ? kGotoW : kJsrW;
    out_->u1(wide ? far : op);
  }
  if (!fixups_.push({pc(), from, to, wide})) out_->failed = true;
  if (wide) {
    out_->u4(0);
  } else {
    out_->u2(0);
  }
}

void Method::switch_table(uint32_t at, uint8_t op) {
  uint32_t from = pc();
  out_->u1(op);
  while (pc() % 4 != 0) out_->u1(0);
  const uint8_t* table = code_ + at + 4 - at % 4;
  auto jump = [&](const uint8_t* distance) {
    int64_t to = at + static_cast<int64_t>(static_cast<int32_t>(read4(distance)));
    if (to < 0 || to >= size_ || target_[static_cast<size_t>(to)] == kNowhere) {
      bad_branch_ = true;
      return;
    }
    if (!fixups_.push({pc(), from, static_cast<uint32_t>(to), true})) out_->failed = true;
    out_->u4(0);
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

// Writes the distances of branches, and how large everything has become.
Woven Method::patch() {
  if (out_->failed) return Woven::kOutOfMemory;
  for (const Fixup& one : fixups_) {
    int64_t distance = static_cast<int64_t>(target_[one.to]) - one.from;
    if (one.is_wide) {
      out_->set4(start_ + one.where, static_cast<uint32_t>(distance));
    } else if (distance < -32768 || distance > 32767) {
      grew_ = true;
    } else {
      out_->set2(start_ + one.where, static_cast<uint32_t>(distance));
    }
  }
  if (grew_) {
    for (uint32_t at = 0; at < size_; at += length_at(code_, at, size_)) {
      if (!is_branch(code_[at]) || wide_[at] != 0) continue;
      uint32_t to = static_cast<uint32_t>(at + static_cast<int16_t>(read2(code_ + at + 1)));
      int64_t distance = static_cast<int64_t>(target_[to]) - place_[at];
      if (distance < -32768 || distance > 32767) wide_[at] = 1;
    }
    // The frame behind a branch that is turned round comes from the tracker.
    tracks_ = tracks_ || has_frames_;
    return Woven::kChanged;
  }
  uint32_t size = pc();
  // Where exceptions leave, one is on the stack.
  uint32_t own_stack = unwind_at_ != kNowhere && max_stack_ == 0 ? 1 : max_stack_;
  uint32_t stack = own_stack + static_cast<uint32_t>(deepest_);
  if (size > 65535 || stack > 65535 || most_locals_ > 65535) {
    placed_.shrink(first_placed_);
    for (const Probe* probe : *probes_) omit(*probe, 0, LeftOut::kTooLarge);
    return Woven::kUnchanged;
  }
  out_->set2(start_ - 8, stack);
  out_->set2(start_ - 6, most_locals_);
  out_->set4(start_ - 4, size);
  return Woven::kChanged;
}

}  // namespace classfile
}  // namespace jvmti
