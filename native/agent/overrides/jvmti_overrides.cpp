// JVM TI functions around which the agent keeps books.

#include <stdio.h>

#include "agent/core/archived_classes.h"
#include "agent/core/class_changes.h"
#include "agent/core/redefined_classes.h"
#include "agent/engines/interception/jni_interception.h"
#include "agent/engines/threads/leave_frame.h"
#include "agent/engines/threads/self_suspension.h"
#include "agent/events/freed_objects.h"
#include "agent/guards/guards.h"
#include "agent/handles/class_names.h"
#include "agent/overrides/direct_buffers.h"
#include "generated/overrides.h"

namespace jvmti::overrides {

jvmtiError Allocate(Call& call, const In<jlong>& size, unsigned char** memory) {
  jlong asked = size.c() == 0 ? 1 : size.c();  // memory without any bytes still has a handle
  jvmtiError error = call.env->Allocate(asked, memory);
  call.issued_size = size.c();
  return error;
}

jvmtiError Deallocate(Call& call, const In<Nullable<kinds::Memory>>& memory) {
  if (memory.c() == nullptr) return JVMTI_ERROR_NONE;
  void* taken = call.session.pointers.remove(memory.handle(), kinds::Memory::kind);
  if (taken == nullptr) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  return direct_buffers::give_back(call.jni, taken);
}

namespace {

// The places where threads are noted that are about to be suspended, all or none.
class Places : NoCopy {
 public:
  explicit Places(Call& call) : call_(call) {}
  ~Places() { settle(nullptr); }

  bool prepare(jint count, const jthread* threads) {
    if (!places_.reserve(static_cast<size_t>(count) + 1)) return false;
    for (jint i = 0; i < count; ++i) {
      size_t place = KnownThreads::kNone;
      if (threads[i] != nullptr) {
        place = call_.session.suspensions.prepare(call_.jni, threads[i]);
        if (place == KnownThreads::kNone) return false;
      }
      places_.put(place);
    }
    return true;
  }
  // Of each by its own result: what another controller has suspended is not ours to resume.
  void settle(const jvmtiError* results) {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] == KnownThreads::kNone) continue;
      bool suspended = results != nullptr && results[i] == JVMTI_ERROR_NONE;
      call_.session.suspensions.settle(call_.jni, places_[i], suspended);
    }
    places_.clear();
  }

 private:
  Call& call_;
  Vector<size_t> places_;
};

}  // namespace

jvmtiError SuspendThread(Call& call, const In<Nullable<kinds::Thread>>& thread) {
  if (!agent.live) return call.env->SuspendThread(thread.c());
  // A service thread on its own is refused before: this one is in a handler.
  if (thread.c() == nullptr || is_current(call.env, call.jni, thread.c())) {
    return suspend_when_handled(call);
  }
  if (is_to_be_suspended(call.jni, thread.c())) return JVMTI_ERROR_THREAD_SUSPENDED;
  size_t place = call.session.suspensions.prepare(call.jni, thread.c());
  if (place == KnownThreads::kNone) return JVMTI_ERROR_OUT_OF_MEMORY;
  jvmtiError error = call.env->SuspendThread(thread.c());
  call.session.suspensions.settle(call.jni, place, error == JVMTI_ERROR_NONE);
  return error;
}

jvmtiError ResumeThread(Call& call, const In<kinds::Thread>& thread) {
  jvmtiError error = call.env->ResumeThread(thread.c());
  if (error == JVMTI_ERROR_THREAD_NOT_SUSPENDED &&
      resume_before_suspended(call.jni, call.env, thread.c())) {
    error = JVMTI_ERROR_NONE;
  }
  if (error != JVMTI_ERROR_NONE) return error;
  call.session.suspensions.note_resumed(call.jni, thread.c());
  await_leaving(thread.c());
  return error;
}

// For a null item the VM reports an invalid thread in that item's place.
jvmtiError SuspendThreadList(Call& call, const In<List<Nullable<kinds::Thread>>>& threads,
                             jvmtiError* results) {
  jint own = -1;
  for (jint i = 0; i < threads.count(); ++i) {
    jthread thread = threads.items()[i];
    if (thread == nullptr) continue;
    // A service thread of the agent would never come back.
    if (is_service_thread(call.jni, thread)) {
      threads.set_null(i);
    } else if (is_current(call.env, call.jni, thread)) {
      threads.set_null(i);
      own = i;
    }
  }
  Places places(call);
  if (!places.prepare(threads.count(), threads.items())) return JVMTI_ERROR_OUT_OF_MEMORY;
  jvmtiError error = call.env->SuspendThreadList(threads.count(), threads.items(), results);
  if (error != JVMTI_ERROR_NONE) return error;
  places.settle(results);
  if (own >= 0) results[own] = suspend_when_handled(call);
  return error;
}

jvmtiError SuspendAllVirtualThreads(Call& call, const In<List<kinds::Thread>>& except) {
  if (!agent.live) return call.env->SuspendAllVirtualThreads(except.count(), except.items());
  LocalRef<jthread> current = current_thread(call.env, call.jni);
  bool excepted = current == nullptr || !call.jni->IsVirtualThread(current);
  Vector<jthread> spared;
  if (!spared.reserve(static_cast<size_t>(except.count()) + 1)) return JVMTI_ERROR_OUT_OF_MEMORY;
  for (jint i = 0; i < except.count(); ++i) {
    spared.put(except.items()[i]);
    excepted = excepted || call.jni->IsSameObject(current, except.items()[i]);
  }
  if (!excepted) spared.put(current);
  jvmtiError error =
      call.env->SuspendAllVirtualThreads(static_cast<jint>(spared.size()), spared.begin());
  if (error == JVMTI_ERROR_NONE) {
    call.session.suspensions.all_virtual = true;
    if (call.session.ending()) call.session.suspensions.resume_all(call.jni);
    if (!excepted) error = suspend_when_handled(call);
    if (error == JVMTI_ERROR_THREAD_SUSPENDED) error = JVMTI_ERROR_NONE;
  }
  return error;
}

jvmtiError ResumeThreadList(Call& call, const In<List<Nullable<kinds::Thread>>>& threads,
                            jvmtiError* results) {
  jvmtiError error = call.env->ResumeThreadList(threads.count(), threads.items(), results);
  if (error != JVMTI_ERROR_NONE) return error;
  for (jint i = 0; i < threads.count(); ++i) {
    if (results[i] == JVMTI_ERROR_THREAD_NOT_SUSPENDED &&
        resume_before_suspended(call.jni, call.env, threads.items()[i])) {
      results[i] = JVMTI_ERROR_NONE;
    }
  }
  for (jint i = 0; i < threads.count(); ++i) {
    if (results[i] == JVMTI_ERROR_NONE) {
      call.session.suspensions.note_resumed(call.jni, threads.items()[i]);
    }
  }
  for (jint i = 0; i < threads.count(); ++i) {
    if (results[i] == JVMTI_ERROR_NONE) await_leaving(threads.items()[i]);
  }
  return error;
}

namespace {

// What the VM says of threads that have ended: their state, and no frames.
jvmtiError without_frames(Call& call, const In<List<kinds::Thread>>& threads,
                          jvmtiStackInfo** traces) {
  if (jvmtiError error = allocate_list(static_cast<size_t>(threads.count()), traces)) return error;
  for (jint i = 0; i < threads.count(); ++i) {
    jvmtiStackInfo& info = (*traces)[i] = jvmtiStackInfo{};
    info.thread = static_cast<jthread>(call.jni->NewLocalRef(threads.items()[i]));
    call.env->GetThreadState(threads.items()[i], &info.state);
  }
  return JVMTI_ERROR_NONE;
}

}  // namespace

// HotSpot hands the given references back in the records, not new local ones.  Ours are global and
// would be deleted as local references once written, which destroys them.
jvmtiError GetThreadListStackTraces(Call& call, const In<List<kinds::Thread>>& threads,
                                    const In<jint>& most_frames, jvmtiStackInfo** traces) {
  if (jvmtiError error = call.env->GetThreadListStackTraces(threads.count(), threads.items(),
                                                            most_frames.c(), traces))
    return error;
  // Asked for a single thread that is just ending, HotSpot 17 to 25 answer success and nothing.
  if (*traces == nullptr) return without_frames(call, threads, traces);
  for (jint i = 0; i < threads.count(); ++i) {
    jvmtiStackInfo& info = (*traces)[i];
    if (info.thread == threads.items()[i]) {
      info.thread = static_cast<jthread>(call.jni->NewLocalRef(info.thread));
    }
  }
  return JVMTI_ERROR_NONE;
}

// The VM keeps our own record of the environment there, for its callbacks.
jvmtiError GetEnvironmentLocalStorage(Call& call, void** data) {
  *data = reinterpret_cast<void*>(call.environment->storage);
  return JVMTI_ERROR_NONE;
}

jvmtiError SetEnvironmentLocalStorage(Call& call, const In<Stored>& data) {
  call.environment->storage = data.token();
  return JVMTI_ERROR_NONE;
}

// Up to 17 HotSpot lets bits of its own show, 0x0800 for a field with a generic signature.
jvmtiError GetFieldModifiers(Call& call, const In<kinds::Class>& klass,
                             const In<kinds::Field>& field, jint* modifiers) {
  constexpr jint kOfTheClassFileFormat = 0x50DF;
  jvmtiError error = call.env->GetFieldModifiers(klass.c(), field.c(), modifiers);
  if (error == JVMTI_ERROR_NONE) *modifiers &= kOfTheClassFileFormat;
  return error;
}

jvmtiError SetEventNotificationMode(Call& call, const In<jvmtiEventMode>& mode,
                                    const In<jvmtiEvent>& event,
                                    const In<Nullable<kinds::Thread>>& thread) {
  if (event.c() == JVMTI_EVENT_OBJECT_FREE && thread.c() == nullptr) {
    return set_object_free(*call.environment, mode.c());
  }
  return call.env->SetEventNotificationMode(mode.c(), event.c(), thread.c());
}

jvmtiError DisposeEnvironment(Call& call) {
  call.session.environments.dispose(call.environment_number);
  return JVMTI_ERROR_NONE;
}

// Without a value the specification only asks whether the property can be written.  HotSpot copies
// the null; given the value that there is, it looks the same way and changes nothing.
jvmtiError SetSystemProperty(Call& call, const In<Text>& property,
                             const In<Nullable<Text>>& value) {
  if (value.c() != nullptr) return call.env->SetSystemProperty(property.c(), value.c());
  jvmtiPhase phase = JVMTI_PHASE_LIVE;
  if (jvmtiError error = call.env->GetPhase(&phase)) return error;
  if (phase != JVMTI_PHASE_ONLOAD) return JVMTI_ERROR_WRONG_PHASE;
  Deallocated<char> present(agent.env);
  if (jvmtiError error = call.env->GetSystemProperty(property.c(), present.out())) return error;
  if (present == nullptr) return JVMTI_ERROR_NOT_AVAILABLE;
  return call.env->SetSystemProperty(property.c(), present);
}

namespace {

void names_of(uint64_t bits, char* text, size_t capacity) {
  size_t at = 0;
  text[0] = '\0';
  for (unsigned bit = 0; bit < protocol::kCapabilityCount && at < capacity; ++bit) {
    if ((bits >> bit & 1) == 0) continue;
    at += static_cast<size_t>(snprintf(text + at, capacity - at, "%s%s", at == 0 ? "" : ", ",
                                       protocol::kCapabilityNames[bit]));
  }
}

uint64_t bits_of(const jvmtiCapabilities& capabilities) {
  uint64_t bits;
  std::memcpy(&bits, &capabilities, sizeof bits);
  return bits;
}

// Kept by us as well, for those who ask who has what.
void note_capabilities(Call& call) {
  jvmtiCapabilities held{};
  if (call.env->GetCapabilities(&held) == JVMTI_ERROR_NONE) {
    call.environment->capabilities = bits_of(held);
  }
}

}  // namespace

// When the VM refuses, says what is missing and, where another controller of ours has it, who.
jvmtiError AddCapabilities(Call& call, const In<jvmtiCapabilities>& capabilities) {
  if (capabilities.c()->can_pop_frame || capabilities.c()->can_force_early_return) expect_leaving();
  jvmtiError error = call.env->AddCapabilities(capabilities.c());
  note_capabilities(call);
  if (error != JVMTI_ERROR_NOT_AVAILABLE) return error;
  jvmtiCapabilities potential{};
  call.env->GetPotentialCapabilities(&potential);
  uint64_t missing = capabilities.bits() & ~bits_of(potential);
  char names[160];
  names_of(missing, names, sizeof names);
  char holder[256] = "";
  visit_sessions(call.jni, [&](Session& other) {
    if (&other == &call.session || (other.environments.capabilities() & missing) == 0) return;
    snprintf(holder, sizeof holder, "%s", other.name());
  });
  if (holder[0] == '\0' && (call.session.environments.capabilities() & missing) != 0) {
    snprintf(holder, sizeof holder, "another environment of this session");
  }
  bool held = holder[0] != '\0';
  return call.refuse(error, "%s%s%s", names, held ? ": held by " : "", holder);
}

jvmtiError RelinquishCapabilities(Call& call, const In<jvmtiCapabilities>& capabilities) {
  jvmtiError error = call.env->RelinquishCapabilities(capabilities.c());
  note_capabilities(call);
  return error;
}

jvmtiError GetJNIFunctionTable(Call& call, jint* count, void*** entries) {
  jniNativeInterface* table = nullptr;
  if (jvmtiError error = call.env->GetJNIFunctionTable(&table)) return error;
  // The VM's own copy is as long as its version's table; the four reserved entries are null.
  *count = static_cast<jint>(slots_of(call.jni));
  *entries = reinterpret_cast<void**>(table);
  return JVMTI_ERROR_NONE;
}

namespace {

// The VM says which rule a new class file breaks, but not whose it is: what may be meant is named.
template <class ClassAt>
jvmtiError name_classes(Call& call, jvmtiError error, jint count, ClassAt class_at) {
  if (error < JVMTI_ERROR_INVALID_CLASS_FORMAT || error > JVMTI_ERROR_UNMODIFIABLE_MODULE) {
    return error;
  }
  char names[256] = "";
  size_t length = 0;
  for (jint i = 0; i < count && length < sizeof names; ++i) {
    char name[sizeof names];
    if (!class_name(call.env, class_at(i), name, sizeof name)) continue;
    length += static_cast<size_t>(
        snprintf(names + length, sizeof names - length, "%s%s", length == 0 ? "" : ", ", name));
  }
  return call.refuse(error, count == 1 ? "class %s" : "one of the classes %s", names);
}

}  // namespace

jvmtiError SetBreakpoint(Call& call, const In<kinds::Method>& method,
                         const In<jlocation>& location) {
  return guard::set_breakpoint(call, method.c(), location.c());
}

jvmtiError ClearBreakpoint(Call& call, const In<kinds::Method>& method,
                           const In<jlocation>& location) {
  ClassChange change;
  return call.env->ClearBreakpoint(method.c(), location.c());
}

jvmtiError RedefineClasses(Call& call, const In<List<jvmtiClassDefinition>>& definitions) {
  jvmtiError error;
  {
    ClassChange change;
    for (jint i = 0; i < definitions.count(); ++i) {
      leave_class_archive(call.env, definitions.items()[i].klass);
    }
    error = call.env->RedefineClasses(definitions.count(), definitions.items());
    if (error == JVMTI_ERROR_NONE) {
      note_redefined(call.env, call.jni, definitions.items(), definitions.count());
    }
  }
  return name_classes(call, error, definitions.count(),
                      [&](jint i) { return definitions.items()[i].klass; });
}

jvmtiError RetransformClasses(Call& call, const In<List<kinds::Class>>& classes) {
  jvmtiError error;
  {
    ClassChange change;
    for (jint i = 0; i < classes.count(); ++i) {
      leave_class_archive(call.env, classes.items()[i]);
    }
    error = retransform_classes(call.env, call.jni, classes.items(), classes.count());
  }
  return name_classes(call, error, classes.count(), [&](jint i) { return classes.items()[i]; });
}

}  // namespace jvmti::overrides
