// JNI functions that hand out references, ids and monitors, for which handles stand in.

#include <dlfcn.h>
#include <link.h>

#include "agent/events/events.h"
#include "agent/handles/agent_references.h"
#include "agent/overrides/direct_buffers.h"
#include "generated/overrides.h"

namespace jvmti {
namespace overrides {

namespace {

// Whether the object is of the class or one of the two; the VM believes it without a look.
bool is_a(Call& call, jobject object, const char* first, const char* second = nullptr) {
  LocalRef<jclass> klass = class_named(call.jni, first);
  if (klass == nullptr) return false;
  return call.jni->IsInstanceOf(object, klass) || (second != nullptr && is_a(call, object, second));
}

// The class that a reflection object says it is of.  One that no constructor ran on (AllocObject
// makes such) has none, and the VM would follow the null.
jclass declaring_class(Call& call, jobject reflected) {
  LocalRef<jclass> type(call.jni, call.jni->GetObjectClass(reflected));
  jmethodID getter = type == nullptr
                         ? nullptr
                         : call.jni->GetMethodID(type, "getDeclaringClass", "()Ljava/lang/Class;");
  if (getter == nullptr) return nullptr;
  jobject declaring = call.jni->CallObjectMethodA(reflected, getter, nullptr);
  if (declaring == nullptr && !call.jni->ExceptionCheck()) {
    call.refuse(JVMTI_ERROR_INVALID_OBJECT, "the reflection object was never constructed");
  }
  return static_cast<jclass>(declaring);
}

}  // namespace

jmethodID FromReflectedMethod(Call& call, const In<kinds::Object>& method) {
  if (!is_a(call, method.c(), "java/lang/reflect/Method", "java/lang/reflect/Constructor")) {
    return call.refuse(JVMTI_ERROR_INVALID_OBJECT, "not a java.lang.reflect.Method or Constructor");
  }
  LocalRef<jclass> declaring(call.jni, declaring_class(call, method.c()));
  return declaring == nullptr ? nullptr : call.jni->FromReflectedMethod(method.c());
}

ClassField FromReflectedField(Call& call, const In<kinds::Object>& field) {
  if (!is_a(call, field.c(), "java/lang/reflect/Field")) {
    return call.refuse(JVMTI_ERROR_INVALID_OBJECT, "not a java.lang.reflect.Field");
  }
  ClassField found{nullptr, nullptr};
  found.klass = declaring_class(call, field.c());
  if (found.klass != nullptr) found.field = call.jni->FromReflectedField(field.c());
  return found;
}

jthrowable ExceptionOccurred(Call& call) {
  return call.channel.pending == nullptr
             ? nullptr
             : static_cast<jthrowable>(call.jni->NewLocalRef(call.channel.pending));
}

void ExceptionDescribe(Call& call) {
  if (call.channel.pending == nullptr) return;
  call.jni->Throw(static_cast<jthrowable>(call.channel.pending));
  call.jni->ExceptionDescribe();
  call.jni->ExceptionClear();
  ExceptionClear(call);
}

void forget_pending(Call& call) {
  if (call.channel.pending != nullptr) let_go(call.jni, call.channel.pending);
  call.channel.pending = nullptr;
}

void ExceptionClear(Call& call) {
  forget_pending(call);
  if (call.channel.thrown != nullptr) let_go(call.jni, call.channel.thrown);
  call.channel.thrown = nullptr;
}

namespace {

// In a handler the program gets the exception when it goes on, and from a thread that the
// controller made the VM gets it at its end.
bool can_throw(Call& call) {
  const Serving* serving = Serving::innermost();
  bool handles = serving != nullptr && serving->handler;
  call.throws = handles ? carries_exceptions(serving->event) : call.channel.of_agent_thread;
  if (!handles || call.throws) return true;
  return call.refuse(JVMTI_ERROR_UNSUPPORTED_OPERATION,
                     "the VM does not bring an exception from a handler of this event to the "
                     "program");
}

}  // namespace

jint Throw(Call& call, const In<kinds::Throwable>& exception) {
  return can_throw(call) ? call.jni->Throw(exception.c()) : JNI_ERR;
}

jint ThrowNew(Call& call, const In<kinds::Class>& klass, const In<Text>& message) {
  return can_throw(call) ? call.jni->ThrowNew(klass.c(), message.c()) : JNI_ERR;
}

jboolean ExceptionCheck(Call& call) { return call.channel.pending != nullptr; }

// A frame is a scope of handles: what this thread receives inside is given up at its end.
jint PushLocalFrame(Call& call, const In<jint>& capacity) {
  if (capacity.c() < 0) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the capacity is negative");
  }
  if (call.channel.frames.push(static_cast<uint32_t>(call.channel.issued.size()))) return JNI_OK;
  return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
}

jobject PopLocalFrame(Call& call, const In<Nullable<kinds::Object>>& result) {
  Channel& channel = call.channel;
  if (channel.frames.empty()) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "no local frame of this thread is open");
  }
  jobject kept = result.c() == nullptr ? nullptr : call.jni->NewLocalRef(result.c());
  size_t start = channel.frames.pop();
  size_t left =
      call.session.objects.end_frame(call.jni, call.session.tags(), channel.issued.begin() + start,
                                     channel.issued.size() - start, result.handle());
  // What was known before the frame may still end with the frame around it.
  channel.issued.shrink(channel.frames.empty() ? 0 : start + left);
  return kept;
}

// References asked for are handles of their own, so that deleting one leaves the others.
jobject NewGlobalRef(Call& call, const In<Nullable<kinds::Object>>& object) {
  call.identify = false;
  call.global = true;
  return call.jni->NewLocalRef(object.c());
}
jobject NewLocalRef(Call& call, const In<Nullable<kinds::Object>>& object) {
  call.identify = false;
  return call.jni->NewLocalRef(object.c());
}
void DeleteGlobalRef(Call& call, const In<kinds::Object>& object) {
  call.session.objects.give_up(call.jni, call.session.tags(), object.handle(), 0);
}
void DeleteLocalRef(Call& call, const In<kinds::Object>& object) {
  call.session.objects.give_up(call.jni, call.session.tags(), object.handle(), 0);
}
jweak NewWeakGlobalRef(Call& call, const In<kinds::Object>& object) {
  return call.jni->NewLocalRef(object.c());
}
void DeleteWeakGlobalRef(Call& call, const In<kinds::WeakReference>& object) {
  call.session.objects.give_up(call.jni, call.session.tags(), object.handle(), 0);
}
jobjectRefType GetObjectRefType(Call& call, const In<kinds::Object>& object) {
  if (kind_of(object.handle()) == kinds::WeakReference::kind) return JNIWeakGlobalRefType;
  return call.session.objects.is_global(object.handle()) ? JNIGlobalRefType : JNILocalRefType;
}

namespace {

// The VM loads its own libraries for themselves only, so the default search does not see them.
void* symbol_of_any_library(const char* symbol) {
  void* found = dlsym(RTLD_DEFAULT, symbol);
  if (found != nullptr) return found;
  Vector<char*> libraries;
  // Collected first: the loader is locked while it lists them.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* collected) {
        char* name = copy_of(info->dlpi_name);
        if (name != nullptr && !static_cast<Vector<char*>*>(collected)->push(name)) unmake(name);
        return 0;
      },
      &libraries);
  for (char* name : libraries) {
    void* library =
        found == nullptr && name[0] != '\0' ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (library != nullptr) {
      found = dlsym(library, symbol);
      dlclose(library);
    }
    unmake(name);
  }
  return found;
}

// Past one type of a descriptor; null where there is none.
const char* past_type(const char* at) {
  int dimensions = 0;
  for (; *at == '['; ++at) ++dimensions;
  if (dimensions > 255) return nullptr;
  if (*at == 'L') {
    const char* end = std::strchr(at, ';');
    return end == nullptr || end == at + 1 ? nullptr : end + 1;
  }
  return *at != '\0' && std::strchr("ZBCSIJFD", *at) != nullptr ? at + 1 : nullptr;
}

bool is_method_descriptor(const char* at) {
  if (*at++ != '(') return false;
  while (*at != ')') {
    at = past_type(at);
    if (at == nullptr) return false;
  }
  ++at;
  if (std::strcmp(at, "V") == 0) return true;
  at = past_type(at);
  return at != nullptr && *at == '\0';
}

}  // namespace

jint RegisterNatives(Call& call, const In<kinds::Class>& klass, const In<List<Text>>& names,
                     const In<List<Text>>& signatures, const In<List<Text>>& symbols) {
  jint count = names.count();
  if (signatures.count() != count || symbols.count() != count) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the lists are not of one length");
  }
  Array<JNINativeMethod> methods(static_cast<size_t>(count));
  if (!methods) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  for (jint i = 0; i < count; ++i) {
    // The message in which the VM says that there is no such method takes a signature for good,
    // and runs over the end of one that is not.
    if (!is_method_descriptor(signatures.items()[i])) {
      jclass missing = call.jni->FindClass("java/lang/NoSuchMethodError");
      if (missing != nullptr) call.jni->ThrowNew(missing, names.items()[i]);
      return JNI_ERR;
    }
    JNINativeMethod& method = methods[static_cast<size_t>(i)];
    method.name = names.items()[i];
    method.signature = signatures.items()[i];
    method.fnPtr = symbol_of_any_library(symbols.items()[i]);
    if (method.fnPtr == nullptr) {
      call.refuse(JVMTI_ERROR_NOT_FOUND, "no symbol %s in the target", symbols.items()[i]);
      break;
    }
  }
  return call.refused() ? JNI_ERR : call.jni->RegisterNatives(klass.c(), methods.get(), count);
}

// The book has a reference of its own, so that the monitor can be left whatever becomes of the
// handle, which may be a weak one.
static jint enter(Call& call, jobject object, jlong key) {
  Vector<HeldObject>& held = call.channel.objects_held;
  jobject kept = held.reserve(held.size() + 1) ? hold(call.jni, object) : nullptr;
  if (kept == nullptr) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  jint result = call.jni->MonitorEnter(object);
  if (result == JNI_OK) {
    held.put({kept, key});
  } else {
    let_go(call.jni, kept);
  }
  return result;
}

jint MonitorEnter(Call& call, const In<kinds::Object>& object) {
  return enter(call, object.c(), 0);
}

jint MonitorExit(Call& call, const In<kinds::Object>& object) {
  jint result = call.jni->MonitorExit(object.c());
  if (result != JNI_OK) return result;
  Vector<HeldObject>& held = call.channel.objects_held;
  size_t found = held.size();
  for (size_t i = 0; i < held.size(); ++i) {
    if (!call.jni->IsSameObject(held[i].object, object.c())) continue;
    found = i;
    if (held[i].key == 0) break;  // what was entered by a key is rather left by it
  }
  if (found < held.size()) {
    let_go(call.jni, held[found].object);
    held.remove(found);
  }
  return result;
}

}  // namespace overrides

namespace operations {

jvmtiError EnterMonitor(Call& call, const In<kinds::Object>& object, const In<jlong>& key) {
  if (overrides::enter(call, object.c(), key.c()) == JNI_OK) return JVMTI_ERROR_NONE;
  return call.refuse(JVMTI_ERROR_INTERNAL);
}

jvmtiError LeaveMonitor(Call& call, const In<jlong>& key) {
  Vector<HeldObject>& held = call.channel.objects_held;
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i].key != key.c()) continue;
    jobject object = held[i].object;
    held.remove(i);
    call.jni->MonitorExit(object);
    call.jni->ExceptionClear();  // somebody has left it by hand
    let_go(call.jni, object);
    break;
  }
  return JVMTI_ERROR_NONE;
}

}  // namespace operations

namespace overrides {

jobject NewDirectByteBuffer(Call& call, const In<kinds::Memory>& memory,
                            const In<jlong>& capacity) {
  if (capacity.c() < 0 || capacity.c() > memory.size()) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the memory has %lld bytes",
                       static_cast<long long>(memory.size()));
  }
  jobject buffer = call.jni->NewDirectByteBuffer(memory.c(), capacity.c());
  if (buffer != nullptr && !direct_buffers::note(call.jni, memory.c(), buffer)) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
  return buffer;
}

}  // namespace overrides
}  // namespace jvmti
