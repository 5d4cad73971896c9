#include "agent/engines/profiling/walks/cut_stacks.h"

#include "agent/core/vm_memory.h"
#include "agent/core/vm_structures.h"

namespace jvmti {

namespace {

constexpr size_t kMostAsked = 32;  // threads at once: each stops for it

}  // namespace

void CutStacks::note(jmethodID outermost, const JNIEnv* thread) {
  uint64_t key = reinterpret_cast<uint64_t>(outermost);
  uint32_t place = places_.find(key);
  if (place == 0) {
    if (!ends_.push(End{outermost, 0, 0})) return;
    place = static_cast<uint32_t>(ends_.size());
    if (!places_.insert(key, place)) {
      ends_.pop();
      return;
    }
  }
  End& end = ends_[place - 1];
  ++end.samples;
  bool asked_lately = (end.samples & (end.samples - 1)) != 0;
  if (asked_lately || end.thread != 0 || thread == nullptr || to_ask_ == kMostAsked) return;
  end.thread = vm_thread(thread);
  if (end.thread != 0) ++to_ask_;
}

void CutStacks::ask(jvmtiEnv* env, JNIEnv* jni) {
  LocalRefs<jthread> threads(env, jni);
  if (env->GetAllThreads(threads.count_out(), threads.out()) != JVMTI_ERROR_NONE) return;
  for (jthread thread : threads) {
    uintptr_t of_vm = vm_thread(jni, thread);
    if (of_vm == 0) continue;
    for (End& end : ends_) {
      if (end.thread != of_vm) continue;
      jvmtiFrameInfo entry{};
      if (walk_stack(env, thread, -1, &entry, 1) == 1) entries_.add(entry.method);
      break;
    }
  }
}

uint64_t CutStacks::count(jvmtiEnv* env, JNIEnv* jni) {
  if (to_ask_ > 0) ask(env, jni);
  to_ask_ = 0;
  uint64_t found = 0;
  for (End& end : ends_) {
    end.thread = 0;
    if (!entries_.has(end.outermost)) found += end.samples;
  }
  return found;
}

}  // namespace jvmti
