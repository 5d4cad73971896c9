// Where instructions of classes with probes were before, whatever sets have put them there.
//
// The hooks of all sets see a class file one after the other, on one thread: each but the first
// what the one before has made of it.  What a set notes leads back to the class file as it was
// before the first.  Where another agent has changed it in between, it leads back to that.
#pragma once

#include <jvmti.h>

#include "classfile/instrumenter.h"

namespace jvmti {

// A class: its internal name, and its loader by its identity hash.
uint64_t hash_of_class(const char* name, size_t size, jint loader);
jint hash_of_loader(jvmtiEnv* env, jobject loader);

using MovedCode = Vector<classfile::Instrumenter::Moved>;

// Where a hook has moved the instructions of a class.
class WovenMoves : NoCopy {
 public:
  // What was woven last; false without memory.
  [[nodiscard]] bool take(uint64_t klass, const classfile::Instrumenter& woven);
  const MovedCode& moved() const { return moved_; }
  struct Method {
    uint32_t number;  // its position in the class file
    uint64_t hash;
    uint64_t version;  // with what its code is
  };
  // In rising order.
  const Vector<Method>& methods() const { return methods_; }

 private:
  MovedCode moved_;
  Vector<Method> methods_;
};

// What a set made of a class last.
//
// Each set that changes a class has the VM ask all sets anew, and those in front of it are shown
// the same class file as before.  They hand out the same then: to set sixty breakpoints in one
// method, sixty plans would be woven for the last alone.
class WovenClass : NoCopy {
 public:
  // Whether it was made of this.
  bool is_of(uint64_t klass, const uint8_t* data, size_t size, const MovedCode& earlier) const {
    return klass != 0 && klass == klass_ && equal(data, size, from_) &&
           equal(earlier.begin(), earlier.size(), earlier_);
  }
  // Without memory it keeps nothing.
  void keep(uint64_t klass, const uint8_t* data, size_t size, const MovedCode& earlier,
            const Vector<uint8_t>& made) {
    bool kept = copy(data, size, &from_) && copy(earlier.begin(), earlier.size(), &earlier_) &&
                copy(made.begin(), made.size(), &made_);
    klass_ = kept ? klass : 0;
  }
  void forget() { klass_ = 0; }

  const Vector<uint8_t>& made() const { return made_; }
  // Where its instructions went.
  WovenMoves moves;

 private:
  template <class T>
  static bool equal(const T* items, size_t count, const Vector<T>& kept) {
    return count == kept.size() &&
           (count == 0 || std::memcmp(items, kept.begin(), count * sizeof(T)) == 0);
  }
  template <class T>
  static bool copy(const T* items, size_t count, Vector<T>* to) {
    if (!to->reserve(count)) return false;
    if (count != 0) std::memcpy(to->begin(), items, count * sizeof(T));
    to->grow(count);
    return true;
  }

  uint64_t klass_ = 0;
  Vector<uint8_t> from_;
  MovedCode earlier_;
  Vector<uint8_t> made_;
};

// A hook is about to put probes into a class file, or to leave it as it is: gives what earlier
// hooks have done to it; false without memory.
[[nodiscard]] bool begin_code_moves(uint64_t klass, const uint8_t* data, jint size,
                                    MovedCode* earlier);
// It has put probes into it; false without memory.
[[nodiscard]] bool note_code_moves(uint64_t klass, const WovenMoves& woven,
                                   const MovedCode& earlier);
// The class file that the next hook sees.
void hand_on_code_moves(uint64_t klass, const uint8_t* made, jint size);
// A hook of a set sees the class file of a class that this thread only reads, as it was before it
// got probes: notes it if it is the first to, and says that the hook shall leave it as it is.
bool is_read_before_probes(jclass redefined, const char* name, const uint8_t* data, jint size);
// This thread only reads the class file, as the VM runs it: its probes are those that it has.
bool is_read_with_probes(jclass redefined, const char* name);
// Where instructions of a method were.  A thread may run one that has had other probes, or none are
// left in it: its code says which version it is.
void locate_before(jvmtiEnv* env, JNIEnv* jni, jmethodID method, jlocation* locations,
                   size_t count);
// How often classes that were loaded already have got other code, as far as sets of probes saw it.
jint code_changes();
void note_code_change();
// A session that has sets of probes begins and ends; what is known goes with the last of them.
void hold_code_moves();
void release_code_moves();

}  // namespace jvmti
