// The functions that stand for the VM's in a build with JVMTI_CHECK_LOCKS; the list of them is
// generated.
#pragma once

#include "agent/checks/lock_check.h"

namespace jvmti::lock_check {

extern const jvmtiInterface_1_* jvmti_original;
extern const JNINativeInterface_* jni_original;

inline const jvmtiInterface_1_* original(const jvmtiInterface_1_*) { return jvmti_original; }
inline const JNINativeInterface_* original(const JNINativeInterface_*) { return jni_original; }

template <auto member, class Member>
struct Checked;

template <auto member, class Table, class Env, class Result, class... Values>
struct Checked<member, Result (JNICALL* Table::*)(Env*, Values...)> {
  static inline const char* name = nullptr;
  static Result JNICALL call(Env* env, Values... values) {
    hold_none(name);
    return (original(static_cast<const Table*>(nullptr))->*member)(env, values...);
  }
  static void put(Table* table, const char* function) {
    name = function;
    table->*member = call;
  }
};

// What a function takes besides is for later versions.
template <auto member, class Table, class Env, class Result, class... Values>
struct Checked<member, Result (JNICALL* Table::*)(Env*, Values..., ...)> {
  static inline const char* name = nullptr;
  static Result JNICALL call(Env* env, Values... values, ...) {
    hold_none(name);
    return (original(static_cast<const Table*>(nullptr))->*member)(env, values...);
  }
  static void put(Table* table, const char* function) {
    name = function;
    table->*member = call;
  }
};

}  // namespace jvmti::lock_check
