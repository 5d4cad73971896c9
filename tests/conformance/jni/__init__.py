"""The functions of JNI, a module for each chapter; as in ``src/jvmti/jni``."""
