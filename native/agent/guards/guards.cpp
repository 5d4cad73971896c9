#include "agent/guards/guards.h"

#include <atomic>

#include "agent/core/class_changes.h"
#include "agent/engines/threads/leave_frame.h"
#include "agent/events/events.h"
#include "agent/guards/method_details.h"

namespace jvmti::guard {

bool suspend_thread(Call& call, const ThreadOrCurrent& thread) {
  if (call.jni == nullptr) return true;  // the VM says itself that it is too early
  LocalRef<jthread> current(call.jni);
  if (thread.c() == nullptr) call.env->GetCurrentThread(current.out());
  return !is_service_thread(call.jni, thread.c() == nullptr ? current : thread.c()) ||
         call.refuse(JVMTI_ERROR_INVALID_THREAD,
                     "this is a service thread of the agent, which would never come back");
}

bool stop_thread(Call& call, const In<kinds::Thread>& thread, const In<kinds::Object>& exception) {
  if (kind_of_object(call.jni, exception.c()) != kinds::Throwable::kind) {
    return call.refuse(JVMTI_ERROR_INVALID_OBJECT, "the exception is not a java.lang.Throwable");
  }
  return interrupt_thread(call, thread);
}

bool interrupt_thread(Call& call, const In<kinds::Thread>& thread) {
  if (is_service_thread(call.jni, thread.c())) {
    return call.refuse(JVMTI_ERROR_INVALID_THREAD, "this is a service thread of the agent");
  }
  return true;
}

namespace {

// The VM sizes its buffers by the maximum asked for, so that is brought down to what there is.
constexpr jint kModestDepth = 1024;

bool limit_to_deepest(Call& call, const jthread* threads, jint count, Depth& maximum) {
  if (maximum.c() <= kModestDepth) return true;
  jint deepest = kModestDepth;
  for (jint i = 0; i < count; ++i) {
    jint depth = 0;
    bool known = call.env->GetFrameCount(threads[i], &depth) == JVMTI_ERROR_NONE;
    if (known && depth > deepest) deepest = depth;
  }
  if (maximum.c() > deepest) maximum.set(deepest);
  return true;
}

}  // namespace

bool limit_frames(Call& call, const ThreadOrCurrent& thread, const Depth&, Depth& maximum) {
  const jthread one = thread.c();
  return limit_to_deepest(call, &one, 1, maximum);
}

bool limit_frames(Call& call, const In<List<kinds::Thread>>& threads, Depth& maximum) {
  return limit_to_deepest(call, threads.items(), threads.count(), maximum);
}

bool limit_frames(Call& call, Depth& maximum) {
  if (maximum.c() <= kModestDepth || call.jni == nullptr) return true;
  LocalRefs<jthread> threads(agent.env, call.jni);
  jvmtiError error = call.env->GetAllThreads(threads.count_out(), threads.out());
  if (error != JVMTI_ERROR_NONE) return call.refuse(error);
  return limit_to_deepest(call, threads.begin(), threads.count(), maximum);
}

jvmtiError set_breakpoint(Call& call, jmethodID method, jlocation location) {
  constexpr int kLongest = 10 * 1000;  // milliseconds
  if (!held(call.env).can_generate_breakpoint_events) {
    return call.env->SetBreakpoint(method, location);  // the VM refuses it itself
  }
  const MethodDetails* details = details_of(call, method);
  if (details == nullptr) return call.outcome();
  if ((details->modifiers & kAccNative) != 0) {
    return call.refuse(JVMTI_ERROR_NATIVE_METHOD, "%s is native and has no bytecodes",
                       details->name.get());
  }
  ClassChange change(kLongest);
  if (!change.has_turn()) {
    return call.refuse(JVMTI_ERROR_INTERNAL,
                       "classes have been changing for 10 s, and a breakpoint cannot be set "
                       "meanwhile: try again");
  }
  Code code;
  if (!code.fetch(call, method)) return call.outcome();
  if (!code.starts_at(location)) {
    return call.refuse(JVMTI_ERROR_INVALID_LOCATION, "no instruction of %s starts at %lld",
                       details->name.get(), static_cast<long long>(location));
  }
  return call.env->SetBreakpoint(method, location);
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
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "item %d is 0, which is not a tag", i);
  }
  return true;
}

// An archive of shared classes has the class objects of all its classes, and some objects of it
// refer to them.  HotSpot crashes where it asks for the loader of one that is not loaded, or
// initialises it. Every loaded class, array and primitive type is in a module, from the live phase
// on.
bool is_loaded(Call& call, jclass klass) {
  if (!agent.live || call.jni->ExceptionCheck()) return true;
  static std::atomic<jfieldID> module{nullptr};
  jfieldID field = module;
  if (field == nullptr) {
    LocalRef<jclass> type(call.jni, call.jni->GetObjectClass(klass));
    if (type != nullptr) field = call.jni->GetFieldID(type, "module", "Ljava/lang/Module;");
    if (field == nullptr) {
      call.jni->ExceptionClear();
      return true;
    }
    module = field;
  }
  LocalRef<jobject> found(call.jni, call.jni->GetObjectField(klass, field));
  if (found != nullptr) return true;
  return call.refuse(JVMTI_ERROR_INVALID_CLASS,
                     "the class is in the VM's archive of shared classes, and is not loaded");
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
  if (declaring != nullptr && call.jni->IsAssignableFrom(klass.c(), declaring)) return true;
  return call.refuse(JVMTI_ERROR_INVALID_FIELDID, "the field is not one of the class");
}

bool pop_frame(Call& call, const In<kinds::Thread>& thread) {
  if (!FixedFrames::hold(thread.c(), true)) return true;
  return call.refuse(
      JVMTI_ERROR_OPAQUE_FRAME,
      "the thread is in a handler of an event that is sent while the VM is at work in the "
      "frame, or leaves it");
}

bool force_early_return(Call& call, jthread thread) {
  if (!FixedFrames::hold(thread, false)) return true;
  return call.refuse(
      JVMTI_ERROR_OPAQUE_FRAME,
      "the thread is in a handler of an event that is sent while the VM is at work in the "
      "frame");
}

}  // namespace jvmti::guard
