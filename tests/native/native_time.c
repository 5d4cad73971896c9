// The native methods of the test program NativeTime, which use processor time outside of Java.
#define _GNU_SOURCE
#include <jni.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static JavaVM* vm;

static double used(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

// Counts down in this library.
static void count_here(long from) {
  for (volatile long left = from; left > 0; --left) {
  }
}

// Machine code that does the same, in memory that belongs to no file.
static void (*make_code(void))(long) {
#ifdef __x86_64__
  static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
#else
  static const unsigned code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#endif
  int access = PROT_READ | PROT_WRITE | PROT_EXEC;
  void* made = mmap(NULL, 4096, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(made, code, sizeof code);
  __builtin___clear_cache((char*)made, (char*)made + sizeof code);
  return (void (*)(long))made;
}

static void use(jint milliseconds, jboolean made) {
  void (*count)(long) = made ? make_code() : count_here;
  double until = used() + milliseconds;
  while (used() < until) count(1000000);
}

JNIEXPORT void JNICALL Java_NativeTime_use(JNIEnv* env, jclass type, jint milliseconds,
                                           jboolean made) {
  use(milliseconds, made);
}

static void* run_brought(void* milliseconds) {
  JNIEnv* env;
  JavaVMAttachArgs arguments = {JNI_VERSION_1_6, "brought", NULL};
  (*vm)->AttachCurrentThread(vm, (void**)&env, &arguments);
  use(*(jint*)milliseconds, JNI_TRUE);
  (*vm)->DetachCurrentThread(vm);
  return NULL;
}

// On a thread of its own that has no Java frame.
JNIEXPORT void JNICALL Java_NativeTime_bring(JNIEnv* env, jclass type, jint milliseconds) {
  (*env)->GetJavaVM(env, &vm);
  pthread_t thread;
  pthread_create(&thread, NULL, run_brought, &milliseconds);
  pthread_join(thread, NULL);
}
