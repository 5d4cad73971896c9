#include "agent/engines/stops/stop_hits.h"

#include <stdio.h>

#include "agent/core/class_names.h"
#include "base/patterns.h"

namespace jvmti {

namespace {

bool is_called_by(jvmtiEnv* env, JNIEnv* jni, StopRequest* stop) {
  jmethodID caller = nullptr;
  jlocation location = 0;
  if (env->GetFrameLocation(nullptr, 1, &caller, &location) != JVMTI_ERROR_NONE) return false;
  uint64_t key = reinterpret_cast<uint64_t>(caller);
  {
    Locked locked(stop->mutex);
    uint32_t known = stop->known_callers.find(key);
    if (known != 0) return known == 2;
  }
  char name[2 * kLongestClassName];
  Deallocated<char> method(env);
  LocalRef<jclass> klass(jni);
  bool fits = false;
  if (env->GetMethodDeclaringClass(caller, klass.out()) == JVMTI_ERROR_NONE &&
      class_name(env, klass, name, kLongestClassName) &&
      env->GetMethodName(caller, method.out(), nullptr, nullptr) == JVMTI_ERROR_NONE) {
    size_t length = std::strlen(name);
    snprintf(name + length, sizeof name - length, ".%s", method.get());
    fits = matches_any(stop->callers.get(), name);
  }
  constexpr uint32_t kMostKnown = 10000;
  Locked locked(stop->mutex);
  if (stop->known < kMostKnown && stop->known_callers.find(key) == 0) {
    stop->known += stop->known_callers.insert(key, fits ? 2 : 1);
  }
  return fits;
}

bool is_wanted_thread(JNIEnv* jni, const StopRequest* stop, jthread thread) {
  if (stop->threads.empty()) return true;
  for (size_t i = 0; i < stop->threads.size(); ++i) {
    if (jni->IsSameObject(stop->threads[i], thread)) return true;
  }
  return false;
}

}  // namespace

bool wants(Session& session, jvmtiEnv* env, JNIEnv* jni, const StopHit& hit, jthread thread) {
  StopRequest* stop = hit.stop;
  if (stop->removed || !is_wanted_thread(jni, stop, thread)) return false;
  if (stop->callers && !is_called_by(env, jni, stop)) return false;
  if (hit.condition != nullptr) {
    Environment* locals = session.environments.enter(stop->locals);
    if (locals != nullptr) {
      bool holds = hit.condition->holds(locals->env, jni, thread);
      session.environments.leave(jni, locals);
      if (!holds) return false;
    }
  }
  uint64_t pass = stop->passes.fetch_add(1) + 1;
  uint64_t after = static_cast<uint64_t>(stop->after);
  return pass > after && (pass - after) % static_cast<uint64_t>(stop->every) == 0;
}

}  // namespace jvmti
