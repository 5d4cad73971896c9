#include "agent/overrides/direct_buffers.h"

#include <atomic>

#include "agent/core/agent.h"

namespace jvmti::direct_buffers {

namespace {

struct OverMemory {
  void* memory;
  jweak buffer;
  bool given_back;
};

Mutex mutex{Guards::kLists};
std::atomic_flag sweeping = ATOMIC_FLAG_INIT;
Vector<OverMemory>& buffers() {
  // Never destroyed: threads of ours may still run while the process exits.
  alignas(Vector<OverMemory>) static unsigned char place[sizeof(Vector<OverMemory>)] = {};
  return *reinterpret_cast<Vector<OverMemory>*>(place);
}

bool has_buffer(const void* memory) {
  for (const OverMemory& one : buffers()) {
    if (one.memory == memory) return true;
  }
  return false;
}

// The loan at a place; false beyond the last.
bool look(size_t place, OverMemory* one) {
  Locked locked(mutex);
  if (place >= buffers().size()) return false;
  *one = buffers()[place];
  return true;
}

// Ends a loan whose buffer is gone.
void forget(JNIEnv* jni, const OverMemory& gone) {
  bool last = false;
  {
    Locked locked(mutex);
    Vector<OverMemory>& all = buffers();
    size_t at = 0;
    while (at < all.size() && all[at].buffer != gone.buffer) ++at;
    last = all[at].given_back;
    all.remove(at);
    last = last && !has_buffer(gone.memory);
  }
  jni->DeleteWeakGlobalRef(gone.buffer);
  if (last) deallocate(agent.env, gone.memory);
}

// Ends the loans whose buffers are gone; one thread at a time, and no thread waits for it.
void sweep(JNIEnv* jni) {
  if (sweeping.test_and_set()) return;
  OverMemory one;
  for (size_t place = 0; look(place, &one);) {
    if (jni->IsSameObject(one.buffer, nullptr)) {
      forget(jni, one);
    } else {
      ++place;
    }
  }
  sweeping.clear();
}

}  // namespace

bool note(JNIEnv* jni, void* memory, jobject buffer) {
  jweak weak = jni->NewWeakGlobalRef(buffer);
  if (weak == nullptr) return false;
  sweep(jni);
  bool kept = false;
  {
    Locked locked(mutex);
    kept = buffers().push(OverMemory{memory, weak, false});
  }
  if (kept) return true;
  jni->DeleteWeakGlobalRef(weak);
  return false;
}

jvmtiError give_back(JNIEnv* jni, void* memory) {
  if (jni != nullptr) {
    sweep(jni);
    Locked locked(mutex);
    bool found = false;
    for (OverMemory& one : buffers()) {
      if (one.memory != memory) continue;
      one.given_back = true;
      found = true;
    }
    if (found) return JVMTI_ERROR_NONE;
  }
  return agent.env->Deallocate(static_cast<unsigned char*>(memory));
}

}  // namespace jvmti::direct_buffers
