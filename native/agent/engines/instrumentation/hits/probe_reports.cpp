// What a probe reports as an event of JVM TI: it calls the environments' callbacks, as the VM does
// for events of its own.

#include <optional>

#include "agent/engines/instrumentation/code_moves.h"
#include "agent/engines/instrumentation/hits/step_gate.h"
#include "agent/engines/instrumentation/probe_set.h"
#include "agent/events/events.h"
#include "agent/handles/agent_references.h"
#include "agent/handles/field_values.h"
#include "agent/sessions/session.h"
#include "generated/probe_helper.h"

namespace jvmti {

// Environments that stay while their callbacks run, and with them their session.
class Receivers : NoCopy {
 public:
  ~Receivers() { leave(nullptr); }
  // False without memory.
  bool take(Session& session, const Vector<uint32_t>& numbers) {
    if (!all_.reserve(numbers.size() + 1)) return false;
    for (uint32_t number : numbers) {
      Environment* found = session.environments.enter(number);
      if (found == nullptr) continue;
      found->in_flight.fetch_add(1);
      all_.put(found);
    }
    return true;
  }
  // After this the session may be gone.
  void leave(JNIEnv* jni) {
    for (Environment* one : all_) {
      one->session->environments.leave(jni, one);
      one->in_flight.fetch_sub(1);
    }
    all_.clear();
  }
  bool empty() const { return all_.empty(); }
  Environment** begin() { return all_.begin(); }
  Environment** end() { return all_.end(); }
  bool have_handlers(int event) const {
    for (Environment* one : all_) {
      if (one->taps[event - kFirstEvent].bits != 0) return true;
    }
    return false;
  }

 private:
  Vector<Environment*> all_;
};

namespace {

constexpr jint kReferences = 32;  // that the callbacks of an event make

// Everything that the callbacks may be called with.
struct Happened {
  jthread thread;
  jmethodID method;
  jlocation location;
  bool is_exceptional;
  jvalue value;
  char type;
  jclass klass;
  jfieldID field;
  jobject object;
};

void call(Environment& environment, JNIEnv* jni, int event, const Happened& it) {
  jvmtiEnv* env = environment.env;
  jvmtiEventCallbacks callbacks{};
  if (env == nullptr || environment.muted) return;
  fill_callbacks(&callbacks, environment.taps);
  jboolean exceptional = it.is_exceptional ? JNI_TRUE : JNI_FALSE;
  switch (event) {
    case JVMTI_EVENT_BREAKPOINT:
      if (callbacks.Breakpoint != nullptr)
        callbacks.Breakpoint(env, jni, it.thread, it.method, it.location);
      break;
    case JVMTI_EVENT_SINGLE_STEP:
      if (callbacks.SingleStep != nullptr)
        callbacks.SingleStep(env, jni, it.thread, it.method, it.location);
      break;
    case JVMTI_EVENT_METHOD_ENTRY:
      if (callbacks.MethodEntry != nullptr) callbacks.MethodEntry(env, jni, it.thread, it.method);
      break;
    case JVMTI_EVENT_METHOD_EXIT:
      if (callbacks.MethodExit != nullptr)
        callbacks.MethodExit(env, jni, it.thread, it.method, exceptional, it.value);
      break;
    case JVMTI_EVENT_FRAME_POP:
      if (callbacks.FramePop != nullptr)
        callbacks.FramePop(env, jni, it.thread, it.method, exceptional);
      break;
    case JVMTI_EVENT_FIELD_ACCESS:
      if (callbacks.FieldAccess != nullptr) {
        callbacks.FieldAccess(env, jni, it.thread, it.method, it.location, it.klass, it.object,
                              it.field);
      }
      break;
    case JVMTI_EVENT_FIELD_MODIFICATION:
      if (callbacks.FieldModification != nullptr) {
        callbacks.FieldModification(env, jni, it.thread, it.method, it.location, it.klass,
                                    it.object, it.field, it.type, it.value);
      }
      break;
    case JVMTI_EVENT_EXCEPTION:
      // Whether it will be caught is not known yet.
      if (callbacks.Exception != nullptr) {
        callbacks.Exception(env, jni, it.thread, it.method, it.location, it.object, nullptr, 0);
      }
      break;
    case JVMTI_EVENT_EXCEPTION_CATCH:
      if (callbacks.ExceptionCatch != nullptr) {
        callbacks.ExceptionCatch(env, jni, it.thread, it.method, it.location, it.object);
      }
      break;
    default:
      break;
  }
}

// A value in a box of a type as in a descriptor; objects are in none.
jvalue unboxed(JNIEnv* jni, jobject box, char type) {
  const char* letter = type == '\0' ? nullptr : std::strchr(kBoxTypes, type);
  jvalue value{};
  if (letter == nullptr) value.l = box;
  if (letter == nullptr || box == nullptr) return value;
  return field_value(jni, box, known_fields.boxed[letter - kBoxTypes], type);
}

// The version of a method that is called by now: a frame may be in one from before its class got
// other probes.
jmethodID current_version(jvmtiEnv* env, JNIEnv* jni, jmethodID method) {
  jboolean is_obsolete = JNI_FALSE;
  if (env->IsMethodObsolete(method, &is_obsolete) != JVMTI_ERROR_NONE || !is_obsolete) {
    return method;
  }
  Deallocated<char> name(env);
  Deallocated<char> descriptor(env);
  LocalRef<jclass> klass(jni);
  jint modifiers = 0;
  if (env->GetMethodName(method, name.out(), descriptor.out(), nullptr) != JVMTI_ERROR_NONE ||
      env->GetMethodDeclaringClass(method, klass.out()) != JVMTI_ERROR_NONE ||
      env->GetMethodModifiers(method, &modifiers) != JVMTI_ERROR_NONE) {
    return method;
  }
  constexpr jint kStatic = 0x0008;
  jmethodID found = (modifiers & kStatic) != 0 ? jni->GetStaticMethodID(klass, name, descriptor)
                                               : jni->GetMethodID(klass, name, descriptor);
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  return found == nullptr ? method : found;
}

// What an event brings besides its place: it is behind the first place of the array.
void bring(JNIEnv* jni, jobjectArray values, const ProbeEvents::Site& place,
           const ProbeEvents::Field& field, Happened* it) {
  auto item = [&](jsize at) { return jni->GetObjectArrayElement(values, at); };
  it->is_exceptional = place.is_exceptional;
  switch (place.event) {
    case JVMTI_EVENT_METHOD_EXIT:
      if (!place.is_exceptional && place.type != 'V') it->value = unboxed(jni, item(1), place.type);
      break;
    case JVMTI_EVENT_FIELD_MODIFICATION:
      it->type = field.type;
      it->value = unboxed(jni, item(2), field.type);
      [[fallthrough]];
    case JVMTI_EVENT_FIELD_ACCESS:
      it->field = field.id;
      it->object = item(1);
      break;
    case JVMTI_EVENT_EXCEPTION:
    case JVMTI_EVENT_EXCEPTION_CATCH:
      it->object = item(1);
      break;
    default:
      break;
  }
}

// The value that a method is made to return: narrow numbers are in a box of int there.
jvalue forced(JNIEnv* jni, jobjectArray values, char type) {
  LocalRef<jobjectArray> left(jni, jni->GetObjectArrayElement(values, 0));
  jvalue value{};
  if (left == nullptr || type == 'V') return value;
  bool is_narrow = type != '\0' && std::strchr("ZBCS", type) != nullptr;
  value = unboxed(jni, jni->GetObjectArrayElement(left, 0), is_narrow ? 'I' : type);
  jint number = value.i;
  if (type == 'Z') value.z = number & 1 ? JNI_TRUE : JNI_FALSE;
  if (type == 'B') value.b = static_cast<jbyte>(number);
  if (type == 'C') value.c = static_cast<jchar>(number);
  if (type == 'S') value.s = static_cast<jshort>(number);
  return value;
}

// Frames of the thread, without those of the helper.
jint frame_count(jvmtiEnv* env) {
  jint frames = 0;
  env->GetFrameCount(nullptr, &frames);
  return frames - kHelperFrames;
}

}  // namespace

jint frames_of_probe(jvmtiEnv* env, JNIEnv* jni, jthread thread) {
  jvmtiFrameInfo top[kHelperFrames + 1];
  if (walk_stack(env, thread, 0, top, kHelperFrames + 1) <= kHelperFrames) return 0;
  auto is_of = [&](jmethodID method, const char* name) {
    LocalRef<jclass> klass(jni);
    Deallocated<char> signature(env);
    return env->GetMethodDeclaringClass(method, klass.out()) == JVMTI_ERROR_NONE &&
           env->GetClassSignature(klass, signature.out(), nullptr) == JVMTI_ERROR_NONE &&
           std::strncmp(signature + 1, name, std::strlen(name)) == 0 &&
           signature[1 + std::strlen(name)] == ';';
  };
  for (jint i = 0; i < kHelperFrames; ++i) {
    if (!is_of(top[i].method, kProbeHelper)) return 0;
  }
  // Of one that is in the constructors of an exception, and its own thread, these are, too.
  bool throws = thread == nullptr && is_of(top[kHelperFrames].method, "java/lang/Throwable");
  return throws ? depth_of_throw(env, jni) : kHelperFrames;
}

void ProbeSet::report(JNIEnv* jni, jobjectArray values, uint32_t number, uint32_t site,
                      bool leaves) {
  if (jni->PushLocalFrame(kReferences) != JNI_OK) return;
  jvmtiEnv* env = agent.env;
  ProbeEvents::Site place{};
  ProbeEvents::Field field{};
  Happened it{};
  Receivers receivers;
  Receivers popping;
  jint depth = kHelperFrames;
  jvmtiFrameInfo frame{};
  bool found = env->GetCurrentThread(&it.thread) == JVMTI_ERROR_NONE;
  if (found) {
    UsedProbes used(number);
    ProbeSet* set = used.get();
    found = set != nullptr && set->active_ &&
            set->find_receivers(jni, site, leaves, it.thread, &place, &field, &receivers, &popping);
    found = found && (!receivers.empty() || !popping.empty());
    if (found && place.event == JVMTI_EVENT_EXCEPTION) depth = depth_of_throw(env, jni);
    if (found) frame = frame_at(env, nullptr, depth);
    found = frame.method != nullptr;
    it.location = place.is_end ? kAtEnd - place.location : place.location;
    if (found && place.event == JVMTI_EVENT_EXCEPTION) {
      it.location = frame.location;
      locate_before(env, jni, frame.method, &it.location, 1);
    }
    if (field.klass != nullptr) it.klass = static_cast<jclass>(jni->NewLocalRef(field.klass));
  }
  if (found) {
    it.method = current_version(env, jni, frame.method);
    if (!leaves) bring(jni, values, place, field, &it);
    if (leaves) it.value = forced(jni, values, place.type);
    std::optional<ListedHalt> listed;
    if (receivers.have_handlers(place.event) || popping.have_handlers(JVMTI_EVENT_FRAME_POP)) {
      listed.emplace(jni, it.thread, values, number, site, depth);
    }
    for (Environment* one : receivers) call(*one, jni, place.event, it);
    for (Environment* one : popping) call(*one, jni, JVMTI_EVENT_FRAME_POP, it);
  }
  receivers.leave(jni);
  popping.leave(jni);
  // Not the exception that a handler has thrown: that stays in the thread.
  jni->PopLocalFrame(nullptr);
}

// Environments that get the event of a place, and those that wait for the end of the frame.
bool ProbeSet::find_receivers(JNIEnv* jni, uint32_t site, bool leaves, jthread thread,
                              ProbeEvents::Site* place, ProbeEvents::Field* field,
                              Receivers* receivers, Receivers* popping) {
  Vector<uint32_t> numbers;
  Vector<uint32_t> awaiting;
  bool awaits = false;
  {
    Locked locked(mutex_);
    if (!events_->site(site, place)) return false;
    if (leaves) place->event = JVMTI_EVENT_METHOD_EXIT;
    if (!events_->receivers(jni, place->event, thread, &numbers)) return false;
    awaits = place->event == JVMTI_EVENT_METHOD_EXIT && events_->awaits_pops();
    const ProbeEvents::Field* known = events_->field(place->about);
    if (known != nullptr) *field = *known;
  }
  if (awaits) {
    jint frames = frame_count(agent.env);
    Locked locked(mutex_);
    if (!events_->take_pops(jni, thread, frames, &awaiting)) return false;
  }
  return receivers->take(*session_, numbers) && popping->take(*session_, awaiting);
}

// ---- what environments ask for ------------------------------------------------------------------

const char* ProbeSet::change(JNIEnv* jni, const uint8_t* data, uint64_t size) {
  classfile::Plan* plan = nullptr;
  const char* why = events_->read(data, size, &plan);
  if (why != nullptr) return why;
  bool may_step = false;
  {
    Locked locked(mutex_);
    plan = events_->exchange(plan);
    last_.forget();
    may_step = events_->may_step();
  }
  unmake(plan);
  if (!may_step) need_gate(jni, false);
  return nullptr;
}

void ProbeSet::need_gate(JNIEnv* jni, bool needs) {
  {
    Locked locked(mutex_);
    if (needs_gate_ == needs) return;
    needs_gate_ = needs;
  }
  // Outside the lock, which the hook takes.
  (needs ? open_step_gate : close_step_gate)(env_, jni);
}

jvmtiError ProbeSet::enable(JNIEnv* jni, uint32_t environment, bool on, int event, jthread thread) {
  jvmtiError error = JVMTI_ERROR_NONE;
  {
    Locked locked(mutex_);
    error = events_->enable(jni, environment, on, event, thread);
    serve_receivers();
  }
  if (on && event == JVMTI_EVENT_SINGLE_STEP && error == JVMTI_ERROR_NONE) need_gate(jni, true);
  return error;
}

jvmtiError ProbeSet::watch(JNIEnv* jni, jclass klass, jfieldID field, char type, jint* number) {
  Locked locked(mutex_);
  return events_->watch(jni, klass, field, type, number);
}

void ProbeSet::clear_pops(JNIEnv* jni, uint32_t environment, jthread thread) {
  Locked locked(mutex_);
  events_->clear_pops(jni, environment, thread);
  serve_receivers();
}

void ProbeSet::begin_frame_again(JNIEnv* jni) {
  LocalRef<jthread> thread(jni);
  Vector<uint32_t> sets;
  if (agent.env->GetCurrentThread(thread.out()) != JVMTI_ERROR_NONE) return;
  session_->stop_requests.frame_begins_again(jni, thread);
  if (!session_->probes.find_reporting(&sets)) return;
  jint frames = frame_count(agent.env);
  for (uint32_t number : sets) {
    UsedProbes used(number);
    if (used.get() != nullptr) used.get()->forget_pops(jni, thread, frames);
  }
}

void ProbeSet::forget_pops(JNIEnv* jni, jthread thread, jint frames) {
  Vector<uint32_t> environments;
  Locked locked(mutex_);
  events_->take_pops(jni, thread, frames, &environments);
  serve_receivers();
}

void ProbeSet::forget_environment(JNIEnv* jni, uint32_t environment) {
  Locked locked(mutex_);
  events_->forget_environment(jni, environment);
  serve_receivers();
}

jvmtiError ProbeSet::await_pop(JNIEnv* jni, uint32_t environment, jthread thread,
                               jint from_bottom) {
  Locked locked(mutex_);
  jvmtiError error = events_->await_pop(jni, {environment, thread, from_bottom});
  serve_receivers();
  return error;
}

}  // namespace jvmti
