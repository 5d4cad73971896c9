/* The native methods of the test program Events. */
#include <jni.h>

JNIEXPORT jint JNICALL Java_Events_00024Native_one(JNIEnv* env, jclass type) { return 1; }

JNIEXPORT jint JNICALL Java_Events_00024Native_two(JNIEnv* env, jclass type) { return 2; }

JNIEXPORT jint JNICALL Java_Events_00024Native_three(JNIEnv* env, jclass type) { return 3; }
