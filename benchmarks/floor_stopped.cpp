// The floor for conditions of breakpoints: an agent with a breakpoint at Stopped.hit whose callback
// does nothing, or with the option `local` reads one local variable and compares it.
#include <jvmti.h>

#include <cstring>

namespace {

bool local = false;
long found = 0;

void JNICALL on_breakpoint(jvmtiEnv* env, JNIEnv*, jthread thread, jmethodID, jlocation) {
  jint value = 0;
  if (local && env->GetLocalInt(thread, 0, 0, &value) == JVMTI_ERROR_NONE) found += value < 0;
}

void JNICALL on_prepare(jvmtiEnv* env, JNIEnv* jni, jthread, jclass klass) {
  char* signature = nullptr;
  if (env->GetClassSignature(klass, &signature, nullptr) != JVMTI_ERROR_NONE) return;
  if (std::strcmp(signature, "LStopped;") == 0) {
    env->SetBreakpoint(jni->GetStaticMethodID(klass, "hit", "(ILjava/lang/String;)V"), 0);
  }
  env->Deallocate(reinterpret_cast<unsigned char*>(signature));
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  jvmtiEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JVMTI_VERSION_1_2) != JNI_OK) return JNI_ERR;
  local = std::strcmp(options, "local") == 0;
  jvmtiCapabilities wanted{};
  wanted.can_generate_breakpoint_events = 1;
  wanted.can_access_local_variables = 1;
  env->AddCapabilities(&wanted);
  jvmtiEventCallbacks callbacks{};
  callbacks.Breakpoint = on_breakpoint;
  callbacks.ClassPrepare = on_prepare;
  env->SetEventCallbacks(&callbacks, sizeof callbacks);
  env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, nullptr);
  env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_BREAKPOINT, nullptr);
  return JNI_OK;
}
