// What the agent's own checks need to know of a method beyond its id.
#pragma once

#include "bytecode.h"
#include "call.h"

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
  Code() = default;
  ~Code() {
    std::free(bytes_);
    std::free(boundaries_);
  }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  bool fetch(Call& call, jmethodID method) {
    jint length = 0;
    unsigned char* bytes = nullptr;
    jvmtiError error = call.session.tags()->GetBytecodes(method, &length, &bytes);
    if (error != JVMTI_ERROR_NONE) {
      call.refuse(error);
      return false;
    }
    bytes_ = static_cast<uint8_t*>(std::calloc(static_cast<size_t>(length) + 8, 1));
    boundaries_ = static_cast<uint8_t*>(std::calloc(static_cast<size_t>(length) + 1, 1));
    if (bytes_ != nullptr && boundaries_ != nullptr) {
      if (length > 0) std::memcpy(bytes_, bytes, static_cast<size_t>(length));
      length_ = length;
      mark_boundaries(bytes_, length_, boundaries_);
    } else {
      call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    }
    call.deallocate(bytes);
    return length_ == length;
  }
  bool starts_at(jlocation at) const {
    return at >= 0 && at < length_ && boundaries_[at] != 0;
  }
  const uint8_t* bytes() const { return bytes_; }
  jint length() const { return length_; }
  // Code of old compilers, in which a slot may hold where a subroutine returns to.
  bool has_subroutines() const {
    for (jint at = 0; at < length_; ++at) {
      if (boundaries_[at] != 0 && (bytes_[at] == 0xa8 || bytes_[at] == 0xc9)) return true;
    }
    return false;
  }

 private:
  uint8_t* bytes_ = nullptr;
  uint8_t* boundaries_ = nullptr;
  jint length_ = -1;
};

}  // namespace jvmti
