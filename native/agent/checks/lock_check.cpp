#include "agent/checks/lock_check.h"

#ifdef JVMTI_CHECK_LOCKS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/checks/checked_calls.h"
#include "agent/engines/interception/jni_interception.h"

namespace jvmti::lock_check {

const jvmtiInterface_1_* jvmti_original = nullptr;
const JNINativeInterface_* jni_original = nullptr;

namespace {

constexpr int kMost = 8;

struct Held {
  struct {
    const void* mutex;
    Guards what;
  } locks[kMost];
  int count;
};

// Nothing is allocated for it: an allocation of the agent may be made to fail.
Held& held() {
  thread_local Held own{};
  return own;
}

[[noreturn]] void end(const Held& own, const char* what) {
  fprintf(stderr, "jvmti: lock check: %s while the thread holds", what);
  for (int i = 0; i < own.count; ++i) {
    fprintf(stderr, " %p (%d)", own.locks[i].mutex, static_cast<int>(own.locks[i].what));
  }
  fprintf(stderr, "\n");
  fflush(stderr);
  abort();
}

JavaVM* real = nullptr;
JavaVM_ watched_vm;
JNIInvokeInterface_ watched_calls;
jvmtiInterface_1_ watched_jvmti;

jint JNICALL get_env(JavaVM*, void** env, jint version) {
  hold_none("GetEnv");
  jint result = real->GetEnv(env, version);
  constexpr jint kKind = JVMTI_VERSION_MASK_INTERFACE_TYPE;
  if (result != JNI_OK || (version & kKind) != JVMTI_VERSION_INTERFACE_JVMTI) return result;
  jvmtiEnv* made = static_cast<jvmtiEnv*>(*env);
  if (jvmti_original == nullptr) {
    jvmti_original = made->functions;
    watch(&watched_jvmti);
  }
  made->functions = &watched_jvmti;
  return result;
}

}  // namespace

void locking(const void* mutex, Guards what) {
  Held& own = held();
  if (own.count > 0 && own.locks[own.count - 1].what >= what) {
    char text[80];
    snprintf(text, sizeof text, "lock %p (%d) is taken", mutex, static_cast<int>(what));
    end(own, text);
  }
  if (own.count == kMost) end(own, "one more lock is taken");
  own.locks[own.count].mutex = mutex;
  own.locks[own.count++].what = what;
}

void unlocked(const void* mutex) {
  Held& own = held();
  int at = own.count;
  while (at > 0 && own.locks[at - 1].mutex != mutex) --at;
  if (at == 0) end(own, "a lock is given up that it does not hold,");
  memmove(&own.locks[at - 1], &own.locks[at],
          static_cast<size_t>(own.count - at) * sizeof own.locks[0]);
  --own.count;
}

void waiting(const void* mutex) {
  Held& own = held();
  if (own.count != 1 || own.locks[0].mutex != mutex) end(own, "a condition is waited for");
}

void hold_none(const char* function) {
  Held& own = held();
  if (own.count > 0) end(own, function);
}

JavaVM* watched(JavaVM* vm) {
  if (real != nullptr) return &watched_vm;
  real = vm;
  watched_calls = *vm->functions;
  watched_calls.GetEnv = get_env;
  watched_vm.functions = &watched_calls;
  return &watched_vm;
}

void watch_jni(jvmtiEnv* env, JNIEnv* jni) {
  static JNINativeInterface_ watched_jni;
  jniNativeInterface* table = nullptr;
  if (jni_original != nullptr || env->GetJNIFunctionTable(&table) != JVMTI_ERROR_NONE) return;
  jni_original = table;  // kept
  size_t slots = slots_of(jni);
  memcpy(&watched_jni, table, slots * sizeof(void*));
  watch(&watched_jni, slots);
  env->SetJNIFunctionTable(&watched_jni);
  violate(watched_jvmti, watched_jni, env, jni);
}

}  // namespace jvmti::lock_check

#endif
