// Class names as Java writes them, for patterns and for what a controller reads.
#pragma once

#include <jvmti.h>

#include <cstddef>

#include "agent/core/vm_memory.h"

namespace jvmti {

constexpr size_t kLongestClassName = 4096;  // with the zero at its end; the rest is cut off

// `java.util.List` of `java/util/List`, up to a semicolon; its length.
size_t write_dotted(const char* slashed, char* dotted, size_t capacity);

// `java.util.List` of `Ljava/util/List;`, `int[]` of `[I`.
void write_class_name(const char* signature, char* name, size_t capacity);

// That of a class; false where the VM does not say.
bool class_name(jvmtiEnv* env, jclass klass, char* name, size_t capacity);

// Whether the name of a class, or of one that it extends, matches one of the patterns.
bool matches_any_super(jvmtiEnv* env, JNIEnv* jni, LocalRef<jclass> klass, const char* patterns);

}  // namespace jvmti
