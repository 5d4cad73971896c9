// The floor that callbacks of heap walks are measured against: callbacks in C++ that do nothing, or
// write the tag of each object.  The program asks for a walk.

#include <jvmti.h>

#include <chrono>

namespace {

jvmtiEnv* env = nullptr;

jint JNICALL visit(jlong, jlong, jlong*, jint, void*) { return JVMTI_VISIT_OBJECTS; }

jint JNICALL tag(jlong, jlong, jlong* tag, jint, void*) {
  *tag = 7;
  return JVMTI_VISIT_OBJECTS;
}

}  // namespace

extern "C" JNIEXPORT jlong JNICALL Java_Walked_walk(JNIEnv*, jclass, jclass type, jboolean tags) {
  jvmtiHeapCallbacks callbacks{};
  callbacks.heap_iteration_callback = tags ? tag : visit;
  auto start = std::chrono::steady_clock::now();
  env->IterateThroughHeap(0, type, &callbacks, nullptr);
  auto took = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
}

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char*, void*) {
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JVMTI_VERSION_1_2) != JNI_OK) return JNI_ERR;
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  return env->AddCapabilities(&wanted) == JVMTI_ERROR_NONE ? JNI_OK : JNI_ERR;
}
