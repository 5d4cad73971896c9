// Functions and events of the VM's own: their parameters are known only when the VM lists them.

#include "engine.h"

#include "events.h"
#include "jni_values.h"
#include "log.h"
#include "own.h"

namespace jvmti {

namespace {

constexpr int kExtensionEvent = layouts::Opening::kExtensionEvent;
constexpr int kMost = 8;                 // events and parameters
constexpr int64_t kLimit = 10000;        // milliseconds that the event's thread waits

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

void free_parameters(jvmtiParamInfo* parameters, jint count) {
  for (jint i = 0; i < count; ++i) {
    agent.env->Deallocate(reinterpret_cast<unsigned char*>(parameters[i].name));
  }
  agent.env->Deallocate(reinterpret_cast<unsigned char*>(parameters));
}

void learn_events(jvmtiEnv* env) {
  ExtensionEvent learned[kMost] = {};
  int known = 0;
  jint count = 0;
  jvmtiExtensionEventInfo* found = nullptr;
  if (env->GetExtensionEvents(&count, &found) != JVMTI_ERROR_NONE) return;
  for (jint i = 0; i < count; ++i) {
    jvmtiExtensionEventInfo& info = found[i];
    if (known < kMost && info.param_count <= kMost) {
      ExtensionEvent& event = learned[known++];
      event.index = info.extension_event_index;
      event.count = info.param_count;
      for (jint k = 0; k < info.param_count; ++k) {
        event.kinds[k] = info.params[k].kind;
        event.types[k] = info.params[k].base_type;
      }
    }
    env->Deallocate(reinterpret_cast<unsigned char*>(info.id));
    env->Deallocate(reinterpret_cast<unsigned char*>(info.short_description));
    free_parameters(info.params, info.param_count);
  }
  env->Deallocate(reinterpret_cast<unsigned char*>(found));
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
    // nobody can be waited for.
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

namespace own {

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

// Parameters travel as whole registers, which is how the processors that we build for pass what is
// no floating-point number.
jvmtiError CallExtensionFunction(Call& call, const In<kinds::ExtensionFunction>& function,
                                 const In<Arguments>& arguments, jint* count,
                                 unsigned char** bytes) {
  jint known = 0;
  jvmtiExtensionFunctionInfo* found = nullptr;
  jvmtiError error = call.env->GetExtensionFunctions(&known, &found);
  if (error != JVMTI_ERROR_NONE) return error;
  uint64_t passed[kMost] = {};
  uint64_t out[kMost] = {};
  jvmtiParamTypes types[kMost] = {};
  int parameters = -1;
  uint32_t given = 0;
  for (jint i = 0; i < known; ++i) {
    jvmtiExtensionFunctionInfo& info = found[i];
    if (info.func == function.c() && info.param_count <= kMost) {
      parameters = info.param_count;
      for (int k = 0; k < parameters && !call.refused(); ++k) {
        jvmtiParamInfo& parameter = info.params[k];
        jvmtiParamTypes type = parameter.base_type;
        bool real = type == JVMTI_TYPE_JFLOAT || type == JVMTI_TYPE_JDOUBLE;
        if (parameter.kind == JVMTI_KIND_OUT && !real) {
          types[k] = type;
          passed[k] = reinterpret_cast<uint64_t>(&out[k]);
        } else if (parameter.kind != JVMTI_KIND_IN || real) {
          call.refuse(JVMTI_ERROR_NOT_AVAILABLE, "%s: parameters of this kind cannot be passed",
                      parameter.name);
        } else if (given >= arguments.count()) {
          call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s is missing", parameter.name);
        } else if (is_object(type) != (arguments.type(given) == 'L')) {
          call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s is of another type", parameter.name);
        } else {
          jvalue value = const_cast<In<Arguments>&>(arguments).value(given++);
          if (is_object(type) && value.l == nullptr && !parameter.null_ok) {
            call.refuse(JVMTI_ERROR_NULL_POINTER, "%s is null", parameter.name);
          } else if (type == JVMTI_TYPE_JTHREAD && value.l != nullptr &&
                     kind_of_object(call.jni, value.l) != kinds::Thread::kind) {
            call.refuse(JVMTI_ERROR_INVALID_THREAD, "%s is no thread", parameter.name);
          } else if (type == JVMTI_TYPE_JCLASS && value.l != nullptr &&
                     kind_of_object(call.jni, value.l) != kinds::Class::kind) {
            call.refuse(JVMTI_ERROR_INVALID_CLASS, "%s is no class", parameter.name);
          }
          passed[k] = static_cast<uint64_t>(value.j);
        }
      }
    }
    call.deallocate(info.id);
    call.deallocate(info.short_description);
    free_parameters(info.params, info.param_count);
    call.deallocate(info.errors);
  }
  call.deallocate(found);
  if (parameters < 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  if (!call.refused() && given < arguments.count()) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "it takes %u arguments", given);
  }
  if (call.refused()) return JVMTI_ERROR_NONE;
  error = function.c()(call.env, passed[0], passed[1], passed[2], passed[3], passed[4], passed[5],
                       passed[6], passed[7]);
  if (error != JVMTI_ERROR_NONE) return error;
  Writer results;
  JniValues values(call, results, Owner::kInstance);
  for (int k = 0; k < parameters; ++k) {
    if (types[k] == 0) continue;
    if (is_object(types[k])) {
      LocalRef<> object(call.jni, reinterpret_cast<jobject>(out[k]));
      values.put(object.get());
    } else if (types[k] == JVMTI_TYPE_JBOOLEAN) {
      values.put(static_cast<jboolean>(out[k]));
    } else if (types[k] == JVMTI_TYPE_JINT) {
      values.put(static_cast<jint>(out[k]));
    } else {
      values.put(static_cast<jlong>(out[k]));
    }
  }
  *count = static_cast<jint>(results.size());
  error = agent.env->Allocate(*count + 1, bytes);
  if (error == JVMTI_ERROR_NONE && *count > 0) std::memcpy(*bytes, results.data(), results.size());
  return error;
}

}  // namespace own
extern const Engine kExtensionEngine{silence_extensions, nullptr, nullptr, nullptr};

}  // namespace jvmti
