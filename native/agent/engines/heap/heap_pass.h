// What every pass of our own over the heap has: an environment for its tags alone, and an eye on
// the controller, which may end it, run out of time or go away in the middle.
//
// The VM is stopped during a pass.  Its callbacks write to memory that exists already and wait for
// nothing; so a pass ends by itself, even if the controller dies, and leaves nothing behind in the
// VM.
#pragma once

#include "agent/calls/call.h"
#include "base/shared_memory.h"

namespace jvmti {

// The controller's memory, if any came with the call, begins with a page of 64-bit words.
class PassControl : NoCopy {
 public:
  // `limit` is in milliseconds, -1 for none.
  PassControl(Call& call, int64_t limit);

  // False, with a refusal, when the memory that came cannot be used or has less than `size` bytes.
  bool open(uint64_t size);
  uint8_t* data() const { return memory_.data(); }
  // Called for everything that is visited: whether the pass is to go on.
  bool go_on() {
    if (__builtin_expect((++visited_ & (kStep - 1)) != 0, true)) return !over_;
    return look();
  }
  bool over() const { return over_; }
  void end() { over_ = true; }
  // The calls that stop the VM.
  jvmtiError iterate(jvmtiEnv* env, jint filter, jclass klass, const jvmtiHeapCallbacks& callbacks,
                     void* data);
  jvmtiError follow(jvmtiEnv* env, jvmtiHeapReferenceCallback callback, jobject from, void* data);
  // What every pass says of itself.
  void report(jlong* stopped, jboolean* whole) const {
    *stopped = stopped_;
    *whole = !over_;
  }
  int64_t stopped() const { return stopped_; }  // nanoseconds, all passes together
  int64_t longest() const { return longest_; }
  uint64_t visited() const { return visited_; }

 private:
  static constexpr uint64_t kStep = 1024;
  bool look();
  void begin();
  void finish();

  Call& call_;
  SharedMemory memory_;
  int64_t until_;
  uint64_t visited_ = 0;
  int64_t begun_ = 0;
  int64_t stopped_ = 0;
  int64_t longest_ = 0;
  bool over_ = false;
};

// An environment that can tag objects.  The VM frees one that was disposed of no sooner than at the
// next garbage collection, 1 to 9 KB; so it serves the next pass when nothing is tagged any more.
// That is so only when the VM has shown every object that was tagged: one that it left out may
// carry its tag still.  A pass all the same believes no tag that it cannot have given itself.
class PassTags : NoCopy {
 public:
  PassTags();
  ~PassTags();
  jvmtiEnv* env() const { return env_; }
  // Tags classes with 1, 2, 3 …; the list must outlive this.
  jvmtiError number(const jclass* classes, jint count);
  // Before anything else is tagged.
  void tagging() { tagged_ = true; }
  // Once that is not tagged any more.
  void untagged() { tagged_ = false; }
  // Takes the tags off the loaded classes, whatever they are; at least this number have one.
  void untag_classes(JNIEnv* jni, size_t tagged);
  // Takes these tags off, the last ones there are.  Looking for many takes long, and they then go
  // with the environment.
  void untag(JNIEnv* jni, const Vector<jlong>& tags);

 private:
  jvmtiEnv* env_;
  const jclass* classes_ = nullptr;
  jint numbered_ = 0;
  bool tagged_ = false;
  bool left_ = false;  // classes that may be tagged still
};

// Where a reference is, in what its kind has.
struct ReferencePlace {
  jint index;
  jlong thread_tag = 0;
  jlong thread_id = 0;
  jint depth = 0;
  jmethodID method = nullptr;
  jlocation location = 0;
};
inline ReferencePlace place_of(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info,
                               jint no_index) {
  switch (kind) {
    case JVMTI_HEAP_REFERENCE_FIELD:
    case JVMTI_HEAP_REFERENCE_STATIC_FIELD:
      return {info->field.index};
    case JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT:
      return {info->array.index};
    case JVMTI_HEAP_REFERENCE_CONSTANT_POOL:
      return {info->constant_pool.index};
    case JVMTI_HEAP_REFERENCE_STACK_LOCAL: {
      const jvmtiHeapReferenceInfoStackLocal& local = info->stack_local;
      return {local.slot,  local.thread_tag, local.thread_id,
              local.depth, local.method,     local.location};
    }
    case JVMTI_HEAP_REFERENCE_JNI_LOCAL: {
      const jvmtiHeapReferenceInfoJniLocal& local = info->jni_local;
      return {no_index, local.thread_tag, local.thread_id, local.depth, local.method, 0};
    }
    default:
      return {no_index};
  }
}

// Leaves out objects of classes that are not tagged.
constexpr jint kOnlyTaggedClasses = JVMTI_HEAP_FILTER_CLASS_UNTAGGED;

// The VM passes over objects of other classes than a single one without looking up any tag.
inline jclass single(const In<List<kinds::Class>>& classes) {
  return classes.count() == 1 ? classes.items()[0] : nullptr;
}

}  // namespace jvmti
