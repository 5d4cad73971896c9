#include "agent/engines/instrumentation/distinct_versions.h"

#include <atomic>
#include <cstring>

#include "agent/core/agent.h"
#include "agent/core/class_changes.h"
#include "agent/sessions/environments.h"
#include "classfile/class_file.h"

namespace jvmti {

namespace {

// How many versions of a class there have been, as the VM counts them.
jint versions_of(JNIEnv* jni, jclass klass) {
  LocalRef<jclass> type(jni, jni->GetObjectClass(klass));
  jfieldID count = type == nullptr ? nullptr : jni->GetFieldID(type, "classRedefinedCount", "I");
  if (count == nullptr) {
    jni->ExceptionClear();
    static std::atomic<jint> changes{0};
    return changes++;
  }
  return jni->GetIntField(klass, count);
}

void JNICALL class_file_load_hook(jvmtiEnv* env, JNIEnv* jni, jclass redefined, jobject,
                                  const char*, jobject, jint size, const unsigned char* data,
                                  jint* new_size, unsigned char** new_data) {
  if (redefined == nullptr || class_changer.load() != pthread_self()) return;
  unsigned char* copy = nullptr;
  if (env->Allocate(size, &copy) != JVMTI_ERROR_NONE) return;
  std::memcpy(copy, data, static_cast<size_t>(size));
  uint32_t deeper = 1 + (static_cast<uint32_t>(versions_of(jni, redefined)) & 1);
  if (!classfile::deepen_stacks(copy, static_cast<uint64_t>(size), deeper)) {
    env->Deallocate(copy);
    return;
  }
  *new_data = copy;
  *new_size = size;
}

}  // namespace

// Made for each change: environments are asked in the order of their age, and this one must see
// what all others have made.
DistinctVersions::DistinctVersions() {
  jvmtiCapabilities wanted{};
  wanted.can_retransform_classes = 1;
  env_ = environment_with(wanted);
  if (env_ == nullptr) return;
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassFileLoadHook = class_file_load_hook;
  env_->SetEventCallbacks(&callbacks, sizeof callbacks);
  env_->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
}

DistinctVersions::~DistinctVersions() {
  if (env_ != nullptr) env_->DisposeEnvironment();
}

}  // namespace jvmti
