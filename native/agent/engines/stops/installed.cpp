// Breakpoints and watches in the VM: several requests may share one, and the last takes it away.

#include <unistd.h>

#include "agent/engines/stops/stepping.h"
#include "agent/guards/guards.h"

namespace jvmti {

namespace {

jvmtiError set_in_vm(Call& call, const VmSetting& one, jclass klass) {
  switch (one.event) {
    case JVMTI_EVENT_BREAKPOINT:
      return guard::set_breakpoint(call, static_cast<jmethodID>(one.member), one.location);
    case JVMTI_EVENT_FIELD_ACCESS:
      return one.env->SetFieldAccessWatch(klass, static_cast<jfieldID>(one.member));
    default:
      return one.env->SetFieldModificationWatch(klass, static_cast<jfieldID>(one.member));
  }
}

}  // namespace

Installed** StopRequests::bucket(const void* member) {
  uint64_t key = reinterpret_cast<uint64_t>(member) * 0x9E3779B97F4A7C15u;
  return &buckets_[key >> 56];
}

// Whether another stop has the same place; hold the mutex.
bool StopRequests::shared(const Installed& place) {
  for (const Installed* other = *bucket(place.member); other != nullptr; other = other->next) {
    if (other != &place && other->key == place.key && other->location == place.location &&
        other->request->event == place.request->event) {
      return true;
    }
  }
  return false;
}

// Threads that come by do not find it any more; hold the mutex.
void StopRequests::uninstall(Installed* place) {
  Installed** at = bucket(place->member);
  while (*at != nullptr && *at != place) at = &(*at)->next;
  if (*at == place) *at = place->next;
}

bool StopRequests::remove(Call& call, uint32_t number) {
  StopRequest* request = nullptr;
  {
    Locked locked(mutex_);
    for (size_t i = 0; i < requests_.size() && request == nullptr; ++i) {
      if (requests_[i]->number != number) continue;
      request = requests_[i];
      requests_.remove(i);
    }
  }
  if (request == nullptr) return false;
  request->removed = true;
  jvmtiEnv* env = request->environment->env;
  for (Installed* place = request->places; place != nullptr; place = place->next_of_request) {
    if (place->key == place) continue;  // it never came about, or was taken away
    bool last;
    {
      Locked locked(mutex_);
      uninstall(place);
      last = !shared(*place);
    }
    if (call.jni == nullptr) continue;  // there are no classes yet
    // Of a class that has been unloaded nothing is left.
    LocalRef<jclass> klass = class_behind(call.jni, place->klass);
    if (klass == nullptr) continue;
    if (last && env != nullptr) {
      VmSetting setting = place->setting(env);
      setting.clear(klass);
      call.session.undo_list.forget(call.jni, setting);
    }
  }
  if (request->event == kStepEvent && env != nullptr) {
    jthread thread = nullptr;
    {
      Locked locked(request->mutex);
      request->stepping.state = Stepping::kIdle;
      thread = request->stepping.thread;
    }
    if (thread != nullptr) watch_steps(*request, call.jni, thread, false, false);
  }
  leave(call.jni, request);
  return true;
}

void StopRequests::place(Call& call, StopRequest* request, jclass klass, const void* key,
                         void* member, jlocation location, StopCondition* condition, bool counted) {
  Installed* made = make<Installed>();
  jweak kept = made == nullptr ? nullptr : call.jni->NewWeakGlobalRef(klass);
  if (kept == nullptr) {
    unmake(condition);
    unmake(made);
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return;
  }
  *made = Installed{request, nullptr, nullptr, key, member, location, kept, condition, counted};
  bool first = false;
  size_t others = 0;
  {
    Locked locked(mutex_);
    Installed* before = nullptr;
    for (Installed* other = *bucket(member); other != nullptr; other = other->next) {
      bool is_here = other->key == key && other->location == location;
      if (is_here && other->request == request) {
        before = other;
      } else {
        others += is_here;
      }
    }
    if (others < kMost && !request->removed) {
      first = !shared(*made);
      if (before != nullptr) {
        // Its condition is another one from now on. Threads may still look at the one before.
        uninstall(before);
        before->key = before;
      }
      // Those at one place report in the order in which they came.
      Installed** last = bucket(member);
      while (*last != nullptr) last = &(*last)->next;
      *last = made;
      made->next_of_request = request->places;
      request->places = made;
    }
  }
  if (others >= kMost || request->removed) {
    call.jni->DeleteWeakGlobalRef(kept);
    unmake(condition);
    unmake(made);
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "there are %d stops at this place already",
                static_cast<int>(others));
    return;
  }
  VmSetting setting = made->setting(call.env);
  jvmtiError error = set_in_vm(call, setting, klass);
  // Redefining a class clears breakpoints that other stops still have.
  if (!first && error == JVMTI_ERROR_DUPLICATE) return;
  // Another thread may just be taking the last stop away from the place.
  for (int attempt = 0; error == JVMTI_ERROR_DUPLICATE && attempt < 20; ++attempt) {
    usleep(1000);
    error = set_in_vm(call, setting, klass);
  }
  if (error == JVMTI_ERROR_NONE) {
    if (call.session.undo_list.note(call.jni, setting, klass)) return;
    error = JVMTI_ERROR_OUT_OF_MEMORY;
  }
  {
    // It stays in the stop's list, in which nothing looks for threads, and goes with the stop.
    Locked locked(mutex_);
    uninstall(made);
    made->key = made;
  }
  call.refuse(error);
}

bool StopRequests::uninstall_place(Call& call, StopRequest* request, const void* key,
                                   jlocation location) {
  Installed* found = nullptr;
  bool last = false;
  {
    Locked locked(mutex_);
    Installed** of_request = &request->places;
    while (*of_request != nullptr &&
           ((*of_request)->key != key || (*of_request)->location != location)) {
      of_request = &(*of_request)->next_of_request;
    }
    found = *of_request;
    if (found == nullptr) return false;
    uninstall(found);
    last = !shared(*found);
  }
  if (last) {
    LocalRef<jclass> klass = class_behind(call.jni, found->klass);
    VmSetting setting = found->setting(call.env);
    if (klass != nullptr) setting.clear(klass);
    call.session.undo_list.forget(call.jni, setting);
  }
  // Threads that have hit it may still look at its condition: it goes with the stop.
  found->key = found;
  return true;
}

size_t StopRequests::at_place(int event, const void* member, jlocation location, StopHit* hits) {
  size_t count = 0;
  Locked locked(mutex_);
  for (Installed* place = *bucket(member); place != nullptr && count < kMost; place = place->next) {
    if (!place->is(event, member, location)) continue;
    ++place->request->uses;
    hits[count++] = StopHit{place->request, place->condition, place->klass, place->counted};
  }
  return count;
}

bool StopRequests::has_place(int event, const void* member, jlocation location) {
  Locked locked(mutex_);
  const Installed* place = *bucket(member);
  while (place != nullptr && !place->is(event, member, location)) place = place->next;
  return place != nullptr;
}

}  // namespace jvmti
