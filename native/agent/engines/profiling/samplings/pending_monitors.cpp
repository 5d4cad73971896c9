#include "agent/engines/profiling/samplings/pending_monitors.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "agent/core/agent.h"
#include "agent/engines/profiling/profile_names.h"
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

// What a symbol of the table says of its entries: where a part of them is, or how long one is.
size_t of_entry(void* library, const char* name) {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "gHotSpotVMStruct%s", name);
  void* found = dlsym(library, symbol);
  return found == nullptr ? 0 : static_cast<size_t>(*static_cast<const uint64_t*>(found));
}

template <class T>
T at(uintptr_t object, size_t place) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(object + place), sizeof value);
  return value;
}

// What is there may be gone, so that the kernel reads it; false where it cannot.
template <class T>
bool read(uintptr_t object, size_t place, T* value) {
  iovec to{value, sizeof *value};
  iovec from{reinterpret_cast<void*>(object + place), sizeof *value};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(sizeof *value);
}

Places find_places() {
  Dl_info vm;
  void* of_vm = reinterpret_cast<void*>(agent.vm->functions->GetEnv);
  void* library = dladdr(of_vm, &vm) == 0 ? nullptr : dlopen(vm.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) library = RTLD_DEFAULT;
  void* table = dlsym(library, "gHotSpotVMStructs");
  size_t stride = of_entry(library, "EntryArrayStride");
  if (table == nullptr || stride == 0) return {};
  size_t type = of_entry(library, "EntryTypeNameOffset");
  size_t field = of_entry(library, "EntryFieldNameOffset");
  size_t kind = of_entry(library, "EntryTypeStringOffset");
  size_t offset = of_entry(library, "EntryOffsetOffset");
  Places found;
  for (uintptr_t one = *static_cast<const uintptr_t*>(table); one != 0; one += stride) {
    const char* name = at<const char*>(one, type);
    const char* what = at<const char*>(one, field);
    if (name == nullptr || what == nullptr) break;
    size_t place = static_cast<size_t>(at<uint64_t>(one, offset));
    if (std::strcmp(what, "_current_pending_monitor") == 0) found.pending_monitor = place;
    if (std::strcmp(what, "_stack_base") == 0) found.stack_base = place;
    if (std::strcmp(what, "_stack_size") == 0) found.stack_size = place;
    if (std::strcmp(name, "ObjectMonitor") == 0 && std::strcmp(what, "_owner") == 0) {
      const char* text = at<const char*>(one, kind);
      found.owner = place;
      found.owner_is_id = text != nullptr && std::strcmp(text, "int64_t") == 0;
    }
  }
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
  if (!places.owner_is_id) list(env, jni);
}

int64_t PendingMonitors::owner(const JNIEnv* jni) {
  uintptr_t thread = vm_thread(jni);
  if (thread == 0 || places.pending_monitor == 0 || places.owner == 0) return 0;
  // The monitor stays while somebody waits for it.
  uintptr_t monitor = at<uintptr_t>(thread, places.pending_monitor);
  if (monitor == 0) return 0;
  uintptr_t owner = at<uintptr_t>(monitor, places.owner);
  if (places.owner_is_id) {
    int64_t id = static_cast<int64_t>(owner);
    return id > kMostReserved ? id : 0;
  }
  if (owner <= kMostReserved) return 0;
  Locked locked(mutex_);
  const Known* found = find(owner);
  if (found != nullptr) return found->id;
  missed_.store(true, std::memory_order_relaxed);
  return 0;
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
  Known one{0, 0, thread_id(jni, thread)};
  if (vm == 0 || !read(vm, places.stack_base, &one.stack) ||
      !read(vm, places.stack_size, &one.stack_size)) {
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
  if (place != 0) known_[place - 1] = Known{0, 0, 0};
}

}  // namespace jvmti
