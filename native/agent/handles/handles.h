// Handles: what the controller holds instead of pointers.
//
// Every handle that comes in is looked up, and compared whole, before anything is done with what it
// names.  Objects are global references; a use pins its entry, so that giving the handle up on
// another channel in the middle of a call does no harm.
#pragma once

#include <jvmti.h>

#include "base/containers.h"
#include "base/lock.h"
#include "base/slots.h"
#include "generated/kinds.h"

namespace jvmti {

struct Call;

class Objects {
 public:
  // A handle for `object`, which stays the caller's local reference; 0 for null or no memory.
  // With `identify` the same object gives the same handle while it is held.
  uint64_t issue(JNIEnv* jni, jvmtiEnv* tags, jobject object, uint8_t kind, bool identify);
  uint64_t issue_weak(JNIEnv* jni, jobject object);
  // The reference behind a handle, pinned until `unpin`; null when the handle is stale or wrong.
  jobject pin(uint64_t handle, bool* weak);
  void unpin(JNIEnv* jni, jvmtiEnv* tags, uint64_t handle);
  // Gives up `count` of the times the handle was issued; 0 stands for all.
  void give_up(JNIEnv* jni, jvmtiEnv* tags, uint64_t handle, uint32_t count);
  // Ends a local frame: gives up what was issued in it only, and returns how many of the handles,
  // now at the front, were issued outside as well.  `kept` stays in any case.
  size_t end_frame(JNIEnv* jni, jvmtiEnv* tags, uint64_t* issued, size_t count, uint64_t kept);
  void note_global(uint64_t handle);
  bool is_global(uint64_t handle);
  void clear(JNIEnv* jni);
  size_t live() const { return entries_.live(); }

 private:
  struct Entry {
    jobject reference;
    uint32_t count;
    uint32_t pins;
    uint32_t framed;  // how often it was issued in the local frame that is ending
    bool weak;
    bool global;  // made by NewGlobalRef
    bool tagged;
  };
  uint64_t insert(jobject reference, uint8_t kind, bool weak, bool tagged);
  Entry* find(uint64_t handle);  // not one that is only pinned
  void free_reference(JNIEnv* jni, jvmtiEnv* tags, uint64_t handle, const Entry& entry);

  Mutex mutex_{Guards::kLists};
  Slots<Entry> entries_;
};

// What JNI calls and breakpoints need to know of a method; filled when first needed.
struct MethodDetails {
  Array<char> name;
  Array<char> signature;
  jint modifiers;
  jweak declaring_class;
  char return_type;  // the descriptor's first character
  uint32_t argument_count;
  Array<char> argument_types;     // one descriptor character each
  Array<jweak> argument_classes;  // for 'L' and '['; filled on the first call through JNI
  bool argument_classes_known;
};

struct MethodRecord {
  jmethodID id;
  MethodDetails* details;
  bool obsolete;  // of a version of its class that has been replaced
};

// What was issued stays for as long as the session: its handles have no generations.
template <class Kind, class Record>
class Issued {
 public:
  Record* find(uint64_t handle) {
    uint32_t index = index_of(handle);
    Locked locked(mutex_);
    bool issued = index != 0 && index <= records_.size() && handle == handle_of(index);
    return issued ? records_.at(index - 1) : nullptr;
  }
  size_t size() const { return records_.size(); }
  Mutex& mutex() { return mutex_; }

 protected:
  static uint64_t handle_of(uint32_t index) { return make_handle(Kind::kind, 0, index); }
  Mutex mutex_{Guards::kLists};
  Stable<Record> records_;
  Index index_;  // their places plus one
};

class Methods : public Issued<kinds::Method, MethodRecord> {
 public:
  ~Methods();
  // The environment says whether it is obsolete; null where nothing can be asked.
  uint64_t issue(jmethodID method, jvmtiEnv* env);
  void clear(JNIEnv* jni);

 private:
  uint32_t find_issued(jmethodID method);
};

struct FieldRecord {
  jfieldID id;
  jweak klass;      // the same reference for fields of one class that were issued together
  bool owns_class;  // the first of them
  uint32_t next;    // the next record with the same key, plus one
  char type;        // the descriptor's first character
  bool is_static;
};

class Fields : public Issued<kinds::Field, FieldRecord> {
 public:
  uint64_t issue(JNIEnv* jni, jvmtiEnv* env, jclass klass, jfieldID field);
  void clear(JNIEnv* jni);

 private:
  uint32_t keep(const FieldRecord& made, uint64_t key);
};

// Raw monitors, memory and extension functions: plain pointers behind generations.
class Pointers {
 public:
  uint64_t issue(void* pointer, uint8_t kind, int64_t size = 0);
  void* find(uint64_t handle, uint8_t kind, int64_t* size = nullptr);
  // Takes the entry out and gives its pointer; null if it is not there.
  void* remove(uint64_t handle, uint8_t kind);
  // Makes an entry impossible to find while it is being destroyed; then it is gone, or back.
  bool hide(uint64_t handle, uint8_t kind);
  void settle(uint64_t handle, bool gone);
  template <class Visit>
  void each(Visit visit) {
    entries_.each([&](uint64_t handle, Entry& entry) { visit(kind_of(handle), entry.pointer); });
  }
  size_t live(uint8_t kind);

 private:
  struct Entry {
    void* pointer;
    int64_t size;
    bool hidden;
  };
  Entry* entry_of(uint64_t handle, uint8_t kind);

  Mutex mutex_{Guards::kLists};
  Slots<Entry> entries_;
};

// The kind of an object by its class; needs the start phase.
uint8_t kind_of_object(JNIEnv* jni, jobject object);

}  // namespace jvmti
