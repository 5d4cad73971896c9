// What class files do not say about their classes, and patterns of probes ask: what they are below,
// however far up, and who loads them.
#pragma once

#include <jvmti.h>

#include "base/lock.h"
#include "classfile/instrumenter.h"

namespace jvmti {

// A class has been loaded, or is to be changed, with this class file.
struct ShownClass {
  jclass klass;  // null as it is loaded
  jobject loader;
  const char* name;
  const uint8_t* data;
  jint size;
};

// A class file names its superclass and interfaces, but its hook comes before the VM looks these
// up, and must not load them: the program would load its classes in another order.  So the answer
// is then what is known of classes with these names, of any loader.  The VM knows when
// the class has been prepared, before any of its code runs; if it says something else, the class is
// woven once more.
class ClassRelations : NoCopy {
 public:
  explicit ClassRelations(const classfile::Plan& plan) : plan_(plan) {}

  bool asks_for_supertypes() const;
  // Notes which loaded classes are below those that the plan names; false without memory.
  bool note_loaded(jvmtiEnv* env, JNIEnv* jni);
  // The answers to the plan's questions, in their order; false without memory.
  bool answer(jvmtiEnv* env, JNIEnv* jni, const ShownClass& shown, Vector<uint8_t>* answers);
  // Whether a class that has been prepared is another one than its class file got answers for.
  bool is_otherwise(jvmtiEnv* env, JNIEnv* jni, jclass klass);

 private:
  bool is_known_below(const Vector<classfile::Text>& parents, size_t question);
  bool note_below(const char* name, size_t question);
  bool decide(uint64_t klass, size_t question, bool yes);
  bool is_asked_for(const char* name, size_t question) const;

  const classfile::Plan& plan_;
  Mutex mutex_{Guards::kLists};
  Index below_;    // names of classes, by the question
  Index decided_;  // classes, by the question: 1 for no, 2 for yes
};

// Whether a class is below one that matches, a class or an interface; false without memory.
bool find_below(jvmtiEnv* env, JNIEnv* jni, jclass klass, const char* patterns, bool* below);
// Whether a loader's name matches, or its class, or this and its identity hash.
bool is_loader(jvmtiEnv* env, JNIEnv* jni, jobject loader, const char* patterns);

}  // namespace jvmti
