// One call on its way through: where its arguments come from, where its results go, and the typed
// inputs and outputs that the generated thunks are made of.
//
// Inputs and outputs are the same for a single call and for a map request: an input reads from the
// reader of its parameter, an output writes to the writers of its leaves.  In a single call these
// are all one stream; in a map request each has its own, so that columns come out as columns.
#pragma once

#include <jvmti.h>

#include "agent/calls/answers.h"
#include "agent/core/channel.h"
#include "agent/core/frames.h"
#include "agent/core/handles.h"
#include "agent/core/session.h"
#include "agent/core/vm_memory.h"

namespace jvmti {

constexpr int kMaximumParameters = 16;
constexpr int kMaximumLeaves = 64;

// The bytes of one element of an array.
inline uint64_t width_of(jvmtiPrimitiveType type) {
  switch (type) {
    case JVMTI_PRIMITIVE_TYPE_BOOLEAN:
    case JVMTI_PRIMITIVE_TYPE_BYTE:
      return 1;
    case JVMTI_PRIMITIVE_TYPE_CHAR:
    case JVMTI_PRIMITIVE_TYPE_SHORT:
      return 2;
    case JVMTI_PRIMITIVE_TYPE_INT:
    case JVMTI_PRIMITIVE_TYPE_FLOAT:
      return 4;
    default:
      return 8;
  }
}

struct Call {
  // Of the controller's, whose environment comes with its frame; or of an event of an environment.
  Call(Channel& channel, JNIEnv* jni, Environment* environment = nullptr)
      : session(channel.session),
        channel(channel),
        jni(jni),
        env(environment == nullptr ? nullptr : environment->env.load()),
        environment(environment),
        environment_number(environment == nullptr ? 0 : environment->number) {
    detail[0] = '\0';
  }

  Session& session;
  Channel& channel;
  JNIEnv* jni;
  jvmtiEnv* env;
  Environment* environment;
  uint32_t environment_number;
  Reader* readers = nullptr;
  int reader_step = 0;
  Writer* writers = nullptr;
  int writer_step = 0;
  bool identify = true;
  int status = 0;
  uint64_t exception = 0;
  char detail[320];
  int64_t issued_size = 0;  // what `Allocate` was asked for, kept with the handle
  int parameters = 0;
  bool jni_function = false;  // of the JNI table, with that table's rules
  bool throws = false;        // to the program, when the handler has returned
  bool global = false;  // the result is a global reference: of its own, and outside of local frames

  const jvmtiInterface_1_* table() const { return env->functions; }
  bool refused() const { return status != 0; }
  // All inputs were read and are good.
  bool ready() {
    for (int i = 0; i < parameters; ++i) {
      if (reader(i).failed())
        refuse(layouts::Status::kMalformedRequest, "the arguments end too early");
    }
    return status == 0;
  }
  void refuse(int error, const char* format = nullptr, ...) __attribute__((format(printf, 3, 4)));
  // Takes a JVM TI result over; true when it is a success.
  bool returned(jvmtiError error) {
    if (error == kNothingAnswered) {
      refuse(error);
    } else if (error != JVMTI_ERROR_NONE) {
      status = error;
    }
    return status == 0;
  }
  // Takes a pending Java exception over; true when there is none.
  bool settled();
  Reader& reader(int parameter) { return readers[parameter * reader_step]; }
  uint64_t issue(jobject object, uint8_t kind);
  void deallocate(void* memory);
};

struct Sink {
  Writer* writers;
  int step;
  Writer& leaf(int number) const { return writers[number * step]; }
  Sink from(int number) const { return Sink{writers + number * step, step}; }
};

using protocol::Table;

struct Function {
  const char* name;
  void (*thunk)(Call&);
  void (*blank)(Sink);
  uint16_t number;
  Table table;
  uint16_t slot;
  uint8_t parameters;
  uint8_t leaves;
  uint8_t since;  // major version
  bool own;
  bool callback_safe;
  bool runs_java;
  bool while_pending;
  bool early;
};

// Generated, sorted by number.
extern const Function kFunctions[];
extern const unsigned kFunctionCount;
extern const char kInterfaceDigest[];

namespace own {
// The exception that the last call threw; one that was thrown to the program stays.
void forget_pending(Call& call);
}  // namespace own

const Function* find_function(uint16_t number);
// Whether the VM has come so far that a call may end with an exception.
bool can_throw();
// Runs one call whose streams are set up; its outcome is in `call.status` and `call.exception`.
void invoke(Call& call, const Function& function);

}  // namespace jvmti

#include "agent/calls/inputs.h"
#include "agent/calls/results.h"
