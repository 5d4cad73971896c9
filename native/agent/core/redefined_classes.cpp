#include "agent/core/redefined_classes.h"

#include <cstdlib>
#include <cstring>

#include "agent/core/agent.h"
#include "agent/core/vm_memory.h"
#include "agent/sessions/environments.h"
#include "base/containers.h"
#include "base/hashes.h"
#include "base/lock.h"

namespace jvmti {

namespace {

constexpr jint kFirstThatRemembers = 20;

// A class by its name and its loader's identity hash: no reference to it is needed.
struct Redefined {
  uint64_t klass;
  unsigned char* file;
  jint size;
};

Mutex redefined_mutex{Guards::kLists};
Vector<Redefined> redefined;

uint64_t hash_of_redefined(jvmtiEnv* env, JNIEnv* jni, jclass klass) {
  Deallocated<char> signature(env);
  LocalRef<> loader(jni);
  jint of_loader = 0;
  if (env->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE ||
      env->GetClassLoader(klass, loader.out()) != JVMTI_ERROR_NONE) {
    return 0;
  }
  if (loader != nullptr) env->GetObjectHashCode(loader, &of_loader);
  return hash_of(signature) * 31 + static_cast<uint32_t>(of_loader);
}

Redefined* find_redefined(uint64_t klass) {
  for (Redefined& one : redefined) {
    if (one.klass == klass) return &one;
  }
  return nullptr;
}

// Class files for one redefinition.
class Copies : NoCopy {
 public:
  ~Copies() {
    for (unsigned char* file : files_) std::free(file);
  }

  // Whether the class was redefined; `failed` if there is no memory.
  bool add(uint64_t key, jclass klass) {
    Locked locked(redefined_mutex);
    const Redefined* one = key == 0 ? nullptr : find_redefined(key);
    if (one == nullptr) return false;
    auto* file = static_cast<unsigned char*>(std::malloc(static_cast<size_t>(one->size)));
    if (file == nullptr || !files_.push(file)) {
      std::free(file);
      failed = true;
      return true;
    }
    std::memcpy(file, one->file, static_cast<size_t>(one->size));
    failed = failed || !definitions.push({klass, one->size, file});
    return true;
  }

  Vector<jvmtiClassDefinition> definitions;
  bool failed = false;

 private:
  Vector<unsigned char*> files_;
};

bool has_any() {
  Locked locked(redefined_mutex);
  return !redefined.empty();
}

}  // namespace

void note_redefined(jvmtiEnv* env, JNIEnv* jni, const jvmtiClassDefinition* definitions,
                    jint count) {
  if (major_version(agent.version) >= kFirstThatRemembers) return;
  for (jint i = 0; i < count; ++i) {
    const jvmtiClassDefinition& made = definitions[i];
    uint64_t klass = hash_of_redefined(env, jni, made.klass);
    size_t size = static_cast<size_t>(made.class_byte_count);
    auto* file = static_cast<unsigned char*>(std::malloc(size));
    if (klass == 0 || file == nullptr) {  // then the VM's bug shows
      std::free(file);
      continue;
    }
    std::memcpy(file, made.class_bytes, size);
    Redefined one{klass, file, made.class_byte_count};
    Locked locked(redefined_mutex);
    Redefined* before = find_redefined(klass);
    if (before != nullptr) {
      std::free(before->file);
      *before = one;
    } else if (!redefined.push(one)) {
      std::free(file);
    }
  }
}

jvmtiError retransform_classes(jvmtiEnv* env, JNIEnv* jni, const jclass* classes, jint count) {
  jvmtiCapabilities held{};
  bool is_allowed =
      env->GetCapabilities(&held) == JVMTI_ERROR_NONE && held.can_retransform_classes != 0;
  if (!is_allowed || !has_any()) return env->RetransformClasses(count, classes);
  Vector<jclass> others;
  Copies copies;
  for (jint i = 0; i < count; ++i) {
    if (copies.add(hash_of_redefined(env, jni, classes[i]), classes[i])) continue;
    if (!others.push(classes[i])) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  if (copies.failed) return JVMTI_ERROR_OUT_OF_MEMORY;
  if (!copies.definitions.empty()) {
    jvmtiCapabilities wanted{};
    wanted.can_redefine_classes = 1;
    jvmtiEnv* own = environment_with(wanted);
    if (own == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
    // At once: each redefinition stops the program.
    jvmtiError error = own->RedefineClasses(static_cast<jint>(copies.definitions.size()),
                                            copies.definitions.begin());
    own->DisposeEnvironment();
    if (error != JVMTI_ERROR_NONE) return error;
  }
  if (others.empty()) return JVMTI_ERROR_NONE;
  return env->RetransformClasses(static_cast<jint>(others.size()), others.begin());
}

}  // namespace jvmti
