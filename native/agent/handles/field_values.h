// Values of fields of instances, read by the type that the field has in its descriptor.

#pragma once

#include <jni.h>

#include <cstdint>

namespace jvmti {

jvalue field_value(JNIEnv* jni, jobject object, jfieldID field, char type);

// Of a boolean, a char or an integer.
int64_t whole_number(jvalue value, char type);

}  // namespace jvmti
