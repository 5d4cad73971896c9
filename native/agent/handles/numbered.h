// Objects of the target, each of which counts once.
#pragma once

#include <jvmti.h>

#include "agent/calls/results.h"
#include "agent/core/agent.h"
#include "agent/core/vm_memory.h"
#include "base/containers.h"

namespace jvmti {

// Objects numbered from 1 in the order in which they are first found; null is 0.
class Numbered : NoCopy {
 public:
  explicit Numbered(JNIEnv* jni) : jni_(jni) {}
  ~Numbered() {
    for (jobject object : objects_) delete_local(jni_, object);
  }
  // Takes the local reference over; -1 without memory.
  jint number(jobject local) {
    if (local == nullptr) return 0;
    LocalRef<> object(jni_, local);
    // Most classes have what the one before has.
    jint found = last_ != 0 && same(last_, object) ? last_ : look_up(object);
    if (found > 0) last_ = found;
    if (found > 0 && is_new_) object.release();
    is_new_ = false;
    return found;
  }
  size_t size() const { return objects_.size(); }
  jobject operator[](size_t place) const { return objects_[place]; }
  jvmtiError give_all(jint* count, jobject** objects) {
    jvmtiError error = give(objects_, count, objects);
    if (error == JVMTI_ERROR_NONE) objects_.clear();
    return error;
  }

 private:
  bool same(jint number, jobject object) {
    return jni_->IsSameObject(objects_[static_cast<size_t>(number - 1)], object);
  }
  jint look_up(jobject object) {
    jint hash = 0;
    agent.env->GetObjectHashCode(object, &hash);
    // Another object may have the same hash: it is in a later place.
    for (uint64_t key = static_cast<uint32_t>(hash);; key += uint64_t{1} << 32) {
      jint found = static_cast<jint>(by_hash_.find(key));
      if (found != 0 && !same(found, object)) continue;
      if (found != 0) return found;
      if (!objects_.push(object)) return -1;
      is_new_ = true;
      jint number = static_cast<jint>(objects_.size());
      return by_hash_.insert(key, static_cast<uint32_t>(number)) ? number : -1;
    }
  }

  JNIEnv* jni_;
  Vector<jobject> objects_;
  Index by_hash_;
  jint last_ = 0;
  bool is_new_ = false;
};

}  // namespace jvmti
