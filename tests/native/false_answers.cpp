// An agent that makes the VM answer falsely: success with nothing, with half of something, with counts
// that are not true.  It changes the VM's own tables, JVM TI's and JNI's, for the calls that come from
// one library only (the agent under test), and only for the function and the lie that a shared page names
// at the time.  `FUNCTIONS` is generated from the declarations: which argument is what.
#include <jvmti.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

namespace {

enum Lie : uint8_t { kTruth, kSilence, kNulls, kCounts, kNegative, kZeroed, kHalf, kTooMany };

// Functions of JVM TI by their slots, behind them those of JNI.
constexpr unsigned kJni = 512;
constexpr unsigned kPlaces = 1024;

struct Page {
  uint64_t begin;  // of the library that is lied to
  uint64_t end;
  uint8_t lies[kPlaces];
  uint32_t reached[kPlaces];  // calls so far, whatever was answered
};
Page* page;
jvmtiEnv* own;
const jvmtiInterface_1_* truthful;

Lie lie(unsigned place, void* caller) {
  uint64_t at = reinterpret_cast<uint64_t>(caller);
  if (at < page->begin || at >= page->end) return kTruth;
  __atomic_fetch_add(&page->reached[place], 1, __ATOMIC_RELAXED);
  return static_cast<Lie>(page->lies[place]);
}

void* zeroed(size_t size) {
  unsigned char* memory = nullptr;
  truthful->Allocate(own, static_cast<jlong>(size), &memory);
  std::memset(memory, 0, size);
  return memory;
}

template <class T>
void fill_half(T&) {}
void fill_half(jvmtiStackInfo& info) { info.frame_count = 3; }
void fill_half(jvmtiMonitorUsage& usage) {
  usage.entry_count = usage.waiter_count = usage.notify_waiter_count = 3;
}
void fill_half(jvmtiExtensionFunctionInfo& info) { info.param_count = info.error_count = 3; }
void fill_half(jvmtiExtensionEventInfo& info) { info.param_count = 3; }

constexpr jint kFew = 3;
// As many items as a caller may ask about where its own list says how many come back.
constexpr size_t kRoom = 64;

// One result; a text is there and empty where something is.
template <class T>
void single(Lie lie, T* result) {
  if (result == nullptr || lie == kSilence) return;
  std::memset(static_cast<void*>(result), 0, sizeof(T));
  if (lie == kHalf) fill_half(*result);
}
void single(Lie lie, char** result) {
  if (result == nullptr || lie == kSilence) return;
  *result = lie == kZeroed || lie == kHalf ? static_cast<char*>(zeroed(1)) : nullptr;
}

void count(Lie lie, jint* result) {
  if (result == nullptr || lie == kSilence) return;
  *result = lie == kNulls ? 0 : lie == kNegative ? -kFew : lie == kTooMany ? INT32_MAX : kFew;
}

template <class T>
void items(Lie lie, T** result) {
  if (result == nullptr || lie == kSilence) return;
  *result = nullptr;
  if (lie != kZeroed && lie != kHalf && lie != kNegative) return;
  *result = static_cast<T*>(zeroed(sizeof(T) * kRoom));
  if (lie != kHalf) return;
  for (jint i = 0; i < kFew; ++i) fill_half((*result)[i]);
}

// An array that the caller gave, of which the count tells.
void buffered(Lie lie, jint room, jint* result) {
  if (result == nullptr || lie == kSilence) return;
  *result = lie == kNulls ? 0 : lie == kNegative ? -kFew : lie == kTooMany ? room + 1000 : room;
}

template <class F>
struct Signature;
template <class... A>
struct Signature<jvmtiError(JNICALL*)(jvmtiEnv*, A...)> {
  template <int place>
  using P = std::tuple_element_t<place, std::tuple<A...>>;
};

#define FUNCTION(Name, slot, parameters, passed, lies)                             \
  decltype(jvmtiInterface_1_::Name) true_##Name;                                   \
  jvmtiError JNICALL false_##Name parameters {                                     \
    Lie reported = lie(slot, __builtin_return_address(0));                             \
    if (reported == kTruth) return true_##Name passed;                                 \
    lies;                                                                          \
    return JVMTI_ERROR_NONE;                                                       \
  }
#define P(Name, place) Signature<decltype(jvmtiInterface_1_::Name)>::P<place>
#include "false_functions.inc"
#undef FUNCTION

// ---- JNI: what gives something gives nothing, without an exception -----------------------------

template <int slot, class F>
struct False {
  static constexpr bool possible = false;
};
template <int slot, class R, class... A>
struct False<slot, R(JNICALL*)(JNIEnv*, A...)> {
  static constexpr bool possible = !std::is_void<R>::value;
  static inline R(JNICALL* truth)(JNIEnv*, A...);
  static R JNICALL call(JNIEnv* jni, A... arguments) {
    Lie reported = lie(kJni + slot, __builtin_return_address(0));
    if (reported == kTruth) return truth(jni, arguments...);
    return R{};
  }
};

template <int slot, class F>
void put(F& entry) {
  using Falsehood = False<slot, F>;
  if constexpr (Falsehood::possible) {
    if (entry == nullptr) return;
    Falsehood::truth = entry;
    entry = Falsehood::call;
  }
}

void JNICALL started(jvmtiEnv* env, JNIEnv* jni, jthread) {
  jint version = jni->GetVersion();
  jniNativeInterface* table = nullptr;
  if (env->GetJNIFunctionTable(&table) != JVMTI_ERROR_NONE) return;
#define FUNCTION(Name, slot, since) \
  if (version >= (since) << 16) put<slot>(table->Name);
#include "false_jni.inc"
#undef FUNCTION
  env->SetJNIFunctionTable(table);
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* path, void*) {
  int file = open(path, O_RDWR);
  page = static_cast<Page*>(
      mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  if (page == MAP_FAILED || vm->GetEnv(reinterpret_cast<void**>(&own), JVMTI_VERSION_1_2) != 0) {
    return JNI_ERR;
  }
  auto* table = const_cast<jvmtiInterface_1_*>(own->functions);
  truthful = new jvmtiInterface_1_(*table);
  uintptr_t size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t first = reinterpret_cast<uintptr_t>(table) / size * size;
  uintptr_t last = reinterpret_cast<uintptr_t>(table + 1);
  if (mprotect(reinterpret_cast<void*>(first), last - first, PROT_READ | PROT_WRITE) != 0) {
    return JNI_ERR;
  }
#define FUNCTION(Name, slot, parameters, passed, lies) \
  if (table->Name != nullptr) {                        \
    true_##Name = table->Name;                         \
    table->Name = false_##Name;                        \
  }
#include "false_functions.inc"
#undef FUNCTION
  jvmtiEventCallbacks callbacks{};
  callbacks.VMInit = started;
  own->SetEventCallbacks(&callbacks, sizeof callbacks);
  own->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, nullptr);
  return JNI_OK;
}
