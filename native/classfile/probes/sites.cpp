// Which probes belong to an instruction, and what they may hand over there.
#include "classfile/probes/method.h"

namespace jvmti::classfile {

namespace {

constexpr const char* kElements[] = {"boolean[]", "char[]",  "float[]", "double[]",
                                     "byte[]",    "short[]", "int[]",   "long[]"};

bool named(const char* pattern, Text text) { return matches_any<true>(pattern, text.slice()); }

bool is_of(const Probe& probe, const Member& member) {
  return named(probe.owners, member.owner) && matches_any(probe.members, member.name.slice()) &&
         matches_any(probe.member_descriptors, member.descriptor.slice());
}

bool any_hands_over(const Vector<const Probe*>& probes, OperandKind kind) {
  for (const Probe* probe : probes) {
    if (probe->hands_over(kind)) return true;
  }
  return false;
}

}  // namespace

template <class Fits>
bool Method::select(Site site, Probes* found, const Fits& fits) {
  found->clear();
  if (!is_wanted(site)) return true;
  for (const Probe* probe : of_site_[static_cast<uint32_t>(site)]) {
    if (fits(*probe) && !found->push(probe)) {
      out_->failed = true;
      return false;
    }
  }
  return true;
}

bool Method::select_all(Site site) {
  return select(site, &selected_, [](const Probe&) { return true; });
}

bool Method::run(const Probes& probes, const Place& place) {
  for (const Probe* probe : probes) {
    if (!is_possible(*probe, place)) {
      omit(*probe, place.at, LeftOut::kNoSuchValue);
    } else if (!emit(*probe, place)) {
      return false;
    }
  }
  return !out_->failed;
}

bool Method::run_with_value(const Probes& probes, Place place) {
  char kind = category(place.value_type);
  bool is_used = any_hands_over(probes, OperandKind::kValue);
  for (const Probe* probe : probes) is_used = is_used || probe->outcome == Outcome::kReplace;
  if (!is_used || kind == 'V' || kind == '\0') return run(probes, place);
  depth_ = 0;
  place.value = temporary(kind);
  store(kind, place.value);
  if (!run(probes, place)) return false;
  depth_ = -static_cast<int32_t>(slots(kind));
  load(kind, place.value);
  return true;
}

// Takes what is passed to a method off the stack.
bool Method::spill(Text descriptor, bool has_receiver) {
  spilled_.clear();
  if (has_receiver && !keep(spilled_, {temporary('L'), 'L', Text("Ljava/lang/Object;")}))
    return false;
  for (Types types(descriptor); !types.at_end();) {
    Text type = types.next();
    char kind = category(type);
    if (kind == '\0' || kind == 'V') return false;
    if (!keep(spilled_, {temporary(kind), kind, type})) return false;
  }
  depth_ = 0;
  for (size_t i = spilled_.size(); i-- > 0;) store(spilled_[i].category, spilled_[i].slot);
  return true;
}

void Method::reload() {
  int32_t size = 0;
  for (const Spilled& one : spilled_) size += static_cast<int32_t>(slots(one.category));
  depth_ = -size;
  for (const Spilled& one : spilled_) load(one.category, one.slot);
}

bool Method::before(uint32_t at, uint8_t op) {
  reuse_temporaries();
  called_.clear();
  made_.clear();
  read_.clear();
  entered_.clear();
  kept_here_.clear();
  uint8_t marks = marks_[at];
  if ((marks & (kBusy | kLineStart | kHandlerStart)) == 0) return true;
  // What probes of other sets do is no place, and their handlers are behind the code.
  is_inserted_ = Moves::original(earlier_->begin(), earlier_->size(), at) < 0;
  bool is_behind = !earlier_->empty() && at >= (*earlier_)[earlier_->size() - 1].target;
  if ((marks & kHandlerStart) != 0 && !is_behind && is_wanted(Site::kCatch) && !caught(at))
    return false;
  Place place;
  place.at = at;
  if ((marks & kLineStart) != 0 && is_wanted(Site::kLine)) {
    auto here = [&](const Probe& probe) {
      return probe.at < 0 || (static_cast<uint32_t>(probe.at) == line_ && !has_stopped(probe));
    };
    if (!select(Site::kLine, &selected_, here) || !run(selected_, place)) return false;
  }
  if (is_wanted(Site::kIndex)) {
    auto here = [&](const Probe& probe) {
      return !is_inserted_ && (probe.at < 0 || static_cast<uint32_t>(probe.at) == index_before(at));
    };
    if (!select(Site::kIndex, &selected_, here) || !run(selected_, place)) return false;
  }
  if (op >= kIreturn && op <= kReturn) {
    if (!is_wanted(Site::kReturn)) return true;
    if (result_.size == 0) result_ = Types::result(method_->descriptor);
    place.value_type = result_;
    return select_all(Site::kReturn) && run_with_value(selected_, place);
  }
  if (is_inserted_) return true;
  switch (op) {
    case kAthrow:
      if (!is_wanted(Site::kThrow)) return true;
      place.value_type = "Ljava/lang/Throwable;";
      return select_all(Site::kThrow) && run_with_value(selected_, place);
    case kGetfield:
    case kGetstatic:
      return !is_wanted(Site::kRead) || read_field(at, op);
    case kPutfield:
    case kPutstatic:
      return !is_wanted(Site::kWrite) || write(at, op);
    case kInvokevirtual:
    case kInvokespecial:
    case kInvokestatic:
    case kInvokeinterface:
      if (!is_wanted(Site::kCall) && !is_wanted(Site::kCalled) && !is_wanted(Site::kNew))
        return true;
      return call(at, op);
    case kMonitorenter:
      if (!is_wanted(Site::kMonitorEnter)) return true;
      if (!select(Site::kMonitorEnter, &entered_, [](const Probe&) { return true; })) return false;
      after_ = place;
      if (any_hands_over(entered_, OperandKind::kTarget)) {
        depth_ = 0;
        after_.target = temporary('L');
        store('L', after_.target);
        load('L', after_.target);
      }
      return true;
    case kMonitorexit:
      return !is_wanted(Site::kMonitorExit) || monitor_exit(at);
    default:
      return true;
  }
}

bool Method::after(uint32_t at, uint8_t op) {
  if (!called_.empty() && !run_with_value(called_, after_)) return false;
  if (!made_.empty()) {
    Place place = after_;
    place.value = after_.target;
    place.value_type = "Ljava/lang/Object;";
    if (!run(made_, place)) return false;
  }
  if (!read_.empty() && !run_with_value(read_, after_)) return false;
  if (!entered_.empty() && !run(entered_, after_)) return false;
  bool is_array = op == kNewarray || op == kAnewarray || op == kMultianewarray;
  return !is_array || is_inserted_ || !is_wanted(Site::kNew) || made_array(at, op);
}

bool Method::read_field(uint32_t at, uint8_t op) {
  Member member;
  if (!pool_.member(read2(code_ + at + 1), &member)) return false;
  if (!select(Site::kRead, &read_, [&](const Probe& probe) { return is_of(probe, member); }))
    return false;
  after_ = Place();
  after_.at = at;
  after_.owner = member.owner;
  after_.member = member.name;
  after_.member_type = member.descriptor;
  after_.value_type = member.descriptor;
  if (op == kGetfield && any_hands_over(read_, OperandKind::kTarget)) {
    depth_ = 0;
    after_.target = temporary('L');
    store('L', after_.target);
    load('L', after_.target);
  }
  return true;
}

bool Method::write(uint32_t at, uint8_t op) {
  Place place;
  Member member;
  if (!pool_.member(read2(code_ + at + 1), &member)) return false;
  if (!select(Site::kWrite, &selected_, [&](const Probe& probe) { return is_of(probe, member); }))
    return false;
  place.at = at;
  place.owner = member.owner;
  place.member = member.name;
  place.member_type = member.descriptor;
  place.value_type = member.descriptor;
  char kind = category(member.descriptor);
  if (kind == '\0' || kind == 'V') return false;
  if (op == kPutstatic || !any_hands_over(selected_, OperandKind::kTarget)) {
    return run_with_value(selected_, place);
  }
  // A constructor may write fields of an object that nobody else may have yet.
  bool is_raw = is_constructor_ && (has_frames_ ? tracker_.operand(1).category() != 'L' : !ready_);
  depth_ = 0;
  place.value = temporary(kind);
  uint32_t owner = temporary('L');
  store(kind, place.value);
  store('L', owner);
  place.target = is_raw ? kNoSlot : owner;
  if (!run(selected_, place)) return false;
  depth_ = -1 - static_cast<int32_t>(slots(kind));
  load('L', owner);
  load(kind, place.value);
  return true;
}

bool Method::call(uint32_t at, uint8_t op) {
  Member member;
  if (!pool_.member(read2(code_ + at + 1), &member)) return false;
  bool is_initializer = op == kInvokespecial && member.name == Text("<init>");
  bool has_receiver = op != kInvokestatic;
  uint32_t arguments = 0;
  for (Types types(member.descriptor); !types.at_end(); ++arguments) {
    if (types.next().size == 0) return false;
  }
  // this(…) and super(…) make no object.
  bool is_own =
      is_initializer && is_constructor_ &&
      (has_frames_ ? tracker_.operand(arguments).tag == Tag::kUninitializedThis : pending_ == 0);
  auto fits = [&](const Probe& probe) { return is_of(probe, member); };
  auto makes = [&](const Probe& probe) {
    return is_initializer && !is_own && named(probe.owners, member.owner);
  };
  if (!select(Site::kCall, &selected_, fits) || !select(Site::kCalled, &called_, fits) ||
      !select(Site::kNew, &made_, makes)) {
    return false;
  }
  if (selected_.empty() && called_.empty() && made_.empty()) return true;
  bool is_spilled = any_hands_over(made_, OperandKind::kValue);
  for (const Probes* probes : {&selected_, &called_}) {
    is_spilled = is_spilled || any_hands_over(*probes, OperandKind::kTarget) ||
                 any_hands_over(*probes, OperandKind::kPassed) ||
                 any_hands_over(*probes, OperandKind::kAllPassed) ||
                 any_hands_over(*probes, OperandKind::kHeld);
  }
  Place place;
  place.at = at;
  place.owner = member.owner;
  place.member = member.name;
  place.member_type = member.descriptor;
  place.has_receiver = has_receiver;
  after_ = place;
  after_.value_type = Types::result(member.descriptor);
  if (!is_spilled) return run(selected_, place);
  if (!spill(member.descriptor, has_receiver)) return false;
  place.is_passed = after_.is_passed = true;
  if (has_receiver) {
    // Before its initializer has run nobody may have it.
    if (!is_initializer) place.target = spilled_[0].slot;
    after_.target = spilled_[0].slot;
  }
  if (!run(selected_, place)) return false;
  reload();
  return true;
}

bool Method::made_array(uint32_t at, uint8_t op) {
  Place place;
  place.at = at;
  scratch_.clear();
  if (op == kNewarray) {
    uint8_t element = code_[at + 1];
    if (element < 4 || element > 11) return false;
    place.owner = kElements[element - 4];
    place.value_type = "Ljava/lang/Object;";
  } else {
    Text name = pool_.class_name(read2(code_ + at + 1));
    if (name.size == 0) return false;
    java_name(name, op == kAnewarray ? 1 : 0);
    place.owner = Text(scratch_.data(), scratch_.size());
    place.value_type = "Ljava/lang/Object;";
  }
  auto fits = [&](const Probe& probe) { return named(probe.owners, place.owner); };
  return select(Site::kNew, &selected_, fits) && run_with_value(selected_, place);
}

// The name of a class or array as Java has it, into the scratch buffer.
void Method::java_name(Text name, uint32_t dimensions) {
  while (name[0] == '[') {
    name = name.from(1);
    if (++dimensions > 255 || name.size == 0) break;
    if (name[0] == '[') continue;
    const char* primitive = primitive_name(static_cast<char>(name[0]));
    if (name[0] == 'L') {
      name = Text(name.data + 1, name.size - 2);
    } else if (primitive != nullptr) {
      name = primitive;
    }
    break;
  }
  for (uint32_t i = 0; i < name.size; ++i) scratch_.u1(name.data[i] == '/' ? '.' : name.data[i]);
  while (dimensions-- > 0) {
    scratch_.u1('[');
    scratch_.u1(']');
  }
}

bool Method::monitor_exit(uint32_t at) {
  Place place;
  place.at = at;
  if (!select_all(Site::kMonitorExit)) return false;
  if (!any_hands_over(selected_, OperandKind::kTarget)) return run(selected_, place);
  depth_ = 0;
  place.target = temporary('L');
  store('L', place.target);
  if (!run(selected_, place)) return false;
  depth_ = -1;
  load('L', place.target);
  return true;
}

bool Method::caught(uint32_t at) {
  auto fits = [&](const Probe& probe) {
    if (probe.owners == nullptr) return true;
    Bytes handlers = handlers_;
    for (uint32_t left = handler_count_; left > 0; --left) {
      handlers.u4();
      bool is_here = handlers.u2() == at;
      uint32_t type = handlers.u2();
      if (is_here &&
          named(probe.owners, type == 0 ? Text("java/lang/Throwable") : pool_.class_name(type)))
        return true;
    }
    return false;
  };
  Place place;
  place.at = at;
  place.value_type = "Ljava/lang/Throwable;";
  return select(Site::kCatch, &selected_, fits) && run_with_value(selected_, place);
}

}  // namespace jvmti::classfile
