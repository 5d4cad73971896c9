#include "agent/sessions/undo_list.h"

#include "agent/core/class_changes.h"
#include "agent/sessions/session.h"

namespace jvmti {

void VmSetting::clear(jclass of) const {
  if (event == JVMTI_EVENT_BREAKPOINT) {
    ClassChange change;
    env->ClearBreakpoint(static_cast<jmethodID>(member), location);
  } else if (event == JVMTI_EVENT_FIELD_ACCESS) {
    env->ClearFieldAccessWatch(of, static_cast<jfieldID>(member));
  } else {
    env->ClearFieldModificationWatch(of, static_cast<jfieldID>(member));
  }
}

bool UndoList::note(JNIEnv* jni, VmSetting made, jclass klass) {
  made.klass = jni->NewWeakGlobalRef(klass);
  if (made.klass != nullptr && add(made)) return true;
  if (made.klass != nullptr) jni->DeleteWeakGlobalRef(made.klass);
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  made.clear(klass);
  return false;
}

void UndoList::forget(JNIEnv* jni, const VmSetting& one) {
  VmSetting gone{};
  if (take(one, &gone)) jni->DeleteWeakGlobalRef(gone.klass);
}

void UndoList::undo(JNIEnv* jni, jvmtiEnv* env) {
  VmSetting one{};
  for (size_t before = SIZE_MAX; take_any(env, &before, &one);) {
    LocalRef<jclass> klass = class_behind(jni, one.klass);
    if (klass != nullptr) one.clear(klass);
    jni->DeleteWeakGlobalRef(one.klass);
  }
}

uint32_t* UndoList::head_of(const VmSetting& one) {
  uint64_t key = reinterpret_cast<uint64_t>(one.env) * 31 + static_cast<uint64_t>(one.event);
  key = key * 31 + reinterpret_cast<uint64_t>(one.member);
  key = (key * 31 + static_cast<uint64_t>(one.location)) * 0x9E3779B97F4A7C15u;
  return &heads_[(key >> 32) & (heads_.size() - 1)];
}

// What says where an entry is: the head of its chain, or the one before it there.
uint32_t* UndoList::link_to(size_t place) {
  uint32_t* link = head_of(entries_[place].setting);
  while (*link != place + 1) link = &entries_[*link - 1].next;
  return link;
}

bool UndoList::grow() {
  if (entries_.size() < heads_.size()) return true;
  size_t size = heads_.empty() ? 64 : heads_.size() * 2;
  // Without memory the chains are longer.
  if (!heads_.reserve(size)) return !heads_.empty();
  heads_.grow(size);
  for (uint32_t& head : heads_) head = 0;
  for (size_t place = 0; place < entries_.size(); ++place) {
    uint32_t* head = head_of(entries_[place].setting);
    entries_[place].next = *head;
    *head = static_cast<uint32_t>(place + 1);
  }
  return true;
}

bool UndoList::add(const VmSetting& made) {
  Locked locked(mutex_);
  if (!grow() || !entries_.push(Entry{made, 0})) return false;
  uint32_t* head = head_of(made);
  entries_[entries_.size() - 1].next = *head;
  *head = static_cast<uint32_t>(entries_.size());
  return true;
}

// The last takes the place of the one that goes.
VmSetting UndoList::remove(size_t place) {
  VmSetting gone = entries_[place].setting;
  *link_to(place) = entries_[place].next;
  size_t last = entries_.size() - 1;
  if (place != last) *link_to(last) = static_cast<uint32_t>(place + 1);
  entries_.remove(place);
  return gone;
}

bool UndoList::take(const VmSetting& one, VmSetting* taken) {
  Locked locked(mutex_);
  if (heads_.empty()) return false;
  for (uint32_t at = *head_of(one); at != 0; at = entries_[at - 1].next) {
    if (!(entries_[at - 1].setting == one)) continue;
    *taken = remove(at - 1);
    return true;
  }
  return false;
}

// The last one before a place, which is where it was then.
bool UndoList::take_any(jvmtiEnv* env, size_t* before, VmSetting* taken) {
  Locked locked(mutex_);
  for (size_t at = *before < entries_.size() ? *before : entries_.size(); at > 0; --at) {
    if (env != nullptr && entries_[at - 1].setting.env != env) continue;
    *taken = remove(at - 1);
    *before = at - 1;
    return true;
  }
  return false;
}

extern const Engine kUndoEngine{nullptr,
                                [](JNIEnv* jni, Session& session, Environment& environment) {
                                  if (jni != nullptr) session.undo_list.undo(jni, environment.env);
                                },
                                [](JNIEnv* jni, Session& session, Stage stage) {
                                  if (stage == Stage::kUndo) session.undo_list.undo(jni, nullptr);
                                  return true;
                                },
                                nullptr};

}  // namespace jvmti
