/* The smallest launcher: LAUNCHER LIBJVM MAIN-CLASS VM-OPTION... starts a JVM in this process and
   runs the main class. The agent is linked into it. */

#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>

typedef jint(JNICALL *CreateJavaVM)(JavaVM **, void **, void *);

int main(int count, char **words) {
  if (count < 3) return 2;
  void *library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
  CreateJavaVM create = library ? (CreateJavaVM)dlsym(library, "JNI_CreateJavaVM") : NULL;
  if (create == NULL) {
    fprintf(stderr, "launcher: %s\n", dlerror());
    return 2;
  }
  JavaVMOption *options = calloc(count, sizeof *options);
  for (int i = 3; i < count; ++i) options[i - 3].optionString = words[i];
  JavaVMInitArgs arguments = {JNI_VERSION_1_8, count - 3, options, JNI_FALSE};
  JavaVM *vm;
  JNIEnv *jni;
  if (create(&vm, (void **)&jni, &arguments) != JNI_OK) return 1;
  jclass main_class = (*jni)->FindClass(jni, words[2]);
  jmethodID method =
      main_class == NULL
          ? NULL
          : (*jni)->GetStaticMethodID(jni, main_class, "main", "([Ljava/lang/String;)V");
  if (method != NULL) {
    jclass string = (*jni)->FindClass(jni, "java/lang/String");
    (*jni)->CallStaticVoidMethod(jni, main_class, method,
                                 (*jni)->NewObjectArray(jni, 0, string, NULL));
  }
  if ((*jni)->ExceptionCheck(jni)) {
    (*jni)->ExceptionDescribe(jni);
    return 1;
  }
  (*vm)->DestroyJavaVM(vm);
  return 0;
}
