#include "agent/calls/lent_memory.h"

#include <atomic>

#include "agent/core/agent.h"

namespace jvmti {
namespace lent {

namespace {

struct Loan {
  void* memory;
  jweak buffer;
  bool given_back;
};

Mutex mutex{Guards::kLists};
std::atomic_flag sweeping = ATOMIC_FLAG_INIT;
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

// The loan at a place; false beyond the last.
bool look(size_t place, Loan* loan) {
  Locked locked(mutex);
  if (place >= loans().size()) return false;
  *loan = loans()[place];
  return true;
}

// Ends a loan whose buffer is gone.
void end_loan(JNIEnv* jni, const Loan& gone) {
  bool last = false;
  {
    Locked locked(mutex);
    Vector<Loan>& all = loans();
    size_t at = 0;
    while (at < all.size() && all[at].buffer != gone.buffer) ++at;
    last = all[at].given_back;
    all.remove(at);
    last = last && !is_lent(gone.memory);
  }
  jni->DeleteWeakGlobalRef(gone.buffer);
  if (last) deallocate(agent.env, gone.memory);
}

// Ends the loans whose buffers are gone; one thread at a time, and no thread waits for it.
void sweep(JNIEnv* jni) {
  if (sweeping.test_and_set()) return;
  Loan loan;
  for (size_t place = 0; look(place, &loan);) {
    if (jni->IsSameObject(loan.buffer, nullptr)) {
      end_loan(jni, loan);
    } else {
      ++place;
    }
  }
  sweeping.clear();
}

}  // namespace

bool lend(JNIEnv* jni, void* memory, jobject buffer) {
  jweak weak = jni->NewWeakGlobalRef(buffer);
  if (weak == nullptr) return false;
  sweep(jni);
  bool kept = false;
  {
    Locked locked(mutex);
    kept = loans().push(Loan{memory, weak, false});
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
