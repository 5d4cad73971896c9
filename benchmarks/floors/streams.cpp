// The floor that streams are measured against: an agent whose callbacks do nothing.  Where the
// VM lets them, it is in the same VM as the stream, and they take turns: two differ by more than
// what is measured.
//
//   -agentpath:libfloor.so=MethodEntry          or MethodExit (both of them), FieldModification

#include <jvmti.h>

#include <cstring>

namespace {

void JNICALL entered(jvmtiEnv*, JNIEnv*, jthread, jmethodID) {}

void JNICALL left(jvmtiEnv*, JNIEnv*, jthread, jmethodID, jboolean, jvalue) {}

void JNICALL written(jvmtiEnv*, JNIEnv*, jthread, jmethodID, jlocation, jclass, jobject, jfieldID,
                     char, jvalue) {}

jvmtiEnv* env = nullptr;
jvmtiEvent events[2];

}  // namespace

// The program turns the callbacks on and off.
extern "C" JNIEXPORT void JNICALL Java_Streaming_floor(JNIEnv* jni, jclass type, jboolean on) {
  if (events[0] == JVMTI_EVENT_FIELD_MODIFICATION) {
    env->SetFieldModificationWatch(type, jni->GetStaticFieldID(type, "field", "I"));
  }
  for (jvmtiEvent event : events) {
    env->SetEventNotificationMode(on ? JVMTI_ENABLE : JVMTI_DISABLE, event, nullptr);
  }
}

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* event, void*) {
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JVMTI_VERSION_1_2) != JNI_OK) return JNI_ERR;
  jvmtiCapabilities wanted{};
  jvmtiEventCallbacks callbacks{};
  events[0] = events[1] = JVMTI_EVENT_METHOD_ENTRY;
  if (std::strcmp(event, "FieldModification") == 0) {
    wanted.can_generate_field_modification_events = 1;
    callbacks.FieldModification = written;
    events[0] = events[1] = JVMTI_EVENT_FIELD_MODIFICATION;
  } else {
    wanted.can_generate_method_entry_events = 1;
    callbacks.MethodEntry = entered;
    if (std::strcmp(event, "MethodExit") == 0) {
      wanted.can_generate_method_exit_events = 1;
      callbacks.MethodExit = left;
      events[1] = JVMTI_EVENT_METHOD_EXIT;
    }
  }
  if (env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) return JNI_ERR;
  env->SetEventCallbacks(&callbacks, sizeof callbacks);
  return JNI_OK;
}
