#include "agent/engines/stops/stop_condition.h"

#include <cstring>
#include <new>

#include "agent/calls/call.h"
#include "agent/handles/field_values.h"

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

jlong bits_of(double value) {
  jlong bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

bool StopCondition::good(const Instruction& one, jint at, jint count, jint units) const {
  switch (one.operation) {
    case Operation::kNot:
      return true;
    case Operation::kSkipIfFalse:
    case Operation::kSkipIfTrue:
      return one.target > at && one.target <= count;
    case Operation::kTakeLocal:
      return true;
    case Operation::kTestLength:
      return one.type == 'I' && good_comparison(one, units);
    case Operation::kTest:
      return good_comparison(one, units);
    case Operation::kRecord:
    case Operation::kRecordLength:
      return true;
    case Operation::kRecordLocal:
      return std::strchr("IJFDT", one.type) != nullptr;
    case Operation::kRecordField:
      return static_cast<size_t>(one.slot) < fields_.size();
    case Operation::kTakeField:
    case Operation::kTestField:
      return good_field(one) &&
             (one.operation == Operation::kTakeField || good_comparison(one, units));
  }
  return false;
}

// Whether the field exists and has the type that it is used with.
bool StopCondition::good_field(const Instruction& one) const {
  if (static_cast<size_t>(one.slot) >= fields_.size()) return false;
  char has = fields_[static_cast<size_t>(one.slot)].type;
  bool is_object = has == 'L' || has == '[';
  if (one.operation == Operation::kTakeField || one.type == 'L' || one.type == 'T') {
    return is_object;
  }
  if (one.type == 'I') return std::strchr("ZBCSI", has) != nullptr;
  return has == one.type;
}

bool StopCondition::good_comparison(const Instruction& one, jint units) const {
  bool equality = one.relation == Relation::kEqual || one.relation == Relation::kNotEqual;
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
                                   const unsigned char* texts, jint size,
                                   const In<List<kinds::Field>>& fields, jlocation location) {
  if (count == 0) return nullptr;
  constexpr jint kWords = layouts::kInstructionWords;
  constexpr jint kLongest = layouts::ConditionLimits::kInstructions;
  constexpr jint kLongestText = layouts::ConditionLimits::kText;
  if (count % kWords != 0 || count / kWords > kLongest || size % 2 != 0 ||
      size / 2 > kLongestText) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "a condition has at most %d instructions",
                       static_cast<int>(kLongest));
  }
  FrameLocals::prepare(call.env, call.jni);
  StopCondition* made = make<StopCondition>();
  if (made == nullptr) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  jint instructions = count / kWords;
  bool good = made->instructions_.reserve(static_cast<size_t>(instructions));
  good = good && made->texts_.allocate(static_cast<size_t>(size) / sizeof(jchar));
  if (good && size > 0) std::memcpy(made->texts_.get(), texts, static_cast<size_t>(size));
  good = good && made->locals_.allocate(static_cast<size_t>(instructions), location);
  good = good && made->fields_.reserve(static_cast<size_t>(fields.count()));
  for (jint i = 0; good && i < fields.count(); ++i) {
    const FieldRecord* record = fields.record(i);
    if (record->is_static) {
      unmake(made);
      return call.refuse(JVMTI_ERROR_INVALID_FIELDID, "field %d of the condition is static", i);
    }
    made->fields_.put(Field{record->id, record->klass, record->type});
  }
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

StopCondition::Found StopCondition::test(const Stopped& where, size_t at) const {
  const Instruction& one = instructions_[at];
  // Compared as whole numbers or as fractions, whatever is narrower is.
  auto compare = [&](auto by_vm, auto value, auto constant) {
    if (!locals_.read(by_vm, where.env, where.thread, where.frame, at, one.slot, &value)) {
      return Found::kUnreadable;
    }
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
      LocalRef<> value(where.jni);
      if (!locals_.read(where.env, where.jni, where.thread, where.frame, at, one.slot, &value)) {
        return Found::kUnreadable;
      }
      return test_object(where.jni, value, one);
    }
  }
}

StopCondition::Found StopCondition::test_object(JNIEnv* jni, jobject value,
                                                const Instruction& one) const {
  if (one.type == 'T') return test_text(jni, value, one);
  bool wanted = (value == nullptr) == (one.relation == Relation::kEqual);
  return wanted ? Found::kTrue : Found::kFalse;
}

bool StopCondition::belongs(JNIEnv* jni, jobject owner, const Field& field) {
  LocalRef<jclass> klass = class_behind(jni, field.klass);
  return klass != nullptr && jni->IsInstanceOf(owner, klass);
}

StopCondition::Found StopCondition::test_field(JNIEnv* jni, jobject owner,
                                               const Instruction& one) const {
  if (owner == nullptr) return Found::kFalse;
  const Field& field = fields_[static_cast<size_t>(one.slot)];
  if (!belongs(jni, owner, field)) return Found::kUnreadable;
  auto compare = [&](auto value, auto constant) {
    bool holds = related(one.relation, static_cast<decltype(constant)>(value), constant);
    return holds ? Found::kTrue : Found::kFalse;
  };
  jvalue value = field_value(jni, owner, field.id, field.type);
  switch (field.type) {
    case 'F':
      return compare(value.f, double_of(one.constant));
    case 'D':
      return compare(value.d, double_of(one.constant));
    case 'L':
    case '[': {
      LocalRef<> object(jni, value.l);
      return test_object(jni, object, one);
    }
    default:
      return compare(whole_number(value, field.type), one.constant);
  }
}

StopCondition::Found StopCondition::test_length(JNIEnv* jni, jobject measured,
                                                const Instruction& one) {
  if (measured == nullptr) return Found::kFalse;
  jsize length = 0;
  if (!length_of(jni, measured, &length)) return Found::kUnreadable;
  return related<jlong>(one.relation, length, one.constant) ? Found::kTrue : Found::kFalse;
}

bool StopCondition::length_of(JNIEnv* jni, jobject measured, jsize* length) {
  uint8_t kind = kind_of_object(jni, measured);
  if (kind == kinds::String::kind) {
    *length = jni->GetStringLength(static_cast<jstring>(measured));
  } else if (kinds::kJavaClasses[kind][0] == '[') {
    *length = jni->GetArrayLength(static_cast<jarray>(measured));
  } else {
    return false;
  }
  return true;
}

bool StopCondition::record(const Stopped& where, size_t at, jobject taken, RecordedHit* hit) const {
  const Instruction& one = instructions_[at];
  if (one.operation == Operation::kRecordField) {
    // A box that is null has no number; of another object that would be an exception in Java.
    if (taken == nullptr) return one.type == 'N' && hit->put_null();
    return record_field(where.jni, taken, fields_[static_cast<size_t>(one.slot)], hit);
  }
  if (one.operation == Operation::kRecordLength) {
    jsize length = 0;
    if (taken == nullptr) return false;
    return length_of(where.jni, taken, &length) && hit->put('J', length);
  }
  auto put = [&](auto by_vm, auto value, char type) {
    jlong bits = 0;
    if (!locals_.read(by_vm, where.env, where.thread, where.frame, at, one.slot, &value)) {
      return false;
    }
    if constexpr (std::is_same<decltype(value), jint>::value) {
      bits = value;
    } else if constexpr (std::is_same<decltype(value), jfloat>::value) {
      bits = bits_of(value);
    } else {
      std::memcpy(&bits, &value, sizeof bits);
    }
    return hit->put(type, bits);
  };
  switch (one.type) {
    case 'I':
      return put(&jvmtiEnv::GetLocalInt, jint{}, 'J');
    case 'J':
      return put(&jvmtiEnv::GetLocalLong, jlong{}, 'J');
    case 'F':
      return put(&jvmtiEnv::GetLocalFloat, jfloat{}, 'D');
    case 'D':
      return put(&jvmtiEnv::GetLocalDouble, jdouble{}, 'D');
    default: {
      LocalRef<> value(where.jni);
      return locals_.read(where.env, where.jni, where.thread, where.frame, at, one.slot, &value) &&
             hit->put_text(where.jni, value);
    }
  }
}

bool StopCondition::record_field(JNIEnv* jni, jobject owner, const Field& field,
                                 RecordedHit* hit) const {
  if (!belongs(jni, owner, field)) return false;
  jvalue value = field_value(jni, owner, field.id, field.type);
  switch (field.type) {
    case 'F':
      return hit->put('D', bits_of(value.f));
    case 'D':
      return hit->put('D', value.j);
    case 'L':
    case '[': {
      LocalRef<> object(jni, value.l);
      return hit->put_text(jni, object);
    }
    default:
      return hit->put('J', whole_number(value, field.type));
  }
}

bool StopCondition::holds(jvmtiEnv* env, JNIEnv* jni, jthread thread, jweak klass,
                          RecordedHit* hit) const {
  const Stopped where{env, jni, thread, locals_.frame(jni, klass)};
  bool truth = true;
  LocalRef<> taken(jni);
  // The controller decides then, and makes the text.
  auto unreadable = [hit] {
    hit->drop();
    return true;
  };
  for (size_t next = 0; next < instructions_.size();) {
    size_t at = next++;
    const Instruction& one = instructions_[at];
    switch (one.operation) {
      case Operation::kTest:
      case Operation::kTestField:
      case Operation::kTestLength: {
        Found found = one.operation == Operation::kTest        ? test(where, at)
                      : one.operation == Operation::kTestField ? test_field(jni, taken, one)
                                                               : test_length(jni, taken, one);
        if (found == Found::kUnreadable) return unreadable();
        truth = found == Found::kTrue;
        break;
      }
      case Operation::kTakeLocal:
        if (!locals_.read(env, jni, thread, where.frame, at, one.slot, &taken)) {
          return unreadable();
        }
        break;
      case Operation::kTakeField: {
        if (taken == nullptr) break;
        const Field& field = fields_[static_cast<size_t>(one.slot)];
        if (!belongs(jni, taken, field)) return unreadable();
        taken.reset(jni->GetObjectField(taken, field.id));
        break;
      }
      case Operation::kRecord:
        hit->begin(one.constant);
        break;
      case Operation::kRecordLocal:
      case Operation::kRecordField:
      case Operation::kRecordLength:
        if (hit->has_begun() && record(where, at, taken, hit)) break;
        return unreadable();
      case Operation::kNot:
        truth = !truth;
        break;
      default:
        if (truth == (one.operation == Operation::kSkipIfTrue)) {
          next = static_cast<size_t>(one.target);
        }
    }
  }
  return truth;
}

}  // namespace jvmti
