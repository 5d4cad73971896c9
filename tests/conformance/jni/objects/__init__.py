"""The functions of JNI on objects; as in ``src/jvmti/jni/objects``."""
