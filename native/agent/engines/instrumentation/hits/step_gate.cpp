#include "agent/engines/instrumentation/hits/step_gate.h"

#include <atomic>
#include <cstring>

#include "agent/core/class_changes.h"
#include "agent/core/vm_memory.h"
#include "generated/probe_helper.h"

namespace jvmti {

namespace {

std::atomic<int> users{0};

// One change after the other, so that the last one makes it what it is to be.
void change(jvmtiEnv* env, JNIEnv* jni) {
  LocalRef<jclass> gate = class_named(jni, kProbeGate);
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  jclass classes[] = {gate};
  ClassChange turn;
  if (gate != nullptr) env->RetransformClasses(1, classes);
}

}  // namespace

void open_step_gate(jvmtiEnv* env, JNIEnv* jni) {
  if (users.fetch_add(1) == 0) change(env, jni);
}

void close_step_gate(jvmtiEnv* env, JNIEnv* jni) {
  if (users.fetch_sub(1) == 1) change(env, jni);
}

bool hook_step_gate(jvmtiEnv* env, const char* name, jint* new_size, unsigned char** new_data) {
  if (name == nullptr || std::strcmp(name, kProbeGate) != 0) return false;
  unsigned char* copy = nullptr;
  jint size = static_cast<jint>(sizeof kProbeGateOpen);
  if (users == 0 || env->Allocate(size, &copy) != JVMTI_ERROR_NONE) return true;
  std::memcpy(copy, kProbeGateOpen, sizeof kProbeGateOpen);
  *new_data = copy;
  *new_size = size;
  return true;
}

}  // namespace jvmti
