// Which threads have the monitors that others wait for, as the class library's ThreadMXBean finds
// out: without stopping the program, as JVM TI does for that.
#pragma once

#include <jvmti.h>

#include <cstdint>

#include "base/no_copy.h"

namespace jvmti {

class MonitorOwners : NoCopy {
 public:
  // Runs Java code. Does nothing in a runtime without the module java.management.
  void prepare(JNIEnv* jni);
  bool known() const { return infos_ != nullptr; }
  void forget(JNIEnv* jni);

  // The `Thread.threadId` of each owner, by those of platform threads that wait; not positive for
  // none.
  void of(JNIEnv* jni, const int64_t* waiting, int64_t* owners, jsize count) const;

 private:
  // Global references, which keep the method and the field.
  jclass threads_ = nullptr;
  jclass infos_ = nullptr;
  jmethodID ask_ = nullptr;
  jfieldID owner_ = nullptr;
};

}  // namespace jvmti
