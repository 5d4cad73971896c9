// The virtual threads whose ids samples have, because they were mounted on a carrier when that was
// sampled, or because they have a lock: each gets a number and a name.
#pragma once

#include <jvmti.h>

#include "agent/engines/profiling/profile.h"
#include "agent/engines/profiling/threads/virtual_threads.h"

namespace jvmti {

class CarriedThreads : NoCopy {
 public:
  explicit CarriedThreads(Profile& profile) : profile_(profile) {}
  void prepare(JNIEnv* jni);
  void forget(JNIEnv* jni) { threads_.forget(jni); }
  // Gives each sample with an id to that thread. Of more threads than have space they stay the
  // carriers', and are counted.
  void identify_mounted(JNIEnv* jni, Vector<Sample>& samples);
  // The same of owners of locks, which may be platform threads that have ended.
  void identify_owners(JNIEnv* jni, Vector<Sample>& samples);
  // One that samples may have later.
  void note(int64_t id) { number_of(id); }

 private:
  struct Unnamed {
    int64_t id;
    uint32_t number;  // as the profile numbers it
    bool named;
  };
  static constexpr uint32_t kMost = 1 << 18;
  uint32_t number_of(int64_t id);  // plus 1; 0 without space
  void name_new(JNIEnv* jni, bool are_virtual);
  void name_listed(JNIEnv* jni);

  Profile& profile_;
  VirtualThreads threads_;
  Index numbers_;  // plus 1, by the id
  uint32_t count_ = 0;
  Vector<Unnamed> unnamed_;
  int64_t credit_ = 0;    // nanoseconds of processor time for lists
  int64_t credited_ = 0;  // when it was last raised
};

}  // namespace jvmti
