// Threads of the controller's own in the VM: each serves a channel, and ends with it.

#include "generated/own.h"

namespace jvmti {

namespace {

// Whether a thread can be run: a virtual one is the VM's to refuse.  A thread object that no
// constructor has seen lacks, from 19 on, what the VM looks into without asking.
bool runnable(Call& call, jthread thread) {
  JNIEnv* jni = call.jni;
  bool good = true;
  if (jni->PushLocalFrame(8) != 0) {
    jni->ExceptionClear();
    return false;
  }
  jclass of_virtual = jni->FindClass("java/lang/BaseVirtualThread");
  jni->ExceptionClear();
  if (of_virtual == nullptr || !jni->IsInstanceOf(thread, of_virtual)) {
    jclass type = jni->FindClass("java/lang/Thread");
    jfieldID holder = type == nullptr
                          ? nullptr
                          : jni->GetFieldID(type, "holder", "Ljava/lang/Thread$FieldHolder;");
    jni->ExceptionClear();
    good = holder == nullptr || jni->GetObjectField(thread, holder) != nullptr;
    jint state = 0;
    good = good && call.env->GetThreadState(thread, &state) == JVMTI_ERROR_NONE && state == 0;
  }
  jni->PopLocalFrame(nullptr);
  return good;
}

}  // namespace

namespace own {

jvmtiError RunAgentThread(Call& call, const In<kinds::Thread>& thread, const In<Callback>&,
                          const In<Stored>&, const In<jint>& priority) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  int descriptor = call.channel.take_socket();
  if (descriptor < 0) {
    call.refuse(layouts::Status::kMalformedRequest, "no socket for the thread came along");
    return JVMTI_ERROR_NONE;
  }
  if (!runnable(call, thread.c())) {
    close_socket(descriptor);
    call.refuse(JVMTI_ERROR_INVALID_THREAD, "it has been started before, or is not constructed");
    return JVMTI_ERROR_INVALID_THREAD;
  }
  return call.session.run_thread(call.env, thread.c(), descriptor, priority.c());
}

}  // namespace own
}  // namespace jvmti
