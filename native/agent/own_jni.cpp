// JNI functions that hand out memory or references, for which copies and handles stand in.

#include <dlfcn.h>
#include <link.h>

#include <limits>

#include "events.h"
#include "lent_memory.h"
#include "own.h"
#include "own_references.h"

namespace jvmti {
namespace own {

jmethodID GetMethodID(Call& call, const In<kinds::Class>& klass, const In<Text>& name,
                      const In<Text>& signature) {
  return call.jni->GetMethodID(klass.c(), name.c(), signature.c());
}
jmethodID GetStaticMethodID(Call& call, const In<kinds::Class>& klass, const In<Text>& name,
                            const In<Text>& signature) {
  return call.jni->GetStaticMethodID(klass.c(), name.c(), signature.c());
}
ClassField GetFieldID(Call& call, const In<kinds::Class>& klass, const In<Text>& name,
                      const In<Text>& signature) {
  return {klass.c(), call.jni->GetFieldID(klass.c(), name.c(), signature.c())};
}
ClassField GetStaticFieldID(Call& call, const In<kinds::Class>& klass, const In<Text>& name,
                            const In<Text>& signature) {
  return {klass.c(), call.jni->GetStaticFieldID(klass.c(), name.c(), signature.c())};
}

namespace {

// Whether the object is of the class or one of the two; the VM believes it without a look.
bool is_a(Call& call, jobject object, const char* first, const char* second) {
  bool is = false;
  const char* names[] = {first, second};
  for (const char* name : names) {
    if (name == nullptr || is) continue;
    LocalRef<jclass> klass = class_named(call.jni, name);
    if (klass == nullptr) break;
    is = call.jni->IsInstanceOf(object, klass);
  }
  return is;
}

}  // namespace

namespace {

// The class that a reflection object says it is of.  One that no constructor ran on (AllocObject
// makes such) has none, and the VM would follow the null.
jclass declaring_class(Call& call, jobject reflected) {
  LocalRef<jclass> type(call.jni, call.jni->GetObjectClass(reflected));
  jmethodID getter = call.jni->GetMethodID(type, "getDeclaringClass", "()Ljava/lang/Class;");
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
    call.refuse(JVMTI_ERROR_INVALID_OBJECT, "not a java.lang.reflect.Method or Constructor");
    return nullptr;
  }
  LocalRef<jclass> declaring(call.jni, declaring_class(call, method.c()));
  return declaring == nullptr ? nullptr : call.jni->FromReflectedMethod(method.c());
}

ClassField FromReflectedField(Call& call, const In<kinds::Object>& field) {
  ClassField found{nullptr, nullptr};
  if (!is_a(call, field.c(), "java/lang/reflect/Field", nullptr)) {
    call.refuse(JVMTI_ERROR_INVALID_OBJECT, "not a java.lang.reflect.Field");
    return found;
  }
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

// In a handler the program gets the exception when it goes on, and from a thread that the controller
// made the VM gets it at its end.
bool can_throw(Call& call) {
  const Serving* serving = Serving::innermost();
  if (serving != nullptr && serving->handler) {
    call.throws = carries_exceptions(serving->event);
    if (!call.throws) {
      call.refuse(JVMTI_ERROR_UNSUPPORTED_OPERATION,
                  "the VM does not bring an exception from a handler of this event to the program");
    }
    return call.throws;
  }
  call.throws = call.channel.of_agent_thread;
  return true;
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
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the capacity is negative");
    return JNI_ERR;
  }
  if (call.channel.frames.push(static_cast<uint32_t>(call.channel.issued.size()))) return JNI_OK;
  call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  return JNI_ERR;
}

jobject PopLocalFrame(Call& call, const In<Nullable<kinds::Object>>& result) {
  Channel& channel = call.channel;
  if (channel.frames.empty()) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "no local frame of this thread is open");
    return nullptr;
  }
  jobject kept = result.c() == nullptr ? nullptr : call.jni->NewLocalRef(result.c());
  size_t start = channel.frames.pop();
  size_t left = call.session.objects.end_frame(call.jni, call.session.tags(),
                                               channel.issued.begin() + start,
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

Buffer buffer_of(Call& call, size_t size) {
  Buffer buffer;
  if (size > UINT32_MAX) {
    call.refuse(protocol::kReplyTooLarge);
    return buffer;
  }
  buffer.data = std::malloc(size + 1);
  buffer.size = static_cast<uint32_t>(size);
  if (buffer.data == nullptr) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  return buffer;
}

bool known_mode(Call& call, jint mode) {
  if (mode == 0 || mode == JNI_COMMIT || mode == JNI_ABORT) return true;
  call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "there is no release mode %d", mode);
  return false;
}

// True for a range inside the array or string; otherwise the VM's own exception is what comes.
bool within(jint start, jint length, jsize whole) {
  return start >= 0 && length >= 0 && static_cast<jlong>(start) + length <= whole;
}

}  // namespace

Buffer GetStringChars(Call& call, const In<kinds::String>& string) {
  jsize length = call.jni->GetStringLength(string.c());
  Buffer buffer = buffer_of(call, static_cast<size_t>(length) * sizeof(jchar));
  if (buffer.data != nullptr) {
    call.jni->GetStringRegion(string.c(), 0, length, static_cast<jchar*>(buffer.data));
  }
  return buffer;
}

// The copy is taken at once: a critical region must not stay open across a message.
Buffer GetStringCritical(Call& call, const In<kinds::String>& string) {
  Buffer buffer =
      buffer_of(call, static_cast<size_t>(call.jni->GetStringLength(string.c())) * sizeof(jchar));
  if (buffer.data == nullptr) return buffer;
  const jchar* chars = call.jni->GetStringCritical(string.c(), nullptr);
  if (chars == nullptr) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return buffer;
  }
  std::memcpy(buffer.data, chars, buffer.size);
  call.jni->ReleaseStringCritical(string.c(), chars);
  return buffer;
}

Buffer GetStringRegion(Call& call, const In<kinds::String>& string, const In<jint>& start,
                       const In<jint>& length) {
  jchar nothing;
  if (!within(start.c(), length.c(), call.jni->GetStringLength(string.c()))) {
    // Outside of every string: the VM throws, and writes nothing whatever it takes the length for.
    call.jni->GetStringRegion(string.c(), -1, 0, &nothing);
    return Buffer{};
  }
  Buffer buffer = buffer_of(call, static_cast<size_t>(length.c()) * sizeof(jchar));
  if (buffer.data != nullptr) {
    call.jni->GetStringRegion(string.c(), start.c(), length.c(),
                              static_cast<jchar*>(buffer.data));
  }
  return buffer;
}

char* GetStringUTFChars(Call& call, const In<kinds::String>& string) {
  const char* chars = call.jni->GetStringUTFChars(string.c(), nullptr);
  // A string that no constructor ran on has no characters to point to, and no length either.
  bool none = chars == nullptr && call.jni->GetStringLength(string.c()) == 0;
  if (chars == nullptr && !none) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return nullptr;
  }
  size_t size = none ? 1 : std::strlen(chars) + 1;
  unsigned char* made = nullptr;
  if (agent.env->Allocate(static_cast<jlong>(size), &made) == JVMTI_ERROR_NONE) {
    std::memcpy(made, none ? "" : chars, size);
  } else {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
  if (!none) call.jni->ReleaseStringUTFChars(string.c(), chars);
  return reinterpret_cast<char*>(made);
}

char* GetStringUTFRegion(Call& call, const In<kinds::String>& string, const In<jint>& start,
                         const In<jint>& length) {
  char nothing[4];
  if (!within(start.c(), length.c(), call.jni->GetStringLength(string.c()))) {
    call.jni->GetStringUTFRegion(string.c(), -1, 0, nothing);
    return nullptr;
  }
  unsigned char* made = nullptr;
  jlong size = static_cast<jlong>(length.c()) * 3 + 1;
  if (agent.env->Allocate(size, &made) != JVMTI_ERROR_NONE) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return nullptr;
  }
  std::memset(made, 0, static_cast<size_t>(size));
  call.jni->GetStringUTFRegion(string.c(), start.c(), length.c(), reinterpret_cast<char*>(made));
  return reinterpret_cast<char*>(made);
}

// Elements that fit where a region outside of its array is asked for, so that the VM throws.  A longer
// request is passed on as the largest length there is, which no array has.
constexpr jint kRoom = 256;

#define JVMTI_EACH_ARRAY(Do)                                                                      \
  Do(Boolean, jboolean) Do(Byte, jbyte) Do(Char, jchar) Do(Short, jshort) Do(Int, jint)           \
      Do(Long, jlong) Do(Float, jfloat) Do(Double, jdouble)
#define JVMTI_ARRAY_FUNCTIONS(Name, Type)                                                         \
  Buffer Get##Name##ArrayElements(Call& call, const In<kinds::Name##Array>& array) {              \
    jsize length = call.jni->GetArrayLength(array.c());                                           \
    Buffer buffer = buffer_of(call, static_cast<size_t>(length) * sizeof(Type));                  \
    if (buffer.data != nullptr) {                                                                 \
      call.jni->Get##Name##ArrayRegion(array.c(), 0, length, static_cast<Type*>(buffer.data));    \
    }                                                                                             \
    return buffer;                                                                                \
  }                                                                                               \
  void Release##Name##ArrayElements(Call& call, const In<kinds::Name##Array>& array,              \
                                    const In<Elements<Type>>& elements, const In<jint>& mode) {   \
    if (elements.size() != call.jni->GetArrayLength(array.c())) {                                 \
      return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the elements are not those of the array");\
    }                                                                                             \
    if (!known_mode(call, mode.c()) || mode.c() == JNI_ABORT) return;                             \
    call.jni->Set##Name##ArrayRegion(array.c(), 0, elements.size(), elements.data());             \
  }                                                                                               \
  Buffer Get##Name##ArrayRegion(Call& call, const In<kinds::Name##Array>& array,                  \
                                const In<jint>& start, const In<jint>& length) {                  \
    Type room[kRoom];                                                                             \
    if (!within(start.c(), length.c(), call.jni->GetArrayLength(array.c()))) {                    \
      /* The VM throws. Were it to take the array for longer, there is room for it. */            \
      jint asked = length.c() > kRoom ? std::numeric_limits<jint>::max() : length.c();            \
      call.jni->Get##Name##ArrayRegion(array.c(), start.c(), asked, room);                        \
      return Buffer{};                                                                            \
    }                                                                                             \
    Buffer buffer = buffer_of(call, static_cast<size_t>(length.c()) * sizeof(Type));              \
    if (buffer.data != nullptr) {                                                                 \
      call.jni->Get##Name##ArrayRegion(array.c(), start.c(), length.c(),                          \
                                       static_cast<Type*>(buffer.data));                          \
    }                                                                                             \
    return buffer;                                                                                \
  }                                                                                               \
  void Set##Name##ArrayRegion(Call& call, const In<kinds::Name##Array>& array,                    \
                              const In<jint>& start, const In<Elements<Type>>& elements) {        \
    call.jni->Set##Name##ArrayRegion(array.c(), start.c(), elements.size(), elements.data());     \
  }
JVMTI_EACH_ARRAY(JVMTI_ARRAY_FUNCTIONS)
#undef JVMTI_ARRAY_FUNCTIONS

namespace {

// The size of an element by the kind of the handle; 0 for an array of references.
size_t element_size(Call& call, const In<kinds::Array>& array) {
  uint8_t kind = kind_of(array.handle());
  if (kind == kinds::WeakReference::kind) kind = kind_of_object(call.jni, array.c());
  switch (kind) {
    case kinds::BooleanArray::kind:
    case kinds::ByteArray::kind:
      return 1;
    case kinds::CharArray::kind:
    case kinds::ShortArray::kind:
      return 2;
    case kinds::IntArray::kind:
    case kinds::FloatArray::kind:
      return 4;
    case kinds::LongArray::kind:
    case kinds::DoubleArray::kind:
      return 8;
  }
  call.refuse(JVMTI_ERROR_INVALID_OBJECT, "not an array of a primitive type");
  return 0;
}

}  // namespace

Buffer GetPrimitiveArrayCritical(Call& call, const In<kinds::Array>& array) {
  size_t width = element_size(call, array);
  if (width == 0) return Buffer{};
  Buffer buffer =
      buffer_of(call, static_cast<size_t>(call.jni->GetArrayLength(array.c())) * width);
  if (buffer.data == nullptr) return buffer;
  void* elements = call.jni->GetPrimitiveArrayCritical(array.c(), nullptr);
  if (elements == nullptr) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return buffer;
  }
  std::memcpy(buffer.data, elements, buffer.size);
  call.jni->ReleasePrimitiveArrayCritical(array.c(), elements, JNI_ABORT);
  return buffer;
}

void ReleasePrimitiveArrayCritical(Call& call, const In<kinds::Array>& array,
                                   const In<Bytes>& bytes, const In<jint>& mode) {
  size_t width = element_size(call, array);
  if (width == 0) return;
  size_t size = static_cast<size_t>(call.jni->GetArrayLength(array.c())) * width;
  if (static_cast<size_t>(bytes.size()) != size) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the bytes are not those of the array");
  }
  if (!known_mode(call, mode.c()) || mode.c() == JNI_ABORT) return;
  void* elements = call.jni->GetPrimitiveArrayCritical(array.c(), nullptr);
  if (elements == nullptr) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  std::memcpy(elements, bytes.data(), size);
  call.jni->ReleasePrimitiveArrayCritical(array.c(), elements, 0);
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
        char* name = strdup(info->dlpi_name);
        if (name != nullptr && !static_cast<Vector<char*>*>(collected)->push(name)) std::free(name);
        return 0;
      },
      &libraries);
  for (char* name : libraries) {
    void* library = found == nullptr && name[0] != '\0' ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD)
                                                        : nullptr;
    if (library != nullptr) {
      found = dlsym(library, symbol);
      dlclose(library);
    }
    std::free(name);
  }
  return found;
}

}  // namespace

namespace {

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
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the lists are not of one length");
    return JNI_ERR;
  }
  Array<JNINativeMethod> methods(static_cast<size_t>(count));
  if (!methods) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return JNI_ERR;
  }
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
  if (kept == nullptr) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return JNI_ERR;
  }
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

jvmtiError EnterMonitor(Call& call, const In<kinds::Object>& object, const In<jlong>& key) {
  if (enter(call, object.c(), key.c()) == JNI_OK) return JVMTI_ERROR_NONE;
  return call.refused() ? static_cast<jvmtiError>(call.status) : JVMTI_ERROR_INTERNAL;
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

jobject NewDirectByteBuffer(Call& call, const In<kinds::Memory>& memory,
                            const In<jlong>& capacity) {
  if (capacity.c() < 0 || capacity.c() > memory.size()) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the memory has %lld bytes",
                static_cast<long long>(memory.size()));
    return nullptr;
  }
  jobject buffer = call.jni->NewDirectByteBuffer(memory.c(), capacity.c());
  if (buffer != nullptr && !lent::lend(call.jni, memory.c(), buffer)) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
  return buffer;
}

void* GetDirectBufferAddress(Call& call, const In<kinds::Object>& buffer) {
  return call.jni->GetDirectBufferAddress(buffer.c());
}

}  // namespace own
}  // namespace jvmti
