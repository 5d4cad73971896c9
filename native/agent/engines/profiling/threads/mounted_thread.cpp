#include "agent/engines/profiling/threads/mounted_thread.h"

#include <type_traits>

#include "agent/core/agent.h"
#include "agent/core/vm_memory.h"
#include "agent/core/vm_structures.h"
#include "agent/engines/profiling/profile_names.h"
#include "agent/engines/profiling/threads/virtual_threads.h"
#include "base/lock.h"

namespace jvmti {

namespace {

// From 24 on a thread of the VM has the id of who owns the monitors that it enters. Before that it
// has a reference to the object of the Thread, behind a pointer.
struct Places {
  size_t owner_id = 0;  // in a thread; 0: there is none
  size_t object = 0;    // in a thread: of the virtual one that is mounted, or of its own
  size_t id = 0;        // in the object; 0 if unknown
  bool coloured = false;
  bool compressed = false;  // the class in the head of an object is 32 bits
  uint64_t klass = 0;       // java.lang.VirtualThread, as objects have it
};

Places places;
MountedThread::Methods known_methods{};
bool looked = false;
Mutex looking{Guards::kLists};

constexpr size_t kKlassPlace = 8;  // in each object, behind the word for locks

// ZGC with generations has an object's address above 12 other bits; four more say how far above.
uintptr_t address_of(uintptr_t reference, bool coloured) {
  if (!coloured) return reference;
  unsigned remapped = static_cast<unsigned>(reference >> 12) & 0xF;
  if (remapped == 0) return 0;
  return reference >> (13 + __builtin_ctz(remapped));
}

// What Unsafe knows.
class Unsafe : NoCopy {
 public:
  explicit Unsafe(JNIEnv* jni) : jni_(jni) {
    jclass type = jni->FindClass("jdk/internal/misc/Unsafe");
    jmethodID get = type == nullptr
                        ? nullptr
                        : jni->GetStaticMethodID(type, "getUnsafe", "()Ljdk/internal/misc/Unsafe;");
    if (get != nullptr) {
      offset_ =
          jni->GetMethodID(type, "objectFieldOffset", "(Ljava/lang/Class;Ljava/lang/String;)J");
    }
    if (offset_ != nullptr) get_long_ = jni->GetMethodID(type, "getLong", "(Ljava/lang/Object;J)J");
    if (get_long_ != nullptr) unsafe_ = jni->CallStaticObjectMethod(type, get);
    jni->ExceptionClear();
  }
  explicit operator bool() const { return unsafe_ != nullptr; }
  size_t place_of(jclass type, const char* field) const {
    jvalue arguments[2];
    arguments[0].l = type;
    arguments[1].l = jni_->NewStringUTF(field);
    jlong found = jni_->CallLongMethodA(unsafe_, offset_, arguments);
    if (!jni_->ExceptionCheck()) return static_cast<size_t>(found);
    jni_->ExceptionClear();
    return 0;
  }
  uint64_t word(jobject object, size_t place) const {
    jvalue arguments[2];
    arguments[0].l = object;
    arguments[1].j = static_cast<jlong>(place);
    return static_cast<uint64_t>(jni_->CallLongMethodA(unsafe_, get_long_, arguments));
  }

 private:
  JNIEnv* jni_;
  jmethodID offset_ = nullptr;
  jmethodID get_long_ = nullptr;
  jobject unsafe_ = nullptr;
};

// How objects have their class.
class Klasses {
 public:
  explicit Klasses(const VmTables& tables) {
    auto global = [&tables](const char* structure, const char* name, auto* value) {
      VmTables::Field field = tables.field(structure, name);
      if (field.known && field.global != 0)
        *value = in_vm<std::remove_pointer_t<decltype(value)>>(field.global, 0);
    };
    global("java_lang_Class", "_klass_offset", &place_);
    // The first ones up to 22.
    for (const char* name : {"_narrow_klass._base", "_base"}) {
      global("CompressedKlassPointers", name, &base_);
    }
    for (const char* name : {"_narrow_klass._shift", "_shift"}) {
      global("CompressedKlassPointers", name, &shift_);
    }
  }
  uint64_t of(const Unsafe& unsafe, jclass type, bool compressed) const {
    if (place_ == 0) return 0;
    uint64_t klass = unsafe.word(type, static_cast<size_t>(place_));
    return compressed ? (klass - base_) >> shift_ : klass;
  }

 private:
  int32_t place_ = 0;
  uintptr_t base_ = 0;
  int32_t shift_ = 0;
};

uint64_t klass_at(uint64_t word, bool compressed) { return compressed ? word & 0xFFFFFFFF : word; }

// Tries each way to read the current thread's own object, until one finds what is known of it.
Places find_object_places(JNIEnv* jni, const VmTables& tables) {
  VmTables::Field object = tables.field("JavaThread", "_vthread");
  Unsafe unsafe(jni);
  jclass type = jni->FindClass("java/lang/Thread");
  jclass of_virtual = type == nullptr ? nullptr : jni->FindClass("java/lang/VirtualThread");
  jthread own = nullptr;
  if (of_virtual == nullptr || !unsafe || !object.known ||
      agent.env->GetCurrentThread(&own) != JVMTI_ERROR_NONE || own == nullptr) {
    jni->ExceptionClear();
    return {};
  }
  Klasses klasses(tables);
  jclass of_own = jni->GetObjectClass(own);
  if (of_own == nullptr) return {};
  uint64_t id = static_cast<uint64_t>(thread_id(jni, own));
  Places found;
  found.object = object.place;
  size_t id_place = unsafe.place_of(type, "tid");
  constexpr int kTries = 4;  // a collection may move it meanwhile
  for (int i = 0; i < 4 * kTries && id_place != 0; ++i) {
    found.coloured = (i & 1) != 0;
    found.compressed = (i & 2) == 0;
    uintptr_t slot = 0;
    uintptr_t reference = 0;
    uint64_t head = 0;
    uint64_t there = 0;
    auto read = [](uintptr_t at, auto* value) { return read_vm(at, value, sizeof *value); };
    if (!read(vm_thread(jni, own) + object.place, &slot) || slot == 0 || !read(slot, &reference)) {
      continue;
    }
    uintptr_t address = address_of(reference, found.coloured);
    if (!read(address + kKlassPlace, &head) || !read(address + id_place, &there)) continue;
    uint64_t klass = klasses.of(unsafe, of_own, found.compressed);
    if (there != id || klass == 0 || klass_at(head, found.compressed) != klass) continue;
    found.klass = klasses.of(unsafe, of_virtual, found.compressed);
    found.id = id_place;
    return found;
  }
  return {};
}

}  // namespace

void MountedThread::prepare(JNIEnv* jni) {
  if (major_version(agent.version) < kFirstWithVirtualThreads) return;
  Locked locked(looking);
  if (looked) return;
  looked = true;
  LocalFrame frame(jni, 16);
  if (!frame) return jni->ExceptionClear();
  VmTables tables;
  VmTables::Field id = tables.field("JavaThread", "_monitor_owner_id");
  if (id.known) {
    places.owner_id = id.place;
  } else {
    places = find_object_places(jni, tables);
  }
  jclass continuation = jni->FindClass("jdk/internal/vm/Continuation");
  if (continuation != nullptr) {
    known_methods.border =
        jni->GetStaticMethodID(continuation, "enterSpecial", "(Ljdk/internal/vm/Continuation;ZZ)V");
  }
  jni->ExceptionClear();
  jclass of_virtual = jni->FindClass("java/lang/VirtualThread");
  if (of_virtual != nullptr) {
    known_methods.carries = jni->GetMethodID(of_virtual, "runContinuation", "()V");
  }
  jni->ExceptionClear();
}

bool MountedThread::known() { return places.owner_id != 0 || places.id != 0; }

MountedThread::Methods MountedThread::methods() { return known_methods; }

int64_t MountedThread::id(const JNIEnv* jni) {
  uintptr_t thread = vm_thread(jni);
  if (thread == 0) return 0;
  if (places.owner_id != 0) return in_vm<int64_t>(thread, places.owner_id);
  if (places.id == 0) return 0;
  uintptr_t slot = in_vm<uintptr_t>(thread, places.object);
  uintptr_t object = slot == 0 ? 0 : address_of(in_vm<uintptr_t>(slot, 0), places.coloured);
  if (object == 0) return 0;
  // What a collection has moved may be something else by now.
  uint64_t head = in_vm<uint64_t>(object, kKlassPlace);
  return klass_at(head, places.compressed) == places.klass ? in_vm<int64_t>(object, places.id) : 0;
}

int64_t MountedThread::id_on(uintptr_t thread) {
  if (places.id == 0) return 0;
  auto read = [](uintptr_t at, auto* value) { return read_vm(at, value, sizeof *value); };
  uintptr_t slot = 0;
  uintptr_t reference = 0;
  uint64_t head = 0;
  int64_t id = 0;
  if (!read(thread + places.object, &slot) || slot == 0 || !read(slot, &reference)) return 0;
  uintptr_t object = address_of(reference, places.coloured);
  if (!read(object + kKlassPlace, &head) || !read(object + places.id, &id)) return 0;
  return klass_at(head, places.compressed) == places.klass ? id : 0;
}

}  // namespace jvmti
