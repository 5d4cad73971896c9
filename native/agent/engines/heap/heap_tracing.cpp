#include "agent/engines/heap/heap_tracing.h"

#include "agent/core/vm_memory.h"
#include "agent/handles/agent_references.h"

namespace jvmti {

Tracing::~Tracing() {
  if (marks_.empty()) return;  // nothing has been tagged
  Vector<jlong> others;
  size_t classes = 0;
  for (size_t i = 1; i < marks_.size(); ++i) {
    if ((marks_[i].flags & kClass) != 0) {
      ++classes;
    } else if (!others.push(static_cast<jlong>(i))) {
      return;
    }
  }
  tags_.untag_classes(call.jni, classes);
  tags_.untag(call.jni, others);
}

// The mark of an object, made if there is none; 0 without memory.
jlong Tracing::mark_of(jobject object) {
  jlong tag = 0;
  if (object == nullptr || env()->GetTag(object, &tag) != JVMTI_ERROR_NONE) return 0;
  if (marked(tag)) return tag;  // any other was left by an earlier pass
  tag = add();
  if (tag == 0 || env()->SetTag(object, tag) != JVMTI_ERROR_NONE) return 0;
  return tag;
}

// The loaders that live as long as the VM.
bool Tracing::permanent_loader(jobject loader) {
  if (loader == nullptr) return true;
  jlong known = 0;
  env()->GetTag(loader, &known);
  if (marked(known)) return ((*this)[known].flags & kPermanent) != 0;
  jlong tag = mark_of(loader);
  if (tag == 0) return false;
  LocalRef<jclass> klass(call.jni, call.jni->GetObjectClass(loader));
  Deallocated<char> signature(env());
  if (env()->GetClassSignature(klass, signature.out(), nullptr) == JVMTI_ERROR_NONE &&
      (std::strcmp(signature, "Ljdk/internal/loader/ClassLoaders$AppClassLoader;") == 0 ||
       std::strcmp(signature, "Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;") == 0)) {
    (*this)[tag].flags |= kPermanent;
  }
  return ((*this)[tag].flags & kPermanent) != 0;
}

// How many fields the interfaces of a class have, all ancestors' included: they are numbered first.
jint Tracing::interface_fields(jclass klass, Vector<jclass>* seen) {
  jint total = 0;
  for (jclass one = klass; one != nullptr; one = call.jni->GetSuperclass(one)) {
    jint count = 0;
    Deallocated<jclass> interfaces(env());
    if (env()->GetImplementedInterfaces(one, &count, interfaces.out()) != JVMTI_ERROR_NONE)
      continue;
    for (jint i = 0; i < count; ++i) {
      bool known = false;
      for (jclass other : *seen) known = known || call.jni->IsSameObject(other, interfaces[i]);
      if (known || !seen->push(interfaces[i])) continue;
      jint fields = 0;
      Deallocated<jfieldID> ids(env());
      if (env()->GetClassFields(interfaces[i], &fields, ids.out()) == JVMTI_ERROR_NONE) {
        total += fields;
      }
      total += interface_fields(interfaces[i], seen);
    }
  }
  return total;
}

int32_t Tracing::referent_of(jclass klass) {
  JNIEnv* jni = call.jni;
  bool weakly = (weak_ != nullptr && jni->IsAssignableFrom(klass, weak_)) ||
                (phantom_ != nullptr && jni->IsAssignableFrom(klass, phantom_));
  if (!weakly || referent_place_ < 0) return -1;
  LocalFrame frame(jni, 64);
  if (!frame) {
    jni->ExceptionClear();
    return -1;
  }
  Vector<jclass> seen;
  return interface_fields(klass, &seen) + referent_place_;
}

jvmtiError Tracing::mark_classes() {
  JNIEnv* jni = call.jni;
  LocalRef<jclass> weak = class_named(jni, "java/lang/ref/WeakReference");
  LocalRef<jclass> phantom = class_named(jni, "java/lang/ref/PhantomReference");
  LocalRef<jclass> reference = class_named(jni, "java/lang/ref/Reference");
  weak_ = weak;
  phantom_ = phantom;
  jni->ExceptionClear();
  jint fields = 0;
  Deallocated<jfieldID> ids(env());
  if (reference != nullptr &&
      env()->GetClassFields(reference, &fields, ids.out()) == JVMTI_ERROR_NONE) {
    for (jint i = 0; i < fields; ++i) {
      Deallocated<char> name(env());
      if (env()->GetFieldName(reference, ids[i], name.out(), nullptr, nullptr) ==
              JVMTI_ERROR_NONE &&
          std::strcmp(name, "referent") == 0) {
        referent_place_ = i;
      }
    }
  }
  LocalRefs<jclass> classes(env(), jni);
  if (jvmtiError error = env()->GetLoadedClasses(classes.count_out(), classes.out())) return error;
  for (jclass klass : classes) {
    jlong tag = mark_of(klass);
    if (tag == 0) return JVMTI_ERROR_OUT_OF_MEMORY;
    LocalRef<> loader(jni);
    Deallocated<char> signature(env());
    // A hidden class, whose name has an address in it, goes with its last object.
    bool hidden = env()->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE ||
                  std::strstr(signature, "0x") != nullptr;
    if (!hidden && env()->GetClassLoader(klass, loader.out()) == JVMTI_ERROR_NONE &&
        permanent_loader(loader)) {
      (*this)[tag].flags |= kPermanent;
    }
    (*this)[tag].flags |= kClass;
    (*this)[tag].referent = referent_of(klass);
  }
  return JVMTI_ERROR_NONE;
}

jvmtiError Tracing::mark_own() {
  Vector<jobject> threads;
  bool good = agent.service_threads.copy(call.jni, &threads);
  for (jobject thread : threads) {
    jlong tag = mark_of(thread);
    if (tag != 0) (*this)[tag].flags |= kOurThread;
    delete_local(call.jni, thread);
  }
  if (!good) return JVMTI_ERROR_OUT_OF_MEMORY;
  FrozenReferences frozen(call.jni);
  Vector<jobject> references;
  if (!frozen.copy(&references)) return JVMTI_ERROR_OUT_OF_MEMORY;
  for (jobject reference : references) {
    jlong tag = mark_of(reference);
    if (tag != 0) ++(*this)[tag].agent_references;
  }
  return JVMTI_ERROR_NONE;
}

jvmtiError Tracing::prepare(jobject object) {
  if (env() == nullptr) return JVMTI_ERROR_NOT_AVAILABLE;
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  if (!marks_.push(Mark{0, 0, 0, -1, 0, 0, 0, -1, 0})) return JVMTI_ERROR_OUT_OF_MEMORY;
  tags_.tagging();
  jvmtiError error = mark_classes();
  if (error == JVMTI_ERROR_NONE) error = mark_own();
  if (error != JVMTI_ERROR_NONE) return error;
  target = mark_of(object);
  if (target == 0) return JVMTI_ERROR_OUT_OF_MEMORY;
  (*this)[target].flags |= kTarget;
  (*this)[target].level = 0;
  return JVMTI_ERROR_NONE;
}

jvmtiError Tracing::follow(jvmtiHeapReferenceCallback callback, jobject from) {
  for (Mark& mark : marks_) mark.agent_references_left = mark.agent_references;
  jvmtiError error = control.follow(env(), callback, from, this);
  if (error == JVMTI_ERROR_NONE && failed) error = JVMTI_ERROR_OUT_OF_MEMORY;
  return error;
}

void Tracing::note(jlong referrer, jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info,
                   bool weakly) {
  ReferencePlace place = place_of(kind, info, -1);
  layouts::Edge edge{referrer, kind, place.index, place.thread_id, place.depth, 0, weakly};
  if (place.method != nullptr) {
    edge.method = static_cast<jlong>(call.session.methods.issue(place.method, nullptr));
  }
  failed = failed || !edges.push(edge);
}

}  // namespace jvmti
