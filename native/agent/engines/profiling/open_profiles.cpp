#include "agent/engines/profiling/open_profiles.h"

#include "agent/engines/profiling/samplings.h"
#include "agent/sessions/session.h"
#include "generated/overrides.h"

namespace jvmti {

int candidates_for(const ProfileRequest& request, Candidate* candidates) {
  using layouts::ProfiledKind;
  using layouts::ProfileEngine;
  int count = 0;
  auto offer = [&](ProfileEngine engine, const Sampling& sampling) {
    if (request.engine == ProfileEngine::kBest || request.engine == engine) {
      candidates[count++] = Candidate{engine, &sampling};
    }
  };
  switch (request.kind) {
    case ProfiledKind::kCpu:
      offer(ProfileEngine::kPerf, kSignalSampling);
      offer(ProfileEngine::kTimer, kSignalSampling);
      offer(ProfileEngine::kDeltas, kStackSampling);
      break;
    case ProfiledKind::kWall:
      offer(ProfileEngine::kDeltas, kStackSampling);
      break;
    case ProfiledKind::kAlloc:
      offer(ProfileEngine::kEvents, kAllocationSampling);
      break;
    case ProfiledKind::kLock:
      offer(ProfileEngine::kEvents, kLockSampling);
      break;
    case ProfiledKind::kLive:
      offer(ProfileEngine::kBirths, kLiveSampling);
      break;
    default:
      break;
  }
  return count;
}

bool OpenProfiles::keep(Profile* profile) {
  Locked locked(session_.mutex());
  return !session_.ending() && open_.push(profile);
}

bool OpenProfiles::has(const Profile* profile) {
  Locked locked(session_.mutex());
  for (const Profile* one : open_) {
    if (one == profile) return true;
  }
  return false;
}

Profile* OpenProfiles::take(uint32_t number) {
  Locked locked(session_.mutex());
  for (size_t i = 0; i < open_.size(); ++i) {
    Profile* one = open_[i];
    if (one->number != number) continue;
    open_.remove(i);
    return one;
  }
  return nullptr;
}

// Only the thread that ends the session takes any away by then.
void OpenProfiles::stop_all(JNIEnv* jni) {
  for (size_t i = 0;; ++i) {
    Profile* one = nullptr;
    {
      Locked locked(session_.mutex());
      if (i < open_.size()) one = open_[i];
    }
    if (one == nullptr) return;
    one->stop(jni);
  }
}

void OpenProfiles::close_all(JNIEnv* jni) {
  while (true) {
    Profile* one = nullptr;
    {
      Locked locked(session_.mutex());
      if (open_.empty()) return;
      one = open_.pop();
    }
    one->stop(jni);
    while (!one->free(jni)) {
    }
  }
}

namespace {

// A call that is still going on may read a profile: it goes when there is none.
bool end(JNIEnv* jni, Session& session, Stage stage) {
  if (stage == Stage::kUndo) session.profiles.stop_all(jni);
  if (stage == Stage::kUnlist) session.profiles.close_all(jni);
  return true;
}

}  // namespace

extern const Engine kProfileEngine{nullptr, nullptr, end, nullptr};

namespace operations {

namespace {

// A profile of the call's session; null where it has none of that number.
class Found {
 public:
  Found(Call& call, jint number) : used_(static_cast<uint32_t>(number)) {
    if (call.session.profiles.has(used_.get())) profile_ = used_.get();
  }
  operator Profile*() const { return profile_; }
  Profile* operator->() const { return profile_; }

 private:
  UsedProfile used_;
  Profile* profile_ = nullptr;
};

jvmtiError refuse(Call& call, jint number) {
  call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "this session has no profile of number %d", number);
  return JVMTI_ERROR_ILLEGAL_ARGUMENT;
}

}  // namespace

jvmtiError OpenProfile(Call& call, const In<jint>& kind, const In<jint>& engine,
                       const In<jlong>& interval, const In<jint>& depth, const In<jboolean>& exact,
                       const In<Nullable<Text>>& threads, jint* number, jint* taken,
                       char** reason) {
  if (call.jni == nullptr || !agent.live) {
    call.refuse(JVMTI_ERROR_WRONG_PHASE, "a profile needs a VM that is live");
    return JVMTI_ERROR_WRONG_PHASE;
  }
  bool good = kind.c() >= 0 && kind.c() < layouts::kProfiledKindCount && engine.c() >= 0 &&
              engine.c() < layouts::kProfileEngineCount && interval.c() >= 0 && depth.c() > 0 &&
              depth.c() <= static_cast<jint>(layouts::Profiles::kDepth);
  if (!good) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  auto kind_asked = static_cast<layouts::ProfiledKind>(kind.c());
  bool is_time =
      kind_asked == layouts::ProfiledKind::kCpu || kind_asked == layouts::ProfiledKind::kWall;
  if (is_time && interval.c() < static_cast<jlong>(layouts::Profiles::kShortest)) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT,
                "an interval of %lld ns is shorter than %lld: it would leave the program no time",
                static_cast<long long>(interval.c()),
                static_cast<long long>(layouts::Profiles::kShortest));
    return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  }
  ProfileRequest request{kind_asked,     static_cast<layouts::ProfileEngine>(engine.c()),
                         interval.c(),   depth.c(),
                         exact.c() != 0, threads.c()};
  char why[400] = "";
  Profile* profile = Profile::open(call, request, why, sizeof why);
  if (profile == nullptr) return static_cast<jvmtiError>(call.status);
  jvmtiError error = give_text(why, reason);
  if (error == JVMTI_ERROR_NONE && call.session.profiles.keep(profile)) {
    *number = static_cast<jint>(profile->number);
    *taken = static_cast<jint>(profile->engine);
    return JVMTI_ERROR_NONE;
  }
  profile->stop(call.jni);
  while (!profile->free(call.jni)) {
  }
  return JVMTI_ERROR_OUT_OF_MEMORY;
}

jvmtiError ReadProfile(Call& call, const In<jint>& number, jint* count, unsigned char** bytes) {
  Found profile(call, number.c());
  if (profile == nullptr) return refuse(call, number.c());
  return profile->read(call.jni, count, bytes);
}

jvmtiError StopProfile(Call& call, const In<jint>& number) {
  Found profile(call, number.c());
  if (profile == nullptr) return refuse(call, number.c());
  profile->stop(call.jni);
  return JVMTI_ERROR_NONE;
}

jvmtiError CloseProfile(Call& call, const In<jint>& number) {
  Profile* profile = call.session.profiles.take(static_cast<uint32_t>(number.c()));
  if (profile == nullptr) return refuse(call, number.c());
  profile->stop(call.jni);
  while (!profile->free(call.jni)) {
  }
  return JVMTI_ERROR_NONE;
}

}  // namespace operations
}  // namespace jvmti
