// The instructions of bytecode: how long each one is, and the numbers of those that matter here.
#pragma once

#include "classfile/class_file.h"

namespace jvmti::classfile {

enum Op : uint8_t {
  kAconstNull = 1,
  kIconst0 = 3,
  kLconst0 = 9,
  kLconst1 = 10,
  kBipush = 16,
  kSipush = 17,
  kLdc = 18,
  kLdcW = 19,
  kLdc2W = 20,
  kIload = 21,
  kLload = 22,
  kFload = 23,
  kDload = 24,
  kAload = 25,
  kIload0 = 26,
  kIaload = 46,
  kAaload = 50,
  kSaload = 53,
  kIstore = 54,
  kAstore = 58,
  kIstore0 = 59,
  kIastore = 79,
  kSastore = 86,
  kPop = 87,
  kPop2 = 88,
  kDup = 89,
  kDup2 = 92,
  kSwap = 95,
  kAastore = 83,
  kIadd = 96,
  kIshl = 120,
  kIand = 126,
  kIor = 128,
  kIxor = 130,
  kIinc = 132,
  kI2l = 133,
  kI2f = 134,
  kI2d = 135,
  kL2d = 138,
  kF2d = 141,
  kIfeq = 153,
  kIfAcmpne = 166,
  kGoto = 167,
  kJsr = 168,
  kRet = 169,
  kTableswitch = 170,
  kLookupswitch = 171,
  kIreturn = 172,
  kAreturn = 176,
  kReturn = 177,
  kGetstatic = 178,
  kPutstatic = 179,
  kGetfield = 180,
  kPutfield = 181,
  kInvokevirtual = 182,
  kInvokespecial = 183,
  kInvokestatic = 184,
  kInvokeinterface = 185,
  kInvokedynamic = 186,
  kNew = 187,
  kNewarray = 188,
  kAnewarray = 189,
  kArraylength = 190,
  kAthrow = 191,
  kCheckcast = 192,
  kInstanceof = 193,
  kMonitorenter = 194,
  kMonitorexit = 195,
  kWide = 196,
  kMultianewarray = 197,
  kIfnull = 198,
  kIfnonnull = 199,
  kGotoW = 200,
  kJsrW = 201
};

// Of each operation code its length; 0 where it varies, and where there is none.
constexpr uint8_t kLengths[256] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 2, 3,  //
                                   3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1,  //
                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1,  //
                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3,  //
                                   3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 0, 0, 1, 1, 1, 1, 1, 1, 3, 3,  //
                                   3, 3, 3, 3, 3, 5, 5, 3, 2, 3, 1, 1, 3, 3, 1, 1, 0, 4, 3, 3,  //
                                   5, 5};

// Of a `wide` or a switch the length; 0 where it breaks off.
uint32_t varying_length_at(const uint8_t* code, uint32_t at, uint32_t size);

// The length of the instruction at a place in the code, 0 when it is none or breaks off.
inline uint32_t length_at(const uint8_t* code, uint32_t at, uint32_t size) {
  uint8_t op = code[at];
  uint32_t length = kLengths[op] != 0 ? kLengths[op] : varying_length_at(code, at, size);
  return length <= size - at ? length : 0;
}

// What tells one version of code from another: its operations and where they are, not the numbers
// of constants, which a VM changes where it joins the constants of two versions.
uint64_t hash_of_code(const uint8_t* code, uint32_t size);

inline bool is_branch(uint8_t op) {
  return (op >= kIfeq && op <= kJsr) || op == kIfnull || op == kIfnonnull;
}

// Whether what follows is not reached from here.
inline bool ends_block(uint8_t op) {
  return op == kGoto || op == kGotoW || (op >= kRet && op <= kReturn) || op == kAthrow;
}

// The types of a descriptor, one after the other.
class Types {
 public:
  explicit Types(Text descriptor) : rest_(descriptor) {
    if (rest_[0] == '(') rest_ = rest_.from(1);
  }
  // The next parameter's; empty behind the last one, or where there is none.
  Text next() {
    uint32_t size = length();
    Text found(rest_.data, size);
    rest_ = rest_.from(size);
    return found;
  }
  bool at_end() const { return rest_[0] == ')' || rest_.size == 0; }
  // Behind the parameters.
  static Text result(Text descriptor) {
    for (uint32_t i = 0; i < descriptor.size; ++i) {
      if (descriptor.data[i] == ')') return descriptor.from(i + 1);
    }
    return Text();
  }

 private:
  uint32_t length() const {
    uint32_t at = 0;
    while (rest_[at] == '[') ++at;
    switch (rest_[at]) {
      case 'L':
        while (rest_[at] != ';') {
          if (at >= rest_.size) return rest_.size;
          ++at;
        }
        return at + 1;
      case 'Z':
      case 'B':
      case 'C':
      case 'S':
      case 'I':
      case 'J':
      case 'F':
      case 'D':
      case 'V':
        return at + 1;
      default:
        return rest_[at] == ')' ? 0 : rest_.size;
    }
  }
  Text rest_;
};

// How a type is handled: I, J, F, D, or L for references; V for none.
inline char category(Text type) {
  switch (type[0]) {
    case 'Z':
    case 'B':
    case 'C':
    case 'S':
    case 'I':
      return 'I';
    case 'J':
    case 'F':
    case 'D':
    case 'V':
      return static_cast<char>(type[0]);
    case 'L':
    case '[':
      return 'L';
    default:
      return '\0';
  }
}
inline uint32_t slots(char category) {
  return category == 'J' || category == 'D' ? 2 : category == 'V' ? 0 : 1;
}

// What calling a static method adds to the stack.
inline int32_t depth_of_call(Text descriptor) {
  int32_t depth = 0;
  for (Types types(descriptor); !types.at_end();) {
    Text type = types.next();
    if (type.size == 0) break;
    depth -= static_cast<int32_t>(slots(category(type)));
  }
  return depth + static_cast<int32_t>(slots(category(Types::result(descriptor))));
}

}  // namespace jvmti::classfile
