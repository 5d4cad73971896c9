// The floor for answered events: callbacks that do nothing.  Options: `breakpoint` places one at
// Answered.hit, `hook` listens to class files.
#include <jvmti.h>

#include <cstring>

namespace {

bool breakpoint = false;

void JNICALL on_breakpoint(jvmtiEnv*, JNIEnv*, jthread, jmethodID, jlocation) {}

void JNICALL on_class_file(jvmtiEnv*, JNIEnv*, jclass, jobject, const char*, jobject, jint,
                           const unsigned char*, jint*, unsigned char**) {}

void JNICALL on_prepare(jvmtiEnv* env, JNIEnv* jni, jthread, jclass klass) {
  char* signature = nullptr;
  if (env->GetClassSignature(klass, &signature, nullptr) != JVMTI_ERROR_NONE) return;
  if (std::strcmp(signature, "LAnswered;") == 0) {
    env->SetBreakpoint(jni->GetStaticMethodID(klass, "hit", "()V"), 0);
  }
  env->Deallocate(reinterpret_cast<unsigned char*>(signature));
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  jvmtiEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JVMTI_VERSION_1_2) != JNI_OK) return JNI_ERR;
  breakpoint = std::strcmp(options, "breakpoint") == 0;
  jvmtiCapabilities wanted{};
  wanted.can_generate_breakpoint_events = breakpoint;
  env->AddCapabilities(&wanted);
  jvmtiEventCallbacks callbacks{};
  callbacks.Breakpoint = on_breakpoint;
  callbacks.ClassPrepare = on_prepare;
  callbacks.ClassFileLoadHook = on_class_file;
  env->SetEventCallbacks(&callbacks, sizeof callbacks);
  if (breakpoint) {
    env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, nullptr);
    env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_BREAKPOINT, nullptr);
  } else {
    env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
  }
  return JNI_OK;
}
