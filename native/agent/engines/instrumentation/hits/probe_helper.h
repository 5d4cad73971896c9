// The helper class that probes call, and what it reads and writes.
#pragma once

#include <jvmti.h>

#include <atomic>

#include "generated/layouts.h"

namespace jvmti {

constexpr uint32_t kProbeSets = layouts::ProbeMemory::kSets;

// What the helper class reads of each set, for good.
extern layouts::ProbeControl probe_controls[kProbeSets];

// How much longer threads may wait for locks until the helper calls the agent, also for good.
struct alignas(layouts::ProbeWaits::kLine) WaitLine {
  std::atomic<int64_t> left{0};
};
extern WaitLine wait_lines[kProbeSets][layouts::ProbeWaits::kLines];

// Defines the helper class once; null, or why it cannot be.  For service threads.
const char* load_probe_helper(JNIEnv* jni);

// Fields of the JDK's that say what an object is; the helper's loading finds them.
struct KnownFields {
  jclass throwable;
  jclass enumeration;
  jfieldID message;
  jfieldID name;
  jfieldID boxed[8];
  jclass object;
  jclass objects;      // arrays of them
  jobjectArray paths;  // of the helper: by set and step, what it follows by itself
  jobject unsafe;
  jmethodID offset_of;  // of a field in an object
};
extern const char* const kBoxClasses[8];
constexpr const char kBoxTypes[] = "ZBCSIJFD";
extern KnownFields known_fields;

}  // namespace jvmti
