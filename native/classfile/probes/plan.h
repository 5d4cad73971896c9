// A plan of instrumentation, as `probes.h` lays it out: checked when it is opened.
#pragma once

#include "classfile/instructions.h"
#include "generated/probes.h"

namespace jvmti::classfile {

using layouts::LeftOut;
using layouts::Outcome;
using Site = layouts::Site;
using OperandKind = layouts::Operand;

constexpr uint32_t bit(OperandKind kind) { return 1u << static_cast<uint32_t>(kind); }

struct Operand {
  OperandKind kind;
  char type;
  int64_t number;
  Text text;
  Text path;  // of fields, from it
};

// Of a condition.
struct Step {
  layouts::Test operation;
  const Operand* operand;
  uint32_t holds;  // for which outcomes
  char type;
  int64_t constant;
  Text text;
  Text path;
};

// The UTF-16 unit that a text of one character stands for; -1 for any other text.
int32_t character(Text text);

// Whether the helper follows the path itself, to a text, a number, a length, null or a class.
bool is_followed(const Step& step);

// What a class file does not say about its class.
struct Question {
  bool about_loader;  // else: about its superclasses and interfaces, however far up
  const char* patterns;
};

struct Probe {
  uint32_t number;  // in the plan
  Site site;
  Outcome outcome;
  char result;
  int32_t at;  // a line or bytecode index; -1: all
  const Operand* operands;
  uint32_t first_operand;
  uint32_t operand_count;
  uint32_t record_size;
  uint32_t text_size;
  uint32_t event;  // of JVM TI, that one which stops reports; 0 for none
  uint32_t about;  // the number of a watched field
  bool conditional;
  bool is_plain;  // hands over numbers only, whatever happens there
  uint32_t first_step;
  uint32_t step_count;
  const Step* steps;
  // Patterns, one a line; null takes everything.
  const char* classes;
  const char* methods;
  const char* descriptors;
  const char* annotations;
  const char* supertypes;
  const char* loaders;
  const char* owners;
  const char* members;
  const char* member_descriptors;
  Text helper;
  Text gate;  // the class that has the method called first, if another
  Text name;
  Text descriptor;

  uint32_t supertypes_question;  // of the plan's, where there are such patterns
  uint32_t loaders_question;

  int32_t depth;   // what calling it adds to the stack
  uint32_t kinds;  // a bit for each kind of operand, also of its condition

  bool hands_over(OperandKind kind) const { return (kinds & bit(kind)) != 0; }
};

// What a probe that records calls, in this order: `begin`, a `put` for each value, `end`.
constexpr uint32_t kBeginOperands = 3;
constexpr const char* kBegin = "(IIJ)J";
constexpr const char* kBeginIf = "(IIIJ)J";
constexpr const char* kEnd = "(J)V";

// What a probe that stops calls first: with the set, the site, and how large the array is to be.
constexpr uint32_t kStopOperands = 2;
constexpr const char* kStop = "(III)[Ljava/lang/Object;";
// The class of what leaves a method early; the agent defines it.
constexpr const char* kLeaving = "java/lang/JvmtiProbesLeft";
// And of what begins it again.
constexpr const char* kRestarting = "java/lang/JvmtiProbesRestarted";
constexpr const char* kStopIf = "(IIII)[Ljava/lang/Object;";

class Plan {
 public:
  Status read(const uint8_t* data, uint64_t size);
  const Vector<Probe>& probes() const { return probes_; }
  // Whether any probe looks at annotations of classes or methods.
  bool asks_for_annotations() const { return asks_for_annotations_; }
  // What the patterns of its probes ask, each once.
  const Vector<Question>& questions() const { return questions_; }
  const Vector<Step>& steps() const { return steps_; }
  const Vector<Operand>& operands() const { return operands_; }
  // Lets every probe call this class, whose name must outlive the plan, with a first operand of
  // this number; false where that is no int.
  bool bind(const char* helper, int32_t number);
  // Lets probes that stop for this event call that class first.
  void bind_first(uint32_t event, const char* gate);

 private:
  bool text(uint32_t at, Text* found) const;
  bool pattern(uint32_t at, const char** found) const;
  Status read_operands(const uint8_t* at, uint32_t count);
  Status read_steps(const uint8_t* at, uint32_t count);
  Status read_probe(const uint8_t* at, uint32_t number);
  bool is_condition(const Probe& probe) const;
  bool describe(Probe* probe);
  bool ask(bool about_loader, const char* patterns, uint32_t* question);
  Vector<uint8_t> data_;
  Text texts_;
  Vector<Operand> operands_;
  Vector<Step> steps_;
  Vector<Probe> probes_;
  Vector<Question> questions_;
  Vector<uint8_t> descriptors_;  // of the methods that probes call
  bool asks_for_annotations_ = false;
};

}  // namespace jvmti::classfile
