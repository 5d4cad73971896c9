// What breakpoints record instead of stopping a thread: the values of variables and fields, for
// logpoints.  The memory is the controller's, too, which so has what was recorded whatever happens
// to this process.
#pragma once

#include <jvmti.h>

#include <cstdint>
#include <cstring>

#include "base/lock.h"
#include "base/shared_memory.h"
#include "generated/layouts.h"

namespace jvmti {

// One hit, as far as its values have been read.
class RecordedHit : NoCopy {
 public:
  void begin(jlong form);
  void drop() { size_ = 0; }
  bool has_begun() const { return size_ != 0; }
  // A whole number or a double, by its bits; null has none.
  bool put(char type, jlong bits);
  bool put_null();
  // False where there is no room for the whole text, or where the object is none.
  bool put_text(JNIEnv* jni, jobject text);
  size_t size() const { return size_; }
  // The whole record, of a hit at this time.
  const uint8_t* finish(int64_t time);

 private:
  // The thread's stack may be nearly full.
  static constexpr size_t kMost = layouts::StopRecords::kLongest;
  uint8_t* room(size_t size);

  uint8_t bytes_[kMost];
  size_t size_ = 0;
  uint32_t form_ = 0;
};

// How many records a request made in the second that runs.
struct RecordedRate {
  int64_t second = 0;  // when it began
  uint32_t count = 0;
};

// Those of a session, in their order: a ring of bytes.
class StopRecords : NoCopy {
 public:
  // Why the memory cannot be taken, or null.  The descriptor is this object's from here on.
  const char* open(int descriptor);
  // Counts what comes too fast, or finds no space.
  void add(RecordedHit& hit, RecordedRate* rate);

 private:
  using Ring = layouts::StopRecords;
  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(memory_.data() + offset);
  }
  bool has_space(size_t size) const;

  Mutex mutex_{Guards::kLists};
  SharedMemory memory_;
  uint64_t head_ = 0;  // bytes so far
  uint64_t dropped_ = 0;
};

}  // namespace jvmti
