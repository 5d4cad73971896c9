#include "agent/events/events.h"

namespace jvmti {

jclass if_named(jvmtiEnv* env, jclass klass, const char* name) {
  Deallocated<char> signature(env);
  if (klass == nullptr || name == nullptr ||
      env->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE) {
    return klass;
  }
  size_t length = std::strlen(name);
  bool same = std::strncmp(signature + 1, name, length) == 0 && signature[length + 1] == ';';
  return same ? klass : nullptr;
}

bool of_service_thread(JNIEnv* jni, jthread thread) {
  return Serving::retired() || (thread != nullptr && is_service_thread(jni, thread));
}

jvmtiError set_callbacks(Environment& environment) {
  if (environment.frees_kept) return JVMTI_ERROR_NONE;  // it has all of them
  jvmtiEventCallbacks callbacks{};
  fill_callbacks(&callbacks, environment.taps);
  return environment.env.load()->SetEventCallbacks(&callbacks, sizeof callbacks);
}

}  // namespace jvmti
