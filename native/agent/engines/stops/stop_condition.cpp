#include "agent/engines/stops/stop_condition.h"

#include <new>

#include "agent/calls/call.h"

namespace jvmti {

namespace {

template <class T>
bool related(layouts::Relation relation, T left, T right) {
  switch (relation) {
    case layouts::Relation::kEqual:
      return left == right;
    case layouts::Relation::kNotEqual:
      return left != right;
    case layouts::Relation::kLess:
      return left < right;
    case layouts::Relation::kLessOrEqual:
      return left <= right;
    case layouts::Relation::kGreater:
      return left > right;
    case layouts::Relation::kGreaterOrEqual:
      return left >= right;
  }
  return false;
}

double double_of(jlong bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

bool StopCondition::good(const Instruction& one, jint at, jint count, jint units) const {
  switch (one.operation) {
    case Operation::kNot:
      return true;
    case Operation::kSkipIfFalse:
    case Operation::kSkipIfTrue:
      return one.target > at && one.target <= count;
    case Operation::kTest:
      break;
    default:
      return false;
  }
  bool equality = one.relation == Relation::kEqual || one.relation == Relation::kNotEqual;
  if (one.slot < 0 || one.slot > 0xFFFF) return false;
  switch (one.type) {
    case 'I':
    case 'J':
    case 'F':
    case 'D':
      return one.relation >= Relation::kEqual && one.relation <= Relation::kGreaterOrEqual;
    case 'L':
      return equality;
    case 'T': {
      jlong start = one.constant >> 32;
      jlong length = one.constant & 0xFFFFFFFF;
      return equality && start >= 0 && start <= units && length <= units - start;
    }
    default:
      return false;
  }
}

StopCondition* StopCondition::read(Call& call, const jlong* words, jint count,
                                   const unsigned char* texts, jint size) {
  if (count == 0) return nullptr;
  constexpr jint kWords = layouts::kInstructionWords;
  constexpr jint kLongest = layouts::ConditionLimits::kInstructions;
  constexpr jint kLongestText = layouts::ConditionLimits::kText;
  if (count % kWords != 0 || count / kWords > kLongest || size % 2 != 0 ||
      size / 2 > kLongestText) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "a condition has at most %d instructions",
                       static_cast<int>(kLongest));
  }
  StopCondition* made = make<StopCondition>();
  if (made == nullptr) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  jint instructions = count / kWords;
  bool good = made->instructions_.reserve(static_cast<size_t>(instructions));
  good = good && made->texts_.allocate(static_cast<size_t>(size) / sizeof(jchar));
  if (good && size > 0) std::memcpy(made->texts_.get(), texts, static_cast<size_t>(size));
  if (!good) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  for (jint i = 0; good && i < instructions; ++i) {
    layouts::Instruction word;
    std::memcpy(&word, words + i * kWords, sizeof word);
    bool small = true;
    const jlong parts[] = {word.operation, word.type, word.slot, word.relation};
    for (jlong part : parts) {
      small = small && part >= 0 && part <= 0xFFFF;
    }
    Instruction one{};
    one.operation = static_cast<Operation>(word.operation);
    one.type = static_cast<char>(word.type);
    one.slot = static_cast<jint>(word.slot);
    one.target = static_cast<int>(word.relation);
    one.constant = word.constant;
    good = small && made->good(one, i, instructions, size / 2);
    if (good) {
      made->instructions_.put(one);
    } else {
      call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "instruction %d of the condition makes no sense",
                  i);
    }
  }
  if (good) return made;
  unmake(made);
  return nullptr;
}

StopCondition::Found StopCondition::test_text(JNIEnv* jni, jobject value,
                                              const Instruction& one) const {
  bool same = false;
  if (value != nullptr && kind_of_object(jni, value) == kinds::String::kind) {
    jsize length = jni->GetStringLength(static_cast<jstring>(value));
    if (length == static_cast<jsize>(one.constant & 0xFFFFFFFF)) {
      const jchar* wanted = texts_.get() + (one.constant >> 32);
      same = true;
      // In pieces: the text may be long, and the thread's stack nearly full.
      constexpr jsize kPiece = 128;
      jchar piece[kPiece];
      for (jsize at = 0; same && at < length; at += kPiece) {
        jsize units = length - at < kPiece ? length - at : kPiece;
        jni->GetStringRegion(static_cast<jstring>(value), at, units, piece);
        same = std::memcmp(piece, wanted + at, static_cast<size_t>(units) * sizeof(jchar)) == 0;
      }
    }
  }
  return same == (one.relation == Relation::kEqual) ? Found::kTrue : Found::kFalse;
}

StopCondition::Found StopCondition::test(jvmtiEnv* env, JNIEnv* jni, jthread thread,
                                         const Instruction& one) const {
  // Compared as whole numbers or as fractions, whatever is narrower is.
  auto compare = [&](auto read, auto value, auto constant) {
    if ((env->*read)(thread, 0, one.slot, &value) != JVMTI_ERROR_NONE) return Found::kUnreadable;
    bool holds = related(one.relation, static_cast<decltype(constant)>(value), constant);
    return holds ? Found::kTrue : Found::kFalse;
  };
  switch (one.type) {
    case 'I':
      return compare(&jvmtiEnv::GetLocalInt, jint{}, one.constant);
    case 'J':
      return compare(&jvmtiEnv::GetLocalLong, jlong{}, one.constant);
    case 'F':
      return compare(&jvmtiEnv::GetLocalFloat, jfloat{}, double_of(one.constant));
    case 'D':
      return compare(&jvmtiEnv::GetLocalDouble, jdouble{}, double_of(one.constant));
    default: {
      LocalRef<> value(jni);
      if (env->GetLocalObject(thread, 0, one.slot, value.out()) != JVMTI_ERROR_NONE) {
        return Found::kUnreadable;
      }
      if (one.type == 'T') return test_text(jni, value, one);
      bool wanted = (value == nullptr) == (one.relation == Relation::kEqual);
      return wanted ? Found::kTrue : Found::kFalse;
    }
  }
}

bool StopCondition::holds(jvmtiEnv* env, JNIEnv* jni, jthread thread) const {
  bool truth = true;
  for (size_t at = 0; at < instructions_.size();) {
    const Instruction& one = instructions_[at++];
    switch (one.operation) {
      case Operation::kTest: {
        Found found = test(env, jni, thread, one);
        if (found == Found::kUnreadable) return true;
        truth = found == Found::kTrue;
        break;
      }
      case Operation::kNot:
        truth = !truth;
        break;
      default:
        if (truth == (one.operation == Operation::kSkipIfTrue)) {
          at = static_cast<size_t>(one.target);
        }
    }
  }
  return truth;
}

}  // namespace jvmti
