#include "agent/engines/instrumentation/late_weaving.h"

#include "agent/channels/channel.h"
#include "agent/core/agent.h"
#include "agent/engines/instrumentation/probe_set.h"
#include "agent/handles/agent_references.h"
#include "base/clock.h"

namespace jvmti {

namespace {

constexpr int kPatience = 500;  // milliseconds that a thread waits for its class

}  // namespace

LateWeaving* LateWeaving::start(JNIEnv* jni, uint32_t set) {
  LateWeaving* made = make<LateWeaving>(set);
  if (made == nullptr) return nullptr;
  made->users_ = 2;
  if (start_service_thread(jni, "jvmti weaver", serve, made)) return made;
  unmake(made);
  return nullptr;
}

void LateWeaving::weave(JNIEnv* jni, jclass klass) {
  jobject kept = hold(jni, klass);
  if (kept == nullptr) return;  // without memory it stays as it is
  int64_t until = now_in_milliseconds() + kPatience;
  uint64_t mine = 0;
  {
    Locked locked(mutex_);
    if (!ended_ && waiting_.push(kept)) mine = ++asked_;
    changed_.notify_all();
    while (mine > done_ && !ended_) {
      int64_t left = until - now_in_milliseconds();
      if (left <= 0) break;
      changed_.wait(mutex_, static_cast<int>(left));
    }
  }
  if (mine == 0) let_go(jni, kept);
}

void LateWeaving::end() {
  Locked locked(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void LateWeaving::release() {
  bool is_last;
  {
    Locked locked(mutex_);
    is_last = --users_ == 0;
  }
  if (is_last) unmake(this);
}

void JNICALL LateWeaving::serve(jvmtiEnv*, JNIEnv* jni, void* what) {
  LateWeaving* weaving = static_cast<LateWeaving*>(what);
  Serving::retire();  // what happens here is the agent's own doing
  jthread thread = nullptr;
  agent.env->GetCurrentThread(&thread);
  weaving->work(jni);
  leave_service(jni, thread);
  weaving->release();
}

void LateWeaving::work(JNIEnv* jni) {
  while (true) {
    jobject kept;
    bool ended;
    {
      Locked locked(mutex_);
      while (next_ == waiting_.size() && !ended_) changed_.wait(mutex_);
      if (next_ == waiting_.size()) return;
      kept = waiting_[next_++];
      if (next_ == waiting_.size()) {
        waiting_.clear();
        next_ = 0;
      }
      ended = ended_;
    }
    {
      UsedProbes used(set_);
      jclass klass = static_cast<jclass>(kept);
      // One that the VM refuses, as it does a hidden class, stays as it is.
      if (!ended && used.get() != nullptr) used.get()->retransform(jni, &klass, 1);
    }
    let_go(jni, kept);
    Locked locked(mutex_);
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace jvmti
