"""The functions of JNI on classes; as in ``src/jvmti/jni/classes``."""
