#include "agent/engines/stops/stop_hits.h"

#include <stdio.h>

#include "agent/handles/class_names.h"
#include "base/patterns.h"

namespace jvmti {

namespace {

// What a function says of a method, asked once.
template <class Says>
bool known(StopRequest* request, jmethodID method, Says says) {
  uint64_t key = reinterpret_cast<uint64_t>(method);
  {
    Locked locked(request->mutex);
    uint32_t known = request->known_methods.find(key);
    if (known != 0) return known == 2;
  }
  bool is_so = says();
  constexpr uint32_t kMostKnown = 10000;
  Locked locked(request->mutex);
  if (request->known < kMostKnown && request->known_methods.find(key) == 0) {
    request->known += request->known_methods.insert(key, is_so ? 2 : 1);
  }
  return is_so;
}

bool is_called_by(jvmtiEnv* env, JNIEnv* jni, StopRequest* request, jint depth) {
  jmethodID caller = nullptr;
  jlocation location = 0;
  if (env->GetFrameLocation(nullptr, depth + 1, &caller, &location) != JVMTI_ERROR_NONE)
    return false;
  return known(request, caller, [&] {
    char name[2 * kLongestClassName];
    Deallocated<char> method(env);
    LocalRef<jclass> klass(jni);
    if (env->GetMethodDeclaringClass(caller, klass.out()) != JVMTI_ERROR_NONE ||
        !class_name(env, klass, name, kLongestClassName) ||
        env->GetMethodName(caller, method.out(), nullptr, nullptr) != JVMTI_ERROR_NONE) {
      return false;
    }
    size_t length = std::strlen(name);
    snprintf(name + length, sizeof name - length, ".%s", method.get());
    return matches_any(request->callers.get(), name);
  });
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

bool passes_over(jvmtiEnv* env, JNIEnv* jni, StopRequest* step, jmethodID method) {
  if (!step->classes) return false;
  return known(step, method, [&] {
    char name[kLongestClassName];
    LocalRef<jclass> klass(jni);
    return env->GetMethodDeclaringClass(method, klass.out()) == JVMTI_ERROR_NONE &&
           class_name(env, klass, name, sizeof name) && matches_any(step->classes.get(), name);
  });
}

bool counts(StopRequest* request) {
  uint64_t pass = request->passes.fetch_add(1) + 1;
  uint64_t after = static_cast<uint64_t>(request->after);
  uint64_t every = static_cast<uint64_t>(request->every);
  return pass > after && (every == 0 ? pass == after + 1 : (pass - after) % every == 0);
}

bool wants(Session& session, jvmtiEnv* env, JNIEnv* jni, const StopHit& hit, jthread thread) {
  StopRequest* request = hit.request;
  if (request->removed || !is_wanted_thread(jni, request, thread)) return false;
  if (request->callers && !is_called_by(env, jni, request, hit.depth)) return false;
  RecordedHit recorded;
  if (hit.condition != nullptr) {
    Environment* locals = session.environments.enter(request->locals);
    if (locals != nullptr) {
      bool holds = hit.condition->holds(locals->env, jni, thread, hit.klass, &recorded);
      session.environments.leave(jni, locals);
      if (!holds) return false;
    }
  }
  if (hit.counted && !counts(request)) return false;
  if (!recorded.has_begun()) return true;
  session.stop_requests.records.add(recorded, &request->recorded);
  return false;
}

}  // namespace jvmti
