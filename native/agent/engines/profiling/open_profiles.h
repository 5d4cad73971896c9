// The profiles of a session.
#pragma once

#include <jvmti.h>

#include "agent/core/engine.h"
#include "base/containers.h"

namespace jvmti {

class Profile;

class OpenProfiles {
 public:
  explicit OpenProfiles(Session& session) : session_(session) {}

  bool keep(Profile* profile);
  bool has(const Profile* profile);
  // Takes it out, for the caller to free; null where there is none of that number.
  Profile* take(uint32_t number);
  void stop_all(JNIEnv* jni);
  void close_all(JNIEnv* jni);

 private:
  Session& session_;
  Vector<Profile*> open_;
};

}  // namespace jvmti
