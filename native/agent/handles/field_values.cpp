#include "agent/handles/field_values.h"

namespace jvmti {

jvalue field_value(JNIEnv* jni, jobject object, jfieldID field, char type) {
  jvalue value{};
  switch (type) {
    case 'Z':
      value.z = jni->GetBooleanField(object, field);
      break;
    case 'B':
      value.b = jni->GetByteField(object, field);
      break;
    case 'C':
      value.c = jni->GetCharField(object, field);
      break;
    case 'S':
      value.s = jni->GetShortField(object, field);
      break;
    case 'I':
      value.i = jni->GetIntField(object, field);
      break;
    case 'J':
      value.j = jni->GetLongField(object, field);
      break;
    case 'F':
      value.f = jni->GetFloatField(object, field);
      break;
    case 'D':
      value.d = jni->GetDoubleField(object, field);
      break;
    default:
      value.l = jni->GetObjectField(object, field);
  }
  return value;
}

int64_t whole_number(jvalue value, char type) {
  switch (type) {
    case 'Z':
      return value.z != JNI_FALSE;
    case 'B':
      return value.b;
    case 'C':
      return value.c;
    case 'S':
      return value.s;
    case 'I':
      return value.i;
    default:
      return value.j;
  }
}

}  // namespace jvmti
