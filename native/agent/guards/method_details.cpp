#include "agent/guards/method_details.h"

namespace jvmti {

namespace {

// The length of one type in a descriptor; no further than its end.
size_t type_length(const char* at) {
  size_t length = 0;
  while (at[length] == '[') ++length;
  if (at[length] == 'L') {
    while (at[length] != ';' && at[length] != '\0') ++length;
  }
  return at[length] == '\0' ? length : length + 1;
}

bool parse_signature(MethodDetails* details) {
  const char* signature = details->signature.get();
  if (signature[0] != '(' || std::strchr(signature, ')') == nullptr) return false;
  const char* at = signature + 1;
  uint32_t count = 0;
  const char* scan = at;
  for (; *scan != ')' && *scan != '\0'; scan += type_length(scan)) ++count;
  if (*scan == '\0') return false;  // the last type takes the bracket for its own
  details->argument_count = count;
  if (!details->argument_types.allocate(count) || !details->argument_classes.allocate(count)) {
    return false;
  }
  for (uint32_t i = 0; i < count; at += type_length(at)) {
    details->argument_types[i++] = simple_type(*at);
  }
  details->return_type = simple_type(at[1]);
  return true;
}

}  // namespace

const MethodDetails* details_of(Call& call, MethodRecord* record) {
  {
    Locked locked(call.session.methods.mutex());
    if (record->details != nullptr) return record->details;
  }
  jvmtiEnv* env = call.session.tags();
  Deallocated<char> name(agent.env);
  Deallocated<char> signature(agent.env);
  LocalRef<jclass> declaring(call.jni);
  jint modifiers = 0;
  if (env == nullptr || call.jni == nullptr ||
      env->GetMethodName(record->id, name.out(), signature.out(), nullptr) != JVMTI_ERROR_NONE ||
      env->GetMethodModifiers(record->id, &modifiers) != JVMTI_ERROR_NONE ||
      env->GetMethodDeclaringClass(record->id, declaring.out()) != JVMTI_ERROR_NONE) {
    return call.refuse(JVMTI_ERROR_INVALID_METHODID, "the method's class has been unloaded");
  }
  auto* details = make<MethodDetails>();
  if (details == nullptr || !details->name.copy(name) || !details->signature.copy(signature) ||
      !parse_signature(details)) {
    unmake(details);
    return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
  details->modifiers = modifiers;
  details->declaring_class = call.jni->NewWeakGlobalRef(declaring);
  {
    Locked locked(call.session.methods.mutex());
    if (record->details == nullptr) record->details = std::exchange(details, nullptr);
  }
  if (details != nullptr) {  // another thread was first
    call.jni->DeleteWeakGlobalRef(details->declaring_class);
    unmake(details);
  }
  return record->details;
}

const MethodDetails* details_of(Call& call, jmethodID method) {
  MethodRecord* record =
      call.session.methods.find(call.session.methods.issue(method, call.session.tags()));
  if (record != nullptr) return details_of(call, record);
  return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
}

bool is_of_type(Call& call, const MethodDetails* details, const char* descriptor, jobject object) {
  JNIEnv* jni = call.jni;
  size_t length = type_length(descriptor);
  Array<char> name(length);
  LocalFrame frame(jni, 16);
  if (!name || !frame) return false;
  // Class.forName writes an array as its descriptor and anything else without L and semicolon.
  bool array = descriptor[0] == '[';
  size_t size = array ? length : length - 2;
  std::memcpy(name.get(), array ? descriptor : descriptor + 1, size);
  for (char* c = name.get(); *c != '\0'; ++c) {
    if (*c == '/') *c = '.';
  }
  jclass context = static_cast<jclass>(jni->NewLocalRef(details->declaring_class));
  jclass type = jni->FindClass("java/lang/Class");
  jmethodID for_name = type == nullptr
                           ? nullptr
                           : jni->GetStaticMethodID(type, "forName",
                                                    "(Ljava/lang/String;ZLjava/lang/ClassLoader;)"
                                                    "Ljava/lang/Class;");
  bool is = false;
  if (context != nullptr && for_name != nullptr) {
    jvalue arguments[3];
    arguments[0].l = jni->NewStringUTF(name.get());
    arguments[1].z = JNI_FALSE;
    arguments[2].l = nullptr;
    call.env->GetClassLoader(context, &arguments[2].l);
    jobject found = jni->CallStaticObjectMethodA(type, for_name, arguments);
    is = found != nullptr && jni->IsInstanceOf(object, static_cast<jclass>(found));
  }
  if (jni->ExceptionCheck()) jni->ExceptionClear();  // an unavailable type matches nothing
  return is;
}

bool Code::fetch(Call& call, jmethodID method) {
  constexpr size_t kLongestRead = 4;  // of an instruction, from its start
  jint length = 0;
  Deallocated<unsigned char> bytes(agent.env);
  jvmtiError error = call.session.tags()->GetBytecodes(method, &length, bytes.out());
  if (error != JVMTI_ERROR_NONE) return call.refuse(error);
  size_t size = static_cast<size_t>(length);
  if (!bytes_.allocate(size + kLongestRead) || !starts_.allocate(size)) {
    return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
  if (size > 0) std::memcpy(bytes_.get(), bytes.get(), size);
  for (uint32_t at = 0, step = 1; at < size && step != 0; at += step) {
    starts_[at] = 1;
    step = classfile::length_at(bytes_.get(), at, static_cast<uint32_t>(size));
  }
  return true;
}

bool Code::has_subroutines() const {
  for (size_t at = 0; at < starts_.size(); ++at) {
    bool jumps = bytes_[at] == classfile::kJsr || bytes_[at] == classfile::kJsrW;
    if (starts_[at] != 0 && jumps) return true;
  }
  return false;
}

}  // namespace jvmti
