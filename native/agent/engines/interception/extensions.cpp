// Functions and events of the VM's own: their parameters are known only when the VM lists them.

#include "agent/core/engine.h"
#include "agent/engines/interception/jni_values.h"
#include "agent/events/delivery.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

constexpr int kExtensionEvent = layouts::Opening::kExtensionEvent;
constexpr int kMost = 8;           // events and parameters
constexpr int64_t kLimit = 10000;  // milliseconds that the event's thread waits

// What the VM said of its events; never freed, because a callback may still run.
struct ExtensionEvent {
  jint index;
  jint count;
  jvmtiParamKind kinds[kMost];
  jvmtiParamTypes types[kMost];
};
Mutex mutex{Guards::kLists};
ExtensionEvent events[kMost];
std::atomic<int> event_count{0};

bool is_object(jvmtiParamTypes type) {
  return type == JVMTI_TYPE_JOBJECT || type == JVMTI_TYPE_JTHREAD || type == JVMTI_TYPE_JCLASS;
}

// What the VM lists of its extensions, with all that hangs on it.
template <class Info>
class Extensions {
 public:
  explicit Extensions(jvmtiEnv* env) : env_(env), infos_(env) {}
  ~Extensions() {
    for (const Info& info : *this) {
      deallocate(env_, info.id);
      deallocate(env_, info.short_description);
      for (jint i = 0; i < info.param_count; ++i) deallocate(env_, info.params[i].name);
      deallocate(env_, info.params);
      if constexpr (std::is_same<Info, jvmtiExtensionFunctionInfo>::value) {
        deallocate(env_, info.errors);
      }
    }
  }
  jint* count_out() { return &count_; }
  Info** out() { return infos_.out(); }
  const Info* begin() const { return infos_; }
  const Info* end() const { return infos_ + count_; }

 private:
  jvmtiEnv* env_;
  Deallocated<Info> infos_;
  jint count_ = 0;
};

void learn_events(jvmtiEnv* env) {
  ExtensionEvent learned[kMost] = {};
  int known = 0;
  Extensions<jvmtiExtensionEventInfo> found(env);
  if (env->GetExtensionEvents(found.count_out(), found.out()) != JVMTI_ERROR_NONE) return;
  for (const jvmtiExtensionEventInfo& info : found) {
    if (known == kMost || info.param_count > kMost) continue;
    ExtensionEvent& event = learned[known++];
    event.index = info.extension_event_index;
    event.count = info.param_count;
    for (jint k = 0; k < info.param_count; ++k) {
      event.kinds[k] = info.params[k].kind;
      event.types[k] = info.params[k].base_type;
    }
  }
  Locked locked(mutex);
  if (event_count > 0) return;  // another thread was first
  std::memcpy(events, learned, sizeof events);
  event_count = known;
}

void deliver(EventScope& scope, const ExtensionEvent& event, va_list given) {
  Delivery it(scope, nullptr, kExtensionEvent, kExtensionEvent, kLimit);
  if (!it.ready()) return;
  it.number(event.index);
  JniValues values(it.call(), it.payload(), Owner::kInstance);
  for (jint i = 0; i < event.count; ++i) {
    jvmtiParamTypes type = event.types[i];
    if (event.kinds[i] != JVMTI_KIND_IN) {
      const void* pointer = va_arg(given, const void*);
      if (type == JVMTI_TYPE_JNIENV) continue;
      if (type == JVMTI_TYPE_CCHAR) {
        values.put(static_cast<const char*>(pointer));
      } else {
        values.put(pointer);
      }
    } else if (is_object(type)) {
      values.put(va_arg(given, jobject));
    } else if (type == JVMTI_TYPE_JMETHODID) {
      values.put(va_arg(given, jmethodID));
    } else if (type == JVMTI_TYPE_JFLOAT || type == JVMTI_TYPE_JDOUBLE) {
      values.put(va_arg(given, double));
    } else if (type == JVMTI_TYPE_JLONG) {
      values.put(va_arg(given, jlong));
    } else {
      values.put(va_arg(given, jint));
    }
  }
  it.ask();
}

template <int slot>
void JNICALL on_extension_event(jvmtiEnv* env, ...) {
  EventScope scope(EventScope::environment_of(env), nullptr, [](const Environment& environment) {
    JNIEnv* jni = nullptr;
    // A thread that is none of Java's reports while the VM is stopped (ClassUnload up to 15), when
    // the thread cannot wait for an answer.
    return (environment.extension_events & 1u << slot) != 0 &&
           agent.vm->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_1_6) == JNI_OK &&
           !Serving::retired() && Serving::of(environment.session) == nullptr;
  });
  if (!scope) return;
  va_list given;
  va_start(given, env);
  deliver(scope, events[slot], given);
  va_end(given);
}

constexpr jvmtiExtensionEvent kCallbacks[kMost] = {
    on_extension_event<0>, on_extension_event<1>, on_extension_event<2>, on_extension_event<3>,
    on_extension_event<4>, on_extension_event<5>, on_extension_event<6>, on_extension_event<7>};

}  // namespace

// From now on nothing of the environment's extension events reaches the controller.
static void silence_extensions(Environment& environment) {
  jvmtiEnv* env = environment.env;
  for (int slot = 0; slot < event_count; ++slot) {
    if ((environment.extension_events & 1u << slot) == 0 || env == nullptr) continue;
    env->SetExtensionEventCallback(events[slot].index, nullptr);
  }
  environment.extension_events = 0;
}

namespace overrides {

jvmtiError SetExtensionEventCallback(Call& call, const In<jint>& index,
                                     const In<Callback>& callback) {
  int slot = 0;
  if (event_count == 0) learn_events(call.env);
  {
    Locked locked(mutex);
    while (slot < event_count && events[slot].index != index.c()) ++slot;
  }
  if (slot == event_count) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  uint32_t bit = 1u << slot;
  if (callback) {
    call.environment->extension_events |= bit;
  } else {
    call.environment->extension_events &= ~bit;
  }
  jvmtiError error =
      call.env->SetExtensionEventCallback(index.c(), callback ? kCallbacks[slot] : nullptr);
  // From 21 on the event must be switched on besides; before, its number is none of an event.
  if (error == JVMTI_ERROR_NONE) {
    call.env->SetEventNotificationMode(callback ? JVMTI_ENABLE : JVMTI_DISABLE,
                                       static_cast<jvmtiEvent>(index.c()), nullptr);
  }
  return error;
}

}  // namespace overrides

namespace operations {

namespace {

// Parameters travel as whole registers, which is how the processors that we build for pass what is
// no floating-point number.
struct Passed {
  int count = -1;
  uint64_t values[kMost] = {};
  uint64_t out[kMost] = {};
  jvmtiParamTypes types[kMost] = {};  // of results, else 0
};

// One that goes in, by what its function says of it.
uint64_t argument_of(Call& call, const jvmtiParamInfo& parameter, In<Arguments>& arguments,
                     uint32_t number) {
  jvmtiParamTypes type = parameter.base_type;
  if (number >= arguments.count()) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s is missing", parameter.name);
    return 0;
  }
  if (is_object(type) != (arguments.type(number) == 'L')) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s is of another type", parameter.name);
    return 0;
  }
  jvalue value = arguments.value(number);
  if (is_object(type) && value.l == nullptr && !parameter.null_ok) {
    call.refuse(JVMTI_ERROR_NULL_POINTER, "%s is null", parameter.name);
  } else if (type == JVMTI_TYPE_JTHREAD && value.l != nullptr &&
             kind_of_object(call.jni, value.l) != kinds::Thread::kind) {
    call.refuse(JVMTI_ERROR_INVALID_THREAD, "%s is not a thread", parameter.name);
  } else if (type == JVMTI_TYPE_JCLASS && value.l != nullptr &&
             kind_of_object(call.jni, value.l) != kinds::Class::kind) {
    call.refuse(JVMTI_ERROR_INVALID_CLASS, "%s is not a class", parameter.name);
  }
  return static_cast<uint64_t>(value.j);
}

// What a function of these parameters is given.
void pass_all(Call& call, const jvmtiExtensionFunctionInfo& info, In<Arguments>& arguments,
              Passed* passed) {
  uint32_t given = 0;
  passed->count = info.param_count;
  for (int k = 0; k < passed->count && !call.refused(); ++k) {
    const jvmtiParamInfo& parameter = info.params[k];
    jvmtiParamTypes type = parameter.base_type;
    bool real = type == JVMTI_TYPE_JFLOAT || type == JVMTI_TYPE_JDOUBLE;
    if (parameter.kind == JVMTI_KIND_OUT && !real) {
      passed->types[k] = type;
      passed->values[k] = reinterpret_cast<uint64_t>(&passed->out[k]);
    } else if (parameter.kind != JVMTI_KIND_IN || real) {
      call.refuse(JVMTI_ERROR_NOT_AVAILABLE, "%s: parameters of this kind cannot be passed",
                  parameter.name);
    } else {
      passed->values[k] = argument_of(call, parameter, arguments, given++);
    }
  }
  if (!call.refused() && given < arguments.count()) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "it takes %u arguments", given);
  }
}

}  // namespace

jvmtiError CallExtensionFunction(Call& call, const In<kinds::ExtensionFunction>& function,
                                 const In<Arguments>& arguments, jint* count,
                                 unsigned char** bytes) {
  Passed passed;
  {
    Extensions<jvmtiExtensionFunctionInfo> found(call.env);
    if (jvmtiError error = call.env->GetExtensionFunctions(found.count_out(), found.out()))
      return error;
    for (const jvmtiExtensionFunctionInfo& info : found) {
      if (info.func != function.c() || info.param_count > kMost) continue;
      pass_all(call, info, const_cast<In<Arguments>&>(arguments), &passed);
      break;
    }
  }
  if (passed.count < 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  if (call.refused()) return JVMTI_ERROR_NONE;
  const uint64_t* in = passed.values;
  if (jvmtiError error =
          function.c()(call.env, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]))
    return error;
  Writer results;
  JniValues values(call, results, Owner::kInstance);
  for (int k = 0; k < passed.count; ++k) {
    uint64_t out = passed.out[k];
    if (passed.types[k] == 0) continue;
    if (is_object(passed.types[k])) {
      LocalRef<> object(call.jni, reinterpret_cast<jobject>(out));
      values.put(object.get());
    } else if (passed.types[k] == JVMTI_TYPE_JBOOLEAN) {
      values.put(static_cast<jboolean>(out));
    } else if (passed.types[k] == JVMTI_TYPE_JINT) {
      values.put(static_cast<jint>(out));
    } else {
      values.put(static_cast<jlong>(out));
    }
  }
  return give(results.data(), results.size(), count, bytes);
}

}  // namespace operations
extern const Engine kExtensionEngine{silence_extensions, nullptr, nullptr, nullptr};

}  // namespace jvmti
