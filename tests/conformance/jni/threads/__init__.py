"""The functions of JNI on threads, exceptions and references; as in ``src/jvmti/jni/threads``."""
