#include "agent/handles/known_threads.h"

#include "agent/core/agent.h"
#include "agent/core/vm_memory.h"
#include "agent/handles/agent_references.h"

namespace jvmti {

namespace {

// Never 0, which a hash may be.
jint hash_of(jthread thread) {
  jint hash = 0;
  if (thread == nullptr) return 0;
  if (agent.env->GetObjectHashCode(thread, &hash) != JVMTI_ERROR_NONE) return 0;
  return hash == 0 ? 1 : hash;
}

}  // namespace

size_t KnownThreads::look(size_t start, jint hash, jobject* thread) {
  Locked locked(mutex_);
  for (size_t place = start; place < entries_.size(); ++place) {
    Entry& entry = entries_[place];
    if (entry.thread == nullptr || entry.removed || (hash != 0 && entry.hash != hash)) continue;
    ++entry.looked_at;
    *thread = entry.thread;
    return place;
  }
  return kNone;
}

jobject KnownThreads::leave(size_t place, bool remove) {
  Locked locked(mutex_);
  Entry& entry = entries_[place];
  if (remove && !entry.removed) {
    entry.removed = true;
    --size_;
  }
  if (--entry.looked_at > 0 || !entry.removed) return nullptr;
  jobject gone = entry.thread;
  entry.thread = nullptr;
  return gone;
}

void KnownThreads::drop(JNIEnv* jni, size_t place, bool remove) {
  jobject gone = leave(place, remove);
  if (gone != nullptr) let_go(jni, gone);
}

size_t KnownThreads::find(JNIEnv* jni, jthread thread) {
  jint hash = hash_of(thread);
  jobject candidate = nullptr;
  for (size_t place = hash == 0 ? kNone : look(0, hash, &candidate); place != kNone;
       place = look(place + 1, hash, &candidate)) {
    if (jni->IsSameObject(candidate, thread)) return place;
    drop(jni, place);
  }
  return kNone;
}

bool KnownThreads::add(JNIEnv* jni, jthread thread) {
  size_t place = prepare(jni, thread);
  if (place != kNone) settle(jni, place, true);
  return place != kNone;
}

// No thread finds it while it counts as removed, and it stays while it is in use.
size_t KnownThreads::prepare(JNIEnv* jni, jthread thread) {
  jint hash = hash_of(thread);
  jobject kept = hash == 0 ? nullptr : hold(jni, thread);
  if (kept == nullptr) return kNone;
  Entry made{kept, hash, 1, true};
  {
    Locked locked(mutex_);
    for (size_t place = 0; place < entries_.size(); ++place) {
      if (entries_[place].thread != nullptr) continue;
      entries_[place] = made;
      return place;
    }
    if (entries_.push(made)) return entries_.size() - 1;
  }
  let_go(jni, kept);
  return kNone;
}

void KnownThreads::settle(JNIEnv* jni, size_t place, bool taken) {
  if (taken) {
    jobject thread;
    {
      Locked locked(mutex_);
      thread = entries_[place].thread;
    }
    taken = !has(jni, thread);
  }
  if (taken) {
    Locked locked(mutex_);
    entries_[place].removed = false;
    ++size_;
  }
  drop(jni, place);
}

// Two who add the same thread at once may both have done so.
void KnownThreads::remove(JNIEnv* jni, jthread thread) {
  for (size_t place = find(jni, thread); place != kNone; place = find(jni, thread)) {
    drop(jni, place, true);
  }
}

bool KnownThreads::has(JNIEnv* jni, jthread thread) {
  size_t place = find(jni, thread);
  if (place == kNone) return false;
  drop(jni, place);
  return true;
}

bool KnownThreads::copy(JNIEnv* jni, Vector<jobject>* copies) {
  jobject thread = nullptr;
  for (size_t place = look(0, 0, &thread); place != kNone; place = look(place + 1, 0, &thread)) {
    LocalRef<> copied(jni, jni->NewLocalRef(thread));
    drop(jni, place);
    if (copied == nullptr) continue;
    if (!copies->push(copied)) return false;
    copied.release();
  }
  return true;
}

size_t KnownThreads::take(jobject* thread) {
  Locked locked(mutex_);
  for (size_t place = 0; place < entries_.size(); ++place) {
    Entry& entry = entries_[place];
    if (entry.thread == nullptr || entry.removed) continue;
    entry.removed = true;
    --size_;
    ++entry.looked_at;
    *thread = entry.thread;
    return place;
  }
  return kNone;
}

size_t KnownThreads::size() {
  Locked locked(mutex_);
  return size_;
}

bool KnownThreads::references(Vector<jobject>* found) {
  Locked locked(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.thread != nullptr && !found->push(entry.thread)) return false;
  }
  return true;
}

}  // namespace jvmti
