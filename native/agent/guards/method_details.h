// What the agent's own checks need to know of a method beyond its id.
#pragma once

#include "agent/calls/call.h"
#include "classfile/instructions.h"

namespace jvmti {

constexpr jint kAccStatic = 0x0008;
constexpr jint kAccNative = 0x0100;

// Of a descriptor's first character: arrays are references like any other.
constexpr char simple_type(char c) { return c == '[' ? 'L' : c; }

// Name, signature and argument types of a method; null (and a refusal) when it is no more.
const MethodDetails* details_of(Call& call, MethodRecord* record);

// The same for an id that the VM just gave.
const MethodDetails* details_of(Call& call, jmethodID method);

// Whether an object is of the type that a descriptor names as the method's class sees it.  The VM
// compares names only, so that a class of the same name from another loader would pass.
bool is_of_type(Call& call, const MethodDetails* details, const char* descriptor, jobject object);

// The bytecodes of a method and where instructions start.  Asked of the VM each time: a class may
// have been redefined since the last, and then the same jmethodID has other code.
class Code {
 public:
  bool fetch(Call& call, jmethodID method);
  bool starts_at(jlocation at) const {
    return at >= 0 && at < static_cast<jlocation>(starts_.size()) &&
           starts_[static_cast<size_t>(at)] != 0;
  }
  // Code of old compilers, in which a slot may hold where a subroutine returns to.
  bool has_subroutines() const;
  // Calls `visit` with each local variable that an instruction stores to, and its type (I J F D L).
  template <class Visit>
  void each_store(Visit visit) const {
    constexpr char kTypes[] = "IJFDL";
    for (size_t at = 0; at < starts_.size(); ++at) {
      if (starts_[at] == 0) continue;
      bool wide = bytes_[at] == classfile::kWide;
      uint8_t op = bytes_[at + wide];
      jint operand = wide ? bytes_[at + 2] << 8 | bytes_[at + 3] : bytes_[at + 1];
      if (op == classfile::kIinc) {
        visit(operand, 'I');
      } else if (op >= classfile::kIstore && op <= classfile::kAstore) {
        visit(operand, kTypes[op - classfile::kIstore]);
      } else if (op >= classfile::kIstore0 && op < classfile::kIastore) {
        visit((op - classfile::kIstore0) % 4, kTypes[(op - classfile::kIstore0) / 4]);
      }
    }
  }

 private:
  Array<uint8_t> bytes_;
  Array<uint8_t> starts_;  // 1 where an instruction does
};

}  // namespace jvmti
