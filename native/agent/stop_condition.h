// Conditions of breakpoints: a few instructions over local variables and constants, evaluated on the
// thread that has come to the breakpoint, without asking the controller.
#pragma once

#include <jvmti.h>

#include "containers.h"

namespace jvmti {

struct Call;

// There is one truth value.  A test sets it, `kNot` turns it round, the two jumps go forward only,
// so that every condition comes to its end; what it is then decides.
class StopCondition {
 public:
  static constexpr int kWords = 5;          // of an instruction, as it travels
  static constexpr jint kLongest = 128;     // instructions
  static constexpr jint kLongestText = 64 * 1024;  // UTF-16 units of all its texts together

  StopCondition() = default;
  ~StopCondition();
  StopCondition(const StopCondition&) = delete;
  StopCondition& operator=(const StopCondition&) = delete;

  // Null where there is no condition, or, with a refusal, one that makes no sense.
  static StopCondition* read(Call& call, const jlong* words, jint count, const unsigned char* texts,
                         jint size);
  // Of the topmost frame of the current thread.  What cannot be read makes it true: a thread that
  // stops once too often can be sent on.
  bool holds(jvmtiEnv* env, JNIEnv* jni, jthread thread) const;

 private:
  // The numbers of jvmti.model.conditions.
  enum Operation { kTest = 1, kNot = 2, kSkipIfFalse = 3, kSkipIfTrue = 4 };
  enum Relation { kEqual = 1, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
  struct Instruction {
    int operation;
    char type;      // I J F D of numbers, L of references that are compared with null, T of texts
    jint slot;
    int relation;   // of a jump: where to
    jlong constant;  // bits of a double; of a text where it starts and, below, its length
  };
  enum class Found { kFalse, kTrue, kUnreadable };
  Found test(jvmtiEnv* env, JNIEnv* jni, jthread thread, const Instruction& one) const;
  Found test_text(JNIEnv* jni, jobject value, const Instruction& one) const;
  bool good(const Instruction& one, jint at, jint count, jint units) const;

  Vector<Instruction> instructions_;
  jchar* texts_ = nullptr;
};

}  // namespace jvmti
