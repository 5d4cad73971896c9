// Who holds an object, now: its referrers, a shortest path to a root, what it alone keeps.
//
// All of it is FollowReferences over a heap in which next to nothing is tagged: the classes, what
// we hold ourselves, and what has been found so far.  A tag is the number of a mark.
//
// What this agent holds for its controllers are JNI global references like those of anybody.  They
// are counted for each object beforehand; that many roots of that kind are passed over, and so are
// our own threads.  What is reachable through us alone is not reached then.
//
// Weak and phantom references hold nothing.  A walk does not follow the field that they refer with:
// it knows the field by its number, and their classes by their marks.

#include "heap_pass.h"
#include "own.h"
#include "own_references.h"

namespace jvmti {

namespace {

enum Flag : uint8_t {
  kPermanent = 1,   // a class that is never unloaded, or its class loader
  kOurThread = 2,
  kTarget = 4,
  kReachable = 8,   // from the target
  kReached = 16,    // in spite of the target
  kClass = 32,
};

struct Mark {
  jlong size;
  uint32_t own;        // our references to it
  uint32_t own_left;   // those that this pass has not met yet
  int32_t level;       // how far from the target, -1 where it has not been found
  uint32_t held;       // the mark of what it holds on the way to the target
  int32_t kind;        // how it holds that
  int32_t index;
  int32_t referent;    // of a class of weak references: the number of their field, -1 otherwise
  uint8_t flags;
};

class Tracing {
 public:
  Tracing(Call& call, PassControl& control) : call(call), control(control) {}
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  // Marks classes, our own references and the target.
  jvmtiError prepare(jobject target);
  // One pass, from the roots or from an object.
  jvmtiError follow(jvmtiHeapReferenceCallback callback, jobject from);

  Mark& operator[](jlong tag) { return marks_[static_cast<size_t>(tag)]; }
  bool marked(jlong tag) const { return tag > 0 && static_cast<size_t>(tag) < marks_.size(); }
  bool flagged(jlong tag, uint8_t flag) { return marked(tag) && ((*this)[tag].flags & flag) != 0; }
  size_t count() const { return marks_.size(); }
  // A new mark; 0 without memory.
  jlong add() {
    Mark made{0, 0, 0, -1, 0, 0, 0, -1, 0};
    return marks_.push(made) ? static_cast<jlong>(marks_.size()) - 1 : 0;
  }

  // A root that is there because of us.
  bool ours(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong tag) {
    switch (kind) {
      case JVMTI_HEAP_REFERENCE_JNI_GLOBAL:
        if (!marked(tag)) return false;
        if ((*this)[tag].own_left > 0) {
          --(*this)[tag].own_left;
          return true;
        }
        return ((*this)[tag].flags & kOurThread) != 0;
      case JVMTI_HEAP_REFERENCE_THREAD:
        return flagged(tag, kOurThread);
      case JVMTI_HEAP_REFERENCE_JNI_LOCAL:
        return flagged(info->jni_local.thread_tag, kOurThread);
      case JVMTI_HEAP_REFERENCE_STACK_LOCAL:
        return flagged(info->stack_local.thread_tag, kOurThread);
      default:
        return false;
    }
  }
  bool weak(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info,
            jlong referrer_class_tag) {
    return kind == JVMTI_HEAP_REFERENCE_FIELD && marked(referrer_class_tag) &&
           (*this)[referrer_class_tag].referent == info->field.index;
  }

  // Notes how something is held, for the controller: by what, kind, index, and of a thread's
  // variable its id, depth and method; whether weakly.
  void note(jlong referrer, jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info,
            bool weakly);

  Call& call;
  PassControl& control;
  jlong target = 0;
  bool with_weak = false;
  bool failed = false;  // no memory
  Vector<layouts::Edge> edges;
  // Referrers.
  jlong most = 0;
  jlong total = 0;
  // Paths.
  int32_t level = 0;
  bool arrived = false;
  // Retained sizes.
  bool too_many = false;

  jvmtiEnv* env() const { return tags_.env(); }

 private:
  jvmtiError mark_classes();
  jvmtiError mark_own();
  jlong mark_of(jobject object);
  bool permanent_loader(jobject loader);
  int32_t referent_of(jclass klass);
  jint interface_fields(jclass klass, Vector<jclass>* seen);

  PassTags tags_;
  Vector<Mark> marks_;
  jclass weak_ = nullptr;
  jclass phantom_ = nullptr;
  int32_t referent_place_ = -1;  // among the fields of java.lang.ref.Reference
};

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
    if (env()->GetImplementedInterfaces(one, &count, interfaces.out()) != JVMTI_ERROR_NONE) continue;
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
  if (jni->PushLocalFrame(64) != JNI_OK) {
    jni->ExceptionClear();
    return -1;
  }
  Vector<jclass> seen;
  jint before = interface_fields(klass, &seen);
  jni->PopLocalFrame(nullptr);
  return before + referent_place_;
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
  jvmtiError error = env()->GetLoadedClasses(classes.count_out(), classes.out());
  if (error != JVMTI_ERROR_NONE) return error;
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
    if (tag != 0) ++(*this)[tag].own;
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
  for (Mark& mark : marks_) mark.own_left = mark.own;
  jvmtiHeapCallbacks callbacks{};
  callbacks.heap_reference_callback = callback;
  control.begin();
  jvmtiError error = env()->FollowReferences(0, nullptr, from, &callbacks, this);
  control.finish();
  if (error == JVMTI_ERROR_NONE && failed) error = JVMTI_ERROR_OUT_OF_MEMORY;
  return error;
}

void Tracing::note(jlong referrer, jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info,
                   bool weakly) {
  layouts::Edge edge{referrer, kind, -1, 0, 0, 0, weakly};
  jmethodID method = nullptr;
  switch (kind) {
    case JVMTI_HEAP_REFERENCE_FIELD:
    case JVMTI_HEAP_REFERENCE_STATIC_FIELD:
      edge.index = info->field.index;
      break;
    case JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT:
      edge.index = info->array.index;
      break;
    case JVMTI_HEAP_REFERENCE_CONSTANT_POOL:
      edge.index = info->constant_pool.index;
      break;
    case JVMTI_HEAP_REFERENCE_STACK_LOCAL:
      edge.index = info->stack_local.slot;
      edge.thread = info->stack_local.thread_id;
      edge.depth = info->stack_local.depth;
      method = info->stack_local.method;
      break;
    case JVMTI_HEAP_REFERENCE_JNI_LOCAL:
      edge.thread = info->jni_local.thread_id;
      edge.depth = info->jni_local.depth;
      method = info->jni_local.method;
      break;
    default:
      break;
  }
  if (method != nullptr) edge.method = static_cast<jlong>(call.session.methods.issue(method));
  failed = failed || !edges.push(edge);
}

// ---- what the passes do with each reference -----------------------------------------------------

constexpr jint kFollow = JVMTI_VISIT_OBJECTS;
constexpr jint kAbort = JVMTI_VISIT_ABORT;

jint JNICALL refer(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                   jlong referrer_class_tag, jlong, jlong* tag, jlong* referrer_tag, jint,
                   void* data) {
  Tracing& trace = *static_cast<Tracing*>(data);
  if (!trace.control.go_on()) return kAbort;
  bool root = referrer_tag == nullptr;
  if (root && trace.ours(kind, info, *tag)) return 0;
  bool weakly = !root && trace.weak(kind, info, referrer_class_tag);
  if (*tag != trace.target || (weakly && !trace.with_weak)) return weakly ? 0 : kFollow;
  ++trace.total;
  if (static_cast<jlong>(trace.edges.size()) >= trace.most) return weakly ? 0 : kFollow;
  jlong referrer = root ? 0 : *referrer_tag;
  if (!root && !trace.marked(referrer)) {
    referrer = *referrer_tag = trace.add();
    trace.failed = trace.failed || referrer == 0;
  }
  trace.note(referrer, kind, info, weakly);
  return weakly ? 0 : kFollow;
}

// One step backwards from everything that was found before this pass.
jint JNICALL step_back(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                       jlong referrer_class_tag, jlong, jlong* tag, jlong* referrer_tag, jint,
                       void* data) {
  Tracing& trace = *static_cast<Tracing*>(data);
  if (!trace.control.go_on()) return kAbort;
  bool root = referrer_tag == nullptr;
  if (root && trace.ours(kind, info, *tag)) return 0;
  if (!root && !trace.with_weak && trace.weak(kind, info, referrer_class_tag)) return 0;
  jlong held = *tag;
  if (!trace.marked(held)) return kFollow;
  int32_t level = trace[held].level;
  if (level < 0 || level >= trace.level) return kFollow;
  jlong referrer = root ? 0 : *referrer_tag;
  if (root) {
    trace.note(0, kind, info, false);
    trace.arrived = true;
  } else {
    if (!trace.marked(referrer)) {
      if (trace.total >= trace.most) {
        trace.too_many = true;
        return kAbort;
      }
      ++trace.total;
      referrer = trace.add();
      if (referrer == 0) {
        trace.failed = true;
        return kAbort;
      }
      *referrer_tag = referrer;
    }
    Mark& mark = trace[referrer];
    if (mark.level >= 0) return kFollow;
    mark.level = trace.level;
    mark.held = static_cast<uint32_t>(held);
    mark.kind = kind;
    mark.index = -1;
    if (kind == JVMTI_HEAP_REFERENCE_FIELD || kind == JVMTI_HEAP_REFERENCE_STATIC_FIELD) {
      mark.index = info->field.index;
    } else if (kind == JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT) {
      mark.index = info->array.index;
    } else if (kind == JVMTI_HEAP_REFERENCE_CONSTANT_POOL) {
      mark.index = info->constant_pool.index;
    }
    // A class that is never unloaded is as good as a root.
    trace.arrived = (mark.flags & kPermanent) != 0;
    held = referrer;
  }
  if (!trace.arrived) return kFollow;
  trace.target = held;  // where the way back begins
  return kAbort;
}

// Everything that can be reached from the target, up to what lives as long as the VM.
jint JNICALL reach(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                   jlong referrer_class_tag, jlong size, jlong* tag, jlong* referrer_tag, jint,
                   void* data) {
  Tracing& trace = *static_cast<Tracing*>(data);
  if (!trace.control.go_on()) return kAbort;
  if (referrer_tag != nullptr && trace.weak(kind, info, referrer_class_tag)) return 0;
  if (trace.flagged(*tag, kPermanent | kOurThread)) return 0;
  if (!trace.marked(*tag)) {
    if (trace.total >= trace.most) {
      trace.too_many = true;
      return kAbort;
    }
    *tag = trace.add();
    if (*tag == 0) {
      trace.failed = true;
      return kAbort;
    }
  }
  Mark& mark = trace[*tag];
  if ((mark.flags & (kReachable | kTarget)) == 0) {
    mark.flags |= kReachable;
    mark.size = size;
    ++trace.total;
  }
  return kFollow;
}

// Everything that can be reached without the target.
jint JNICALL reach_otherwise(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info,
                             jlong, jlong referrer_class_tag, jlong, jlong* tag,
                             jlong* referrer_tag, jint, void* data) {
  Tracing& trace = *static_cast<Tracing*>(data);
  if (!trace.control.go_on()) return kAbort;
  bool root = referrer_tag == nullptr;
  if (root ? trace.ours(kind, info, *tag) : trace.weak(kind, info, referrer_class_tag)) return 0;
  if (!trace.marked(*tag)) return kFollow;
  Mark& mark = trace[*tag];
  if ((mark.flags & kTarget) != 0) return 0;
  mark.flags |= kReached;
  return kFollow;
}

// ---- results ------------------------------------------------------------------------------------

// The objects behind marks, each mark once.
jvmtiError objects_behind(Tracing& trace, Vector<jlong>& marks, jint* count,
                          jobject** objects, jlong** tags) {
  if (marks.empty()) return JVMTI_ERROR_NONE;
  Vector<jlong> distinct;
  for (jlong one : marks) {
    if (one == 0) continue;
    // What has been asked for already says so by a level that no path has.
    constexpr int32_t kAsked = INT32_MAX;
    if (trace[one].level == kAsked) continue;
    trace[one].level = kAsked;
    if (!distinct.push(one)) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  if (distinct.empty()) return JVMTI_ERROR_NONE;
  return trace.env()->GetObjectsWithTags(static_cast<jint>(distinct.size()), distinct.begin(),
                                         count, objects, tags);
}

}  // namespace

namespace own {

jvmtiError FindReferrers(Call& call, const In<kinds::Object>& object, const In<jint>& most,
                         const In<jboolean>& weak, const In<jlong>& limit, jint* count,
                         jobject** objects, jlong** marks, jint* edge_count, jlong** edges,
                         jlong* total, jlong* stopped, jboolean* whole) {
  if (most.c() < 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  PassControl control(call, limit.c());
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  Tracing trace(call, control);
  jvmtiError error = trace.prepare(object.c());
  if (error != JVMTI_ERROR_NONE) return error;
  trace.most = most.c();
  trace.with_weak = weak.c() != 0;
  error = trace.follow(refer, nullptr);
  if (error != JVMTI_ERROR_NONE) return error;
  *total = trace.total;
  *stopped = control.stopped();
  *whole = !control.over();
  Vector<jlong> referrers;
  for (const layouts::Edge& edge : trace.edges) {
    if (!referrers.push(edge.referrer)) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  *edges = as_result(trace.edges, edge_count);
  if (*edges == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  return objects_behind(trace, referrers, count, objects, marks);
}

jvmtiError FindPath(Call& call, const In<kinds::Object>& object, const In<jlong>& most,
                    const In<jboolean>& weak, const In<jlong>& limit, jint* count,
                    jobject** objects, jlong** marks, jint* edge_count, jlong** edges,
                    jint* passes, jboolean* found, jboolean* too_many, jlong* stopped,
                    jlong* longest, jboolean* whole) {
  PassControl control(call, limit.c());
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  Tracing trace(call, control);
  jvmtiError error = trace.prepare(object.c());
  if (error != JVMTI_ERROR_NONE) return error;
  trace.most = most.c();
  trace.with_weak = weak.c() != 0;
  jlong wanted = trace.target;
  trace.arrived = (trace[wanted].flags & kPermanent) != 0;
  while (!trace.arrived && !trace.too_many && !control.over()) {
    ++trace.level;
    size_t before = trace.count();
    ++*passes;
    // A mark that was made for something else gets a level too, so the levels are what tells.
    error = trace.follow(step_back, nullptr);
    if (error != JVMTI_ERROR_NONE) return error;
    bool further = trace.count() > before;
    for (size_t i = 1; !further && i < before; ++i) {
      further = trace[static_cast<jlong>(i)].level == trace.level;
    }
    if (!further) break;
  }
  *found = trace.arrived;
  *too_many = trace.too_many;
  *stopped = control.stopped();
  *longest = control.longest();
  *whole = !control.over();
  Vector<layouts::Edge> steps;
  Vector<jlong> way;
  if (trace.arrived) {
    // The root first, if there is one; then each object with how it holds the next.
    bool fine = true;
    for (const layouts::Edge& edge : trace.edges) fine = fine && steps.push(edge);
    for (jlong one = trace.target; fine && one != wanted; one = trace[one].held) {
      const Mark& mark = trace[one];
      fine = fine && steps.push(layouts::Edge{one, mark.kind, mark.index, 0, 0, 0, 0});
      fine = fine && way.push(one);
    }
    if (!fine) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  *edges = as_result(steps, edge_count);
  if (*edges == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  return objects_behind(trace, way, count, objects, marks);
}

jvmtiError MeasureRetained(Call& call, const In<kinds::Object>& object, const In<jlong>& most,
                           const In<jlong>& limit, jlong* bytes, jlong* retained,
                           jlong* reachable, jboolean* too_many, jlong* stopped, jlong* longest,
                           jboolean* whole) {
  PassControl control(call, limit.c());
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  Tracing trace(call, control);
  jvmtiError error = trace.prepare(object.c());
  if (error != JVMTI_ERROR_NONE) return error;
  trace.most = most.c();
  jlong own_size = 0;
  error = trace.env()->GetObjectSize(object.c(), &own_size);
  if (error == JVMTI_ERROR_NONE) error = trace.follow(reach, object.c());
  *reachable = trace.total;
  *too_many = trace.too_many;
  if (error == JVMTI_ERROR_NONE && !trace.too_many && !control.over()) {
    error = trace.follow(reach_otherwise, nullptr);
  }
  *bytes = own_size;
  *retained = 1;
  for (size_t i = 1; i < trace.count(); ++i) {
    const Mark& mark = trace[static_cast<jlong>(i)];
    if ((mark.flags & (kReachable | kReached)) != kReachable) continue;
    *bytes += mark.size;
    ++*retained;
  }
  *stopped = control.stopped();
  *longest = control.longest();
  *whole = !control.over();
  return error;
}

}  // namespace own
}  // namespace jvmti
