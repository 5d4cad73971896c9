// Threads of the controller's own in the VM: each serves a channel, and ends with it.

#include "generated/overrides.h"

namespace jvmti {

namespace {

// Whether a thread can be run: a virtual one is the VM's to refuse.  A thread object that no
// constructor has seen lacks, from 19 on, what the VM looks into without asking.
bool runnable(Call& call, jthread thread) {
  JNIEnv* jni = call.jni;
  LocalFrame frame(jni, 8);
  jclass of_virtual = frame ? jni->FindClass("java/lang/BaseVirtualThread") : nullptr;
  jni->ExceptionClear();
  if (!frame) return false;
  if (of_virtual != nullptr && jni->IsInstanceOf(thread, of_virtual)) return true;
  jclass type = jni->FindClass("java/lang/Thread");
  jfieldID holder =
      type == nullptr ? nullptr : jni->GetFieldID(type, "holder", "Ljava/lang/Thread$FieldHolder;");
  jni->ExceptionClear();
  jint state = 0;
  return (holder == nullptr || jni->GetObjectField(thread, holder) != nullptr) &&
         call.env->GetThreadState(thread, &state) == JVMTI_ERROR_NONE && state == 0;
}

}  // namespace

namespace overrides {

jvmtiError RunAgentThread(Call& call, const In<kinds::Thread>& thread, const In<Callback>&,
                          const In<Stored>&, const In<jint>& priority) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  int descriptor = call.channel.take_socket();
  if (descriptor < 0) {
    return call.refuse(layouts::Status::kMalformedRequest, "no socket for the thread came along");
  }
  if (!runnable(call, thread.c())) {
    close_socket(descriptor);
    return call.refuse(JVMTI_ERROR_INVALID_THREAD,
                       "it has been started before, or is not constructed");
  }
  return call.session.run_thread(call.env, thread.c(), descriptor, priority.c());
}

}  // namespace overrides
}  // namespace jvmti
