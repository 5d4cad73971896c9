#include "agent/engines/profiling/samplings/pending_monitors.h"

#include <cstring>

#include "agent/core/vm_memory.h"
#include "agent/core/vm_structures.h"
#include "agent/engines/profiling/profile_names.h"
#include "agent/engines/profiling/threads/mounted_thread.h"
#include "base/clock.h"

namespace jvmti {

namespace {

constexpr int64_t kMostReserved = 2;  // no thread has these as its id: they are the VM's marks
constexpr int64_t kBetweenLists = 200000000;  // nanoseconds

// Places in structures, which are the same for all profiles; 0 if unknown.
struct Places {
  size_t pending_monitor = 0;  // in a thread
  size_t stack_base = 0;
  size_t stack_size = 0;
  size_t owner = 0;          // in a monitor
  bool owner_is_id = false;  // otherwise it is a thread of the VM, or a place on the stack of one
};

Places places;
bool looked = false;
Mutex looking{Guards::kLists};

Places find_places() {
  VmTables tables;
  Places found;
  found.pending_monitor = tables.field(nullptr, "_current_pending_monitor").place;
  found.stack_base = tables.field(nullptr, "_stack_base").place;
  found.stack_size = tables.field(nullptr, "_stack_size").place;
  VmTables::Field owner = tables.field("ObjectMonitor", "_owner");
  found.owner = owner.place;
  found.owner_is_id = owner.type != nullptr && std::strcmp(owner.type, "int64_t") == 0;
  return found;
}

bool carries(jvmtiEnv* env, JNIEnv* jni, jthread thread) {
  ProfiledThread described;
  describe_thread(env, jni, thread, &described);
  return std::strcmp(described.group, "CarrierThreads") == 0;
}

}  // namespace

void PendingMonitors::prepare(jvmtiEnv* env, JNIEnv* jni) {
  {
    Locked locked(looking);
    if (!looked) places = find_places();
    looked = true;
  }
  if (places.owner_is_id) return;
  MountedThread::prepare(jni);
  list(env, jni);
}

PendingMonitors::Owner PendingMonitors::owner(const JNIEnv* jni) {
  constexpr Owner kUnknown{0, false};
  uintptr_t thread = vm_thread(jni);
  if (thread == 0 || places.pending_monitor == 0 || places.owner == 0) return kUnknown;
  // The monitor stays while somebody waits for it.
  uintptr_t monitor = in_vm<uintptr_t>(thread, places.pending_monitor);
  if (monitor == 0) return kUnknown;
  uintptr_t owner = in_vm<uintptr_t>(monitor, places.owner);
  if (places.owner_is_id) {
    int64_t id = static_cast<int64_t>(owner);
    return Owner{id > kMostReserved ? id : 0, false};
  }
  if (owner <= kMostReserved) return kUnknown;
  uintptr_t carrier = 0;
  {
    Locked locked(mutex_);
    const Known* found = find(owner);
    if (found == nullptr) {
      missed_.store(true, std::memory_order_relaxed);
      return kUnknown;
    }
    if (found->id != 0) return Owner{found->id, false};
    carrier = found->thread;
  }
  // Before 24 a virtual thread stays on its carrier while it has a monitor.
  return Owner{MountedThread::id_on(carrier), true};
}

// A thread that had a monitor before anybody waited for it has it by a place on its stack.
const PendingMonitors::Known* PendingMonitors::find(uintptr_t owner) const {
  uint32_t place = places_.find(owner);
  if (place != 0 && known_[place - 1].stack_size != 0) return &known_[place - 1];
  for (const Known& one : known_) {
    if (one.stack - owner < one.stack_size) return &one;
  }
  return nullptr;
}

void PendingMonitors::look(jvmtiEnv* env, JNIEnv* jni) {
  if (!missed_.load(std::memory_order_relaxed)) return;
  int64_t now = nanoseconds_now();
  if (now - listed_ < kBetweenLists) return;
  listed_ = now;
  missed_.store(false, std::memory_order_relaxed);
  list(env, jni);
}

void PendingMonitors::list(jvmtiEnv* env, JNIEnv* jni) {
  LocalRefs<jthread> threads(env, jni);
  if (env->GetAllThreads(threads.count_out(), threads.out()) != JVMTI_ERROR_NONE) return;
  for (jthread thread : threads) note(env, jni, thread);
}

void PendingMonitors::note(jvmtiEnv* env, JNIEnv* jni, jthread thread) {
  if (places.owner_is_id || places.stack_base == 0 || places.stack_size == 0) return;
  uintptr_t vm = vm_thread(jni, thread);
  Known one{0, 0, thread_id(jni, thread), vm};
  if (vm == 0 || !read_vm(vm + places.stack_base, &one.stack, sizeof one.stack) ||
      !read_vm(vm + places.stack_size, &one.stack_size, sizeof one.stack_size)) {
    return;
  }
  if (carries(env, jni, thread)) one.id = 0;
  Locked locked(mutex_);
  uint32_t place = places_.find(vm);
  if (place != 0) {
    known_[place - 1] = one;
  } else if (known_.push(one) && !places_.insert(vm, static_cast<uint32_t>(known_.size()))) {
    known_.pop();
  }
}

void PendingMonitors::forget(const JNIEnv* jni) {
  Locked locked(mutex_);
  uint32_t place = places_.find(vm_thread(jni));
  if (place != 0) known_[place - 1] = Known{0, 0, 0, 0};
}

}  // namespace jvmti
