// In a build with JVMTI_CHECK_LOCKS: every call into the VM by way of tables that first look at
// what the thread holds, and end the process where it holds a mutex.
#pragma once

#include <jvmti.h>

#include "base/lock.h"

namespace jvmti::lock_check {

#ifdef JVMTI_CHECK_LOCKS
// The VM for the agent's use; environments that it gives are looked after as well.
JavaVM* watched(JavaVM* vm);
// From now on JNI's functions, too.  Needs the start phase.
void watch_jni(jvmtiEnv* env, JNIEnv* jni);

// Generated: sets the functions of a table that is as long as the VM's.
void watch(jvmtiInterface_1_* table);
void watch(JNINativeInterface_* table, size_t slots);

// In lock_violations.cpp: what the tables of the look say to a thread that breaks the rules.
void violate(const jvmtiInterface_1_& jvmti_calls, const JNINativeInterface_& jni_calls,
             jvmtiEnv* env, JNIEnv* jni);
#else
inline JavaVM* watched(JavaVM* vm) { return vm; }
inline void watch_jni(jvmtiEnv*, JNIEnv*) {}
#endif

}  // namespace jvmti::lock_check
