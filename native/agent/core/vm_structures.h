// HotSpot's own structures: where their parts are, as the tables say that the VM exports for the
// serviceability agent, and the structure of a thread.  Nothing is found in another VM.
#pragma once

#include <jvmti.h>

#include <cstddef>
#include <cstdint>

#include "base/no_copy.h"

namespace jvmti {

// The tables are long: who looks something up keeps it.
class VmTables : NoCopy {
 public:
  VmTables();
  struct Field {
    bool known;
    size_t place;      // in the structure
    uintptr_t global;  // the address of a static one
    const char* type;  // null where the tables do not say
  };
  // Of a structure, or of whichever has one of that name for null.
  Field field(const char* structure, const char* name) const;
  size_t size_of(const char* structure) const;  // 0 if unknown
  bool constant(const char* name, int32_t* value) const;

 private:
  struct Table {
    uintptr_t first = 0;  // 0 if unknown
    size_t stride = 0;
  };
  Table table(const char* name, const char* entry) const;
  // What a symbol says of the entries of a table: where a part of them is, or how long one is.
  size_t of_entry(const char* entry, const char* part) const;

  void* library_;
};

// What the VM has in its own memory, for who knows that it is there.
template <class T>
T in_vm(uintptr_t object, size_t place) {
  T value;
  __builtin_memcpy(&value, reinterpret_cast<const void*>(object + place), sizeof value);
  return value;
}

// What is there may be gone, so that the kernel reads it; false where it cannot.
bool read_vm(uintptr_t address, void* to, size_t size);

// On a Java thread, before the first of the others.
void prepare_vm_threads(jvmtiEnv* env, JNIEnv* jni);
// The VM's own object for a platform thread, and for the one whose JNIEnv this is; 0 if unknown.
// That of a virtual thread is its carrier's.
uintptr_t vm_thread(JNIEnv* jni, jthread thread);
uintptr_t vm_thread(const JNIEnv* of);

}  // namespace jvmti
