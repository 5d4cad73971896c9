#include "agent/engines/instrumentation/class_relations.h"

#include <stdio.h>

#include "agent/engines/instrumentation/code_moves.h"
#include "agent/handles/class_names.h"
#include "agent/handles/numbered.h"
#include "base/patterns.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

constexpr uint32_t kNo = 1, kYes = 2;

// False without memory.
bool number_parents(jvmtiEnv* env, JNIEnv* jni, jclass klass, Numbered* found) {
  if (found->number(jni->GetSuperclass(klass)) < 0) return false;
  jint count = 0;
  Deallocated<jclass> interfaces(env);
  // The VM does not report the interfaces of a class that is not linked yet.
  if (env->GetImplementedInterfaces(klass, &count, interfaces.out()) != JVMTI_ERROR_NONE) {
    return true;
  }
  bool numbered = true;
  for (jint i = 0; i < count; ++i) numbered = found->number(interfaces[i]) > 0 && numbered;
  return numbered;
}

// The superclass and the interfaces that a class file names, within its bytes; false without
// memory.
bool find_parents(const ShownClass& shown, Vector<classfile::Text>* parents) {
  classfile::Bytes bytes(shown.data, static_cast<uint64_t>(shown.size));
  classfile::ConstantPool pool;
  bytes.take(8);  // magic number and version
  classfile::Status status = bytes.bad ? classfile::Status::kMalformed : pool.read(bytes);
  if (status == classfile::Status::kOutOfMemory) return false;
  if (status != classfile::Status::kOk) return true;  // the VM will refuse it
  bytes.take(4);                                      // access flags and the class itself
  classfile::Text super = pool.class_name(bytes.u2());
  if (super.size > 0 && !parents->push(super)) return false;
  for (uint32_t left = bytes.u2(); left > 0 && !bytes.bad; --left) {
    classfile::Text name = pool.class_name(bytes.u2());
    if (name.size > 0 && !parents->push(name)) return false;
  }
  return true;
}

uint64_t about(uint64_t klass, size_t question) {
  return klass ^ (question + 1) * 0x9E3779B97F4A7C15u;
}

// The name of a loader that has one: `ClassLoader.name`, which no subclass overrides.
bool has_name(JNIEnv* jni, jobject loader, LocalRef<jclass> type, const char* patterns) {
  if (type == nullptr) return false;
  // FindClass would ask the loader of the method that runs here.
  while (true) {
    LocalRef<jclass> above(jni, jni->GetSuperclass(type));
    LocalRef<jclass> top(jni, above == nullptr ? nullptr : jni->GetSuperclass(above));
    if (top == nullptr) break;
    type = std::move(above);
  }
  jfieldID field = jni->GetFieldID(type, "name", "Ljava/lang/String;");
  if (field == nullptr) {
    jni->ExceptionClear();
    return false;
  }
  LocalRef<jstring> name(jni, jni->GetObjectField(loader, field));
  const char* text = name == nullptr ? nullptr : jni->GetStringUTFChars(name, nullptr);
  if (text == nullptr) {
    if (jni->ExceptionCheck()) jni->ExceptionClear();
    return false;
  }
  bool found = matches_any(patterns, text);
  jni->ReleaseStringUTFChars(name, text);
  return found;
}

}  // namespace

bool find_below(jvmtiEnv* env, JNIEnv* jni, jclass klass, const char* patterns, bool* below) {
  *below = false;
  Numbered found(jni);
  if (!number_parents(env, jni, klass, &found)) return false;
  for (size_t i = 0; i < found.size(); ++i) {
    jclass one = static_cast<jclass>(found[i]);
    char name[kLongestClassName];
    *below = class_name(env, one, name, sizeof name) && matches_any(patterns, name);
    if (*below) return true;
    if (!number_parents(env, jni, one, &found)) return false;
  }
  return true;
}

bool is_loader(jvmtiEnv* env, JNIEnv* jni, jobject loader, const char* patterns) {
  if (loader == nullptr) return matches_any(patterns, "bootstrap");
  LocalRef<jclass> type(jni, jni->GetObjectClass(loader));
  constexpr size_t kHash = 16;
  char name[kLongestClassName + kHash];
  if (class_name(env, type, name, kLongestClassName)) {
    if (matches_any(patterns, name)) return true;
    size_t length = std::strlen(name);
    snprintf(name + length, kHash, "@%x", static_cast<unsigned>(hash_of_loader(env, loader)));
    if (matches_any(patterns, name)) return true;
  }
  return has_name(jni, loader, std::move(type), patterns);
}

bool ClassRelations::asks_for_supertypes() const {
  for (const classfile::Question& one : plan_.questions()) {
    if (!one.about_loader) return true;
  }
  return false;
}

bool ClassRelations::is_asked_for(const char* name, size_t question) const {
  Slice text{name, name + std::strlen(name)};
  for (const classfile::Probe& probe : plan_.probes()) {
    if (probe.supertypes != nullptr && probe.supertypes_question == question &&
        matches_any<true>(probe.classes, text)) {
      return true;
    }
  }
  return false;
}

bool ClassRelations::note_below(const char* name, size_t question) {
  uint64_t key = about(hash_of_class(name, std::strlen(name), 0), question);
  Locked locked(mutex_);
  return below_.find(key) != 0 || below_.insert(key, kYes);
}

bool ClassRelations::decide(uint64_t klass, size_t question, bool yes) {
  uint64_t key = about(klass, question);
  Locked locked(mutex_);
  if (decided_.find(key) == 0) return !yes || decided_.insert(key, kYes);
  decided_.replace(key, yes ? kYes : kNo);
  return true;
}

bool ClassRelations::note_loaded(jvmtiEnv* env, JNIEnv* jni) {
  LocalRefs<jclass> classes(env, jni);
  if (env->GetLoadedClasses(classes.count_out(), classes.out()) != JVMTI_ERROR_NONE) return false;
  for (jclass klass : classes) {
    Deallocated<char> signature(env);
    if (env->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE) continue;
    size_t length = std::strlen(signature);
    if (length < 3 || signature[0] != 'L') continue;
    signature[length - 1] = '\0';
    for (size_t i = 0; i < plan_.questions().size(); ++i) {
      const classfile::Question& one = plan_.questions()[i];
      bool below = false;
      if (one.about_loader) continue;
      if (!find_below(env, jni, klass, one.patterns, &below)) return false;
      if (below && !note_below(signature + 1, i)) return false;
    }
  }
  return true;
}

bool ClassRelations::is_known_below(const Vector<classfile::Text>& parents, size_t question) {
  Locked locked(mutex_);
  for (classfile::Text name : parents) {
    if (matches_any<true>(plan_.questions()[question].patterns, name.slice())) return true;
    const char* text = reinterpret_cast<const char*>(name.data);
    if (below_.find(about(hash_of_class(text, name.size, 0), question)) != 0) return true;
  }
  return false;
}

bool ClassRelations::answer(jvmtiEnv* env, JNIEnv* jni, const ShownClass& shown,
                            Vector<uint8_t>* answers) {
  uint64_t klass =
      hash_of_class(shown.name, std::strlen(shown.name), hash_of_loader(env, shown.loader));
  answers->clear();
  Vector<classfile::Text> parents;
  if (shown.klass == nullptr && asks_for_supertypes() && !find_parents(shown, &parents)) {
    return false;
  }
  for (size_t i = 0; i < plan_.questions().size(); ++i) {
    const classfile::Question& one = plan_.questions()[i];
    bool yes = false;
    bool good = true;
    if (one.about_loader) {
      yes = is_loader(env, jni, shown.loader, one.patterns);
    } else {
      if (shown.klass == nullptr) {
        yes = is_known_below(parents, i);
      } else {
        good = find_below(env, jni, shown.klass, one.patterns, &yes);
      }
      good = good && (!yes || note_below(shown.name, i)) && decide(klass, i, yes);
    }
    if (!good || !answers->push(yes ? 1 : 0)) return false;
  }
  return true;
}

bool ClassRelations::is_otherwise(jvmtiEnv* env, JNIEnv* jni, jclass klass) {
  Deallocated<char> signature(env);
  LocalRef<> loader(jni);
  if (env->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE ||
      env->GetClassLoader(klass, loader.out()) != JVMTI_ERROR_NONE) {
    return false;
  }
  size_t length = std::strlen(signature);
  if (length < 3 || signature[0] != 'L') return false;
  signature[length - 1] = '\0';
  const char* name = signature + 1;
  uint64_t hash = hash_of_class(name, length - 2, hash_of_loader(env, loader));
  bool otherwise = false;
  for (size_t i = 0; i < plan_.questions().size(); ++i) {
    const classfile::Question& one = plan_.questions()[i];
    bool below = false;
    if (one.about_loader) continue;
    bool known = find_below(env, jni, klass, one.patterns, &below);
    if (!known || (below && !note_below(name, i))) continue;  // it stays as it is
    bool decided;
    {
      Locked locked(mutex_);
      decided = decided_.find(about(hash, i)) == kYes;
    }
    otherwise = otherwise || (decided != below && is_asked_for(name, i));
  }
  return otherwise;
}

namespace operations {

jvmtiError SelectClasses(Call& call, const In<List<kinds::Class>>& classes,
                         const In<Nullable<Text>>& supertypes, const In<Nullable<Text>>& loaders,
                         const In<Nullable<kinds::ClassLoader>>& loader, jint* count,
                         unsigned char** bytes) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  jvmtiError error = agent.env->Allocate(classes.count() + 1, bytes);
  if (error != JVMTI_ERROR_NONE) return error;
  *count = classes.count();
  for (jint i = 0; i < classes.count(); ++i) {
    jclass klass = classes.items()[i];
    bool chosen = true;
    LocalRef<> own(call.jni);
    error = agent.env->GetClassLoader(klass, own.out());
    if (error != JVMTI_ERROR_NONE) return error;
    if (loader.c() != nullptr) chosen = call.jni->IsSameObject(own, loader.c());
    if (chosen && loaders.c() != nullptr) {
      chosen = is_loader(agent.env, call.jni, own, loaders.c());
    }
    if (chosen && supertypes.c() != nullptr &&
        !find_below(agent.env, call.jni, klass, supertypes.c(), &chosen)) {
      return JVMTI_ERROR_OUT_OF_MEMORY;
    }
    (*bytes)[i] = chosen ? 1 : 0;
  }
  return JVMTI_ERROR_NONE;
}

}  // namespace operations
}  // namespace jvmti
