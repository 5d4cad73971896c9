// Conditions of breakpoints: a few instructions over local variables and constants, evaluated on
// the thread that has come to the breakpoint, without asking the controller.
#pragma once

#include <jvmti.h>

#include "base/containers.h"
#include "generated/layouts.h"

namespace jvmti {

struct Call;

// There is one truth value.  A test sets it, `kNot` turns it round, the two jumps go forward only,
// so that every condition comes to its end; what it is then decides.
class StopCondition : NoCopy {
 public:
  StopCondition() = default;

  // Null where there is no condition, or, with a refusal, one that makes no sense.
  static StopCondition* read(Call& call, const jlong* words, jint count, const unsigned char* texts,
                             jint size);
  // Of the topmost frame of the current thread.  What cannot be read makes it true: a thread that
  // stops once too often can be sent on.
  bool holds(jvmtiEnv* env, JNIEnv* jni, jthread thread) const;

 private:
  using Operation = layouts::Operation;
  using Relation = layouts::Relation;
  // As `layouts::Instruction` has it, in the types that it is used in.
  struct Instruction {
    Operation operation;
    char type;
    jint slot;
    union {
      Relation relation;
      int target;  // of a jump
    };
    jlong constant;
  };
  enum class Found { kFalse, kTrue, kUnreadable };
  Found test(jvmtiEnv* env, JNIEnv* jni, jthread thread, const Instruction& one) const;
  Found test_text(JNIEnv* jni, jobject value, const Instruction& one) const;
  bool good(const Instruction& one, jint at, jint count, jint units) const;

  Vector<Instruction> instructions_;
  Array<jchar> texts_;
};

}  // namespace jvmti
