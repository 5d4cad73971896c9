// Conditions of breakpoints: a few instructions over local variables and constants, evaluated on
// the thread that has come to the breakpoint, without asking the controller.
#pragma once

#include <jvmti.h>

#include "agent/calls/call.h"
#include "agent/engines/stops/frame_locals.h"
#include "agent/engines/stops/stop_records.h"
#include "base/containers.h"
#include "generated/layouts.h"

namespace jvmti {

// There is one truth value.  A test sets it, `kNot` turns it round, the two jumps go forward only,
// so that every condition comes to its end; what it is then decides.
class StopCondition : NoCopy {
 public:
  StopCondition() = default;

  // For a place in a method.  Null where there is no condition, or, with a refusal, one that makes
  // no sense.
  static StopCondition* read(Call& call, const jlong* words, jint count, const unsigned char* texts,
                             jint size, const In<List<kinds::Field>>& fields, jlocation location);
  // Of the topmost frame of the current thread, whose method is one of `klass`.  What cannot be
  // read makes it true: a thread that stops once too often can be sent on.
  // Where the values of a logpoint follow, it begins a hit with them, if all can be read.
  bool holds(jvmtiEnv* env, JNIEnv* jni, jthread thread, jweak klass, RecordedHit* hit) const;

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
  // A field of instances. What names its class is the session's, for as long as it lasts.
  struct Field {
    jfieldID id;
    jweak klass;
    char type;
  };
  // Where variables are read.
  struct Stopped {
    jvmtiEnv* env;
    JNIEnv* jni;
    jthread thread;
    InterpretedFrame frame;
  };
  Found test(const Stopped& where, size_t at) const;
  // False where it cannot be read, or has no room.
  bool record(const Stopped& where, size_t at, jobject taken, RecordedHit* hit) const;
  bool record_field(JNIEnv* jni, jobject owner, const Field& field, RecordedHit* hit) const;
  // Null, or an array or a string, which has a length.
  static bool length_of(JNIEnv* jni, jobject measured, jsize* length);
  Found test_field(JNIEnv* jni, jobject owner, const Instruction& one) const;
  static Found test_length(JNIEnv* jni, jobject measured, const Instruction& one);
  Found test_object(JNIEnv* jni, jobject value, const Instruction& one) const;
  Found test_text(JNIEnv* jni, jobject value, const Instruction& one) const;
  bool good(const Instruction& one, jint at, jint count, jint units) const;
  bool good_field(const Instruction& one) const;
  bool good_comparison(const Instruction& one, jint units) const;
  // Whether the object has the field, whose class may have been unloaded.
  static bool belongs(JNIEnv* jni, jobject owner, const Field& field);

  Vector<Instruction> instructions_;
  Vector<Field> fields_;
  Array<jchar> texts_;
  FrameLocals locals_;
};

}  // namespace jvmti
