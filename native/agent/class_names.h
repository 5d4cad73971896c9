// Class names as Java writes them, for patterns and for what a controller reads.
#pragma once

#include <jvmti.h>

#include <cstddef>

namespace jvmti {

constexpr size_t kLongestClassName = 4096;  // with the zero at its end; the rest is cut off

// `java.util.List` of `Ljava/util/List;`, `int[]` of `[I`.
void write_class_name(const char* signature, char* name, size_t room);

// That of a class; false where the VM does not say.
bool class_name(jvmtiEnv* env, jclass klass, char* name, size_t room);

}  // namespace jvmti
