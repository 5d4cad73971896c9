// What probes change: calls that are delayed, and exceptions that are thrown.

#include <time.h>

#include "agent/engines/instrumentation/probe_set.h"

namespace jvmti {

namespace {

constexpr int64_t kSlice = 20 * 1000 * 1000;  // nanoseconds until the set is looked for again

}  // namespace

void ProbeSet::pause(uint32_t number, int64_t nanoseconds) {
  while (nanoseconds > 0) {
    {
      UsedProbes used(number);
      if (used.get() == nullptr || !used.get()->active_) return;
    }
    int64_t part = nanoseconds < kSlice ? nanoseconds : kSlice;
    timespec shortly{0, static_cast<long>(part)};
    nanosleep(&shortly, nullptr);
    nanoseconds -= part;
  }
}

// An exception, of the class that the method with the probe means by that name; null without one.
LocalRef<> ProbeSet::made(JNIEnv* jni, jstring name, jstring message) {
  constexpr jint kOwnFrames = 2;
  LocalRef<> none(jni);
  jvmtiFrameInfo frame = frame_at(env_, nullptr, kOwnFrames);
  LocalRef<jclass> user(jni);
  LocalRef<> loader(jni);
  if (frame.method == nullptr ||
      env_->GetMethodDeclaringClass(frame.method, user.out()) != JVMTI_ERROR_NONE ||
      env_->GetClassLoader(user, loader.out()) != JVMTI_ERROR_NONE) {
    return none;
  }
  LocalRef<jclass> classes(jni, jni->FindClass("java/lang/Class"));
  jmethodID for_name =
      classes == nullptr
          ? nullptr
          : jni->GetStaticMethodID(classes, "forName",
                                   "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;");
  if (for_name == nullptr) return none;
  LocalRef<jclass> klass(
      jni, jni->CallStaticObjectMethod(classes, for_name, name, JNI_TRUE, loader.get()));
  if (klass == nullptr || jni->ExceptionCheck() ||
      !jni->IsAssignableFrom(klass, known_fields.throwable)) {
    return none;
  }
  jmethodID constructor = jni->GetMethodID(klass, "<init>", "(Ljava/lang/String;)V");
  if (constructor != nullptr) return LocalRef<>(jni, jni->NewObject(klass, constructor, message));
  jni->ExceptionClear();
  constructor = jni->GetMethodID(klass, "<init>", "()V");
  return constructor == nullptr ? LocalRef<>(jni)
                                : LocalRef<>(jni, jni->NewObject(klass, constructor));
}

void ProbeSet::raise(JNIEnv* jni, uint32_t number, jstring name, jstring message) {
  LocalRef<> exception(jni);
  {
    UsedProbes used(number);
    ProbeSet* set = used.get();
    if (set == nullptr || !set->active_) return;
    exception = set->made(jni, name, message);
    if (jni->ExceptionCheck()) {
      jni->ExceptionClear();
      exception.reset();
    }
    if (exception == nullptr) {
      uint8_t* counter = set->memory_.data() + layouts::ProbeLanes::kFailed;
      reinterpret_cast<std::atomic<int64_t>*>(counter)->fetch_add(1);
      return;
    }
  }
  jni->Throw(static_cast<jthrowable>(exception.get()));
}

}  // namespace jvmti
