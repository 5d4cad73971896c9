// Places where a thread may stop: its variables go into an array, and come back from it.
//
// `stop` makes the array, or gives null where the thread goes on, so that nothing of the rest does
// anything.  `keep` puts a value into it; `stopped` lets the thread wait; `take` gives what a
// variable is from then on.  Where the array says so, `stopped` throws an exception that only the
// method's own handler takes, which returns the value that `left` finds, or another one, whose
// handler gives the parameters what was passed and jumps to the method's beginning.
#include <cstdio>

#include "classfile/probes/method.h"

namespace jvmti::classfile {

namespace {

constexpr const char* kStopped = "([Ljava/lang/Object;II)V";
constexpr uint32_t kMostVariables = 1000;

struct Passing {
  char category;
  const char* keep;
  const char* take;
  const char* left;
};

constexpr Passing kPassings[] = {
    {'I', "([Ljava/lang/Object;II)[Ljava/lang/Object;", "([Ljava/lang/Object;II)I",
     "(Ljava/lang/Throwable;)I"},
    {'J', "([Ljava/lang/Object;JI)[Ljava/lang/Object;", "([Ljava/lang/Object;JI)J",
     "(Ljava/lang/Throwable;)J"},
    {'F', "([Ljava/lang/Object;FI)[Ljava/lang/Object;", "([Ljava/lang/Object;FI)F",
     "(Ljava/lang/Throwable;)F"},
    {'D', "([Ljava/lang/Object;DI)[Ljava/lang/Object;", "([Ljava/lang/Object;DI)D",
     "(Ljava/lang/Throwable;)D"},
    {'L', "([Ljava/lang/Object;Ljava/lang/Object;I)[Ljava/lang/Object;",
     "([Ljava/lang/Object;Ljava/lang/Object;I)Ljava/lang/Object;",
     "(Ljava/lang/Throwable;)Ljava/lang/Object;"},
};

const Passing& passing(char category) {
  for (const Passing& one : kPassings) {
    if (one.category == category) return one;
  }
  return kPassings[4];
}

// The class or array of a descriptor, as a constant names it.
Text named_by(Text descriptor) {
  return descriptor[0] == 'L' ? Text(descriptor.data + 1, descriptor.size - 2) : descriptor;
}

Text package_of(Text name) {
  uint32_t size = name.size;
  while (size > 0 && name.data[size - 1] != '/') --size;
  return Text(name.data, size);
}

}  // namespace

// Whether the method can begin again, with what was passed.  The object of a constructor cannot be
// made twice, and a subroutine cannot be entered from within itself.
bool Method::may_restart() const {
  if (is_constructor_) return false;
  for (uint32_t at = 0; at < size_; at += length_at(code_, at, size_)) {
    if (code_[at] == kJsr || code_[at] == kJsrW) return false;
  }
  return true;
}

// What has its variables looked at, and whether it can be left early: not with monitors entered,
// which a return would not give up.
void Method::find_stops() {
  stops_.clear();
  restarts_.clear();
  leave_at_ = restart_at_ = kNowhere;
  can_leave_ = false;
  for (const Probe* probe : *probes_) can_leave_ = can_leave_ || probe->outcome == Outcome::kStop;
  if (!can_leave_) return;
  for (uint32_t at = 0; at < size_; at += length_at(code_, at, size_)) {
    if (code_[at] == kMonitorenter) can_leave_ = false;
  }
}

// Whether events without variables are left to try. A method with a hundred lines and dozens of
// variables has them all at each line.
bool Method::can_be_bare() const {
  bool found = false;
  for (const Probe* probe : *probes_) found = found || reports(*probe);
  return found && !is_bare_;
}

// A line may begin at several places: a thread stops at the first only, as at a breakpoint.
bool Method::has_stopped(const Probe& probe) const {
  return probe.outcome == Outcome::kStop && first_place_of(probe) < inserted_probes_.size();
}

// Whether any way leads into a range of code past the store in front of it. Old compilers have a
// variable in their tables also where only one of several ways gives it a value.
bool Method::is_entered(uint32_t start, uint32_t end, uint32_t slot) const {
  bool is_stored_before = false;
  bool found = false;
  for (uint32_t at = 0, length; at < size_ && !found; at += length) {
    uint8_t op = code_[at];
    length = length_at(code_, at, size_);
    if (length == 0) return true;
    if (at + length == start) {
      bool is_short = op >= kIstore0 && op < kIastore;
      uint32_t into = is_short ? (op - kIstore0) % 4u : code_[at + 1 < size_ ? at + 1 : at];
      if (op == kWide) into = read2(code_ + at + 2);
      uint8_t stores = op == kWide ? code_[at + 1] : op;
      is_stored_before = (is_short || (stores >= kIstore && stores <= kAstore)) && into == slot;
    }
    if (at >= start && at < end) continue;
    auto leads = [&](int64_t distance) {
      int64_t to = at + distance;
      found = found || (to >= start && to < end);
    };
    if (is_branch(op)) leads(static_cast<int16_t>(read2(code_ + at + 1)));
    if (op == kGotoW || op == kJsrW) leads(static_cast<int32_t>(read4(code_ + at + 1)));
    if (op != kTableswitch && op != kLookupswitch) continue;
    const uint8_t* table = code_ + at + 4 - at % 4;
    bool is_lookup = op == kLookupswitch;
    uint32_t count = is_lookup ? read4(table + 4) : read4(table + 8) - read4(table + 4) + 1;
    leads(static_cast<int32_t>(read4(table)));
    const uint8_t* jumps = table + 12;
    for (uint32_t i = 0; i < count && !found; ++i, jumps += is_lookup ? 8 : 4)
      leads(static_cast<int32_t>(read4(jumps)));
  }
  Bytes handlers = handlers_;
  for (uint32_t left = handler_count_; left > 0; --left) {
    uint32_t from = handlers.u2();
    uint32_t to = handlers.u2();
    uint32_t handler = handlers.u2();
    handlers.u2();
    found = found || (handler >= start && handler < end && (from < start || to > end));
  }
  return found || !is_stored_before;
}

bool Method::is_parameter(uint32_t slot) const {
  for (const Parameter& one : parameters_) {
    if (one.slot == slot) return true;
  }
  return false;
}

// Finds the variables that have a value wherever the table says so, in code without frames.
bool Method::find_assigned() {
  constexpr uint32_t kMostEntries = 1000;
  for (Parameter& one : parameters_) one.stored = is_stored(one.slot, slots(one.category));
  assigned_.clear();
  Bytes table = variable_table_;
  if (table.at == nullptr) return true;
  uint32_t count = table.u2();
  if (count > kMostEntries) count = 0;
  for (; count > 0; --count) {
    uint32_t start = table.u2();
    uint32_t end = start + table.u2();
    table.u4();
    uint32_t slot = table.u2();
    // Groovy has variables in its tables from the beginning that get their values later.
    bool is_good = !table.bad && (start == 0 ? is_parameter(slot) : !is_entered(start, end, slot));
    if (!keep(assigned_, static_cast<uint8_t>(is_good))) return false;
  }
  return true;
}

// Finds the entries of the table of variables at a place, for all slots in one pass: a method may
// have thousands of each.
bool Method::find_named(uint32_t at) {
  named_.clear();
  if (!named_.reserve(max_locals_)) return !(out_->failed = true);
  named_.grow(max_locals_);
  if (max_locals_ != 0) std::memset(named_.begin(), 0, max_locals_ * sizeof named_[0]);
  Bytes table = variable_table_;
  if (table.at == nullptr) return true;
  uint32_t count = table.u2();
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t start = table.u2();
    uint32_t length = table.u2();
    table.u4();
    uint32_t slot = table.u2();
    if (table.bad) return true;
    if (!tracks_ && (i >= assigned_.size() || assigned_[i] == 0)) continue;
    if (at < start || at >= start + length) continue;
    if (slot < max_locals_ && named_[slot] == 0) named_[slot] = static_cast<uint16_t>(i + 1);
  }
  return true;
}

// The name and type of a slot by the entry that was found; false where there is none.
bool Method::variable_in(uint32_t slot, Text* name, Text* type) const {
  if (named_[slot] == 0) return false;
  const uint8_t* entry = variable_table_.at + 2 + kVariableSize * (named_[slot] - 1u);
  *name = pool_.utf8(read2(entry + 4));
  *type = pool_.utf8(read2(entry + 6));
  return true;
}

// Whether the class of a variable can be named here, as far as that is known: one that the class
// file names as a variable's, of the same package, or of the JDK's own.
bool Method::is_reachable(const Type& held, Text declared) const {
  Text type = declared;
  for (uint32_t i = 0; i < held.dimensions; ++i) {
    if (type[0] != '[') return false;
    type = type.from(1);
  }
  if (declared.size != 0 && named_by(type) == held.name) return true;
  return held.dimensions == 0 &&
         (held.name.starts_with("java/") || package_of(held.name) == package_of(class_->name));
}

// The variables that have a value at a place.
bool Method::find_variables(const Place& place) {
  if (place.is_unwind || (tracks_ && !tracker_.is_known())) return true;
  if (!find_named(place.at)) return false;
  for (uint32_t slot = 0; slot < own_locals_ && variables_.size() < kMostVariables; ++slot) {
    Variable one{slot, '\0', Text(), Text(), Text()};
    bool is_named = variable_in(slot, &one.name, &one.type);
    if (tracks_) {
      Type held = tracker_.local(slot);
      one.category = held.category();
      if (one.category == '\0') continue;
      // The VM keeps no table of frames of classes that it does not verify, those of its own
      // loader. Where ways meet, nobody knows then what a slot holds that anybody stores to.
      if (lacks_frames_ && is_stored(slot, held.is_wide() ? 2 : 1)) continue;
      if (is_named && category(one.type) != one.category) is_named = false;
      if (held.tag == Tag::kObject && is_reachable(held, is_named ? one.type : Text()))
        one.cast = held.dimensions == 0 ? held.name : one.type;
    } else if (slot == 0 && is_constructor_ && !is_ready()) {
      continue;  // whatever the table says, nobody may have the object yet
    } else if (is_named) {
      one.category = category(one.type);
    }
    for (const Parameter& parameter : parameters_) {
      if (parameter.slot != slot) continue;
      bool is_receiver = slot == 0 && !method_->is_static();
      if (!tracks_ && is_named && !parameter.stored) {
        // Only what was passed is given back: tables of Clojure say that the receiver is an Object,
        // though its fields are read, and those of Groovy name what is in a Reference.
        if (one.category != parameter.category) is_named = false;
        if (one.category == 'L') one.cast = is_receiver ? class_->name : named_by(parameter.type);
      }
      if (is_named) continue;
      if (tracks_ && parameter.written && !place.is_entry) continue;  // it may be something else
      // Without a table of variables, the parameters that still are what they were.
      if (!tracks_ && (!place.is_entry || (is_receiver && is_constructor_))) continue;
      if (parameter.category != (tracks_ ? one.category : parameter.category)) continue;
      one.category = parameter.category;
      one.type = parameter.type;
    }
    if (!is_named) one.name = Text();
    if (one.category == '\0' || one.category == 'V') continue;
    if (!keep(variables_, one)) return false;
    if (one.category == 'J' || one.category == 'D') ++slot;
  }
  return true;
}

// The number of the set, without a constant of the pool: the controller looks for it in code of
// earlier versions, whose pool nobody has any more.
void Method::set_number(const Probe& probe) {
  const Operand& operand = probe.operands[0];
  int32_t value = static_cast<int32_t>(operand.number);
  bool is_short = value == static_cast<int16_t>(value);
  if (operand.kind != OperandKind::kNumber || is_short) return hand_over(operand, Place());
  computed_number(value);
}

bool Method::stop(const Probe& probe, const Place& place) {
  bool is_bare = is_bare_ && reports(probe);
  variables_.clear();
  if (!is_bare && !find_variables(place)) return false;
  uint32_t shape = shapes_.size();
  uint32_t site = first_site_ + static_cast<uint32_t>(inserted_probes_.size());
  uint32_t further = probe.operand_count - kStopOperands;
  uint32_t first = 1 + further;  // the place before is for what leaves the method
  if (probe.conditional) condition(probe, place);
  set_number(probe);
  hand_over(probe.operands[1], place);
  number(static_cast<int32_t>(first + variables_.size()));
  invoke(pool_.add_method(probe.gate.size == 0 ? probe.helper : probe.gate, probe.name,
                          probe.descriptor),
         probe.descriptor);
  for (uint32_t i = 0; i < further; ++i) {
    hand_over(probe.operands[kStopOperands + i], place);
    number(static_cast<int32_t>(1 + i));
    helper_method(probe, "keep", passing('L').keep);
  }
  uint32_t position = first;
  for (const Variable& one : variables_) {
    load(one.category, one.slot);
    number(static_cast<int32_t>(position++));
    helper_method(probe, "keep", passing(one.category).keep);
  }
  uint32_t array = temporary('L');
  op(kDup, 1);
  store('L', array);
  set_number(probe);
  number(static_cast<int32_t>(site));
  uint32_t begin = pc();
  helper_method(probe, "stopped", kStopped);
  bool ready = is_ready();
  bool leaves = can_leave_ && ready;
  if (leaves && !keep(stops_, {begin, pc()})) return false;
  // Where exceptions leave, the parameters are not known.
  bool restarts = leaves && can_restart_ && !place.is_unwind;
  if (restarts && !keep(restarts_, {begin, pc()})) return false;
  leave_helper_ = probe.helper;
  position = first;
  for (const Variable& one : variables_) {
    uint32_t index = position++;
    if (one.category == 'L' && one.cast.size == 0) continue;
    load('L', array);
    load(one.category, one.slot);
    number(static_cast<int32_t>(index));
    helper_method(probe, "take", passing(one.category).take);
    if (one.category == 'L' && !(one.cast == Text("java/lang/Object"))) {
      op(kCheckcast, 0);
      out_->u2(pool_.add_class(one.cast));
    }
    store(one.category, one.slot);
  }
  // Whether the thread can leave the method, and begin it again, or why not, in small letters where
  // there was no room for variables; then what the array has: a text of five parts for each
  // variable, with dots between them; then what the place is about.
  char way = restarts          ? 'P'
             : !can_leave_     ? 'M'
             : !ready          ? 'N'
             : is_constructor_ ? 'C'
             : place.is_unwind ? 'U'
                               : 'J';
  shapes_.u1(static_cast<uint8_t>(is_bare ? way + ('a' - 'A') : way));
  for (const Variable& one : variables_) {
    char slot[16];
    int size = std::snprintf(slot, sizeof slot, ".%u.%c.", one.slot, one.category);
    shapes_.copy(reinterpret_cast<const uint8_t*>(slot), static_cast<uint64_t>(size));
    shapes_.copy(one.type.data, one.type.size);
    shapes_.u1('.');
    shapes_.copy(one.name.data, one.name.size);
    shapes_.u1('.');
    shapes_.copy(one.cast.data, one.cast.size);
  }
  end_shape(place);
  return keep(inserted_probes_,
              {probe.number, method_->number, index_before(place.at), line_, shape}) &&
         !pool_.is_full();
}

void Method::helper_method(const Probe& probe, Text name, Text descriptor) {
  invoke(pool_.add_method(probe.helper, name, descriptor), descriptor);
}

// The handler of what leaves the method early: it returns the value.
bool Method::leave() {
  if (stops_.empty()) return true;
  uint32_t start = pc();
  Text result = Types::result(method_->descriptor);
  char kind = category(result);
  depth_ = 1;
  if (kind == 'V') {
    op(kPop, -1);
    op(kReturn, 0);
  } else {
    Text descriptor = passing(kind).left;
    invoke(pool_.add_method(leave_helper_, "left", descriptor), descriptor);
    if (kind == 'L' && !(result == Text("Ljava/lang/Object;"))) {
      op(kCheckcast, 0);
      out_->u2(pool_.add_class(named_by(result)));
    }
    constexpr uint8_t kReturns[] = {kIreturn, kIreturn + 1, kIreturn + 2, kIreturn + 3, kAreturn};
    uint8_t index = kind == 'I' ? 0 : kind == 'J' ? 1 : kind == 'F' ? 2 : kind == 'D' ? 3 : 4;
    op(kReturns[index], 0);
  }
  leave_at_ = start;
  if (!has_frames_) return true;
  Inserted frame{start, inserted_types_.size(), 0, 1};
  // Nothing there needs what is kept, but later sets share it only where it is everywhere.
  if (!append_kept(inserted_types_, 0)) return false;
  frame.locals = inserted_types_.size() - frame.first;
  return keep(inserted_types_, Type::object("java/lang/Throwable")) && keep(inserted_, frame);
}

// The handler of what begins the method again: parameters that the method writes to have what was
// passed once more, the others what they have.
bool Method::restart() {
  if (restarts_.empty()) return true;
  restart_at_ = pc();
  depth_ = 1;
  op(kPop, -1);
  for (const Parameter& one : parameters_) {
    if (one.saved == kNoSlot) continue;
    load(one.category, one.saved);
    store(one.category, one.slot);
  }
  uint32_t from = pc();
  uint32_t distance = 0 - from;
  bool is_near = from <= 32768;
  out_->u1(is_near ? kGoto : kGotoW);
  if (is_near) {
    out_->u2(distance & 0xFFFF);
  } else {
    out_->u4(distance);
  }
  if (!has_frames_) return true;
  Inserted frame{restart_at_, inserted_types_.size(), 0, 1};
  if (!first_frame(&first_)) return false;
  uint32_t slot = 0;
  for (size_t i = 0; i < first_.locals.size(); ++i) {
    bool is_there = parameters_[i].saved == kNoSlot;
    uint32_t size = slots(parameters_[i].category);
    slot += size;
    for (uint32_t part = 0; part < (is_there ? 1 : size); ++part) {
      if (!keep(inserted_types_, is_there ? first_.locals[i] : Type())) return false;
    }
  }
  if (!append_kept(inserted_types_, slot)) return false;
  frame.locals = inserted_types_.size() - frame.first;
  return keep(inserted_types_, Type::object("java/lang/Throwable")) && keep(inserted_, frame);
}

}  // namespace jvmti::classfile
