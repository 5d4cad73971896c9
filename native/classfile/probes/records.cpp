// What a probe records: each value goes into the record by a call of its own.
#include "classfile/probes/method.h"

namespace jvmti::classfile {

namespace {

// Of what puts a value into a record, by kind.
constexpr const char* kPuts[] = {
    "(JII)J", "(JJI)J", "(JFI)J", "(JDI)J", "(JLjava/lang/Object;I)J", "(JLjava/lang/Object;II)J"};
constexpr uint8_t kPutPath = 5;

uint32_t size_in_record(const Probe& probe, Text type) {
  bool is_object = category(type) == 'L';
  return is_object ? uint32_t{sizeof(layouts::RecordedObject)} + probe.text_size : 8;
}

}  // namespace

// Behind `begin`, whose result each `put` takes and returns.
void Method::record(const Probe& probe, const Place& place) {
  uint32_t at = sizeof(layouts::RecordedProbe);
  size_t first = method_->is_static() ? 0 : 1;
  for (uint32_t i = kBeginOperands; i < probe.operand_count; ++i) {
    const Operand& operand = probe.operands[i];
    if (operand.kind == OperandKind::kArguments) {
      for (size_t j = first; j < parameters_.size(); ++j) {
        if (!fits(probe, parameters_[j].type, at)) continue;
        parameter(parameters_[j], place);
        put(probe, parameters_[j].type, &at);
      }
      shapes_.u1(';');
      continue;
    }
    if (operand.kind == OperandKind::kAllPassed) {
      for (size_t j = place.has_receiver ? 1 : 0; place.is_passed && j < spilled_.size(); ++j) {
        if (!fits(probe, spilled_[j].type, at)) continue;
        load(spilled_[j].category, spilled_[j].slot);
        put(probe, spilled_[j].type, &at);
      }
      shapes_.u1(';');
      continue;
    }
    Text type = type_at(operand, place);
    if (type[0] == 'V' || !is_possible(operand, place)) {
      shapes_.u1('V');
    } else if (operand.path.size != 0 || operand.kind == OperandKind::kStack ||
               operand.kind == OperandKind::kHeld) {
      put_path(probe, i, place, &at);
    } else if (fits(probe, type, at)) {
      hand_over(operand, place);
      put(probe, type, &at);
    }
  }
  if (end_ == 0) end_ = pool_.add_method(probe.helper, "end", kEnd);
  invoke(end_, kEnd);
}

// What the place is about, behind the values.
void Method::end_shape(const Place& place) {
  if (place.owner.size != 0) {
    shapes_.u1(1);
    shapes_.copy(place.owner.data, place.owner.size);
    shapes_.u1('.');
    shapes_.copy(place.member.data, place.member.size);
    shapes_.u1(1);
    shapes_.copy(place.member_type.data, place.member_type.size);
  }
  shapes_.u1(0);
}

// What the path of an operand leads to: a field of the class's own by its type, anything else by
// the agent, an object.
void Method::put_path(const Probe& probe, uint32_t index, const Place& place, uint32_t* at) {
  const Operand& operand = probe.operands[index];
  Text field = own_field(operand, operand.path);
  char kind = category(type_at(operand, place));
  if (kind != 'L') return shapes_.u1('V');
  if (field.size != 0 && category(field) != '\0') {
    if (!fits(probe, field, *at)) return;
    hand_over(operand, place);
    get_own_field(operand.path, field, place);
    return put(probe, field, at);
  }
  Text object = "Ljava/lang/Object;";
  if (!fits(probe, object, *at)) return;
  hand_over(operand, place);
  number(static_cast<int32_t>(*at));
  number(static_cast<int32_t>(probe.first_operand + index));
  *at += size_in_record(probe, object);
  invoke_put(probe, kPutPath);
}

// The type of what is handed over as it is; V for nothing.
Text Method::type_at(const Operand& operand, const Place& place) const {
  Text type = "V";
  uint32_t slot;
  switch (operand.kind) {
    case OperandKind::kValue:
      return place.value_type.size == 0 ? type : place.value_type;
    case OperandKind::kArgument:
      return argument(operand.number) == nullptr ? type : argument(operand.number)->type;
    case OperandKind::kPassed:
      return passed(operand.number) == nullptr ? type : passed(operand.number)->type;
    case OperandKind::kLocal:
      return find_local(operand.text, place.at, &type, &slot) ? type : Text("V");
    case OperandKind::kNamed:
      if (parameter_named(operand.text) != nullptr) return parameter_named(operand.text)->type;
      return find_local(operand.text, place.at, &type, &slot) ? type : Text("V");
    case OperandKind::kTook:
      return "J";
    default:
      return "Ljava/lang/Object;";
  }
}

// Whether a value has space in a record, which is noted.
bool Method::fits(const Probe& probe, Text type, uint32_t at) {
  bool is_fitting = at + size_in_record(probe, type) <= probe.record_size;
  char letter = type[0] == '[' ? 'L' : static_cast<char>(type[0]);
  shapes_.u1(static_cast<uint8_t>(is_fitting ? letter : '-'));
  return is_fitting;
}

void Method::put(const Probe& probe, Text type, uint32_t* at) {
  number(static_cast<int32_t>(*at));
  *at += size_in_record(probe, type);
  invoke_put(probe, kind_of(category(type)));
}

void Method::invoke_put(const Probe& probe, uint8_t kind) {
  if (puts_[kind] == 0) puts_[kind] = pool_.add_method(probe.helper, "put", kPuts[kind]);
  invoke(puts_[kind], kPuts[kind]);
}

}  // namespace jvmti::classfile
