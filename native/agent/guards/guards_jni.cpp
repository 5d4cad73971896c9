// Checks of JNI calls: receiver, staticness, types and arguments, all of which the VM believes.

#include "agent/guards/guards.h"
#include "agent/guards/method_details.h"

namespace jvmti {

namespace {

bool is_instance_of_weak(Call& call, jobject object, jweak weak) {
  LocalRef<jclass> klass = class_behind(call.jni, weak);
  return klass != nullptr && call.jni->IsInstanceOf(object, klass);
}

// What a method without parameters returns of a reflection; null with an exception, or without it.
jobject ask_reflection(JNIEnv* jni, jobject reflected, const char* klass, const char* name,
                       const char* signature) {
  jclass type = reflected == nullptr ? nullptr : jni->FindClass(klass);
  jmethodID getter = type == nullptr ? nullptr : jni->GetMethodID(type, name, signature);
  return getter == nullptr ? nullptr : jni->CallObjectMethodA(reflected, getter, nullptr);
}

// The classes of the parameters, through reflection: the declaring class's own view of them.
bool fill_argument_classes(Call& call, MethodRecord* record, MethodDetails* details) {
  if (details->argument_classes_known) return true;
  JNIEnv* jni = call.jni;
  LocalFrame frame(jni, 16 + static_cast<jint>(details->argument_count));
  if (!frame) return call.settled();
  jclass declaring = class_behind(jni, details->declaring_class).release();
  jobject reflected =
      declaring == nullptr
          ? nullptr
          : jni->ToReflectedMethod(declaring, record->id, (details->modifiers & kAccStatic) != 0);
  auto types = static_cast<jobjectArray>(ask_reflection(
      jni, reflected, "java/lang/reflect/Executable", "getParameterTypes", "()[Ljava/lang/Class;"));
  if (jni->ExceptionCheck() || types == nullptr ||
      static_cast<uint32_t>(jni->GetArrayLength(types)) != details->argument_count) {
    return call.settled() &&
           call.refuse(JVMTI_ERROR_INVALID_METHODID, "the parameter types of %s are not available",
                       details->name.get());
  }
  for (uint32_t i = 0; i < details->argument_count; ++i) {
    LocalRef<> type(jni, jni->GetObjectArrayElement(types, static_cast<jsize>(i)));
    jweak weak = jni->NewWeakGlobalRef(type);
    {
      Locked locked(call.session.methods.mutex());
      jweak& known = details->argument_classes[i];
      if (known == nullptr) known = std::exchange(weak, nullptr);
    }
    if (weak != nullptr) jni->DeleteWeakGlobalRef(weak);
  }
  details->argument_classes_known = true;
  return true;
}

// Narrow integers come as 'J' on the wire; each must fit where it goes.
bool convert_argument(Call& call, In<Arguments>& arguments, uint32_t i, char type,
                      const MethodDetails* details) {
  jvalue& value = arguments.value(i);
  const jlong whole = value.j;
  bool matches = arguments.type(i) == (type == 'L' ? 'L' : type == 'F' || type == 'D' ? 'D' : 'J');
  switch (type) {
    case 'Z':
      matches = matches && (whole == 0 || whole == 1);
      if (matches) value.z = static_cast<jboolean>(whole);
      break;
    case 'B':
      matches = matches && whole == static_cast<jbyte>(whole);
      if (matches) value.b = static_cast<jbyte>(whole);
      break;
    case 'C':
      matches = matches && whole == static_cast<jchar>(whole);
      if (matches) value.c = static_cast<jchar>(whole);
      break;
    case 'S':
      matches = matches && whole == static_cast<jshort>(whole);
      if (matches) value.s = static_cast<jshort>(whole);
      break;
    case 'I':
      matches = matches && whole == static_cast<jint>(whole);
      if (matches) value.i = static_cast<jint>(whole);
      break;
    case 'F':
      if (matches) value.f = static_cast<jfloat>(value.d);
      break;
    case 'L':
      matches = matches && (value.l == nullptr ||
                            is_instance_of_weak(call, value.l, details->argument_classes[i]));
      break;
  }
  return matches || call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT,
                                "argument %u does not fit the signature %s of %s", i + 1,
                                details->signature.get(), details->name.get());
}

}  // namespace

namespace guard {

namespace {

// The methods of MethodHandle that stand for the ends of a call: they jump to whatever their
// arguments name, without a look at it.
bool is_linker(Call& call, const MethodDetails* details) {
  if (std::strncmp(details->name.get(), "linkTo", 6) != 0 &&
      std::strcmp(details->name.get(), "invokeBasic") != 0) {
    return false;
  }
  LocalRef<jclass> handle = class_named(call.jni, "java/lang/invoke/MethodHandle");
  return handle != nullptr && call.jni->IsSameObject(handle, details->declaring_class);
}

}  // namespace

bool check_method(Call& call, jobject receiver, jclass klass, const In<kinds::Method>& method,
                  In<Arguments>& arguments, char type, bool is_static) {
  const MethodDetails* details = details_of(call, method.record());
  if (details == nullptr) return false;
  bool actual = (details->modifiers & kAccStatic) != 0;
  if (actual != is_static) {
    return call.refuse(JVMTI_ERROR_INVALID_METHODID, "%s is %s", details->name.get(),
                       actual ? "static" : "not static");
  }
  bool special = details->name[0] == '<';
  if (details->return_type != type || (special && (klass == nullptr || is_static))) {
    return call.refuse(JVMTI_ERROR_INVALID_METHODID, "%s%s cannot be called as a method of type %c",
                       details->name.get(), details->signature.get(), type);
  }
  if (is_linker(call, details)) {
    return call.refuse(
        JVMTI_ERROR_INVALID_METHODID,
        "%s of MethodHandle trusts its arguments: only compiled call sites may call it",
        details->name.get());
  }
  if (receiver != nullptr && !is_instance_of_weak(call, receiver, details->declaring_class)) {
    return call.refuse(JVMTI_ERROR_INVALID_METHODID, "%s is not a method of the object",
                       details->name.get());
  }
  if (klass != nullptr) {
    LocalRef<jclass> declaring = class_behind(call.jni, details->declaring_class);
    if (declaring == nullptr || !call.jni->IsAssignableFrom(klass, declaring)) {
      return call.refuse(JVMTI_ERROR_INVALID_METHODID, "%s is not a method of the class",
                         details->name.get());
    }
    if (receiver != nullptr && !call.jni->IsInstanceOf(receiver, klass)) {
      return call.refuse(JVMTI_ERROR_INVALID_OBJECT, "the object is not an instance of the class");
    }
  }
  if (!is_static && klass != nullptr && (details->modifiers & 0x0400) != 0) {
    return call.refuse(JVMTI_ERROR_INVALID_METHODID, "%s is abstract", details->name.get());
  }
  if (arguments.count() != details->argument_count) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s%s takes %u arguments, not %u",
                       details->name.get(), details->signature.get(), details->argument_count,
                       arguments.count());
  }
  for (uint32_t i = 0; i < details->argument_count; ++i) {
    if (details->argument_types[i] == 'L' &&
        !fill_argument_classes(call, method.record(), const_cast<MethodDetails*>(details))) {
      return false;
    }
    if (!convert_argument(call, arguments, i, details->argument_types[i], details)) return false;
  }
  return true;
}

namespace {

// Whether instances of a class can be made: neither an array nor a primitive type.
bool can_be_made(Call& call, jclass klass) {
  jint status = 0;
  call.env->GetClassStatus(klass, &status);
  if ((status & (JVMTI_CLASS_STATUS_ARRAY | JVMTI_CLASS_STATUS_PRIMITIVE)) != 0) {
    return call.refuse(JVMTI_ERROR_INVALID_CLASS,
                       "an array or primitive class has no such objects");
  }
  LocalRef<jclass> type = class_named(call.jni, "java/lang/Class");
  if (type != nullptr && call.jni->IsSameObject(type, klass)) {
    return call.refuse(JVMTI_ERROR_INVALID_CLASS,
                       "java.lang.Class has no objects but the VM's own");
  }
  return true;
}

}  // namespace

bool constructor(Call& call, const In<kinds::Class>& klass, const In<kinds::Method>& method,
                 In<Arguments>& arguments) {
  if (!can_be_made(call, klass.c())) return false;
  const MethodDetails* details = details_of(call, method.record());
  if (details == nullptr) return false;
  if (std::strcmp(details->name.get(), "<init>") != 0 ||
      !call.jni->IsSameObject(details->declaring_class, klass.c())) {
    return call.refuse(JVMTI_ERROR_INVALID_METHODID, "%s is not a constructor of the class",
                       details->name.get());
  }
  return check_method(call, nullptr, klass.c(), method, arguments, 'V', false);
}

// Objects of these that no constructor has run on have parts missing that the VM relies on.
bool alloc_object(Call& call, const In<kinds::Class>& klass) {
  constexpr const char* kWhole[] = {
      "java/lang/Thread", "java/lang/ThreadGroup",   "java/lang/ClassLoader",
      "java/lang/Module", "java/lang/ref/Reference", "java/lang/reflect/AccessibleObject"};
  if (!is_loaded(call, klass.c()) || !can_be_made(call, klass.c())) return false;
  for (const char* name : kWhole) {
    LocalRef<jclass> whole = class_named(call.jni, name);
    if (whole != nullptr && call.jni->IsAssignableFrom(klass.c(), whole)) {
      return call.refuse(JVMTI_ERROR_INVALID_CLASS,
                         "the VM relies on what the constructors of %s do; use new_object", name);
    }
  }
  return true;
}

bool new_object_array(Call& call, const In<jint>&, const In<kinds::Class>& klass,
                      const In<Nullable<kinds::Object>>& initial) {
  if (!is_loaded(call, klass.c())) return false;
  jint status = 0;
  call.env->GetClassStatus(klass.c(), &status);
  if ((status & JVMTI_CLASS_STATUS_PRIMITIVE) != 0) {
    return call.refuse(JVMTI_ERROR_INVALID_CLASS,
                       "a primitive type cannot be the class of elements");
  }
  if (initial.c() != nullptr && !call.jni->IsInstanceOf(initial.c(), klass.c())) {
    return call.refuse(JVMTI_ERROR_TYPE_MISMATCH,
                       "the initial element is not of the element class");
  }
  return true;
}

// So early it finds what is there from the first moment; anything else would be loaded, or missing.
bool find_class(Call& call, const In<Text>& name) {
  constexpr const char* kThere[] = {"java/lang/Object", "java/lang/String", "java/lang/Class"};
  if (can_throw()) return true;
  for (const char* one : kThere) {
    if (std::strcmp(name.c(), one) == 0) return true;
  }
  return call.refuse(JVMTI_ERROR_WRONG_PHASE, "the VM cannot throw exceptions yet");
}

bool throw_new(Call& call, const In<kinds::Class>& klass, const In<Text>&) {
  if (!is_loaded(call, klass.c())) return false;
  LocalRef<jclass> throwable = class_named(call.jni, "java/lang/Throwable");
  return (throwable != nullptr && call.jni->IsAssignableFrom(klass.c(), throwable)) ||
         call.refuse(JVMTI_ERROR_INVALID_CLASS, "the class is not a subclass of Throwable");
}

bool check_field(Call& call, jobject receiver, jclass klass, const In<kinds::Field>& field,
                 char type, bool is_static) {
  const FieldRecord* record = field.record();
  if (record->is_static != is_static || simple_type(record->type) != type) {
    return call.refuse(JVMTI_ERROR_INVALID_FIELDID, "the field is %s and of type %c",
                       record->is_static ? "static" : "not static", record->type);
  }
  LocalRef<jclass> declaring = class_behind(call.jni, record->klass);
  bool belongs =
      declaring != nullptr && (receiver != nullptr ? call.jni->IsInstanceOf(receiver, declaring)
                                                   : call.jni->IsAssignableFrom(klass, declaring));
  return belongs || call.refuse(JVMTI_ERROR_INVALID_FIELDID, "the field is not one of the %s",
                                receiver != nullptr ? "object" : "class");
}

bool check_stored(Call& call, const In<kinds::Field>& field, jobject value) {
  if (value == nullptr) return true;
  JNIEnv* jni = call.jni;
  LocalFrame frame(jni, 16);
  if (!frame) return call.settled();
  jclass declaring = class_behind(jni, field.record()->klass).release();
  jboolean is_static = field.record()->is_static ? JNI_TRUE : JNI_FALSE;
  jobject reflected =
      declaring == nullptr ? nullptr : jni->ToReflectedField(declaring, field.c(), is_static);
  auto type = static_cast<jclass>(
      ask_reflection(jni, reflected, "java/lang/reflect/Field", "getType", "()Ljava/lang/Class;"));
  return (call.settled() && type != nullptr && jni->IsInstanceOf(value, type)) ||
         call.refuse(JVMTI_ERROR_TYPE_MISMATCH, "the value is not of the field's type");
}

bool to_reflected_method(Call& call, const In<kinds::Class>& klass, const In<kinds::Method>& method,
                         const In<jboolean>& is_static) {
  const MethodDetails* details = details_of(call, method.record());
  if (details == nullptr) return false;
  if (std::strcmp(details->name.get(), "<clinit>") == 0) {
    return call.refuse(JVMTI_ERROR_INVALID_METHODID, "a class initialiser has no reflected form");
  }
  if (((details->modifiers & kAccStatic) != 0) != (is_static.c() != 0)) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "is_static does not fit %s",
                       details->name.get());
  }
  LocalRef<jclass> declaring = class_behind(call.jni, details->declaring_class);
  return (declaring != nullptr && call.jni->IsAssignableFrom(klass.c(), declaring)) ||
         call.refuse(JVMTI_ERROR_INVALID_METHODID, "%s is not of the class", details->name.get());
}

bool to_reflected_field(Call& call, const In<kinds::Class>& klass, const In<kinds::Field>& field,
                        const In<jboolean>& is_static) {
  if (field.record()->is_static != (is_static.c() != 0)) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "is_static does not fit the field");
  }
  return field_of_class(call, klass, field);
}

}  // namespace guard
}  // namespace jvmti
