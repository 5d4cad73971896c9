#include "agent/engines/instrumentation/hits/probe_helper.h"

#include <string_view>

#include "agent/core/vm_memory.h"
#include "agent/engines/instrumentation/probe_set.h"
#include "agent/engines/profiling/samplings/parked_threads.h"
#include "agent/handles/agent_references.h"
#include "base/lock.h"
#include "generated/probe_helper.h"

namespace jvmti {

alignas(64) layouts::ProbeControl probe_controls[kProbeSets];
WaitLine wait_lines[kProbeSets][layouts::ProbeWaits::kLines];
KnownFields known_fields{};

const char* const kBoxClasses[8] = {"java/lang/Boolean", "java/lang/Byte",    "java/lang/Character",
                                    "java/lang/Short",   "java/lang/Integer", "java/lang/Long",
                                    "java/lang/Float",   "java/lang/Double"};

static_assert(std::string_view(kProbeLeaving) == classfile::kLeaving);
static_assert(std::string_view(kProbeRestarting) == classfile::kRestarting);

namespace {

constexpr const char* kBoxed[8] = {"Z", "B", "C", "S", "I", "J", "F", "D"};

Turn turn;  // only service threads load it
bool loaded = false;

LocalRef<jclass> existing(JNIEnv* jni, const char* name) {
  LocalRef<jclass> found = class_named(jni, name);
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  return found;
}

bool find_fields(JNIEnv* jni) {
  auto field = [&](const char* owner, const char* name, const char* type) -> jfieldID {
    LocalRef<jclass> klass = existing(jni, owner);
    jfieldID found = klass == nullptr ? nullptr : jni->GetFieldID(klass, name, type);
    if (jni->ExceptionCheck()) jni->ExceptionClear();
    return found;
  };
  KnownFields& known = known_fields;
  known.message = field("java/lang/Throwable", "detailMessage", "Ljava/lang/String;");
  known.name = field("java/lang/Enum", "name", "Ljava/lang/String;");
  bool whole = known.message != nullptr && known.name != nullptr;
  for (int i = 0; i < 8; ++i) {
    known.boxed[i] = field(kBoxClasses[i], "value", kBoxed[i]);
    whole = whole && known.boxed[i] != nullptr;
  }
  if (!whole) return false;
  known.object = static_cast<jclass>(hold(jni, existing(jni, "java/lang/Object").get()));
  known.objects = static_cast<jclass>(hold(jni, existing(jni, "[Ljava/lang/Object;").get()));
  known.throwable = static_cast<jclass>(hold(jni, existing(jni, "java/lang/Throwable").get()));
  known.enumeration = static_cast<jclass>(hold(jni, existing(jni, "java/lang/Enum").get()));
  return known.object != nullptr && known.objects != nullptr && known.throwable != nullptr &&
         known.enumeration != nullptr;
}

// Calls each native method once, for no set: the VM looks for one by Java code, which may have
// probes later that call this very method.
bool link_natives(JNIEnv* jni, jclass helper) {
  layouts::RecordedProbe record{};
  jvalue arguments[6] = {};
  auto call = [&](const char* name, const char* descriptor) {
    jmethodID method = jni->GetStaticMethodID(helper, name, descriptor);
    if (method != nullptr) jni->CallStaticVoidMethodA(helper, method, arguments);
    return method != nullptr && !jni->ExceptionCheck();
  };
  jmethodID key = jni->GetStaticMethodID(helper, "key", "(ILjava/lang/Object;I)I");
  if (key == nullptr) return false;
  jni->CallStaticIntMethodA(helper, key, arguments);
  bool linked = !jni->ExceptionCheck() && call("halt", "([Ljava/lang/Object;II)V") &&
                call("pause", "(IJ)V") && call("raise", "(ILjava/lang/String;Ljava/lang/String;)V");
  jmethodID test =
      linked ? jni->GetStaticMethodID(helper, "test", "(IILjava/lang/Object;)I") : nullptr;
  if (test != nullptr) jni->CallStaticIntMethodA(helper, test, arguments);
  arguments[0].j = reinterpret_cast<jlong>(&record);
  return test != nullptr && !jni->ExceptionCheck() && call("object", "(JLjava/lang/Object;II)V") &&
         call("parked", "(ILjava/lang/Object;JJJJ)V");
}

bool find_own_fields(JNIEnv* jni, jclass helper, jclass unsafe) {
  KnownFields& known = known_fields;
  jfieldID paths = jni->GetStaticFieldID(helper, "paths", "[[[Ljava/lang/Object;");
  jfieldID own = paths == nullptr
                     ? nullptr
                     : jni->GetStaticFieldID(helper, "unsafe", "Ljdk/internal/misc/Unsafe;");
  if (own == nullptr) return false;
  known.offset_of = jni->GetMethodID(unsafe, "objectFieldOffset", "(Ljava/lang/reflect/Field;)J");
  if (known.offset_of == nullptr) return false;
  LocalRef<> found(jni, jni->GetStaticObjectField(helper, paths));
  known.paths = static_cast<jobjectArray>(hold(jni, found));
  found.reset(jni->GetStaticObjectField(helper, own));
  known.unsafe = hold(jni, found);
  return known.paths != nullptr && known.unsafe != nullptr;
}

template <size_t kSize>
LocalRef<jclass> define(JNIEnv* jni, const char* name, const uint8_t (&bytes)[kSize]) {
  return LocalRef<jclass>(jni,
                          jni->DefineClass(name, nullptr, reinterpret_cast<const jbyte*>(bytes),
                                           static_cast<jsize>(kSize)));
}

const char* load(JNIEnv* jni) {
  if (existing(jni, kProbeHelper) != nullptr) {
    return "another copy of the agent has probes in this JVM: use that one's package";
  }
  if (known_fields.enumeration == nullptr && !find_fields(jni)) {
    return "the JVM's own classes are not as they should be";
  }
  // Another version of the agent may have defined the same.
  LocalRef<jclass> leaving = existing(jni, kProbeLeaving);
  if (leaving == nullptr) leaving = define(jni, kProbeLeaving, kProbeLeavingClass);
  LocalRef<jclass> restarting = existing(jni, kProbeRestarting);
  if (restarting == nullptr) restarting = define(jni, kProbeRestarting, kProbeRestartingClass);
  LocalRef<jclass> defined(jni);
  // Java 11 calls it getObject.
  LocalRef<jclass> unsafe = existing(jni, "jdk/internal/misc/Unsafe");
  if (unsafe == nullptr) return "the JVM's own classes are not as they should be";
  bool is_new = jni->GetMethodID(unsafe, "getReference",
                                 "(Ljava/lang/Object;J)Ljava/lang/Object;") != nullptr;
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  bool gated = leaving != nullptr && restarting != nullptr &&
               define(jni, kProbeGate, kProbeGateClosed) != nullptr;
  if (gated) {
    defined = is_new ? define(jni, kProbeHelper, kProbeHelperClass)
                     : define(jni, kProbeHelper, kProbeHelperClass11);
  }
  // Asking for a method initializes the class.
  bool ready = defined != nullptr && jni->GetStaticMethodID(defined, "start", "(I)J") != nullptr &&
               link_natives(jni, defined) && find_own_fields(jni, defined, unsafe);
  if (jni->ExceptionCheck()) {
    jni->ExceptionDescribe();
    jni->ExceptionClear();
  }
  return ready ? nullptr : "the JVM does not take the class that probes call";
}

}  // namespace

const char* load_probe_helper(JNIEnv* jni) {
  turn.take();
  const char* why = loaded ? nullptr : load(jni);
  loaded = why == nullptr;
  turn.give_back();
  return why;
}

}  // namespace jvmti

extern "C" {

JNIEXPORT jlong JNICALL JVMTI_PROBE_HELPER(control)(JNIEnv*, jclass) {
  return reinterpret_cast<jlong>(jvmti::probe_controls);
}

JNIEXPORT void JNICALL JVMTI_PROBE_HELPER(object)(JNIEnv* jni, jclass, jlong record, jobject value,
                                                  jint offset, jint operand) {
  jvmti::ProbeSet::record_object(jni, reinterpret_cast<uint8_t*>(record), value, offset, operand);
}

JNIEXPORT jint JNICALL JVMTI_PROBE_HELPER(test)(JNIEnv* jni, jclass, jint probes, jint step,
                                                jobject from) {
  return jvmti::ProbeSet::test(jni, static_cast<uint32_t>(probes), static_cast<uint32_t>(step),
                               from);
}

JNIEXPORT jint JNICALL JVMTI_PROBE_HELPER(key)(JNIEnv* jni, jclass, jint probes, jobject value,
                                               jint operand) {
  return jvmti::ProbeSet::key(jni, static_cast<uint32_t>(probes), value, operand);
}

JNIEXPORT void JNICALL JVMTI_PROBE_HELPER(parked)(JNIEnv* jni, jclass, jint probes, jobject lock,
                                                  jlong began, jlong owner, jlong ended,
                                                  jlong left) {
  jvmti::UsedProbes used(static_cast<uint32_t>(probes));
  if (used.get() == nullptr) return;
  jvmti::report_parked(used.get()->profile(), jni, lock,
                       {began, ended, owner, reinterpret_cast<std::atomic<int64_t>*>(left)});
}

JNIEXPORT void JNICALL JVMTI_PROBE_HELPER(pause)(JNIEnv*, jclass, jint probes, jlong nanoseconds) {
  jvmti::ProbeSet::pause(static_cast<uint32_t>(probes), nanoseconds);
}

JNIEXPORT void JNICALL JVMTI_PROBE_HELPER(raise)(JNIEnv* jni, jclass, jint probes, jstring name,
                                                 jstring message) {
  jvmti::ProbeSet::raise(jni, static_cast<uint32_t>(probes), name, message);
}

}  // extern "C"
