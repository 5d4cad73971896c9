#include "agent/calls/bytecode.h"

namespace jvmti {

namespace {

constexpr uint8_t kIload = 0x15;
constexpr uint8_t kIstore = 0x36;
constexpr uint8_t kAstore = 0x3a;
constexpr uint8_t kIstore0 = 0x3b;
constexpr uint8_t kAstore3 = 0x4e;
constexpr uint8_t kIinc = 0x84;
constexpr uint8_t kRet = 0xa9;
constexpr uint8_t kTableswitch = 0xaa;
constexpr uint8_t kLookupswitch = 0xab;
constexpr uint8_t kWide = 0xc4;
constexpr uint8_t kLast = 0xc9;

int fixed_length(uint8_t opcode) {
  if (opcode == 0x10) return 2;                      // bipush
  if (opcode == 0x11) return 3;                      // sipush
  if (opcode == 0x12) return 2;                      // ldc
  if (opcode == 0x13 || opcode == 0x14) return 3;    // ldc_w, ldc2_w
  if (opcode >= kIload && opcode <= 0x19) return 2;  // iload .. aload
  if (opcode >= kIstore && opcode <= kAstore) return 2;
  if (opcode == kIinc) return 3;
  if (opcode >= 0x99 && opcode <= 0xa8) return 3;  // ifeq .. jsr
  if (opcode == kRet) return 2;
  if (opcode >= 0xb2 && opcode <= 0xb8) return 3;  // getstatic .. invokestatic
  if (opcode == 0xb9 || opcode == 0xba) return 5;  // invokeinterface, invokedynamic
  if (opcode == 0xbb || opcode == 0xbd) return 3;  // new, anewarray
  if (opcode == 0xbc) return 2;                    // newarray
  if (opcode == 0xc0 || opcode == 0xc1) return 3;  // checkcast, instanceof
  if (opcode == 0xc5) return 4;                    // multianewarray
  if (opcode == 0xc6 || opcode == 0xc7) return 3;  // ifnull, ifnonnull
  if (opcode == 0xc8 || opcode == 0xc9) return 5;  // goto_w, jsr_w
  return 1;
}

int64_t word(const uint8_t* at) {
  return static_cast<int32_t>(static_cast<uint32_t>(at[0]) << 24 |
                              static_cast<uint32_t>(at[1]) << 16 |
                              static_cast<uint32_t>(at[2]) << 8 | at[3]);
}

}  // namespace

jint instruction_length(const uint8_t* code, jint length, jint at) {
  uint8_t opcode = code[at];
  int64_t size;
  if (opcode == kTableswitch || opcode == kLookupswitch) {
    jint aligned = (at + 4) & ~3;
    if (aligned + 12 > length) return 0;
    if (opcode == kTableswitch) {
      size = aligned - at + 12 + (word(code + aligned + 8) - word(code + aligned + 4) + 1) * 4;
    } else {
      size = aligned - at + 8 + word(code + aligned + 4) * 8;
    }
  } else if (opcode == kWide) {
    if (at + 1 >= length) return 0;
    size = code[at + 1] == kIinc ? 6 : 4;
  } else if (opcode > kLast) {
    return 0;
  } else {
    size = fixed_length(opcode);
  }
  return size > 0 && at + size <= length ? static_cast<jint>(size) : 0;
}

void mark_boundaries(const uint8_t* code, jint length, uint8_t* boundaries) {
  for (jint at = 0; at < length;) {
    boundaries[at] = 1;
    jint size = instruction_length(code, length, at);
    if (size == 0) return;
    at += size;
  }
}

bool store_at(const uint8_t* code, jint at, jint* slot, char* type) {
  constexpr char kTypes[] = "IJFDL";
  uint8_t opcode = code[at];
  bool wide = opcode == kWide;
  if (wide) opcode = code[at + 1];
  jint operand = wide ? code[at + 2] << 8 | code[at + 3] : code[at + 1];
  if (opcode == kIinc) {
    *slot = operand;
    *type = 'I';
    return true;
  }
  if (opcode >= kIstore && opcode <= kAstore) {
    *slot = operand;
    *type = kTypes[opcode - kIstore];
    return true;
  }
  if (opcode >= kIstore0 && opcode <= kAstore3) {
    *slot = (opcode - kIstore0) % 4;
    *type = kTypes[(opcode - kIstore0) / 4];
    return true;
  }
  return false;
}

}  // namespace jvmti
