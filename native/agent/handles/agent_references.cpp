#include "agent/handles/agent_references.h"

#include "agent/core/agent.h"
#include "base/log.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

// Newer VMs mark kinds of references in the lowest bits; a dump has them without.
constexpr uintptr_t kMarkBits = 7;

// Open addressing; what follows a removed item moves up, so nothing marks its place.
class References : NoCopy {
 public:
  constexpr References() = default;
  ~References() { std::free(slots_); }

  bool add(uintptr_t item) {
    if ((size_ + 1) * 2 > capacity_ && !resize(capacity_ == 0 ? 64 : capacity_ * 2)) return false;
    place(item);
    return true;
  }
  void remove(uintptr_t item) {
    if (capacity_ == 0) return;
    size_t mask = capacity_ - 1;
    size_t at = hash(item) & mask;
    while (slots_[at] != item) {
      if (slots_[at] == 0) return;
      at = (at + 1) & mask;
    }
    for (size_t next = (at + 1) & mask; slots_[next] != 0; next = (next + 1) & mask) {
      size_t home = hash(slots_[next]) & mask;
      if (((next - home) & mask) >= ((next - at) & mask)) {
        slots_[at] = slots_[next];
        at = next;
      }
    }
    slots_[at] = 0;
    --size_;
    // Room that a million handles took is not kept for ever.
    if (capacity_ > 1024 && size_ * 8 < capacity_) resize(capacity_ / 2);
  }
  bool copy(Vector<jobject>* to) const {
    if (!to->reserve(to->size() + size_)) return false;
    for (size_t i = 0; i < capacity_; ++i) {
      if (slots_[i] != 0) to->put(reinterpret_cast<jobject>(slots_[i]));
    }
    return true;
  }

 private:
  static size_t hash(uintptr_t item) {
    uint64_t key = static_cast<uint64_t>(item) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(key ^ key >> 32);
  }
  void place(uintptr_t item) {
    size_t at = hash(item) & (capacity_ - 1);
    while (slots_[at] != 0) {
      if (slots_[at] == item) return;
      at = (at + 1) & (capacity_ - 1);
    }
    slots_[at] = item;
    ++size_;
  }
  bool resize(size_t capacity) {
    uintptr_t* made = static_cast<uintptr_t*>(std::calloc(capacity, sizeof(uintptr_t)));
    if (made == nullptr) return false;
    uintptr_t* old = slots_;
    size_t old_capacity = capacity_;
    slots_ = made;
    capacity_ = capacity;
    size_ = 0;
    for (size_t i = 0; i < old_capacity; ++i) {
      if (old[i] != 0) place(old[i]);
    }
    std::free(old);
    return true;
  }

  uintptr_t* slots_ = nullptr;
  size_t capacity_ = 0;
  size_t size_ = 0;
};

struct State {
  Mutex mutex{Guards::kReferences};
  References held;
  Vector<jobject> released;  // while any FrozenReferences exists
  int frozen = 0;
};

// Never destroyed: threads of ours may still run while the process exits.
union Immortal {
  constexpr Immortal() : it{} {}
  ~Immortal() {}
  State it;
};
Immortal immortal;
State& state = immortal.it;

}  // namespace

jobject hold(JNIEnv* jni, jobject object) {
  jobject reference = jni->NewGlobalRef(object);
  if (reference == nullptr) return nullptr;
  bool noted;
  {
    Locked locked(state.mutex);
    noted = state.held.add(reinterpret_cast<uintptr_t>(reference));
  }
  if (noted) return reference;
  jni->DeleteGlobalRef(reference);
  return nullptr;
}

void let_go(JNIEnv* jni, jobject reference) {
  if (reference == nullptr) return;
  {
    Locked locked(state.mutex);
    if (state.frozen > 0) {
      // Without memory for the note it stays for good: somebody may be looking at it.
      if (!state.released.push(reference)) log("a reference stays, without memory to note it");
      return;
    }
    state.held.remove(reinterpret_cast<uintptr_t>(reference));
  }
  jni->DeleteGlobalRef(reference);
}

FrozenReferences::FrozenReferences(JNIEnv* jni) : jni_(jni) {
  Locked locked(state.mutex);
  ++state.frozen;
}

FrozenReferences::~FrozenReferences() {
  {
    Locked locked(state.mutex);
    --state.frozen;
  }
  while (true) {
    jobject reference;
    {
      Locked locked(state.mutex);
      if (state.frozen > 0 || state.released.empty()) return;
      reference = state.released.pop();
      state.held.remove(reinterpret_cast<uintptr_t>(reference));
    }
    jni_->DeleteGlobalRef(reference);
  }
}

bool FrozenReferences::copy(Vector<jobject>* references) const {
  Locked locked(state.mutex);
  return state.held.copy(references);
}

namespace operations {

static jvmtiError give_addresses(const Vector<jobject>& all, jint* count, jlong** addresses) {
  if (jvmtiError error = allocate_list(all.size(), addresses)) return error;
  for (jobject one : all) {
    (*addresses)[(*count)++] = static_cast<jlong>(reinterpret_cast<uintptr_t>(one) & ~kMarkBits);
  }
  return JVMTI_ERROR_NONE;
}

jvmtiError AgentReferences(Call& call, jint* count, jlong** references, jint* thread_count,
                           jlong** threads) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  Vector<jobject> all;
  Vector<jobject> of_threads;
  bool copied = agent.service_threads.references(&of_threads);
  {
    Locked locked(state.mutex);
    copied = state.held.copy(&all) && copied;
  }
  if (!copied) return JVMTI_ERROR_OUT_OF_MEMORY;
  jvmtiError error = give_addresses(all, count, references);
  return error != JVMTI_ERROR_NONE ? error : give_addresses(of_threads, thread_count, threads);
}

}  // namespace operations
}  // namespace jvmti
