#include "agent/engines/profiling/samplings/monitor_owners.h"

#include "agent/core/agent.h"
#include "agent/handles/agent_references.h"

namespace jvmti {

namespace {

// Of their stacks, for which the VM would stop the program.
constexpr jint kNoFrames = 0;

jclass found(JNIEnv* jni, const char* name) {
  jclass klass = jni->FindClass(name);
  if (klass == nullptr) jni->ExceptionClear();
  return klass;
}

}  // namespace

void MonitorOwners::prepare(JNIEnv* jni) {
  LocalFrame frame(jni, 16);
  if (!frame) return jni->ExceptionClear();
  jclass helper = found(jni, "sun/management/ManagementFactoryHelper");
  jclass threads = helper == nullptr ? nullptr : found(jni, "sun/management/ThreadImpl");
  jclass infos = threads == nullptr ? nullptr : found(jni, "java/lang/management/ThreadInfo");
  if (infos == nullptr) return;
  // Naming a method of it initializes the helper, which loads the library of the native one.
  jmethodID bean =
      jni->GetStaticMethodID(helper, "getThreadMXBean", "()Ljava/lang/management/ThreadMXBean;");
  if (bean != nullptr) {
    ask_ = jni->GetStaticMethodID(threads, "getThreadInfo1",
                                  "([JI[Ljava/lang/management/ThreadInfo;)V");
  }
  if (ask_ != nullptr) owner_ = jni->GetFieldID(infos, "lockOwnerId", "J");
  if (owner_ == nullptr) return jni->ExceptionClear();
  threads_ = static_cast<jclass>(hold(jni, threads));
  infos_ = threads_ == nullptr ? nullptr : static_cast<jclass>(hold(jni, infos));
}

void MonitorOwners::forget(JNIEnv* jni) {
  if (threads_ != nullptr) let_go(jni, threads_);
  if (infos_ != nullptr) let_go(jni, infos_);
  threads_ = infos_ = nullptr;
}

void MonitorOwners::of(JNIEnv* jni, const int64_t* waiting, int64_t* owners, jsize count) const {
  for (jsize i = 0; i < count; ++i) owners[i] = 0;
  LocalFrame frame(jni, count + 8);
  jlongArray ids = frame ? jni->NewLongArray(count) : nullptr;
  jobjectArray answers = ids == nullptr ? nullptr : jni->NewObjectArray(count, infos_, nullptr);
  if (answers == nullptr) return jni->ExceptionClear();
  static_assert(sizeof(jlong) == sizeof *waiting, "ids are copied");
  jni->SetLongArrayRegion(ids, 0, count, reinterpret_cast<const jlong*>(waiting));
  jvalue arguments[3];
  arguments[0].l = ids;
  arguments[1].i = kNoFrames;
  arguments[2].l = answers;
  jni->CallStaticVoidMethodA(threads_, ask_, arguments);
  if (jni->ExceptionCheck()) return jni->ExceptionClear();
  for (jsize i = 0; i < count; ++i) {
    jobject answer = jni->GetObjectArrayElement(answers, i);
    if (answer != nullptr) owners[i] = jni->GetLongField(answer, owner_);
  }
}

}  // namespace jvmti
