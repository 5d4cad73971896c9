// A walk along references in a heap in which next to nothing is tagged: the classes, what we hold
// ourselves, and what has been found so far.  A tag is the number of a mark.
//
// What this agent holds for its controllers are JNI global references like those of anybody.  They
// are counted for each object beforehand; that many roots of that kind are passed over, and so are
// our own threads.  What is reachable through us alone is not reached then.
//
// Weak and phantom references hold nothing.  A walk does not follow the field that they refer with:
// it knows the field by its number, and their classes by their marks.
#pragma once

#include "agent/engines/heap/heap_pass.h"

namespace jvmti {

enum MarkFlag : uint8_t {
  kPermanent = 1,  // a class that is never unloaded, or its class loader
  kOurThread = 2,
  kTarget = 4,
  kReachable = 8,  // from the target
  kReached = 16,   // in spite of the target
  kClass = 32,
};

struct Mark {
  jlong size;
  uint32_t agent_references;       // the agent's references to it
  uint32_t agent_references_left;  // those that this pass has not reached yet
  int32_t level;                   // how far from the target, -1 where it has not been found
  uint32_t held;                   // the mark of what it holds on the way to the target
  int32_t kind;                    // how it holds that
  int32_t index;
  int32_t referent;  // of a class of weak references: the number of their field, -1 otherwise
  uint8_t flags;
};

class Tracing : NoCopy {
 public:
  Tracing(Call& call, PassControl& control) : call(call), control(control) {}
  ~Tracing();

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
  // The same where that is not too many; 0, and why, otherwise.
  jlong add_within_limit() {
    too_many = total >= most;
    if (too_many) return 0;
    jlong added = add();
    failed = failed || added == 0;
    return added;
  }

  // A root that is there because of us.
  bool ours(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong tag) {
    switch (kind) {
      case JVMTI_HEAP_REFERENCE_JNI_GLOBAL:
        if (!marked(tag)) return false;
        if ((*this)[tag].agent_references_left > 0) {
          --(*this)[tag].agent_references_left;
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

}  // namespace jvmti
