// What a sampled object stands for: its size, divided by the chance that the VM samples it.
//
// Points lie by chance in what a thread allocates, an interval from each other on average; an
// object is sampled if there is one in it.  Up to Java 24 the VM counts more than the objects:
//
// - What a thread leaves unused at the end of its buffer counts for the first object of the next
//   one, and so does an object beside the buffers, which itself has nearly no chance.  The VM's
//   structures say how much that was.  What was wasted stands for nothing; what the objects beside
//   the buffers stand for goes to the thread's next sample, whose place is as good as any.
// - Up to Java 13 it finds a next point from the end of the sampled object on, and takes the
//   object's size off once more if the point is farther than that.  One that is nearer stays where
//   it is, so that the next points are too near.  There the chance depends on how much the thread
//   has allocated since, and on the object before.
#pragma once

#include <jvmti.h>

#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

class VmTables;

class AllocatedBytes : NoCopy {
 public:
  void prepare();
  void begin(int64_t interval);
  // Of an object that the current thread has allocated just now.
  int64_t weight(const JNIEnv* jni, jobject object, int64_t size);
  // The VM chooses the next point from here on.
  void note(const JNIEnv* jni, int64_t size);

 private:
  // What a thread has allocated by now, and its buffer.
  struct State {
    int64_t bytes;
    int64_t start, top, end;
    uint32_t refills, wasted;  // since the last collection; words
  };
  struct Last {
    State state;
    int64_t size;  // of its object; 0 before the first one
    int64_t owed;  // what the next sample stands for besides
  };
  // What the VM counts for an object besides its size.
  struct Besides {
    double wasted, allocated;
  };
  State of(uintptr_t thread) const;
  Besides besides(const State& last, const State& now, int64_t size) const;
  double chance_on_11(const Last& last, int64_t passed, double length) const;

  double interval_ = 1;
  bool known_ = false;
  bool takes_off_twice_ = false;
  size_t bytes_ = 0;  // of a thread: places in structures
  size_t start_ = 0;  // of its buffer
  size_t top_ = 0;
  size_t end_ = 0;
  size_t refills_ = 0;
  size_t wasted_ = 0;
  int64_t reserve_ = 0;  // bytes behind the end of a buffer
  Mutex mutex_{Guards::kLists};
  Index places_;  // plus 1, by the VM's thread
  Vector<Last> lasts_;
};

}  // namespace jvmti
