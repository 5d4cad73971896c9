// All loaded classes at once, declared in src/jvmti/operations/functions.py: what a listing needs,
// without a handle for each.

#include "agent/handles/numbered.h"
#include "base/hashes.h"
#include "generated/overrides.h"

namespace jvmti::operations {

namespace {

// Adds a text, with the zero behind it.
bool add(Vector<char>& texts, const char* text) {
  size_t size = std::strlen(text) + 1;
  size_t needed = texts.size() + size;
  if (needed > texts.capacity() && !texts.reserve(needed * 2 + (1 << 16))) return false;
  std::memcpy(texts.end(), text, size);
  texts.grow(needed);
  return true;
}

}  // namespace

jvmtiError ListClasses(Call& call, const In<jboolean>& loaders_too, const In<jboolean>& details,
                       jint* bytes, unsigned char** signatures, jint* loader_count,
                       jobject** loaders, jint* loader_of_count, jint** loader_of,
                       jint* module_count, jobject** modules, jint* module_of_count,
                       jint** module_of, jint* modifiers_count, jint** modifiers,
                       jint* status_count, jint** statuses) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  LocalRefs<jclass> classes(agent.env, call.jni);
  jvmtiError error = agent.env->GetLoadedClasses(classes.count_out(), classes.out());
  if (error != JVMTI_ERROR_NONE) return error;
  Vector<char> texts;
  Numbered loaders_seen(call.jni);
  Numbered modules_seen(call.jni);
  Vector<jint> of_loader, of_module, flags, status;
  for (jint i = 0; i < classes.count(); ++i) {
    Deallocated<char> signature(agent.env);
    // The class cannot be unloaded meanwhile: the list holds it.
    error = agent.env->GetClassSignature(classes[i], signature.out(), nullptr);
    if (error != JVMTI_ERROR_NONE) return error;
    bool good = add(texts, signature);
    if (good && loaders_too.c() != 0) {
      jobject loader = nullptr;
      error = agent.env->GetClassLoader(classes[i], &loader);
      if (error != JVMTI_ERROR_NONE) return error;
      jint number = loaders_seen.number(loader);
      good = number >= 0 && of_loader.push(number);
    }
    if (good && details.c() != 0) {
      jint value = 0;
      agent.env->GetClassModifiers(classes[i], &value);
      good = flags.push(value);
      value = 0;
      agent.env->GetClassStatus(classes[i], &value);
      good = good && status.push(value);
      jint number = modules_seen.number(call.jni->GetModule(classes[i]));
      good = good && number >= 0 && of_module.push(number);
    }
    if (!good) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  error = give(texts, bytes, signatures);
  if (error == JVMTI_ERROR_NONE) error = loaders_seen.give_all(loader_count, loaders);
  if (error == JVMTI_ERROR_NONE) error = give(of_loader, loader_of_count, loader_of);
  if (error == JVMTI_ERROR_NONE) error = modules_seen.give_all(module_count, modules);
  if (error == JVMTI_ERROR_NONE) error = give(of_module, module_of_count, module_of);
  if (error == JVMTI_ERROR_NONE) error = give(flags, modifiers_count, modifiers);
  if (error == JVMTI_ERROR_NONE) error = give(status, status_count, statuses);
  return error;
}

jvmtiError FindClasses(Call& call, const In<Bytes>& signatures, jint* count, jclass** found) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  const char* text = reinterpret_cast<const char*>(signatures.data());
  size_t size = static_cast<size_t>(signatures.size());
  if (size != 0 && text[size - 1] != '\0') {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the last signature does not end");
  }
  // Two signatures of one hash would be taken for each other: then the text decides.
  Index wanted;
  for (size_t at = 0; at < size; at += std::strlen(text + at) + 1) {
    uint64_t hash = hash_of(text + at);
    if (wanted.find(hash) == 0 && !wanted.insert(hash, static_cast<uint32_t>(at + 1))) {
      return JVMTI_ERROR_OUT_OF_MEMORY;
    }
  }
  LocalRefs<jclass> classes(agent.env, call.jni);
  jvmtiError error = agent.env->GetLoadedClasses(classes.count_out(), classes.out());
  if (error != JVMTI_ERROR_NONE) return error;
  Vector<jint> chosen;
  for (jint i = 0; i < classes.count(); ++i) {
    Deallocated<char> signature(agent.env);
    error = agent.env->GetClassSignature(classes[i], signature.out(), nullptr);
    if (error != JVMTI_ERROR_NONE) return error;
    uint32_t at = wanted.find(hash_of(signature));
    bool matches = at != 0 && std::strcmp(text + at - 1, signature) == 0;
    if (matches && !chosen.push(i)) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  error = allocate_list(chosen.size(), found);
  if (error != JVMTI_ERROR_NONE) return error;
  for (jint i : chosen) (*found)[(*count)++] = classes.take(i);
  return JVMTI_ERROR_NONE;
}

jvmtiError Ancestry(Call& call, const In<kinds::Class>& klass, jint* bytes,
                    unsigned char** signatures, jint* class_count, jclass** classes,
                    jint* superclass_count, jint** superclasses, jint* count_count, jint** counts,
                    jint* interface_count, jint** interfaces) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  Numbered classes_found(call.jni);
  Vector<char> texts;
  Vector<jint> above, having, had;
  bool good = classes_found.number(call.jni->NewLocalRef(klass.c())) > 0;
  for (size_t i = 0; good && i < classes_found.size(); ++i) {
    jclass one = static_cast<jclass>(classes_found[i]);
    Deallocated<char> signature(agent.env);
    if (jvmtiError error = agent.env->GetClassSignature(one, signature.out(), nullptr))
      return error;
    good = add(texts, signature);
    jint super = classes_found.number(call.jni->GetSuperclass(one));
    good = good && super >= 0 && above.push(super);
    jint direct = 0;
    Deallocated<jclass> found(agent.env);
    // The VM does not report the interfaces of a class that is not linked yet.
    jvmtiError error = agent.env->GetImplementedInterfaces(one, &direct, found.out());
    if (error == JVMTI_ERROR_CLASS_NOT_PREPARED) direct = 0;
    if (error != JVMTI_ERROR_NONE && error != JVMTI_ERROR_CLASS_NOT_PREPARED) return error;
    for (jint at = 0; at < direct; ++at) {
      jint number = classes_found.number(found[at]);
      good = good && number > 0 && had.push(number);
    }
    good = good && having.push(direct);
  }
  if (!good) return JVMTI_ERROR_OUT_OF_MEMORY;
  jvmtiError error = give(texts, bytes, signatures);
  if (error == JVMTI_ERROR_NONE)
    error = classes_found.give_all(class_count, reinterpret_cast<jobject**>(classes));
  if (error == JVMTI_ERROR_NONE) error = give(above, superclass_count, superclasses);
  if (error == JVMTI_ERROR_NONE) error = give(having, count_count, counts);
  if (error == JVMTI_ERROR_NONE) error = give(had, interface_count, interfaces);
  return error;
}

jvmtiError ClassOfField(Call& call, const In<kinds::Field>& field, jclass* klass) {
  *klass = class_behind(call.jni, field.record()->klass).release();
  if (*klass != nullptr) return JVMTI_ERROR_NONE;
  return call.refuse(JVMTI_ERROR_INVALID_FIELDID, "the class of the field has been unloaded");
}

}  // namespace jvmti::operations
