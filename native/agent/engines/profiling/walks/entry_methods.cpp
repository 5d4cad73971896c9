#include "agent/engines/profiling/walks/entry_methods.h"

#include "agent/core/vm_memory.h"

namespace jvmti {

namespace {

struct Known {
  const char* klass;
  const char* name;
  const char* descriptor;
  bool is_static;
};

// The last one is below all frames of a virtual thread, and above those of its carrier.
constexpr Known kKnown[] = {
    {"java/lang/Thread", "run", "()V", false},
    {"java/lang/Thread", "exit", "()V", false},
    {"java/lang/Thread", "dispatchUncaughtException", "(Ljava/lang/Throwable;)V", false},
    {"jdk/internal/vm/Continuation", "enter", "(Ljdk/internal/vm/Continuation;Z)V", true},
};

}  // namespace

void EntryMethods::prepare(JNIEnv* jni) {
  LocalFrame frame(jni, 8);
  for (const Known& one : kKnown) {
    jclass klass = jni->FindClass(one.klass);
    jmethodID found = nullptr;
    if (klass != nullptr && one.is_static) {
      found = jni->GetStaticMethodID(klass, one.name, one.descriptor);
    } else if (klass != nullptr) {
      found = jni->GetMethodID(klass, one.name, one.descriptor);
    }
    // Older versions do not have all of them.
    jni->ExceptionClear();
    if (found != nullptr) add(found);
  }
}

bool EntryMethods::has(jmethodID method) const {
  for (const std::atomic<jmethodID>& one : methods_) {
    jmethodID there = one.load(std::memory_order_relaxed);
    if (there == method) return true;
    if (there == nullptr) return false;
  }
  return false;
}

void EntryMethods::add(jmethodID method) {
  for (std::atomic<jmethodID>& one : methods_) {
    jmethodID none = nullptr;
    if (one.compare_exchange_strong(none, method) || none == method) return;
  }
}

}  // namespace jvmti
