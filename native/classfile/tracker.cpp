// What each instruction does to the types of locals and operands.
#include "classfile/frames.h"

namespace jvmti::classfile {

namespace {

constexpr Tag kNumbers[] = {Tag::kInt, Tag::kLong, Tag::kFloat, Tag::kDouble};
// Of i2l to i2s what comes out.
constexpr Tag kConverted[] = {Tag::kLong,   Tag::kFloat, Tag::kDouble, Tag::kInt,    Tag::kFloat,
                              Tag::kDouble, Tag::kInt,   Tag::kLong,   Tag::kDouble, Tag::kInt,
                              Tag::kLong,   Tag::kFloat, Tag::kInt,    Tag::kInt,    Tag::kInt};
// Of newarray's types, from 4 on.
constexpr const char* kArrays[] = {"[Z", "[C", "[F", "[D", "[B", "[S", "[I", "[J"};

}  // namespace

bool Tracker::begin(const Type& of, const Frame& first, uint32_t max_locals, uint32_t max_stack) {
  class_ = of;
  max_locals_ = max_locals;
  max_stack_ = max_stack;
  // A little more, for what fails only afterwards.
  no_memory_ = !locals_.reserve(max_locals + 2) || !stack_.reserve(max_stack + 4);
  return !no_memory_ && enter(first);
}

bool Tracker::enter(const Frame& frame) {
  locals_.clear();
  stack_.clear();
  known_ = true;
  uninitialized_this_ = false;
  uint32_t slot = 0;
  for (const Type& type : frame.locals) {
    uint32_t size = type.is_wide() ? 2 : 1;
    if (slot + size > max_locals_) return known_ = false;
    locals_.put(type);
    if (type.is_wide()) locals_.put(Type::of(Tag::kSecond));
    if (type.tag == Tag::kUninitializedThis) uninitialized_this_ = true;
    slot += size;
  }
  while (locals_.size() < max_locals_) locals_.put(Type());
  if (frame.stack.size() > max_stack_) return known_ = false;
  for (const Type& type : frame.stack) stack_.put(type);
  return true;
}

bool Tracker::append_locals(Vector<Type>* types) const {
  size_t used = locals_.size();
  while (used > 0 && locals_[used - 1].tag == Tag::kTop) --used;
  for (size_t i = 0; i < used; ++i) {
    if (locals_[i].tag != Tag::kSecond && !types->push(locals_[i])) return false;
  }
  return true;
}

bool Tracker::append_stack(Vector<Type>* types) const {
  for (const Type& type : stack_) {
    if (!types->push(type)) return false;
  }
  return true;
}

void Tracker::push(Type type) {
  if (!known_) return;
  if (stack_.size() >= max_stack_) {
    known_ = false;
    return;
  }
  stack_.put(type);
}

Type Tracker::pop() {
  if (!known_) return Type();
  if (stack_.empty()) {
    known_ = false;
    return Type();
  }
  return stack_.pop();
}

void Tracker::store(uint32_t slot, Type type) {
  if (!known_) return;
  uint32_t size = type.is_wide() ? 2 : 1;
  if (slot + size > locals_.size()) {
    known_ = false;
    return;
  }
  if (locals_[slot].tag == Tag::kSecond && slot > 0) locals_[slot - 1] = Type();
  uint32_t last = slot + size - 1;
  if (locals_[last].is_wide() && last + 1 < locals_.size()) locals_[last + 1] = Type();
  locals_[slot] = type;
  if (size == 2) locals_[slot + 1] = Type::of(Tag::kSecond);
}

void Tracker::load(uint32_t slot, Tag tag) {
  push(tag == Tag::kObject ? local(slot) : Type::of(tag));
}

void Tracker::constant(uint32_t index) {
  switch (pool_.tag(index)) {
    case kInteger:
      return push(Tag::kInt);
    case kFloat:
      return push(Tag::kFloat);
    case kLong:
      return push(Tag::kLong);
    case kDouble:
      return push(Tag::kDouble);
    case kString:
      return push(Type::object("java/lang/String"));
    case kClass:
      return push(Type::object("java/lang/Class"));
    case kMethodType:
      return push(Type::object("java/lang/invoke/MethodType"));
    case kMethodHandle:
      return push(Type::object("java/lang/invoke/MethodHandle"));
    case kDynamic:
      return push(Type::described(pool_.dynamic_descriptor(index)));
    default:
      known_ = false;
  }
}

// aaload
void Tracker::element() {
  pop();
  Type array = pop();
  if (array.tag == Tag::kNull) return push(array);
  if (array.tag != Tag::kObject) {
    known_ = false;
    return;
  }
  if (array.dimensions > 0) {
    --array.dimensions;
    array.index = 0;
    return push(array);
  }
  if (array.name[0] != '[') {
    known_ = false;
    return;
  }
  push(Type::described(array.name.from(1)));
}

void Tracker::duplicate(uint8_t op) {
  uint32_t copied = 1;  // in items
  uint32_t below = 0;
  auto wide = [&](uint32_t depth) { return operand(depth).is_wide(); };
  if (op >= kDup2) copied = wide(0) ? 1 : 2;
  uint32_t under = (op - kDup) % 3;  // slots to go under
  if (under != 0) below = under == 1 || wide(copied) ? 1 : 2;
  if (copied + below > stack_.size() || stack_.size() + copied > max_stack_) {
    known_ = false;
    return;
  }
  Type moved[4];
  for (uint32_t i = 0; i < copied + below; ++i) moved[i] = pop();
  for (uint32_t i = copied; i-- > 0;) push(moved[i]);
  for (uint32_t i = copied + below; i-- > 0;) push(moved[i]);
}

void Tracker::initialize(const Type& type, Text owner) {
  if (type.tag != Tag::kUninitialized && type.tag != Tag::kUninitializedThis) return;
  bool is_this = type.tag == Tag::kUninitializedThis;
  auto matching = [&](const Type& one) {
    return one.tag == type.tag && (is_this || one.origin == type.origin);
  };
  Type made = is_this ? class_ : Type::object(owner, type.index);
  for (Type& one : locals_) {
    if (matching(one)) one = made;
  }
  for (Type& one : stack_) {
    if (matching(one)) one = made;
  }
  if (is_this) uninitialized_this_ = false;
}

void Tracker::invoke(uint8_t op, uint32_t index) {
  Member member;
  if (op == kInvokedynamic) {
    member.descriptor = pool_.dynamic_descriptor(index);
  } else if (!pool_.member(index, &member)) {
    known_ = false;
    return;
  }
  uint32_t count = 0;
  for (Types types(member.descriptor); !types.at_end(); ++count) {
    if (types.next().size == 0) break;
  }
  pop(count);
  if (op != kInvokestatic && op != kInvokedynamic) {
    Type receiver = pop();
    if (op == kInvokespecial && member.name == Text("<init>")) initialize(receiver, member.owner);
  }
  Text result = Types::result(member.descriptor);
  if (result[0] != 'V') push(Type::described(result));
}

void Tracker::step(const uint8_t* code, uint32_t at) {
  if (!known_) return;
  const uint8_t* operands = code + at + 1;
  uint8_t op = code[at];
  uint32_t slot = 0;
  if (op == kWide) {
    op = *operands;
    slot = read2(operands + 1);
  } else if ((op >= kIload && op <= kAload) || (op >= kIstore && op <= kAstore)) {
    slot = *operands;
  }
  constexpr Tag kKinds[] = {Tag::kInt, Tag::kLong, Tag::kFloat, Tag::kDouble, Tag::kObject};
  if (op >= kIload && op <= kAload) {
    load(slot, kKinds[op - kIload]);
  } else if (op >= kIload0 && op < kIaload) {
    load((op - kIload0) % 4u, kKinds[(op - kIload0) / 4]);
  } else if (op >= kIaload && op <= kSaload) {
    if (op == kAaload) {
      element();
    } else {
      pop(2);
      push(op > kAaload ? Tag::kInt : kNumbers[op - kIaload]);
    }
  } else if (op >= kIstore && op <= kAstore) {
    store(slot, pop());
  } else if (op >= kIstore0 && op < kIastore) {
    store((op - kIstore0) % 4u, pop());
  } else if (op >= kIastore && op <= kSastore) {
    pop(3);
  } else if (op >= kDup && op < kSwap) {
    duplicate(op);
  } else if (op >= 96 && op < kIinc) {
    if (op < 116 || op > 119) pop();  // all but the negations: two of a type, or a shift's distance
  } else if (op >= kI2l && op < 148) {
    pop();
    push(kConverted[op - kI2l]);
  } else if (op >= 148 && op < kIfeq) {
    pop(2);
    push(Tag::kInt);
  } else if (op >= kIfeq && op <= kIfAcmpne) {
    pop(op < 159 ? 1 : 2);
  } else {
    switch (op) {
      case kAconstNull:
        push(Tag::kNull);
        break;
      case kLdc:
        constant(*operands);
        break;
      case kLdcW:
      case kLdc2W:
        constant(read2(operands));
        break;
      case kPop:
        pop();
        break;
      case kPop2:
        if (!pop().is_wide()) pop();
        break;
      case kSwap: {
        Type first = pop();
        Type second = pop();
        push(first);
        push(second);
        break;
      }
      case kTableswitch:
      case kLookupswitch:
      case kIfnull:
      case kIfnonnull:
      case kPutstatic:
      case kMonitorenter:
      case kMonitorexit:
      case kAthrow:
        pop();
        break;
      case kIreturn:
      case 173:
      case 174:
      case 175:
      case kAreturn:
        pop();
        break;
      case kGetstatic:
      case kGetfield: {
        Member member;
        if (op == kGetfield) pop();
        known_ = known_ && pool_.member(read2(operands), &member);
        push(Type::described(member.descriptor));
        break;
      }
      case kPutfield:
        pop(2);
        break;
      case kInvokevirtual:
      case kInvokespecial:
      case kInvokestatic:
      case kInvokeinterface:
      case kInvokedynamic:
        invoke(op, read2(operands));
        break;
      case kNew: {
        for (Type& one : locals_) {
          if (one.tag == Tag::kUninitialized && one.origin == at) one = Type();
        }
        Type made = Type::of(Tag::kUninitialized);
        made.origin = at;
        made.index = read2(operands);
        push(made);
        break;
      }
      case kNewarray:
        pop();
        if (*operands < 4 || *operands > 11) {
          known_ = false;
        } else {
          push(Type::object(kArrays[*operands - 4]));
        }
        break;
      case kAnewarray: {
        pop();
        Type made = Type::object(pool_.class_name(read2(operands)));
        made.dimensions = 1;
        push(made);
        break;
      }
      case kArraylength:
      case kInstanceof:
        pop();
        push(Tag::kInt);
        break;
      case kCheckcast:
      case kMultianewarray:
        pop(op == kCheckcast ? 1 : operands[2]);
        push(Type::object(pool_.class_name(read2(operands)), read2(operands)));
        break;
      case kJsr:
      case kJsrW:
        known_ = false;
        break;
      default:
        if (op >= 2 && op <= 8) push(Tag::kInt);
        if (op == kLconst0 || op == kLconst1) push(Tag::kLong);
        if (op >= 11 && op <= 13) push(Tag::kFloat);
        if (op == 14 || op == 15) push(Tag::kDouble);
        if (op == kBipush || op == kSipush) push(Tag::kInt);
    }
  }
  if (ends_block(op)) known_ = false;
}

}  // namespace jvmti::classfile
