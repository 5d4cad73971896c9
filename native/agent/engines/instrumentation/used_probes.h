// Sets of probes by their numbers.
#pragma once

#include <jvmti.h>

#include <cstdint>

#include "base/no_copy.h"

namespace jvmti {

class ProbeSet;
struct Call;

// A set that is not freed meanwhile; null when it is gone, whatever has its place now.
class UsedProbes {
 public:
  explicit UsedProbes(uint32_t number);
  ~UsedProbes();
  UsedProbes(const UsedProbes&) = delete;
  UsedProbes& operator=(const UsedProbes&) = delete;
  ProbeSet* get() const { return set_; }

 private:
  uint32_t number_;  // of its place
  ProbeSet* set_;
};

// A set of the call's session; null where it has none of that number.
class FoundProbes : NoCopy {
 public:
  FoundProbes(Call& call, jint number);
  operator ProbeSet*() const { return set_; }
  ProbeSet* operator->() const { return set_; }
  static jvmtiError refuse(Call& call, jint number);

 private:
  UsedProbes used_;
  ProbeSet* set_ = nullptr;
};

}  // namespace jvmti
