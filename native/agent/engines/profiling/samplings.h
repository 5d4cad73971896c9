// The engines that take samples, and which of them are for which kind of profile.
#pragma once

#include "agent/engines/profiling/profile.h"

namespace jvmti {

struct Candidate {
  layouts::ProfileEngine engine;
  const Sampling* sampling;
};
constexpr int kMostCandidates = 3;

// Those that a request may be served by, the best first; how many there are.
int candidates_for(const ProfileRequest& request, Candidate* candidates);

extern const Sampling kSignalSampling;
extern const Sampling kStackSampling;
extern const Sampling kAllocationSampling;
extern const Sampling kLiveSampling;
extern const Sampling kLockSampling;

}  // namespace jvmti
