#include "classfile/probes/plan.h"

namespace jvmti::classfile {

namespace {

constexpr uint32_t kLongestDescriptor = 1024;
constexpr uint32_t kLargestRecord = layouts::Plans::kLargestRecord;
constexpr char kAsItIs = 'X';
constexpr int kDeepest = 16;  // truth values of a condition at a time

const char* described(char type) {
  switch (type) {
    case 'I':
      return "I";
    case 'J':
      return "J";
    case 'F':
      return "F";
    case 'D':
      return "D";
    case 'V':
      return "V";
    case 'L':
      return "Ljava/lang/Object;";
    case 'S':
      return "Ljava/lang/String;";
    case 'T':
      return "Ljava/lang/Throwable;";
    case 'A':
      return "[Ljava/lang/Object;";
    default:
      return nullptr;
  }
}

bool has_value(Site site) {
  switch (site) {
    case Site::kReturn:
    case Site::kUnwind:
    case Site::kThrow:
    case Site::kCatch:
    case Site::kRead:
    case Site::kWrite:
    case Site::kCalled:
    case Site::kNew:
      return true;
    default:
      return false;
  }
}

bool has_member(Site site) {
  return site == Site::kRead || site == Site::kWrite || site == Site::kCall ||
         site == Site::kCalled || site == Site::kNew;
}

// Whether there is such an operand at such a site, handed over as such a type.
bool makes_sense(const Operand& operand, Site site) {
  char type = operand.type;
  switch (operand.kind) {
    case OperandKind::kNumber:
      return type == 'I' || type == 'J';
    case OperandKind::kSite:
    case OperandKind::kMethodSite:
    case OperandKind::kLine:
      return type == 'I';
    case OperandKind::kText:
      return type == 'S' && operand.text.data != nullptr;
    case OperandKind::kClass:
    case OperandKind::kMethod:
    case OperandKind::kDescriptor:
      return type == 'S';
    case OperandKind::kMember:
      return (type == 'S' || type == kAsItIs) && has_member(site);
    case OperandKind::kThis:
      return type == 'L' || type == kAsItIs;
    case OperandKind::kTarget:
      return (type == 'L' || type == kAsItIs) &&
             (has_member(site) || site == Site::kMonitorEnter || site == Site::kMonitorExit);
    case OperandKind::kArguments:
      return type == 'A' || type == kAsItIs;
    case OperandKind::kAllPassed:
      return (type == 'A' || type == kAsItIs) && (site == Site::kCall || site == Site::kCalled);
    case OperandKind::kHeld:
      return type == kAsItIs;
    case OperandKind::kPosition:
      return type == 'I';
    case OperandKind::kArgument:
      return type != 'S' && type != 'A' && type != 'T' && operand.number >= 0 &&
             operand.number < 256;
    case OperandKind::kPassed:
      return type != 'S' && type != 'A' && type != 'T' && operand.number >= 0 &&
             operand.number < 256 && (site == Site::kCall || site == Site::kCalled);
    case OperandKind::kNamed:
      return (type == kAsItIs || type == 'L') && operand.text.data != nullptr;
    case OperandKind::kThread:
    case OperandKind::kStack:
      return type == kAsItIs || type == 'L';
    case OperandKind::kTook:
      return (type == kAsItIs || type == 'L') && site != Site::kEntry && operand.number >= 0;
    case OperandKind::kLocal:
      return type != 'S' && type != 'A' && type != 'T' && operand.text.data != nullptr;
    case OperandKind::kValue:
      if (type == 'T') return site == Site::kUnwind || site == Site::kThrow || site == Site::kCatch;
      return type != 'S' && type != 'A' && has_value(site);
    case OperandKind::kKept:
      return type == 'J' && site != Site::kEntry && operand.number >= 0;
  }
  return false;
}

}  // namespace

bool Plan::text(uint32_t at, Text* found) const {
  *found = Text();
  if (at == layouts::Plans::kNoText) return true;
  if (at >= texts_.size) return false;
  // The texts end with a zero, which was checked.
  *found = Text(reinterpret_cast<const char*>(texts_.data + at));
  return true;
}

bool Plan::pattern(uint32_t at, const char** found) const {
  Text read;
  if (!text(at, &read)) return false;
  *found = reinterpret_cast<const char*>(read.data);
  return true;
}

Status Plan::read_operands(const uint8_t* at, uint32_t count) {
  if (!operands_.reserve(count)) return Status::kOutOfMemory;
  for (uint32_t i = 0; i < count; ++i) {
    layouts::PlanOperand one;
    std::memcpy(&one, at + i * sizeof one, sizeof one);
    Operand operand;
    if (one.kind == 0 || one.kind > layouts::kOperandCount || one.type > 127)
      return Status::kBadPlan;
    operand.kind = static_cast<OperandKind>(one.kind);
    operand.type = static_cast<char>(one.type);
    operand.number = one.number;
    if (!text(one.text, &operand.text) || !text(one.path, &operand.path)) return Status::kBadPlan;
    bool is_type = described(operand.type) != nullptr && operand.type != 'V';
    if (!is_type && operand.type != kAsItIs) return Status::kBadPlan;
    bool is_one =
        operand.kind != OperandKind::kArguments && operand.kind != OperandKind::kAllPassed;
    bool is_kept_object = operand.type == kAsItIs || operand.type == 'L';
    if (operand.path.size != 0 && (!is_kept_object || !is_one)) return Status::kBadPlan;
    operands_.put(operand);
  }
  return Status::kOk;
}

Status Plan::read_steps(const uint8_t* at, uint32_t count) {
  if (!steps_.reserve(count)) return Status::kOutOfMemory;
  for (uint32_t i = 0; i < count; ++i) {
    layouts::PlanTest one;
    std::memcpy(&one, at + i * sizeof one, sizeof one);
    if (one.operation == 0 || one.operation > layouts::kTestCount) return Status::kBadPlan;
    Step step{static_cast<layouts::Test>(one.operation),
              nullptr,
              one.holds,
              0,
              one.constant,
              Text(),
              Text()};
    if (step.operation == layouts::Test::kCompare) {
      bool is_type = one.type == 'J' || one.type == 'D' || one.type == 'S' || one.type == 'P' ||
                     one.type == 'L';
      if (!is_type || one.operand >= operands_.size() || one.holds > 7) return Status::kBadPlan;
      step.type = static_cast<char>(one.type);
      step.operand = operands_.begin() + one.operand;
      if (step.operand->type != kAsItIs) return Status::kBadPlan;
      if (!text(one.text, &step.text) || !text(one.path, &step.path)) return Status::kBadPlan;
      if ((step.type == 'S' || step.type == 'P') && step.text.data == nullptr)
        return Status::kBadPlan;
    }
    steps_.put(step);
  }
  return Status::kOk;
}

// Whether the steps of a probe leave one truth value.
bool Plan::is_condition(const Probe& probe) const {
  int depth = 0;
  for (uint32_t i = 0; i < probe.step_count; ++i) {
    switch (probe.steps[i].operation) {
      case layouts::Test::kCompare:
        if (!makes_sense(*probe.steps[i].operand, probe.site) || ++depth > kDeepest) return false;
        break;
      case layouts::Test::kNot:
        if (depth < 1) return false;
        break;
      default:
        if (--depth < 1) return false;
    }
  }
  return probe.step_count == 0 || depth == 1;
}

bool Plan::describe(Probe* probe) {
  char text[kLongestDescriptor];
  size_t used = 0;
  auto add = [&](const char* part) {
    size_t size = std::strlen(part);
    if (used + size >= sizeof text) return false;
    std::memcpy(text + used, part, size);
    used += size;
    return true;
  };
  if (probe->outcome == Outcome::kRecord) {
    probe->descriptor = probe->conditional ? kBeginIf : kBegin;
    return true;
  }
  if (probe->outcome == Outcome::kStop) {
    probe->descriptor = probe->conditional ? kStopIf : kStop;
    return true;
  }
  bool fits = add(probe->conditional ? "(I" : "(");
  for (uint32_t i = 0; i < probe->operand_count; ++i)
    fits = fits && add(described(probe->operands[i].type));
  fits = fits && add(")") && add(described(probe->result));
  if (!fits || descriptors_.size() + used > descriptors_.capacity()) return false;
  uint8_t* begin = descriptors_.end();
  std::memcpy(begin, text, used);
  descriptors_.grow(descriptors_.size() + used);
  probe->descriptor = Text(begin, static_cast<uint32_t>(used));
  return true;
}

// Equal texts of a plan are one.
bool Plan::ask(bool about_loader, const char* patterns, uint32_t* question) {
  if (patterns == nullptr) return true;
  for (size_t i = 0; i < questions_.size(); ++i) {
    *question = static_cast<uint32_t>(i);
    if (questions_[i].about_loader == about_loader && questions_[i].patterns == patterns) {
      return true;
    }
  }
  *question = static_cast<uint32_t>(questions_.size());
  return questions_.push({about_loader, patterns});
}

Status Plan::read_probe(const uint8_t* at, uint32_t number) {
  layouts::PlanProbe one;
  std::memcpy(&one, at, sizeof one);
  Probe probe{};
  probe.number = number;
  if (one.site == 0 || one.site > layouts::kSiteCount) return Status::kBadPlan;
  if (one.outcome >= layouts::kOutcomeCount || one.result > 127) return Status::kBadPlan;
  probe.site = static_cast<Site>(one.site);
  probe.outcome = static_cast<Outcome>(one.outcome);
  probe.result = static_cast<char>(one.result);
  probe.at = one.number;
  if (one.operands > layouts::Plans::kOperands || one.first_operand > operands_.size() ||
      one.operands > operands_.size() - one.first_operand) {
    return Status::kBadPlan;
  }
  probe.operands = operands_.begin() + one.first_operand;
  probe.first_operand = one.first_operand;
  probe.operand_count = one.operands;
  if (one.first_test > steps_.size() || one.tests > steps_.size() - one.first_test ||
      one.conditional > 1 || (one.tests != 0 && one.conditional == 0)) {
    return Status::kBadPlan;
  }
  probe.conditional = one.conditional != 0;
  probe.first_step = one.first_test;
  probe.steps = steps_.begin() + one.first_test;
  probe.step_count = one.tests;
  if (!is_condition(probe)) return Status::kBadPlan;
  for (uint32_t i = 0; i < one.operands; ++i) probe.kinds |= bit(probe.operands[i].kind);
  for (uint32_t i = 0; i < one.tests; ++i) {
    if (probe.steps[i].operand != nullptr) probe.kinds |= bit(probe.steps[i].operand->kind);
  }
  bool records = probe.outcome == Outcome::kRecord;
  for (uint32_t i = 0; i < one.operands; ++i) {
    const Operand& operand = probe.operands[i];
    if (!makes_sense(operand, probe.site)) return Status::kBadPlan;
    if ((operand.type == kAsItIs) != (records && i >= kBeginOperands)) return Status::kBadPlan;
  }
  if (!pattern(one.classes, &probe.classes) || !pattern(one.methods, &probe.methods) ||
      !pattern(one.descriptors, &probe.descriptors) ||
      !pattern(one.annotations, &probe.annotations) ||
      !pattern(one.supertypes, &probe.supertypes) || !pattern(one.loaders, &probe.loaders) ||
      !pattern(one.owners, &probe.owners) || !pattern(one.members, &probe.members) ||
      !pattern(one.member_descriptors, &probe.member_descriptors) ||
      !text(one.helper, &probe.helper) || !text(one.name, &probe.name)) {
    return Status::kBadPlan;
  }
  if (probe.helper.size == 0 || probe.name.size == 0) return Status::kBadPlan;
  probe.record_size = one.record_size;
  probe.text_size = one.text_size;
  probe.event = one.event;
  probe.about = one.about;
  if (probe.event != 0 && probe.outcome != Outcome::kStop) return Status::kBadPlan;
  switch (probe.outcome) {
    case Outcome::kNone:
      if (probe.result != 'V') return Status::kBadPlan;
      break;
    case Outcome::kKeep:
      if (probe.result != 'J' || (probe.site != Site::kEntry && probe.site != Site::kCall))
        return Status::kBadPlan;
      break;
    case Outcome::kReplace:
      if (std::strchr("IJFDL", probe.result) == nullptr || probe.result == '\0')
        return Status::kBadPlan;
      if (probe.site != Site::kReturn && probe.site != Site::kRead && probe.site != Site::kCalled &&
          probe.site != Site::kWrite) {
        return Status::kBadPlan;
      }
      break;
    case Outcome::kRecord:
      if (probe.result != 'J' || probe.operand_count < kBeginOperands ||
          probe.operands[0].type != 'I' || probe.operands[1].type != 'I' ||
          probe.operands[2].type != 'J' || probe.record_size > kLargestRecord ||
          probe.text_size > kLargestRecord || probe.text_size % 8 != 0) {
        return Status::kBadPlan;
      }
      break;
    case Outcome::kStop:
      if (probe.result != 'A' || probe.operand_count < kStopOperands ||
          probe.operands[0].type != 'I' || probe.operands[1].type != 'I') {
        return Status::kBadPlan;
      }
      for (uint32_t i = kStopOperands; i < probe.operand_count; ++i) {
        if (std::strchr("LSTA", probe.operands[i].type) == nullptr) return Status::kBadPlan;
      }
      break;
  }
  if (!describe(&probe)) return Status::kBadPlan;
  probe.depth = depth_of_call(probe.descriptor);
  probe.is_plain = probe.outcome == Outcome::kNone && !probe.conditional;
  for (uint32_t i = 0; i < one.operands; ++i) {
    const Operand& operand = probe.operands[i];
    bool is_number = operand.kind == OperandKind::kNumber || operand.kind == OperandKind::kSite ||
                     operand.kind == OperandKind::kLine;
    probe.is_plain = probe.is_plain && is_number && operand.type == 'I';
  }
  if (!ask(false, probe.supertypes, &probe.supertypes_question) ||
      !ask(true, probe.loaders, &probe.loaders_question)) {
    return Status::kOutOfMemory;
  }
  asks_for_annotations_ = asks_for_annotations_ || probe.annotations != nullptr;
  probes_.put(probe);
  return Status::kOk;
}

Status Plan::read(const uint8_t* data, uint64_t size) {
  layouts::PlanHeader header;
  if (size < sizeof header) return Status::kBadPlan;
  std::memcpy(&header, data, sizeof header);
  uint64_t fixed = sizeof header + uint64_t{header.probes} * sizeof(layouts::PlanProbe) +
                   uint64_t{header.operands} * sizeof(layouts::PlanOperand) +
                   uint64_t{header.tests} * sizeof(layouts::PlanTest);
  if (header.magic != layouts::Plans::kMagic || header.probes > layouts::Plans::kProbes ||
      header.operands > layouts::Plans::kProbes * layouts::Plans::kOperands ||
      header.tests > layouts::Plans::kTests || header.text > layouts::Plans::kText ||
      size != fixed + header.text || (header.text != 0 && data[size - 1] != '\0')) {
    return Status::kBadPlan;
  }
  if (!data_.reserve(size)) return Status::kOutOfMemory;
  data_.grow(size);
  std::memcpy(data_.begin(), data, size);
  texts_ = Text(data_.begin() + fixed, header.text);
  const uint8_t* at = data_.begin() + sizeof header;
  const uint8_t* operands = at + header.probes * sizeof(layouts::PlanProbe);
  Status status = read_operands(operands, header.operands);
  if (status != Status::kOk) return status;
  status = read_steps(operands + header.operands * sizeof(layouts::PlanOperand), header.tests);
  if (status != Status::kOk) return status;
  // Neither list moves: others point into both.
  if (!probes_.reserve(header.probes) ||
      !descriptors_.reserve(header.probes * kLongestDescriptor)) {
    return Status::kOutOfMemory;
  }
  for (uint32_t i = 0; i < header.probes && status == Status::kOk; ++i) {
    status = read_probe(at + i * sizeof(layouts::PlanProbe), i);
  }
  return status;
}

bool Plan::bind(const char* helper, int32_t number) {
  for (Probe& probe : probes_) {
    Operand& first = operands_[static_cast<size_t>(probe.operands - operands_.begin())];
    bool is_int =
        probe.operand_count > 0 && first.kind == OperandKind::kNumber && first.type == 'I';
    if (!is_int) return false;
    first.number = number;
    probe.helper = helper;
  }
  return true;
}

void Plan::bind_first(uint32_t event, const char* gate) {
  for (Probe& probe : probes_) {
    if (probe.outcome == Outcome::kStop && probe.event == event) probe.gate = gate;
  }
}

}  // namespace jvmti::classfile
