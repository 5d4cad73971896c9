// Conditions: comparisons of values with constants, each of which leaves 0 or 1, so that no branch
// is needed. Numbers are compared by methods of the helper that the VM compiles into the probe,
// what objects hold by one of the agent's.
#include "classfile/probes/method.h"

namespace jvmti::classfile {

namespace {

using layouts::Test;

constexpr const char* kComparisons[] = {"(JJI)I",
                                        "(DDI)I",
                                        "(Ljava/lang/Object;I)I",
                                        "(Ljava/lang/Object;Ljava/lang/String;I)I",
                                        "(IIILjava/lang/Object;)I",
                                        "(IIILjava/lang/Object;Ljava/lang/String;I)I",
                                        "(IIILjava/lang/Object;JI)I",
                                        "(IIILjava/lang/Object;DI)I",
                                        "(IIILjava/lang/Object;I)I"};

enum : uint8_t {
  kWhole,
  kReal,
  kNull,
  kText,
  kInAgent,
  kPathToText,
  kPathToWhole,
  kPathToReal,
  kPathToNull
};

}  // namespace

int32_t character(Text text) {
  if (text.size == 1) return text[0];
  if (text.size == 2 && (text[0] & 0xE0) == 0xC0) return (text[0] & 0x1F) << 6 | (text[1] & 0x3F);
  if (text.size == 3 && (text[0] & 0xF0) == 0xE0)
    return (text[0] & 0x0F) << 12 | (text[1] & 0x3F) << 6 | (text[2] & 0x3F);
  return -1;
}

bool is_followed(const Step& step) {
  if (step.operation != Test::kCompare) return false;
  bool is_number = step.type == 'J' || step.type == 'D';
  // Without a path there may be a number in a box.
  if (step.path.size == 0) return is_number;
  bool is_equality = step.holds == 2 || step.holds == 5;
  for (uint32_t at = 0, end = 0; at < step.path.size; at = end + 1) {
    end = at;
    while (end < step.path.size && step.path.data[end] != '.') ++end;
    if (Text(step.path.data + at, end - at) == Text("class")) {
      return end == step.path.size && is_equality && (step.type == 'S' || step.type == 'P');
    }
  }
  return is_number || step.type == 'L' || (step.type == 'S' && is_equality);
}

// The field of a path of one field, NAME or NAME@CLASS, if it is said to be of this class.
Text Method::own_name(Text path) const {
  for (uint32_t at = 0; at < path.size; ++at) {
    if (path.data[at] == '@') {
      return path.from(at + 1) == class_->name ? Text(path.data, at) : Text();
    }
  }
  return path;
}

// The type of what a path of one field leads to from `this`, where the class itself has the field;
// empty otherwise.
Text Method::own_field(const Operand& operand, Text path) const {
  path = own_name(path);
  if (operand.kind != OperandKind::kThis || path.size == 0 || is_constructor_ ||
      method_->is_static()) {
    return Text();
  }
  Bytes fields = class_->fields;
  for (uint32_t left = fields.u2(); left > 0 && !fields.bad; --left) {
    uint32_t access = fields.u2();
    Text name = pool_.utf8(fields.u2());
    Text type = pool_.utf8(fields.u2());
    for (uint32_t more = fields.u2(); more > 0 && !fields.bad; --more) {
      fields.u2();
      fields.take(fields.u4());
    }
    if (name == path && (access & 0x0008) == 0) return type;
  }
  return Text();
}

// Behind the object.
void Method::get_own_field(Text path, Text type, const Place& place) {
  // A copy of the receiver is kept as any object is.
  if (place.is_unwind || parameters_[0].written) {
    op(kCheckcast, 0);
    out_->u2(class_->index);
  }
  op(kGetfield, static_cast<int32_t>(slots(category(type))) - 1);
  out_->u2(pool_.add_field(class_->name, own_name(path), type));
}

bool Method::is_possible(const Step& step, const Place& place) const {
  if (step.operation != Test::kCompare) return true;
  if (!is_possible(*step.operand, place)) return false;
  char kind = category(type_at(*step.operand, place));
  // A box may have a number.
  bool is_equality = step.holds == 2 || step.holds == 5;  // only characters have an order
  if (kind == 'L') return step.type != 'S' || is_equality;
  if (step.path.size != 0 || kind == 'V' || kind == '\0') return false;
  bool is_character = type_at(*step.operand, place) == Text("C") && character(step.text) >= 0;
  return step.type == 'D' || step.type == 'J' || (step.type == 'S' && is_character);
}

void Method::condition(const Probe& probe, const Place& place) {
  if (probe.step_count == 0) return number(1);
  for (uint32_t i = 0; i < probe.step_count; ++i) {
    switch (probe.steps[i].operation) {
      case Test::kCompare:
        // What the agent has to look at is not asked for where the rest is false already.
        if (compare(probe, i, place)) ++i;
        break;
      case Test::kAnd:
        op(kIand, -1);
        break;
      case Test::kOr:
        op(kIor, -1);
        break;
      case Test::kNot:
        number(1);
        op(kIxor, -1);
        break;
    }
  }
}

// Whether the step behind it is done, too.
bool Method::compare(const Probe& probe, uint32_t index, const Place& place) {
  const Step& step = probe.steps[index];
  bool joins =
      index + 1 < probe.step_count && probe.steps[index + 1].operation == Test::kAnd && index > 0;
  Text type = type_at(*step.operand, place);
  Text field = own_field(*step.operand, step.path);
  bool is_field = field.size != 0 && category(field) != '\0';
  char kind = is_field ? category(field) : category(type);
  // A text that is compared with a character is one.
  bool is_character = (is_field ? field : type) == Text("C") && step.type == 'S';
  bool is_number = kind != 'L' && (step.type == 'D' || step.type == 'J' || is_character);
  // A fraction is compared as such with a whole number, too.
  bool is_real = step.type == 'D' || kind == 'F' || kind == 'D';
  int64_t constant = is_character ? character(step.text) : step.constant;
  if (kind == 'F' && step.type == 'D') {
    double value;
    std::memcpy(&value, &constant, sizeof value);
    value = static_cast<double>(static_cast<float>(value));
    std::memcpy(&constant, &value, sizeof value);
  }
  if (is_real && step.type == 'J') {
    double value = static_cast<double>(step.constant);
    std::memcpy(&constant, &value, sizeof constant);
  }
  bool is_at_hand =
      kind == 'L' && (is_field || step.path.size == 0) && step.operand->kind != OperandKind::kStack;
  // What the comparison of texts in Java calls must not call it.
  bool serves_text = class_->name.starts_with("java/lang/String");
  uint8_t comparison = is_number                                        ? (is_real ? kReal : kWhole)
                       : is_at_hand && step.type == 'L'                 ? kNull
                       : is_at_hand && step.type == 'S' && !serves_text ? kText
                                                                        : kInAgent;
  bool is_path = comparison == kInAgent && kind == 'L' && !serves_text && is_followed(step) &&
                 step.operand->kind != OperandKind::kStack;
  if (comparison == kInAgent) {
    if (!joins) number(1);
    // The number of the set, as in the probe itself.
    hand_over(probe.operands[0], place);
    number(static_cast<int32_t>(probe.first_step + index));
    if (is_field) kind = 'L';
    is_field = false;
  }
  hand_over(*step.operand, place);
  if (is_field) get_own_field(step.path, field, place);
  if (comparison == kInAgent) {
    if (kind != 'L') box(type);
    if (is_path) {
      if (step.type == 'S' || step.type == 'P') {
        text(step.text);
      } else if (step.type != 'L') {
        op(kLdc2W, 2);
        out_->u2(step.type == 'D' ? pool_.add_double(step.constant)
                                  : pool_.add_long(step.constant));
      }
      number(static_cast<int32_t>(step.holds));
    }
  } else if (comparison == kNull || comparison == kText) {
    if (comparison == kText) text(step.text);
    number(static_cast<int32_t>(step.holds));
  } else {
    convert(is_field ? field : type, is_real ? 'D' : 'J');
    if (!is_real && constant >= -32768 && constant <= 32767) {
      number(static_cast<int32_t>(constant));
      op(kI2l, 1);
    } else {
      op(kLdc2W, 2);
      out_->u2(is_real ? pool_.add_double(constant) : pool_.add_long(constant));
    }
    number(static_cast<int32_t>(step.holds));
  }
  bool is_asked = comparison == kInAgent;
  if (is_path) {
    comparison = step.type == 'J'   ? kPathToWhole
                 : step.type == 'D' ? kPathToReal
                 : step.type == 'L' ? kPathToNull
                                    : kPathToText;
  }
  uint16_t& method = comparisons_[comparison];
  if (method == 0) method = pool_.add_method(probe.helper, "test", kComparisons[comparison]);
  invoke(method, kComparisons[comparison]);
  return joins && is_asked;
}

}  // namespace jvmti::classfile
