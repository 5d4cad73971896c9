// The code of a method as it is: its instructions, lines, handlers and parameters.
#include "classfile/probes/method.h"

namespace jvmti::classfile {

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

// What is there for each kind of site; most methods of a class have the same probes.
bool Method::sort_probes(const Vector<const Probe*>& probes) {
  bool is_known =
      probes.size() == known_probes_.size() &&
      std::memcmp(probes.begin(), known_probes_.begin(), probes.size() * sizeof(const Probe*)) == 0;
  if (is_known) return true;
  known_probes_.clear();
  for (Probes& one : of_site_) one.clear();
  wanted_ = not_plain_ = 0;
  uses_parameters_ = needs_parameters_ = uses_this_ = uses_locals_ = stops_threads_ = false;
  for (const Probe* probe : probes) {
    uint32_t site = static_cast<uint32_t>(probe->site);
    if (!of_site_[site].push(probe)) return false;
    wanted_ |= 1u << site;
    if (!probe->is_plain) not_plain_ |= 1u << site;
    // At a call it is of that call.
    bool is_call = probe->site == Site::kCall || probe->site == Site::kCalled;
    bool hands_held = probe->hands_over(OperandKind::kHeld) && !is_call;
    bool hands_this = probe->hands_over(OperandKind::kThis) || hands_held;
    bool hands_named = probe->hands_over(OperandKind::kNamed);
    bool hands_arguments = probe->hands_over(OperandKind::kArgument) ||
                           probe->hands_over(OperandKind::kArguments) || hands_named || hands_held;
    needs_parameters_ = needs_parameters_ || hands_this || hands_arguments;
    if (probe->site != Site::kEntry && (hands_this || hands_arguments)) uses_parameters_ = true;
    if (hands_this || probe->hands_over(OperandKind::kTarget) || probe->site == Site::kNew)
      uses_this_ = true;
    if (probe->hands_over(OperandKind::kLocal) || hands_named) uses_locals_ = true;
    stops_threads_ = stops_threads_ || probe->outcome == Outcome::kStop;
  }
  uses_locals_ = uses_locals_ || stops_threads_;
  constexpr uint32_t kQuick = bit(Site::kEntry) | bit(Site::kReturn) | bit(Site::kUnwind);
  is_quick_ = (wanted_ & ~kQuick) == 0 && not_plain_ == 0;
  for (const Probe* probe : probes) {
    if (!known_probes_.push(probe)) return false;
  }
  return true;
}

Woven Method::weave(const ClassInfo& of, const MethodInfo& method, Bytes code,
                    const Vector<const Probe*>& probes, uint32_t first_site, Output& out) {
  class_ = &of;
  method_ = &method;
  probes_ = &probes;
  first_site_ = first_site;
  out_ = &out;
  first_inserted_ = inserted_probes_.size();
  size_t first_omitted = omitted_.size();
  if (!sort_probes(probes)) {
    known_probes_.clear();
    return Woven::kOutOfMemory;
  }
  if (!read(code)) return Woven::kMalformed;
  is_constructor_ = method.name == Text("<init>");
  if (!scan()) return out.failed ? Woven::kOutOfMemory : Woven::kMalformed;
  if (!is_worth_it()) return Woven::kUnchanged;
  lacks_frames_ = stops_threads_ && has_frames_ && frame_table_.at == nullptr && jumps();
  result_ = Text();
  initializes_once_ = has_frames_ || !is_constructor_ || initializes_once();
  parameters_.clear();
  can_restart_ = stops_threads_ && may_restart();
  keeps_parameters_ = uses_parameters_ || can_restart_;
  bool asks_for_parameters = needs_parameters_ || can_restart_ || (stops_threads_ && !has_frames_);
  if (asks_for_parameters && (!read_parameters() || !find_dropped()))
    return out.failed ? Woven::kOutOfMemory : Woven::kMalformed;
  // Calls and writes may be of the constructor's own object, or of another.
  constexpr uint32_t kOfOwn =
      bit(Site::kCall) | bit(Site::kCalled) | bit(Site::kNew) | bit(Site::kWrite);
  bool is_simple = is_constructor_ && has_frames_ && (wanted_ & kOfOwn) == 0;
  ready_at_ = is_simple ? initialized_at() : kNowhere;
  bool asks_for_this = is_constructor_ && (uses_this_ || is_wanted(Site::kUnwind));
  tracks_ = has_frames_ && ((asks_for_this && ready_at_ == kNowhere) || uses_locals_);
  if (stops_threads_ && (!tracks_ || lacks_frames_) && !find_stored()) return Woven::kOutOfMemory;
  if (stops_threads_ && !tracks_ && !find_assigned()) return Woven::kOutOfMemory;
  wide_.clear();
  is_bare_ = false;
  uint32_t head = out.size();
  for (int tries = 0; tries < 16; ++tries) {
    out.cut(head);
    inserted_probes_.shrink(first_inserted_);
    omitted_.shrink(first_omitted);
    out.u2(0);
    out.u2(0);
    out.u4(0);
    start_ = out.size();
    grew_ = false;
    if (!generate()) return out.failed ? Woven::kOutOfMemory : Woven::kMalformed;
    if (inserted_probes_.size() == first_inserted_) return Woven::kUnchanged;
    Woven patched = patch();
    if (grew_) continue;  // some branches are wide now, or variables left out: everything moves
    if (patched != Woven::kChanged) return patched;
    return tables();
  }
  return Woven::kMalformed;
}

bool Method::read(Bytes code) {
  max_stack_ = code.u2();
  max_locals_ = code.u2();
  own_locals_ = earlier_->empty() || earlier_locals_ > max_locals_ ? max_locals_ : earlier_locals_;
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
    Attribute name = pool_.attribute(attributes.u2());
    Bytes contents = attributes.part(attributes.u4());
    if (attributes.bad) return false;
    if (name == Attribute::kStackMapTable) frame_table_ = contents;
    if (name == Attribute::kLineNumberTable && line_table_.at == nullptr) line_table_ = contents;
    if (name == Attribute::kLocalVariableTable && variable_table_.at == nullptr)
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
  constexpr uint32_t kWord = 8;
  if (!marks_.reserve(size_ + kWord) || !busy_.reserve(size_ + 1) ||
      !branches_.reserve(size_ + 1)) {
    out_->failed = true;
    return false;
  }
  marks_.grow(size_);
  std::memset(marks_.begin(), 0, size_ + kWord);
  choose_busy();
  return find_instructions() && find_lines() && find_handlers();
}

// Where the instruction behind that one begins, which is marked; the end of the code and more where
// it is none.
inline uint32_t Method::mark_one(uint32_t at) {
  uint8_t op = code_[at];
  uint32_t length = kLengths[op];
  if (length == 0) length = length_at(code_, at, size_);
  marks_[at] = marks_of_[op];
  return length == 0 ? kNowhere : at + length;
}

bool Method::mark_from(uint32_t at, uint32_t end) {
  while (at < end) at = mark_one(at);
  return at == end;
}

// Each length is known only once the instruction has been looked at, and the processor waits for
// it; so several parts of the code are gone through at once. Where lines begin is a good guess for
// where instructions do: a wrong one shows at the end of the part in front of it.
bool Method::mark_in_parts() {
  constexpr uint32_t kParts = 4;
  uint32_t starts[kParts + 1] = {0, 0, 0, 0, size_};
  Bytes table = line_table_;
  uint32_t lines = table.u2();
  if (table.bad || table.left() < uint64_t{lines} * kLineSize) return false;
  for (uint32_t part = 1; part < kParts; ++part) {
    uint32_t wanted = size_ / kParts * part;
    uint32_t low = 0;
    for (uint32_t high = lines; low < high;) {
      uint32_t middle = (low + high) / 2;
      if (read2(table.at + middle * kLineSize) < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[part] = low == lines ? size_ : read2(table.at + low * kLineSize);
    if (starts[part] <= starts[part - 1] || starts[part] >= size_) return false;
  }
  uint32_t first = 0;
  uint32_t second = starts[1];
  uint32_t third = starts[2];
  uint32_t fourth = starts[3];
  while (first < starts[1] && second < starts[2] && third < starts[3] && fourth < size_) {
    first = mark_one(first);
    second = mark_one(second);
    third = mark_one(third);
    fourth = mark_one(fourth);
  }
  while (first < starts[1] && second < starts[2]) {
    first = mark_one(first);
    second = mark_one(second);
  }
  while (third < starts[3] && fourth < size_) {
    third = mark_one(third);
    fourth = mark_one(fourth);
  }
  return mark_from(first, starts[1]) && mark_from(second, starts[2]) &&
         mark_from(third, starts[3]) && mark_from(fourth, size_);
}

bool Method::find_instructions() {
  constexpr uint32_t kWorthParts = 48;
  bool marked = size_ >= kWorthParts && line_table_.at != nullptr && mark_in_parts();
  if (!marked) {
    std::memset(marks_.begin(), 0, size_);
    if (!mark_from(0, size_)) return false;
  }
  marks_[0] |= kBusy;
  // Eight at a time; most are nothing to look at.
  constexpr uint64_t kEither = 0x0101010101010101u * (kBusy | kBranch);
  const uint8_t* marks = marks_.begin();
  uint16_t* busy = busy_.begin();
  uint16_t* branches = branches_.begin();
  for (uint32_t at = 0; at < size_; at += 8) {
    uint64_t word;
    std::memcpy(&word, marks + at, sizeof word);
    for (word &= kEither; word != 0;) {
      uint32_t byte = static_cast<uint32_t>(__builtin_ctzll(word)) / 8;
      uint32_t place = at + byte;
      *busy = *branches = static_cast<uint16_t>(place);
      busy += (marks[place] & kBusy) != 0;
      branches += (marks[place] & kBranch) != 0;
      word &= ~(UINT64_C(0xFF) << byte * 8);
    }
  }
  busy_.grow(static_cast<size_t>(busy - busy_.begin()));
  branches_.grow(static_cast<size_t>(branches - branches_.begin()));
  return true;
}

bool Method::find_lines() {
  lines_.clear();
  Bytes table = line_table_;
  uint32_t left = table.at == nullptr ? 0 : table.u2();
  const uint8_t* from = table.take(uint64_t{left} * kLineSize);
  if (table.bad) return false;
  if (!lines_.reserve(left)) return !(out_->failed = true);
  bool is_sorted = true;
  uint32_t last = 0;
  for (; left > 0; --left, from += kLineSize) {
    uint32_t at = read2(from);
    uint16_t number = read2(from + 2);
    if (at >= size_) return false;
    if (!is_start(at)) continue;
    marks_[at] |= kLineStart;
    is_sorted = is_sorted && last <= at;
    last = at;
    lines_.put({static_cast<uint16_t>(at), number});
  }
  if (is_sorted) return true;
  // Of each place the last one.
  Vector<uint16_t> numbers;
  if (!numbers.reserve(size_)) return !(out_->failed = true);
  numbers.grow(size_);
  for (const Line& one : lines_) numbers[one.at] = one.number;
  lines_.clear();
  for (uint32_t at = 0; at < size_; ++at) {
    if ((marks_[at] & kLineStart) != 0) lines_.put({static_cast<uint16_t>(at), numbers[at]});
  }
  return true;
}

bool Method::find_handlers() {
  Bytes handlers = handlers_;
  for (uint32_t left = handler_count_; left > 0; --left) {
    uint32_t start = handlers.u2();
    uint32_t end = handlers.u2();
    uint32_t handler = handlers.u2();
    handlers.u2();
    if (end > size_ || start >= end || handler >= size_ || !is_start(start) ||
        (end < size_ && !is_start(end)) || !is_start(handler)) {
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
  for (uint32_t at : busy_) {
    if ((wanted_ & sites_of(code_[at])) != 0) return true;
  }
  return false;
}

// Whether what is thrown in front of a place may be caught behind it.
bool Method::is_caught_behind(uint32_t at) const {
  Bytes handlers = handlers_;
  for (uint32_t left = handler_count_; left > 0; --left) {
    uint32_t start = handlers.u2();
    handlers.u2();
    uint32_t handler = handlers.u2();
    handlers.u2();
    if (start <= at && handler > at) return true;
  }
  return false;
}

// Whether a constructor has one call of another one for its own object, and no way leads past it.
// Some compilers make one in each case of a switch; without frames nobody knows then where the
// object is initialized.
bool Method::initializes_once() const {
  uint32_t made = 0;
  uint32_t own = 0;
  uint32_t farthest = 0;  // that anything in front of the call jumps to
  for (uint32_t at = 0; at < size_; ++at) {
    if (!is_start(at)) continue;
    uint8_t op = code_[at];
    Member member;
    if (op == kNew) ++made;
    if (own == 0) {
      bool is_far = op == kGotoW || op == kJsrW || op == kTableswitch || op == kLookupswitch;
      int64_t to = is_branch(op) ? at + int64_t{static_cast<int16_t>(read2(code_ + at + 1))} : 0;
      if (is_far) farthest = size_;
      if (to > farthest) farthest = static_cast<uint32_t>(to);
    }
    if (op != kInvokespecial || !pool_.member(read2(code_ + at + 1), &member) ||
        !(member.name == Text("<init>"))) {
      continue;
    }
    if (made > 0) {
      --made;
    } else if (++own > 1 || farthest > at || is_caught_behind(at)) {
      return false;
    }
  }
  return own == 1;
}

// Where a constructor has called another one for its own object, if no way leads past that, and
// what is in front of it is a single way.
uint32_t Method::initialized_at() const {
  uint32_t made = 0;
  for (uint32_t at = 0; at < size_;) {
    uint8_t op = code_[at];
    uint32_t next = at + length_at(code_, at, size_);
    Member member;
    if (is_branch(op) || ends_block(op) || op == kJsrW) return kNowhere;
    if (op == kNew) ++made;
    if (op == kInvokespecial && pool_.member(read2(code_ + at + 1), &member) &&
        member.name == Text("<init>") && made-- == 0) {
      return next < size_ && !is_caught_behind(at) ? next : kNowhere;
    }
    at = next;
  }
  return kNowhere;
}

// What each instruction is, and whether it is more than a copy.
void Method::choose_busy() {
  if (busy_for_ == wanted_) return;
  busy_for_ = wanted_;
  for (uint32_t op = 0; op <= kJsrW; ++op) {
    uint8_t code = static_cast<uint8_t>(op);
    bool is_far = code == kGotoW || code == kJsrW || code == kTableswitch || code == kLookupswitch;
    bool is_busy = is_far || is_wanted(Site::kIndex) || (wanted_ & sites_of(code)) != 0;
    marks_of_[op] =
        static_cast<uint8_t>(kStart | (is_busy ? kBusy : 0) | (is_branch(code) ? kBranch : 0));
  }
}

}  // namespace jvmti::classfile
