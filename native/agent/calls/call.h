// One call on its way through: where its arguments come from, where its results go, and the typed
// inputs and outputs that the generated thunks are made of.
//
// Inputs and outputs are the same for a single call and for a map request: an input reads from the
// reader of its parameter, an output writes to the writers of its leaves.  In a single call these
// are all one stream; in a map request each has its own, so that columns come out as columns.
#pragma once

#include <jvmti.h>

#include "agent/calls/answers.h"
#include "agent/channels/channel.h"
#include "agent/channels/frames.h"
#include "agent/core/vm_memory.h"
#include "agent/handles/handles.h"
#include "agent/sessions/session.h"

namespace jvmti {

constexpr int kMaximumParameters = 16;
constexpr int kMaximumLeaves = 64;

// The bytes of one element of an array.
inline uint64_t width_of(jvmtiPrimitiveType type) {
  bool one = type == JVMTI_PRIMITIVE_TYPE_BOOLEAN || type == JVMTI_PRIMITIVE_TYPE_BYTE;
  bool two = type == JVMTI_PRIMITIVE_TYPE_CHAR || type == JVMTI_PRIMITIVE_TYPE_SHORT;
  bool four = type == JVMTI_PRIMITIVE_TYPE_INT || type == JVMTI_PRIMITIVE_TYPE_FLOAT;
  return one ? 1 : two ? 2 : four ? 4 : 8;
}

// The bits of a primitive value of that descriptor, widened to those of a long or of a double.
inline uint64_t bits_of(char type, const jvalue& value) {
  switch (type) {
    case 'Z':
      return value.z != 0;
    case 'B':
      return static_cast<uint64_t>(jlong{value.b});
    case 'C':
      return value.c;
    case 'S':
      return static_cast<uint64_t>(jlong{value.s});
    case 'I':
      return static_cast<uint64_t>(jlong{value.i});
    case 'F': {
      jdouble wide = value.f;
      uint64_t bits;
      std::memcpy(&bits, &wide, sizeof bits);
      return bits;
    }
    default:  // J and D
      return static_cast<uint64_t>(value.j);
  }
}

// What a function returns that refuses its call: false, null, nothing, or the error itself.
struct Refusal {
  int status;
  template <class T>
  operator T() const {
    return T{};
  }
  operator jvmtiError() const { return static_cast<jvmtiError>(status); }
};

struct Sink {
  Writer* writers;
  int step;
  Writer& leaf(int number) const { return writers[number * step]; }
  Sink from(int number) const { return Sink{writers + number * step, step}; }
};

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
  Refusal refuse(int error, const char* format = nullptr, ...)
      __attribute__((format(printf, 3, 4)));
  // Of a call that may have been refused.
  Refusal outcome() const { return Refusal{status}; }
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
  Sink sink(int leaf) { return Sink{writers, writer_step}.from(leaf); }
  uint64_t issue(jobject object, uint8_t kind);
  void deallocate(void* memory);
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
  bool overridden;
  bool callback_safe;
  bool runs_java;
  bool while_pending;
  bool early;
};

// Generated, sorted by number.
extern const Function kFunctions[];
extern const unsigned kFunctionCount;
extern const char kInterfaceDigest[];

namespace overrides {
// The exception that the last call threw; one that was thrown to the program stays.
void forget_pending(Call& call);
}  // namespace overrides

const Function* find_function(uint16_t number);
// Whether the VM has come so far that a call may end with an exception.
bool can_throw();
// Runs one call whose streams are set up; its outcome is in `call.status` and `call.exception`.
void invoke(Call& call, const Function& function);

}  // namespace jvmti

#include "agent/calls/inputs.h"
#include "agent/calls/results.h"
