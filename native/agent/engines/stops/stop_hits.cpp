#include "agent/engines/stops/stop_hits.h"

#include <stdio.h>

#include "agent/handles/class_names.h"
#include "base/patterns.h"

namespace jvmti {

namespace {

bool is_called_by(jvmtiEnv* env, JNIEnv* jni, StopRequest* request, jint depth) {
  jmethodID caller = nullptr;
  jlocation location = 0;
  if (env->GetFrameLocation(nullptr, depth + 1, &caller, &location) != JVMTI_ERROR_NONE)
    return false;
  uint64_t key = reinterpret_cast<uint64_t>(caller);
  {
    Locked locked(request->mutex);
    uint32_t known = request->known_callers.find(key);
    if (known != 0) return known == 2;
  }
  char name[2 * kLongestClassName];
  Deallocated<char> method(env);
  LocalRef<jclass> klass(jni);
  bool matches = false;
  if (env->GetMethodDeclaringClass(caller, klass.out()) == JVMTI_ERROR_NONE &&
      class_name(env, klass, name, kLongestClassName) &&
      env->GetMethodName(caller, method.out(), nullptr, nullptr) == JVMTI_ERROR_NONE) {
    size_t length = std::strlen(name);
    snprintf(name + length, sizeof name - length, ".%s", method.get());
    matches = matches_any(request->callers.get(), name);
  }
  constexpr uint32_t kMostKnown = 10000;
  Locked locked(request->mutex);
  if (request->known < kMostKnown && request->known_callers.find(key) == 0) {
    request->known += request->known_callers.insert(key, matches ? 2 : 1);
  }
  return matches;
}

bool is_wanted_thread(JNIEnv* jni, const StopRequest* request, jthread thread) {
  if (request->threads.empty()) return true;
  for (size_t i = 0; i < request->threads.size(); ++i) {
    if (jni->IsSameObject(request->threads[i], thread)) return true;
  }
  return false;
}

}  // namespace

bool in_handler(const Session& session) {
  const Serving* serving = Serving::of(&session);
  return serving != nullptr && serving->handler;
}

bool wants(Session& session, jvmtiEnv* env, JNIEnv* jni, const StopHit& hit, jthread thread) {
  StopRequest* request = hit.request;
  if (request->removed || !is_wanted_thread(jni, request, thread)) return false;
  if (request->callers && !is_called_by(env, jni, request, hit.depth)) return false;
  if (hit.condition != nullptr) {
    Environment* locals = session.environments.enter(request->locals);
    if (locals != nullptr) {
      bool holds = hit.condition->holds(locals->env, jni, thread);
      session.environments.leave(jni, locals);
      if (!holds) return false;
    }
  }
  uint64_t pass = request->passes.fetch_add(1) + 1;
  uint64_t after = static_cast<uint64_t>(request->after);
  return pass > after && (pass - after) % static_cast<uint64_t>(request->every) == 0;
}

}  // namespace jvmti
