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
class PassControl {
 public:
  // `limit` is in milliseconds, -1 for none.
  PassControl(Call& call, int64_t limit);
  PassControl(const PassControl&) = delete;
  PassControl& operator=(const PassControl&) = delete;

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
  // Around the call that stops the VM.
  void begin();
  void finish();
  int64_t stopped() const { return stopped_; }  // nanoseconds, all passes together
  int64_t longest() const { return longest_; }
  uint64_t visited() const { return visited_; }

 private:
  static constexpr uint64_t kStep = 1024;
  bool look();

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
class PassTags {
 public:
  PassTags();
  ~PassTags();
  PassTags(const PassTags&) = delete;
  PassTags& operator=(const PassTags&) = delete;
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

// Leaves out objects of classes that are not tagged.
constexpr jint kOnlyTaggedClasses = JVMTI_HEAP_FILTER_CLASS_UNTAGGED;

// The VM passes over objects of other classes than a single one without looking up any tag.
inline jclass single(const In<List<kinds::Class>>& classes) {
  return classes.count() == 1 ? classes.items()[0] : nullptr;
}

// Memory of the VM's for a list that is a result; null without memory.
template <class T>
T* result_list(size_t count) {
  unsigned char* memory = nullptr;
  jlong size = static_cast<jlong>((count + 1) * sizeof(T));
  if (agent.env->Allocate(size, &memory) != JVMTI_ERROR_NONE) return nullptr;
  return reinterpret_cast<T*>(memory);
}

// Numbers, or rows that are made of numbers, as a result of a call; null without memory.
template <class Row>
jlong* as_result(const Vector<Row>& from, jint* count) {
  static_assert(sizeof(Row) % sizeof(jlong) == 0);
  size_t numbers = from.size() * (sizeof(Row) / sizeof(jlong));
  jlong* made = result_list<jlong>(numbers);
  if (made == nullptr) return nullptr;
  if (numbers > 0) std::memcpy(made, from.begin(), numbers * sizeof(jlong));
  *count = static_cast<jint>(numbers);
  return made;
}

}  // namespace jvmti
