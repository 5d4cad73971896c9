#include "method_details.h"

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

void free_details(MethodDetails* details) {
  std::free(details->name);
  std::free(details->signature);
  std::free(details->argument_types);
  std::free(details->argument_classes);
  std::free(details);
}

char* copy(const char* text) {
  size_t size = std::strlen(text) + 1;
  char* made = static_cast<char*>(std::malloc(size));
  if (made != nullptr) std::memcpy(made, text, size);
  return made;
}

bool parse_signature(MethodDetails* details) {
  if (details->signature[0] != '(' || std::strchr(details->signature, ')') == nullptr) return false;
  const char* at = details->signature + 1;
  uint32_t count = 0;
  const char* scan = at;
  for (; *scan != ')' && *scan != '\0'; scan += type_length(scan)) ++count;
  if (*scan == '\0') return false;  // the last type takes the bracket for its own
  details->argument_count = count;
  details->argument_types = static_cast<char*>(std::calloc(count + 1, 1));
  details->argument_classes = static_cast<jweak*>(std::calloc(count + 1, sizeof(jweak)));
  if (details->argument_types == nullptr || details->argument_classes == nullptr) return false;
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
  char* name = nullptr;
  char* signature = nullptr;
  jclass declaring = nullptr;
  jint modifiers = 0;
  if (env == nullptr || call.jni == nullptr ||
      env->GetMethodName(record->id, &name, &signature, nullptr) != JVMTI_ERROR_NONE ||
      env->GetMethodModifiers(record->id, &modifiers) != JVMTI_ERROR_NONE ||
      env->GetMethodDeclaringClass(record->id, &declaring) != JVMTI_ERROR_NONE) {
    call.deallocate(name);
    call.deallocate(signature);
    call.refuse(JVMTI_ERROR_INVALID_METHODID, "the method's class has been unloaded");
    return nullptr;
  }
  auto* details = static_cast<MethodDetails*>(std::calloc(1, sizeof(MethodDetails)));
  bool made = details != nullptr;
  if (made) {
    details->name = copy(name);
    details->signature = copy(signature);
    details->modifiers = modifiers;
    made = details->name != nullptr && details->signature != nullptr && parse_signature(details);
    if (made) details->declaring_class = call.jni->NewWeakGlobalRef(declaring);
  }
  call.deallocate(name);
  call.deallocate(signature);
  call.jni->DeleteLocalRef(declaring);
  if (!made) {
    if (details != nullptr) free_details(details);
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return nullptr;
  }
  bool surplus = false;
  {
    Locked locked(call.session.methods.mutex());
    if (record->details == nullptr) {
      record->details = details;
    } else {
      surplus = true;
    }
  }
  if (surplus) {
    call.jni->DeleteWeakGlobalRef(details->declaring_class);
    free_details(details);
  }
  return record->details;
}

const MethodDetails* details_of(Call& call, jmethodID method) {
  MethodRecord* record = call.session.methods.find(call.session.methods.issue(method));
  if (record != nullptr) return details_of(call, record);
  call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  return nullptr;
}

bool is_of_type(Call& call, const MethodDetails* details, const char* descriptor, jobject object) {
  JNIEnv* jni = call.jni;
  size_t length = type_length(descriptor);
  char* name = static_cast<char*>(std::malloc(length + 1));
  if (name == nullptr || jni->PushLocalFrame(16) != 0) {
    std::free(name);
    return false;
  }
  // Class.forName writes an array as its descriptor and anything else without L and semicolon.
  bool array = descriptor[0] == '[';
  size_t size = array ? length : length - 2;
  std::memcpy(name, array ? descriptor : descriptor + 1, size);
  name[size] = '\0';
  for (char* c = name; *c != '\0'; ++c) {
    if (*c == '/') *c = '.';
  }
  jclass context = static_cast<jclass>(jni->NewLocalRef(details->declaring_class));
  jclass type = jni->FindClass("java/lang/Class");
  jmethodID for_name = type == nullptr ? nullptr
                                       : jni->GetStaticMethodID(
                                             type, "forName",
                                             "(Ljava/lang/String;ZLjava/lang/ClassLoader;)"
                                             "Ljava/lang/Class;");
  bool is = false;
  if (context != nullptr && for_name != nullptr) {
    jvalue arguments[3];
    arguments[0].l = jni->NewStringUTF(name);
    arguments[1].z = JNI_FALSE;
    arguments[2].l = nullptr;
    call.env->GetClassLoader(context, &arguments[2].l);
    jobject found = jni->CallStaticObjectMethodA(type, for_name, arguments);
    is = found != nullptr && jni->IsInstanceOf(object, static_cast<jclass>(found));
  }
  if (jni->ExceptionCheck()) jni->ExceptionClear();  // a type that cannot be had fits nothing
  jni->PopLocalFrame(nullptr);
  std::free(name);
  return is;
}

}  // namespace jvmti
