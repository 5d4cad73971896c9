/* The native methods of the test program NativeCalls: JNI calls in the forms that C has for them. */
#include <jni.h>
#include <stdio.h>
#include <stdarg.h>
#include <string.h>

#define TYPES "(ZBCSIJFDLjava/lang/String;)"

static jboolean truth = JNI_TRUE;
static jbyte small = -8;
static jchar letter = 0x20AC;
static jshort shorter = -16000;
static jint whole = -2000000000;
static jlong wide = -9000000000000000000LL;
static jfloat single = 1.5f;
static jdouble fraction = -2.25;

#define VALUES truth, small, letter, shorter, whole, wide, single, fraction

JNIEXPORT jint JNICALL Java_NativeCalls_variadicInt(JNIEnv* env, jobject self, jstring text) {
  jclass type = (*env)->GetObjectClass(env, self);
  jmethodID method = (*env)->GetMethodID(env, type, "takesInt", TYPES "I");
  return (*env)->CallIntMethod(env, self, method, VALUES, text);
}

static jdouble list_double(JNIEnv* env, jclass type, jmethodID method, ...) {
  va_list given;
  va_start(given, method);
  jdouble result = (*env)->CallStaticDoubleMethodV(env, type, method, given);
  va_end(given);
  return result;
}

JNIEXPORT jdouble JNICALL Java_NativeCalls_listDouble(JNIEnv* env, jclass type, jstring text) {
  jmethodID method = (*env)->GetStaticMethodID(env, type, "takesDouble", TYPES "D");
  return list_double(env, type, method, VALUES, text);
}

JNIEXPORT jobject JNICALL Java_NativeCalls_variadicObject(JNIEnv* env, jclass type, jstring text) {
  jmethodID constructor = (*env)->GetMethodID(env, type, "<init>", TYPES "V");
  return (*env)->NewObject(env, type, constructor, VALUES, text);
}

JNIEXPORT jlong JNICALL Java_NativeCalls_nonvirtualLong(JNIEnv* env, jobject self, jclass above,
                                                        jstring text) {
  jmethodID method = (*env)->GetMethodID(env, above, "takesLong", TYPES "J");
  return (*env)->CallNonvirtualLongMethod(env, self, above, method, VALUES, text);
}

JNIEXPORT jint JNICALL Java_NativeCalls_manyTimes(JNIEnv* env, jclass type, jint times) {
  jmethodID method = (*env)->GetStaticMethodID(env, type, "twice", "(I)I");
  jint sum = 0;
  for (jint i = 0; i < times; ++i) sum += (*env)->CallStaticIntMethod(env, type, method, i);
  return sum;
}

/* Calls what may be called while an exception waits, and lets the exception wait on. */
JNIEXPORT jint JNICALL Java_NativeCalls_whileThrown(JNIEnv* env, jclass type, jstring text) {
  const char* bytes = (*env)->GetStringUTFChars(env, text, NULL);
  (*env)->PushLocalFrame(env, 4);
  (*env)->ThrowNew(env, (*env)->FindClass(env, "java/io/IOException"), bytes);
  jint found = (*env)->ExceptionCheck(env) ? 1 : 0;
  jthrowable thrown = (*env)->ExceptionOccurred(env);
  found += thrown != NULL ? 2 : 0;
  (*env)->DeleteLocalRef(env, thrown);
  (*env)->ReleaseStringUTFChars(env, text, bytes);
  (*env)->PopLocalFrame(env, NULL);
  return found + ((*env)->ExceptionCheck(env) ? 4 : 0);
}

/* A call that throws: clears the exception and gives its message. */
JNIEXPORT jstring JNICALL Java_NativeCalls_thrownByCall(JNIEnv* env, jclass type, jstring text) {
  jmethodID method = (*env)->GetStaticMethodID(env, type, "fails", "(Ljava/lang/String;)J");
  jlong result = (*env)->CallStaticLongMethod(env, type, method, text);
  jthrowable thrown = (*env)->ExceptionOccurred(env);
  if (thrown == NULL || result != 0) return NULL;
  (*env)->ExceptionClear(env);
  jmethodID message = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, thrown), "getMessage",
                                          "()Ljava/lang/String;");
  return (*env)->CallObjectMethod(env, thrown, message);
}

/* Strings made in frames within frames; what the innermost made comes out as their result. */
JNIEXPORT jstring JNICALL Java_NativeCalls_framed(JNIEnv* env, jclass type, jint depth) {
  if ((*env)->PushLocalFrame(env, 8) != 0) return NULL;
  jstring made = depth == 0 ? (*env)->NewStringUTF(env, "from the innermost frame")
                            : Java_NativeCalls_framed(env, type, depth - 1);
  (*env)->NewStringUTF(env, "that goes with the frame");
  return (*env)->PopLocalFrame(env, made);
}

/* There and back again: the name of a field found by its reflection, and the reflection of that. */
JNIEXPORT jint JNICALL Java_NativeCalls_reflected(JNIEnv* env, jclass type, jobject reflected,
                                                  jobjectArray back) {
  jfieldID field = (*env)->FromReflectedField(env, reflected);
  jobject again = (*env)->ToReflectedField(env, type, field, JNI_TRUE);
  (*env)->SetObjectArrayElement(env, back, 0, again);
  return (*env)->GetStaticIntField(env, type, field);
}

/* Everything that JNI lends is looked at and given back: a text in three forms, arrays of each type. */
JNIEXPORT jint JNICALL Java_NativeCalls_borrowed(JNIEnv* env, jclass type, jstring text,
                                                 jobjectArray arrays) {
  jint sum = 0;
  jsize length = (*env)->GetStringLength(env, text);
  const char* bytes = (*env)->GetStringUTFChars(env, text, NULL);
  for (jsize i = 0; i < length; ++i) sum += bytes[i];
  (*env)->ReleaseStringUTFChars(env, text, bytes);
  const jchar* units = (*env)->GetStringChars(env, text, NULL);
  for (jsize i = 0; i < length; ++i) sum += units[i];
  (*env)->ReleaseStringChars(env, text, units);
  units = (*env)->GetStringCritical(env, text, NULL);
  for (jsize i = 0; i < length; ++i) sum += units[i];
  (*env)->ReleaseStringCritical(env, text, units);
  jsize at = 0;
#define BORROW(Type, type)                                                              \
  {                                                                                     \
    type##Array array = (*env)->GetObjectArrayElement(env, arrays, at++);               \
    type* elements = (*env)->Get##Type##ArrayElements(env, array, NULL);                \
    sum += (jint)elements[0];                                                           \
    (*env)->Release##Type##ArrayElements(env, array, elements, 0);                      \
  }
  BORROW(Boolean, jboolean)
  BORROW(Byte, jbyte)
  BORROW(Char, jchar)
  BORROW(Short, jshort)
  BORROW(Int, jint)
  BORROW(Long, jlong)
  BORROW(Float, jfloat)
  BORROW(Double, jdouble)
  jarray whole = (*env)->GetObjectArrayElement(env, arrays, 4);
  jint* inside = (*env)->GetPrimitiveArrayCritical(env, whole, NULL);
  sum += inside[0] - 4;
  (*env)->ReleasePrimitiveArrayCritical(env, whole, inside, 0);
  JavaVM* vm = NULL;
  return (*env)->GetJavaVM(env, &vm) == JNI_OK && vm != NULL ? sum : -1;
}

/* Direct buffers: one made of memory of ours, one of Java's with numbers, and one that is none. */
JNIEXPORT jstring JNICALL Java_NativeCalls_direct(JNIEnv* env, jclass type, jobject ints,
                                                  jobject none) {
  static char memory[8];
  memcpy(memory, "abcdefg", 8);
  jobject made = (*env)->NewDirectByteBuffer(env, memory, 8);
  char* inside = (*env)->GetDirectBufferAddress(env, made);
  jint* numbers = (*env)->GetDirectBufferAddress(env, ints);
  void* nothing = (*env)->GetDirectBufferAddress(env, none);
  char text[64];
  snprintf(text, sizeof text, "%s %d %d %d", memory, inside == memory, (int)numbers[1],
           nothing == NULL);
  return (*env)->NewStringUTF(env, text);
}

static jint JNICALL registered(JNIEnv* env, jclass type) { return 11; }

/* Every kind of memory that a JNI call reads or writes, and what is in it afterwards. */
JNIEXPORT jstring JNICALL Java_NativeCalls_regions(JNIEnv* env, jclass type, jstring text,
                                                   jintArray ints) {
  jint got[3] = {-1, -1, -1};
  (*env)->GetIntArrayRegion(env, ints, 1, 2, got);
  jint given[2] = {70, 80};
  (*env)->SetIntArrayRegion(env, ints, 0, 2, given);
  jchar units[4] = {0, 0, 0, 0};
  (*env)->GetStringRegion(env, text, 1, 2, units);
  char utf[64] = "";
  (*env)->GetStringUTFRegion(env, text, 0, (*env)->GetStringLength(env, text), utf);
  jstring made = (*env)->NewString(env, units, 2);
  const char* back = (*env)->GetStringUTFChars(env, made, NULL);
  jboolean copy = 5;
  const jchar* chars = (*env)->GetStringChars(env, text, &copy);
  (*env)->ReleaseStringChars(env, text, chars);
  jint* elements = (*env)->GetIntArrayElements(env, ints, NULL);
  elements[2] += 1;
  (*env)->ReleaseIntArrayElements(env, ints, elements, 0);
  JNINativeMethod method = {"registered", "()I", (void*)registered};
  jint done = (*env)->RegisterNatives(env, type, &method, 1);
  /* The VM refuses this; the memory that it names is not there. */
  (*env)->GetIntArrayRegion(env, ints, 0, 1 << 28, got);
  (*env)->ExceptionClear(env);
  char answer[256];
  snprintf(answer, sizeof answer, "%d %d %d %s %s %d %d", got[0], got[1], got[2], utf, back, copy,
           done);
  (*env)->ReleaseStringUTFChars(env, made, back);
  return (*env)->NewStringUTF(env, answer);
}
