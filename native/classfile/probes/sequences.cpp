// What a probe is made of: what it hands over is loaded, then a static method is called.
#include "classfile/probes/method.h"

namespace jvmti::classfile {

namespace {

struct Boxed {
  char type;
  const char* owner;
  const char* descriptor;
};

constexpr Boxed kBoxes[] = {{'Z', "java/lang/Boolean", "(Z)Ljava/lang/Boolean;"},
                            {'B', "java/lang/Byte", "(B)Ljava/lang/Byte;"},
                            {'C', "java/lang/Character", "(C)Ljava/lang/Character;"},
                            {'S', "java/lang/Short", "(S)Ljava/lang/Short;"},
                            {'I', "java/lang/Integer", "(I)Ljava/lang/Integer;"},
                            {'J', "java/lang/Long", "(J)Ljava/lang/Long;"},
                            {'F', "java/lang/Float", "(F)Ljava/lang/Float;"},
                            {'D', "java/lang/Double", "(D)Ljava/lang/Double;"}};

constexpr const char* kCurrentThread = "()Ljava/lang/Thread;";

// Whether a value of a category can be handed over as a type.
bool is_convertible(char from, char to) {
  switch (to) {
    case 'L':
    case 'X':
      return from != '\0';
    case 'T':
      return from == 'L';
    case 'J':
      return from == 'J' || from == 'I';
    case 'F':
      return from == 'F' || from == 'I';
    case 'D':
      return from == 'D' || from == 'F' || from == 'I' || from == 'J';
    default:
      return from == to;
  }
}

}  // namespace

uint8_t kind_of(char category) {
  switch (category) {
    case 'I':
      return 0;
    case 'J':
      return 1;
    case 'F':
      return 2;
    case 'D':
      return 3;
    default:
      return 4;
  }
}

const char* primitive_name(char type) {
  switch (type) {
    case 'Z':
      return "boolean";
    case 'B':
      return "byte";
    case 'C':
      return "char";
    case 'S':
      return "short";
    case 'I':
      return "int";
    case 'J':
      return "long";
    case 'F':
      return "float";
    case 'D':
      return "double";
    default:
      return nullptr;
  }
}

// The parameter at a position, which does not count the receiver.
const Method::Parameter* Method::argument(int64_t position) const {
  uint64_t at = static_cast<uint64_t>(position) + (method_->is_static() ? 0 : 1);
  return at < parameters_.size() ? &parameters_[at] : nullptr;
}

const Method::Spilled* Method::passed(int64_t position) const {
  uint64_t at = static_cast<uint64_t>(position) + (after_.has_receiver ? 1 : 0);
  return at < spilled_.size() ? &spilled_[at] : nullptr;
}

uint32_t Method::kept_by(int64_t probe) const {
  for (const Vector<Kept>* list : {&kept_, &kept_here_}) {
    for (const Kept& one : *list) {
      if (one.probe == probe) return one.slot;
    }
  }
  return kNoSlot;
}

// By the table of variables, where it has the parameter from the beginning on.
const Method::Parameter* Method::parameter_named(Text name) const {
  Text type;
  uint32_t slot;
  if (!find_entry(name, 0, &type, &slot)) return nullptr;
  for (const Parameter& one : parameters_) {
    if (one.slot == slot && one.category == category(type)) return &one;
  }
  return nullptr;
}

bool Method::find_local(Text name, uint32_t at, Text* type, uint32_t* slot) const {
  // The table is a hint; what is there is what the verifier sees.
  return find_entry(name, at, type, slot) &&
         (!tracks_ || tracker_.local(*slot).category() == category(*type));
}

bool Method::find_entry(Text name, uint32_t at, Text* type, uint32_t* slot) const {
  Bytes table = variable_table_;
  if (table.at == nullptr) return false;
  for (uint32_t left = table.u2(); left > 0; --left) {
    uint32_t start = table.u2();
    uint32_t length = table.u2();
    Text found = pool_.utf8(table.u2());
    *type = pool_.utf8(table.u2());
    *slot = table.u2();
    if (table.bad) return false;
    if (at < start || at >= start + length || !(found == name)) continue;
    char kind = category(*type);
    return kind != '\0' && kind != 'V' && *slot + slots(kind) <= max_locals_;
  }
  return false;
}

bool Method::is_possible(const Operand& operand, const Place& place) const {
  Text type;
  uint32_t slot;
  switch (operand.kind) {
    case OperandKind::kValue:
      return is_convertible(category(place.value_type), operand.type);
    case OperandKind::kArgument: {
      const Parameter* found = argument(operand.number);
      return found != nullptr && is_convertible(found->category, operand.type);
    }
    case OperandKind::kPassed: {
      const Spilled* found = place.is_passed ? passed(operand.number) : nullptr;
      return found != nullptr && is_convertible(found->category, operand.type);
    }
    case OperandKind::kAllPassed:
      return place.is_passed;
    case OperandKind::kLocal:
      return find_local(operand.text, place.at, &type, &slot) &&
             is_convertible(category(type), operand.type);
    case OperandKind::kNamed:
      return parameter_named(operand.text) != nullptr ||
             (!place.is_unwind && find_local(operand.text, place.at, &type, &slot));
    case OperandKind::kKept:
    case OperandKind::kTook:
      return kept_by(operand.number) != kNoSlot;
    default:
      return true;
  }
}

bool Method::is_possible(const Probe& probe, const Place& place) const {
  for (uint32_t i = 0; i < probe.step_count; ++i) {
    if (!is_possible(probe.steps[i], place)) return false;
  }
  bool records = probe.outcome == Outcome::kRecord;
  if (records && !is_possible(probe.operands[2], place)) return false;
  for (uint32_t i = 0; i < probe.operand_count; ++i) {
    // What there is not is left out of a record, but the method behind a bridge has it.
    OperandKind kind = probe.operands[i].kind;
    bool is_name = kind == OperandKind::kNamed || kind == OperandKind::kLocal;
    if (records && !(is_name && method_->is_bridge())) continue;
    if (!is_possible(probe.operands[i], place)) return false;
  }
  return probe.outcome != Outcome::kReplace || category(place.value_type) == probe.result;
}

// Among all inserted; how many there are, if the method has none of it yet.
size_t Method::first_place_of(const Probe& probe) const {
  size_t i = first_inserted_;
  while (i < inserted_probes_.size() && inserted_probes_[i].probe != probe.number) ++i;
  return i;
}

bool Method::emit(const Probe& probe, const Place& place) {
  depth_ = 0;
  bound_to_ = probe.helper;
  if (probe.outcome == Outcome::kStop) return stop(probe, place);
  bool records = probe.outcome == Outcome::kRecord;
  uint32_t shape = shapes_.size();
  uint32_t handed_over = records ? kBeginOperands : probe.operand_count;
  if (probe.conditional) condition(probe, place);
  bool is_one_place = false;
  for (uint32_t i = 0; i < handed_over; ++i) {
    if (probe.operands[i].kind == OperandKind::kPosition) {
      number(static_cast<int32_t>(probe.first_operand + i) - 1);
    } else if (probe.operands[i].kind == OperandKind::kMethodSite) {
      size_t first = first_place_of(probe);
      is_one_place = first < inserted_probes_.size();
      number(static_cast<int32_t>(first_site_ + first));
    } else {
      hand_over(probe.operands[i], place);
    }
  }
  uint16_t& helper = helpers_[probe.number];
  if (helper == 0) helper = pool_.add_method(probe.helper, probe.name, probe.descriptor);
  op(kInvokestatic, probe.depth);
  out_->u2(helper);
  if (records) {
    record(probe, place);
  } else if (probe.outcome == Outcome::kKeep) {
    if (probe.site != Site::kEntry && !keep(kept_here_, {probe.number, temporary('J')})) {
      return false;
    }
    store('J', kept_by(probe.number));
  } else if (probe.outcome == Outcome::kReplace) {
    Text type = place.value_type;
    if (type[0] == 'L') type = Text(type.data + 1, type.size - 2);
    if (probe.result == 'L' && !(type == Text("java/lang/Object"))) {
      op(kCheckcast, 0);
      out_->u2(pool_.add_class(type));
    }
    store(probe.result, place.value);
  }
  // Nobody asks where times are kept, and the number of places is limited.
  if (is_one_place || probe.outcome == Outcome::kKeep) return !pool_.is_full();
  end_shape(place);
  return keep(inserted_probes_,
              {probe.number, method_->number, index_before(place.at), line_, shape}) &&
         !pool_.is_full();
}

// The same of a plain probe, in one go.
bool Method::emit_plain(const Probe& probe, uint32_t at) {
  constexpr uint32_t kLongest = 3;
  uint32_t start = out_->size();
  uint8_t* to = out_->space(uint64_t{kLongest} * (probe.operand_count + 1));
  if (to == nullptr) return false;
  uint8_t* begin = to;
  for (uint32_t i = 0; i < probe.operand_count; ++i) {
    const Operand& operand = probe.operands[i];
    int64_t value = operand.kind == OperandKind::kNumber ? operand.number
                    : operand.kind == OperandKind::kLine
                        ? int64_t{line_}
                        : int64_t{first_site_} + static_cast<int64_t>(inserted_probes_.size());
    if (value >= -1 && value <= 5) {
      *to++ = static_cast<uint8_t>(kIconst0 + value);
    } else if (value >= -128 && value <= 127) {
      *to++ = kBipush;
      *to++ = static_cast<uint8_t>(value);
    } else if (value >= -32768 && value <= 32767) {
      *to++ = kSipush;
      write2(to, static_cast<uint32_t>(value));
      to += 2;
    } else {
      out_->cut(start);
      Place place;
      place.at = at;
      return emit(probe, place);
    }
  }
  uint16_t& helper = helpers_[probe.number];
  if (helper == 0) helper = pool_.add_method(probe.helper, probe.name, probe.descriptor);
  *to++ = kInvokestatic;
  write2(to, helper);
  out_->cut(start + static_cast<uint32_t>(to + 2 - begin));
  int32_t depth = static_cast<int32_t>(probe.operand_count);
  if (depth > deepest_) deepest_ = depth;
  layouts::InsertedProbe made{probe.number, method_->number, index_before(at), line_,
                              shapes_.size()};
  shapes_.u1(0);
  return keep(inserted_probes_, made) && !pool_.is_full();
}

bool Method::emit_all_plain(Site site, uint32_t at) {
  for (const Probe* probe : of_site_[static_cast<uint32_t>(site)]) {
    if (!emit_plain(*probe, at)) return false;
  }
  return true;
}

void Method::hand_over(const Operand& operand, const Place& place) {
  switch (operand.kind) {
    case OperandKind::kNumber:
      if (operand.type == 'I') return number(static_cast<int32_t>(operand.number));
      op(kLdc2W, 2);
      return out_->u2(pool_.add_long(operand.number));
    case OperandKind::kText:
      return text(operand.text);
    case OperandKind::kSite:
    case OperandKind::kMethodSite:
      return number(static_cast<int32_t>(first_site_ + inserted_probes_.size()));
    case OperandKind::kLine:
      return number(static_cast<int32_t>(line_));
    case OperandKind::kClass:
      return dotted(class_->name, Text());
    case OperandKind::kMethod:
      return dotted(class_->name, method_->name);
    case OperandKind::kDescriptor:
      return text(method_->descriptor);
    case OperandKind::kMember:
      return dotted(place.owner, place.member);
    case OperandKind::kThis:
      return this_object(place);
    case OperandKind::kTarget:
      if (place.target == kNoSlot) return op(kAconstNull, 1);
      return load('L', place.target);
    case OperandKind::kArgument: {
      const Parameter& found = *argument(operand.number);
      parameter(found, place);
      return convert(found.type, operand.type);
    }
    case OperandKind::kArguments: {
      size_t first = method_->is_static() ? 0 : 1;
      return array(parameters_.size() - first, [&](size_t i) {
        parameter(parameters_[first + i], place);
        convert(parameters_[first + i].type, 'L');
      });
    }
    case OperandKind::kPassed: {
      const Spilled& found = *passed(operand.number);
      load(found.category, found.slot);
      return convert(found.type, operand.type);
    }
    case OperandKind::kAllPassed: {
      size_t first = place.has_receiver ? 1 : 0;
      return array(spilled_.size() - first, [&](size_t i) {
        load(spilled_[first + i].category, spilled_[first + i].slot);
        convert(spilled_[first + i].type, 'L');
      });
    }
    case OperandKind::kValue:
      if (place.value == kNoSlot) return op(kAconstNull, 1);
      load(category(place.value_type), place.value);
      return convert(place.value_type, operand.type);
    case OperandKind::kLocal: {
      Text type;
      uint32_t slot = 0;
      (void)find_local(operand.text, place.at, &type, &slot);
      load(category(type), slot);
      return convert(type, operand.type);
    }
    case OperandKind::kNamed: {
      const Parameter* found = parameter_named(operand.text);
      Text type;
      uint32_t slot = 0;
      if (found != nullptr) {
        parameter(*found, place);
        return convert(found->type, operand.type);
      }
      (void)find_local(operand.text, place.at, &type, &slot);
      load(category(type), slot);
      return convert(type, operand.type);
    }
    case OperandKind::kThread:
    case OperandKind::kStack:  // the agent asks for its frames
      return invoke(pool_.add_method("java/lang/Thread", "currentThread", kCurrentThread),
                    kCurrentThread);
    case OperandKind::kKept:
      return load('J', kept_by(operand.number));
    case OperandKind::kTook:
      load('J', kept_by(operand.number));
      invoke(pool_.add_method(bound_to_, "elapsed", "(J)J"), "(J)J");
      return convert("J", operand.type);
    case OperandKind::kHeld:
      return held(place);
    case OperandKind::kPosition:
      return;  // `emit` knows it
  }
}

// An array of the receiver and of what is passed.
void Method::held(const Place& place) {
  if (place.is_passed) {
    size_t first = place.has_receiver ? 1 : 0;
    return array(spilled_.size() - first + 1, [&](size_t i) {
      if (i == 0) {
        if (place.target == kNoSlot) return op(kAconstNull, 1);
        return load('L', place.target);
      }
      const Spilled& one = spilled_[first + i - 1];
      load(one.category, one.slot);
      convert(one.type, 'L');
    });
  }
  size_t first = method_->is_static() ? 0 : 1;
  array(parameters_.size() - first + 1, [&](size_t i) {
    if (i == 0) return this_object(place);
    parameter(parameters_[first + i - 1], place);
    convert(parameters_[first + i - 1].type, 'L');
  });
}

void Method::this_object(const Place& place) {
  bool is_there = !method_->is_static();
  if (is_there && is_constructor_) {
    // Nobody may have an object whose superclass has not initialized it.
    is_there = !place.is_entry && !parameters_[0].written && (place.is_unwind || is_ready());
  }
  if (!is_there) return op(kAconstNull, 1);
  parameter(parameters_[0], place);
}

void Method::parameter(const Parameter& one, const Place& place) {
  load(one.category, place.is_entry || one.saved == kNoSlot ? one.slot : one.saved);
}

void Method::number(int32_t value) {
  if (value >= -1 && value <= 5) {
    op(static_cast<uint8_t>(kIconst0 + value), 1);
  } else if (value >= -128 && value <= 127) {
    op(kBipush, 1);
    out_->u1(static_cast<uint8_t>(value));
  } else if (value >= -32768 && value <= 32767) {
    op(kSipush, 1);
    out_->u2(static_cast<uint16_t>(value));
  } else if (pool_.is_filling()) {
    // Each site has a number of its own, and a class may have more sites than a pool has constants.
    computed_number(value);
  } else {
    op(kLdcW, 1);
    out_->u2(pool_.add_int(value));
  }
}

void Method::computed_number(int32_t value) {
  int16_t low = static_cast<int16_t>(value);
  op(kSipush, 1);
  out_->u2(static_cast<uint32_t>((int64_t{value} - low) >> 16) & 0xFFFF);
  op(kBipush, 1);
  out_->u1(16);
  op(kIshl, -1);
  op(kSipush, 1);
  out_->u2(static_cast<uint16_t>(low));
  op(kIadd, -1);
}

void Method::text(Text value) {
  op(kLdcW, 1);
  out_->u2(pool_.add_string(value));
}

// Two names with a dot between them, or one, as Java writes them.
void Method::dotted(Text first, Text second) {
  Output name;
  for (uint32_t i = 0; i < first.size; ++i) name.u1(first.data[i] == '/' ? '.' : first.data[i]);
  if (second.size != 0) name.u1('.');
  name.copy(second.data, second.size);
  if (name.failed) out_->failed = true;
  text(Text(name.data(), name.size()));
}

void Method::move(uint8_t long_op, uint8_t short_op, char category, uint32_t slot) {
  uint8_t kind = kind_of(category);
  int32_t size = static_cast<int32_t>(slots(category));
  int32_t depth = long_op == kIload ? size : -size;
  if (slot < 4) {
    op(static_cast<uint8_t>(short_op + kind * 4 + slot), depth);
    return;
  }
  if (slot > 255) out_->u1(kWide);
  op(static_cast<uint8_t>(long_op + kind), depth);
  if (slot > 255) {
    out_->u2(slot);
  } else {
    out_->u1(slot);
  }
}

void Method::convert(Text from, char to) {
  char kind = category(from);
  if (to == 'L' && kind != 'L') {
    box(from);
  } else if (to == 'J' && kind == 'I') {
    op(kI2l, 1);
  } else if (to == 'F' && kind == 'I') {
    op(kI2f, 0);
  } else if (to == 'D' && kind != 'D') {
    op(kind == 'I' ? kI2d : kind == 'J' ? kL2d : kF2d, kind == 'J' ? 0 : 1);
  }
}

void Method::box(Text type) {
  for (const Boxed& one : kBoxes) {
    if (one.type == type[0]) {
      return invoke(pool_.add_method(one.owner, "valueOf", one.descriptor), one.descriptor);
    }
  }
}

template <class Load>
void Method::array(size_t count, const Load& load_one) {
  number(static_cast<int32_t>(count));
  op(kAnewarray, 0);
  out_->u2(pool_.add_class("java/lang/Object"));
  for (size_t i = 0; i < count; ++i) {
    op(kDup, 1);
    number(static_cast<int32_t>(i));
    load_one(i);
    op(kAastore, -3);
  }
}

void Method::invoke(uint16_t method, Text descriptor) {
  op(kInvokestatic, depth_of_call(descriptor));
  out_->u2(method);
}

}  // namespace jvmti::classfile
