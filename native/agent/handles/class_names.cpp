#include "agent/handles/class_names.h"

#include <stdio.h>

#include "base/patterns.h"

namespace jvmti {

size_t write_dotted(const char* slashed, char* dotted, size_t capacity) {
  size_t at = 0;
  for (; slashed[at] != '\0' && slashed[at] != ';' && at + 1 < capacity; ++at) {
    dotted[at] = slashed[at] == '/' ? '.' : slashed[at];
  }
  dotted[at] = '\0';
  return at;
}

void write_class_name(const char* signature, char* name, size_t capacity) {
  static const char* const kPrimitives[26] = {
      nullptr, "byte",  "char",  "double", nullptr, "float", nullptr, nullptr,  "int",
      "long",  nullptr, nullptr, nullptr,  nullptr, nullptr, nullptr, nullptr,  nullptr,
      "short", nullptr, nullptr, "void",   nullptr, nullptr, nullptr, "boolean"};
  size_t dimensions = 0;
  while (*signature == '[') {
    ++signature;
    ++dimensions;
  }
  size_t at = 0;
  const char* primitive =
      *signature >= 'A' && *signature <= 'Z' ? kPrimitives[*signature - 'A'] : nullptr;
  if (primitive != nullptr && signature[1] == '\0') {
    at = static_cast<size_t>(snprintf(name, capacity, "%s", primitive));
  } else {
    at = write_dotted(*signature == 'L' ? signature + 1 : signature, name, capacity);
  }
  for (; dimensions > 0 && at + 3 < capacity; --dimensions) {
    name[at++] = '[';
    name[at++] = ']';
  }
  name[at] = '\0';
}

bool class_name(jvmtiEnv* env, jclass klass, char* name, size_t capacity) {
  Deallocated<char> signature(env);
  if (env->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE) return false;
  write_class_name(signature, name, capacity);
  return true;
}

bool matches_any_super(jvmtiEnv* env, JNIEnv* jni, LocalRef<jclass> klass, const char* patterns) {
  char name[kLongestClassName];
  for (; klass != nullptr; klass.reset(jni->GetSuperclass(klass))) {
    if (class_name(env, klass, name, sizeof name) && matches_any(patterns, name)) return true;
  }
  return false;
}

}  // namespace jvmti
