#include "lent_memory.h"

#include "agent.h"

namespace jvmti {
namespace lent {

namespace {

struct Loan {
  void* memory;
  jweak buffer;
  bool given_back;
};

Mutex mutex;
Vector<Loan>& loans() {
  // Never destroyed: threads of ours may still run while the process exits.
  alignas(Vector<Loan>) static unsigned char place[sizeof(Vector<Loan>)] = {};
  return *reinterpret_cast<Vector<Loan>*>(place);
}

bool is_lent(const void* memory) {
  for (const Loan& loan : loans()) {
    if (loan.memory == memory) return true;
  }
  return false;
}

// Ends the loans whose buffers are gone.
void sweep(JNIEnv* jni) {
  Vector<Loan>& all = loans();
  for (size_t i = 0; i < all.size();) {
    Loan loan = all[i];
    if (!jni->IsSameObject(loan.buffer, nullptr)) {
      ++i;
      continue;
    }
    jni->DeleteWeakGlobalRef(loan.buffer);
    all.remove(i);
    if (loan.given_back && !is_lent(loan.memory)) {
      agent.env->Deallocate(static_cast<unsigned char*>(loan.memory));
    }
  }
}

}  // namespace

bool lend(JNIEnv* jni, void* memory, jobject buffer) {
  jweak weak = jni->NewWeakGlobalRef(buffer);
  if (weak == nullptr) return false;
  Locked locked(mutex);
  sweep(jni);
  if (loans().push(Loan{memory, weak, false})) return true;
  jni->DeleteWeakGlobalRef(weak);
  return false;
}

jvmtiError give_back(JNIEnv* jni, void* memory) {
  if (jni != nullptr) {
    Locked locked(mutex);
    sweep(jni);
    bool found = false;
    for (Loan& loan : loans()) {
      if (loan.memory != memory) continue;
      loan.given_back = true;
      found = true;
    }
    if (found) return JVMTI_ERROR_NONE;
  }
  return agent.env->Deallocate(static_cast<unsigned char*>(memory));
}

}  // namespace lent
}  // namespace jvmti
