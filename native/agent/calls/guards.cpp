#include "agent/calls/guards.h"

#include <atomic>

#include "agent/calls/method_details.h"
#include "agent/engines/threads/leave_frame.h"
#include "agent/events/events.h"

namespace jvmti {
namespace guard {

bool suspend_thread(Call& call, const ThreadOrCurrent& thread) {
  if (call.jni == nullptr) return true;  // the VM says itself that it is too early
  LocalRef<jthread> current(call.jni);
  if (thread.c() == nullptr) call.env->GetCurrentThread(current.out());
  bool service = is_service_thread(call.jni, thread.c() == nullptr ? current : thread.c());
  if (service) {
    call.refuse(JVMTI_ERROR_INVALID_THREAD,
                "this is a service thread of the agent, which would never come back");
  }
  return !service;
}

bool stop_thread(Call& call, const In<kinds::Thread>& thread, const In<kinds::Object>& exception) {
  if (kind_of_object(call.jni, exception.c()) != kinds::Throwable::kind) {
    call.refuse(JVMTI_ERROR_INVALID_OBJECT, "the exception is not a java.lang.Throwable");
    return false;
  }
  return interrupt_thread(call, thread);
}

bool interrupt_thread(Call& call, const In<kinds::Thread>& thread) {
  if (is_service_thread(call.jni, thread.c())) {
    call.refuse(JVMTI_ERROR_INVALID_THREAD, "this is a service thread of the agent");
    return false;
  }
  return true;
}

namespace {

// The VM sizes its buffers by the maximum asked for, so that is brought down to what there is.
constexpr jint kModestDepth = 1024;

void limit_to(Call& call, jthread thread, jint* deepest) {
  jint depth = 0;
  if (call.env->GetFrameCount(thread, &depth) == JVMTI_ERROR_NONE && depth > *deepest) {
    *deepest = depth;
  }
}

}  // namespace

bool limit_frames(Call& call, const ThreadOrCurrent& thread, const Depth&, Depth& maximum) {
  if (maximum.c() > kModestDepth) {
    jint deepest = kModestDepth;
    limit_to(call, thread.c(), &deepest);
    if (maximum.c() > deepest) maximum.set(deepest);
  }
  return true;
}

bool limit_frames(Call& call, const In<List<kinds::Thread>>& threads, Depth& maximum) {
  if (maximum.c() > kModestDepth) {
    jint deepest = kModestDepth;
    for (jint i = 0; i < threads.count(); ++i) limit_to(call, threads.items()[i], &deepest);
    if (maximum.c() > deepest) maximum.set(deepest);
  }
  return true;
}

bool limit_frames(Call& call, Depth& maximum) {
  if (maximum.c() <= kModestDepth || call.jni == nullptr) return true;
  LocalRefs<jthread> threads(agent.env, call.jni);
  jvmtiError error = call.env->GetAllThreads(threads.count_out(), threads.out());
  if (error != JVMTI_ERROR_NONE) {
    call.refuse(error);
    return false;
  }
  jint deepest = kModestDepth;
  for (jthread thread : threads) limit_to(call, thread, &deepest);
  if (maximum.c() > deepest) maximum.set(deepest);
  return true;
}

bool set_breakpoint(Call& call, const In<kinds::Method>& method, const In<jlocation>& location) {
  jvmtiCapabilities held{};
  call.env->GetCapabilities(&held);
  if (!held.can_generate_breakpoint_events) return true;  // the VM says so itself
  const MethodDetails* details = details_of(call, method.record());
  if (details == nullptr) return false;
  if ((details->modifiers & kAccNative) != 0) {
    call.refuse(JVMTI_ERROR_NATIVE_METHOD, "%s is native and has no bytecodes",
                details->name.get());
    return false;
  }
  Code code;
  if (!code.fetch(call, method.c())) return false;
  if (!code.starts_at(location.c())) {
    call.refuse(JVMTI_ERROR_INVALID_LOCATION, "no instruction of %s starts at %lld",
                details->name.get(), static_cast<long long>(location.c()));
    return false;
  }
  return true;
}

// HotSpot takes every mode but JVMTI_ENABLE for JVMTI_DISABLE, and numbers between those of events,
// and of its own extension events, for events.
bool event_mode(Call& call, const In<jvmtiEventMode>& mode, const In<jvmtiEvent>& event,
                const ThreadOrCurrent&) {
  if (mode.c() != JVMTI_ENABLE && mode.c() != JVMTI_DISABLE) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%d is not an event mode", mode.c());
  } else if (!is_event(event.c())) {
    call.refuse(JVMTI_ERROR_INVALID_EVENT_TYPE, "%d is the number of no event", event.c());
  }
  return !call.refused();
}

// HotSpot looks for 0 as for any other tag and finds nothing.
bool tags_to_find(Call& call, const In<List<jlong>>& tags) {
  for (jint i = 0; i < tags.count(); ++i) {
    if (tags.items()[i] != 0) continue;
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "item %d is 0, which is not a tag", i);
    return false;
  }
  return true;
}

// An archive of shared classes has the mirrors of all its classes, and some objects of it refer to
// them.  HotSpot crashes where it asks for the loader of one that is not loaded, or initialises it.
// Every loaded class, array and primitive type is in a module, from the live phase on.
bool is_loaded(Call& call, jclass klass) {
  if (!agent.live || call.jni->ExceptionCheck()) return true;
  static std::atomic<jfieldID> module{nullptr};
  jfieldID field = module;
  if (field == nullptr) {
    LocalRef<jclass> type(call.jni, call.jni->GetObjectClass(klass));
    field = call.jni->GetFieldID(type, "module", "Ljava/lang/Module;");
    if (field == nullptr) {
      call.jni->ExceptionClear();
      return true;
    }
    module = field;
  }
  LocalRef<jobject> found(call.jni, call.jni->GetObjectField(klass, field));
  if (found != nullptr) return true;
  call.refuse(JVMTI_ERROR_INVALID_CLASS,
              "the class is in the VM's archive of shared classes, and is not loaded");
  return false;
}

bool loaded_classes(Call& call, const In<List<kinds::Class>>& classes) {
  for (jint i = 0; i < classes.count(); ++i) {
    if (!is_loaded(call, classes.items()[i])) return false;
  }
  return true;
}

bool classes_to_redefine(Call& call, const In<List<jvmtiClassDefinition>>& definitions) {
  for (jint i = 0; i < definitions.count(); ++i) {
    if (!is_loaded(call, definitions.items()[i].klass)) return false;
  }
  return true;
}

// A jfieldID is only an offset to the VM: with a class that does not have the field it would name
// another field, or none.
bool field_of_class(Call& call, const In<kinds::Class>& klass, const In<kinds::Field>& field) {
  LocalRef<jclass> declaring = class_behind(call.jni, field.record()->klass);
  bool belongs = declaring != nullptr && call.jni->IsAssignableFrom(klass.c(), declaring);
  if (!belongs) call.refuse(JVMTI_ERROR_INVALID_FIELDID, "the field is not one of the class");
  return belongs;
}

bool pop_frame(Call& call, const In<kinds::Thread>& thread) {
  if (!FixedFrames::hold(thread.c(), true)) return true;
  call.refuse(JVMTI_ERROR_OPAQUE_FRAME,
              "the thread is in a handler of an event that is sent while the VM is at work in the "
              "frame, or leaves it");
  return false;
}

bool force_early_return(Call& call, jthread thread) {
  if (!FixedFrames::hold(thread, false)) return true;
  call.refuse(JVMTI_ERROR_OPAQUE_FRAME,
              "the thread is in a handler of an event that is sent while the VM is at work in the "
              "frame");
  return false;
}

}  // namespace guard
}  // namespace jvmti
