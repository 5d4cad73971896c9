// The floor for conditions of breakpoints: an agent with a breakpoint at Stopped.hit whose callback
// does nothing, or with the option `local` reads one local variable and compares it, or with `field`
// an int in an object that another variable holds.
#include <jvmti.h>

#include <cstring>

namespace {

bool local = false;
bool in_field = false;
jfieldID total = nullptr;
long found = 0;

void JNICALL on_breakpoint(jvmtiEnv* env, JNIEnv* jni, jthread thread, jmethodID, jlocation) {
  jobject order = nullptr;
  if (in_field && env->GetLocalObject(thread, 0, 2, &order) == JVMTI_ERROR_NONE) {
    found += jni->GetIntField(order, total) > 100000;
    jni->DeleteLocalRef(order);
  }
  jint value = 0;
  if (local && env->GetLocalInt(thread, 0, 0, &value) == JVMTI_ERROR_NONE) found += value < 0;
}

void JNICALL on_prepare(jvmtiEnv* env, JNIEnv* jni, jthread, jclass klass) {
  char* signature = nullptr;
  if (env->GetClassSignature(klass, &signature, nullptr) != JVMTI_ERROR_NONE) return;
  if (std::strcmp(signature, "LStopped;") == 0) {
    env->SetBreakpoint(jni->GetStaticMethodID(klass, "hit", "(ILjava/lang/String;LStopped$Order;)V"), 0);
  }
  if (std::strcmp(signature, "LStopped$Order;") == 0) total = jni->GetFieldID(klass, "total", "I");
  env->Deallocate(reinterpret_cast<unsigned char*>(signature));
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  jvmtiEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JVMTI_VERSION_1_2) != JNI_OK) return JNI_ERR;
  local = std::strcmp(options, "local") == 0;
  in_field = std::strcmp(options, "field") == 0;
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
