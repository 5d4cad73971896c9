#include "agent/core/archived_classes.h"

#include <atomic>
#include <cstring>

#include "agent/core/agent.h"

namespace jvmti {

namespace {

constexpr jint kFirstThatMendsThem = 16;

std::atomic<bool> left{false};

// HotSpot maps no class that a hook has given another class file, even if it is the same.
void JNICALL class_file_load_hook(jvmtiEnv* env, JNIEnv*, jclass redefined, jobject, const char*,
                                  jobject, jint size, const unsigned char* data, jint* new_size,
                                  unsigned char** new_data) {
  unsigned char* copy = nullptr;
  if (redefined != nullptr || env->Allocate(size, &copy) != JVMTI_ERROR_NONE) return;
  std::memcpy(copy, data, static_cast<size_t>(size));
  *new_data = copy;
  *new_size = size;
}

}  // namespace

void leave_class_archive(jvmtiEnv* env, jclass changed) {
  if (major_version(agent.version) >= kFirstThatMendsThem || left) return;
  jboolean is_interface = JNI_FALSE;
  env->IsInterface(changed, &is_interface);
  if (is_interface == JNI_FALSE || left.exchange(true)) return;
  void* made = nullptr;
  if (agent.vm->GetEnv(&made, JVMTI_VERSION_11) != JNI_OK) return;
  jvmtiEnv* own = static_cast<jvmtiEnv*>(made);
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassFileLoadHook = class_file_load_hook;
  own->SetEventCallbacks(&callbacks, sizeof callbacks);
  own->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
}

}  // namespace jvmti
