// What the agent's own checks need to know of a method beyond its id.
#pragma once

#include "agent/calls/bytecode.h"
#include "agent/calls/call.h"

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
  bool fetch(Call& call, jmethodID method) {
    jint length = 0;
    Deallocated<unsigned char> bytes(agent.env);
    jvmtiError error = call.session.tags()->GetBytecodes(method, &length, bytes.out());
    if (error != JVMTI_ERROR_NONE) {
      call.refuse(error);
      return false;
    }
    size_t size = static_cast<size_t>(length);
    if (bytes_.allocate(size + 7) && boundaries_.allocate(size)) {
      if (length > 0) std::memcpy(bytes_.get(), bytes.get(), size);
      length_ = length;
      mark_boundaries(bytes_.get(), length_, boundaries_.get());
    } else {
      call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    }
    return length_ == length;
  }
  bool starts_at(jlocation at) const {
    return at >= 0 && at < length_ && boundaries_[static_cast<size_t>(at)] != 0;
  }
  const uint8_t* bytes() const { return bytes_.get(); }
  jint length() const { return length_; }
  // Code of old compilers, in which a slot may hold where a subroutine returns to.
  bool has_subroutines() const {
    for (size_t at = 0; at < boundaries_.size(); ++at) {
      if (boundaries_[at] != 0 && (bytes_[at] == 0xa8 || bytes_[at] == 0xc9)) return true;
    }
    return false;
  }

 private:
  Array<uint8_t> bytes_;
  Array<uint8_t> boundaries_;
  jint length_ = -1;
};

}  // namespace jvmti
