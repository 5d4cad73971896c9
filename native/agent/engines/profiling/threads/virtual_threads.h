// Virtual threads as a profile of passed time sees them: those that are mounted on a carrier, and
// those that wait for one or for something else, which no function of JVM TI lists.
#pragma once

#include <jvmti.h>

#include "base/containers.h"

namespace jvmti {

constexpr jint kFirstWithVirtualThreads = 21;  // the version of Java

class VirtualThreads : NoCopy {
 public:
  // Does nothing where the VM has none.  From here on each virtual thread that is mounted costs the
  // VM more, for good, as those who want to know of it have the VM count such moments.
  void prepare(jvmtiEnv* env, JNIEnv* jni);
  // For lists only, which cost nothing where none is made.
  void prepare_lists(JNIEnv* jni);
  bool known() const { return root_ != nullptr; }
  void forget(JNIEnv* jni);

  // The one that is mounted on a thread, as a new local reference; null for none.
  jthread mounted_on(jvmtiEnv* env, jthread carrier) const;
  // Asks the JDK for those that there are now, which runs its Java code.
  void list(JNIEnv* jni);
  void drop_lists(JNIEnv* jni);
  // How many threads the last list had; platform threads in the same containers are among them.
  uint32_t count() const { return count_; }
  // One of them, as a new local reference; null for one that is no virtual thread.
  jthread at(JNIEnv* jni, uint32_t number) const;

 private:
  struct Listed {
    jobjectArray threads;  // a global reference
    uint32_t count;
  };
  jobjectArray items(JNIEnv* jni, jobject container, jmethodID of) const;

  jvmtiExtensionFunction get_virtual_thread_ = nullptr;
  jclass containers_ = nullptr;  // a global reference, which keeps the methods
  jmethodID root_ = nullptr;
  jmethodID threads_ = nullptr;
  jmethodID children_ = nullptr;
  jmethodID to_array_ = nullptr;
  Vector<Listed> lists_;
  uint32_t count_ = 0;
};

}  // namespace jvmti
