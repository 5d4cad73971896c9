// The objects that the variables of a thread's frames refer to.
//
// JVM TI reads variables only for agents that were there when the VM started.  But every object
// that a frame refers to is a root of the heap, and a walk names the frame and the slot: so this
// one looks at the roots, and follows none of them.
//
// The thread is known by its tag.  A virtual thread that is not mounted has no stack that would be
// walked by itself; the VM walks it where it comes by the thread object, to which our own handle
// leads.  There the walk counts frames at the top that other functions leave out, those in which
// the thread gives up its carrier; so depths are found out by comparing with the stack.
//
// With all frames come objects that no variable refers to: those that native methods hold, and
// those whose monitors the thread that calls has entered for its controller.

#include "agent/engines/heap/heap_pass.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

constexpr jlong kThread = 1;  // the mark of the thread; those of other objects come behind
constexpr jint kNoSlot = -1;  // held by native code

struct Variable {
  jlong mark;
  jint depth;
  jmethodID method;
  jlocation location;
  jint slot;
};

struct Walk {
  PassControl& control;
  jlong& marks;
  Vector<Variable> variables;
  bool in_thread;  // has reached the thread
  bool failed;     // no memory
};

jint JNICALL note_variable(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                           jlong, jlong, jlong* tag, jlong* referrer_tag, jint, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  if (!walk.control.go_on()) return JVMTI_VISIT_ABORT;
  if (referrer_tag != nullptr) return 0;
  if (kind == JVMTI_HEAP_REFERENCE_JNI_GLOBAL && *tag == kThread) return JVMTI_VISIT_OBJECTS;
  jvmtiHeapReferenceInfoStackLocal local{};
  if (kind == JVMTI_HEAP_REFERENCE_STACK_LOCAL) {
    local = info->stack_local;
  } else if (kind == JVMTI_HEAP_REFERENCE_JNI_LOCAL) {
    local.thread_tag = info->jni_local.thread_tag;
    local.depth = info->jni_local.depth;
    local.slot = kNoSlot;
  } else {
    return 0;
  }
  // One stack comes after the other: where the next one begins there is nothing left to see.
  if (local.thread_tag != kThread) return walk.in_thread ? JVMTI_VISIT_ABORT : 0;
  walk.in_thread = true;
  if (*tag <= 0 || *tag > walk.marks) *tag = ++walk.marks;
  if (!walk.variables.push(Variable{*tag, local.depth, local.method, local.location, local.slot})) {
    walk.failed = true;
    return JVMTI_VISIT_ABORT;
  }
  return 0;
}

// The thread and what its variables refer to are tagged with 1, 2, 3 … until the end of the block.
class Marked : public PassTags {
 public:
  explicit Marked(JNIEnv* jni) : jni_(jni) { tagging(); }
  ~Marked() {
    Vector<jlong> all;
    for (jlong mark = 1; mark <= marks; ++mark) {
      if (!all.push(mark)) return;
    }
    if (env() != nullptr) untag(jni_, all);
  }

  jlong marks = kThread;

 private:
  JNIEnv* jni_;
};

// Whether the frames of a walk are those of a stack, with a number of frames above.
bool matches(Vector<Variable>& variables, Vector<jvmtiFrameInfo>& frames, jint more) {
  for (const Variable& one : variables) {
    if (one.depth < more || one.slot == kNoSlot) continue;
    size_t depth = static_cast<size_t>(one.depth - more);
    if (depth >= frames.size() || frames[depth].method != one.method ||
        frames[depth].location != one.location) {
      return false;
    }
  }
  return true;
}

bool is_current(Call& call, jthread thread) {
  jthread current = nullptr;
  if (call.env->GetCurrentThread(&current) != JVMTI_ERROR_NONE) return false;
  bool same = call.jni->IsSameObject(current, thread) == JNI_TRUE;
  call.jni->DeleteLocalRef(current);
  return same;
}

// Adds the objects whose monitors the thread has entered for its controller.
bool note_entered(Call& call, jvmtiEnv* env, Walk* walk) {
  for (const HeldObject& held : call.channel.objects_held) {
    jlong mark = 0;
    if (env->GetTag(held.object, &mark) != JVMTI_ERROR_NONE) return false;
    if (mark == 0) mark = ++walk->marks;
    if (env->SetTag(held.object, mark) != JVMTI_ERROR_NONE ||
        !walk->variables.push(Variable{mark, -1, nullptr, -1, kNoSlot})) {
      return false;
    }
  }
  return true;
}

// Counts depths as the stack has them; false where the thread has moved on.
bool align(jvmtiEnv* env, jthread thread, Vector<Variable>* variables) {
  jint count = 0;
  jint deepest = 0;
  Vector<jvmtiFrameInfo> frames;
  if (env->GetFrameCount(thread, &count) != JVMTI_ERROR_NONE || count < 0 ||
      !frames.reserve(static_cast<size_t>(count) + 1)) {
    return false;
  }
  count = walk_stack(env, thread, 0, frames.begin(), count);
  if (count < 0) return false;
  frames.grow(static_cast<size_t>(count));
  for (const Variable& one : *variables) deepest = one.depth > deepest ? one.depth : deepest;
  for (jint more = 0; more <= deepest; ++more) {
    if (!matches(*variables, frames, more)) continue;
    for (Variable& one : *variables) one.depth -= more;
    return true;
  }
  return false;
}

}  // namespace

namespace operations {

jvmtiError LocalObjects(Call& call, const In<kinds::Thread>& thread, const In<jint>& depth,
                        jint* count, jobject** objects, jlong** marks, jint* place_count,
                        jlong** places, jlong* stopped) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  PassControl control(call, -1);
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  Marked tags(call.jni);
  if (tags.env() == nullptr) return JVMTI_ERROR_NOT_AVAILABLE;
  if (jvmtiError error = tags.env()->SetTag(thread.c(), kThread)) return error;
  Walk walk{control, tags.marks, {}, false, false};
  if (jvmtiError error = control.follow(tags.env(), note_variable, nullptr, &walk)) return error;
  *stopped = control.stopped();
  if (!align(tags.env(), thread.c(), &walk.variables)) {
    return call.refuse(JVMTI_ERROR_THREAD_NOT_SUSPENDED, "the thread has moved on meanwhile");
  }
  if (depth.c() < 0 && is_current(call, thread.c()) && !note_entered(call, tags.env(), &walk)) {
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  Vector<jlong> numbers;
  Vector<jlong> wanted;
  Vector<bool> asked;  // for each mark
  bool fine = !walk.failed;
  for (jlong mark = 0; fine && mark <= walk.marks; ++mark) fine = asked.push(false);
  if (!fine) return JVMTI_ERROR_OUT_OF_MEMORY;
  for (const Variable& one : walk.variables) {
    if (one.slot == kNoSlot) {
      if (depth.c() >= 0) continue;
    } else {
      if (depth.c() >= 0 ? one.depth != depth.c() : one.depth < 0) continue;
      // Behind its variables is what a frame has on its operand stack.
      jint size = 0;
      if (tags.env()->GetMaxLocals(one.method, &size) != JVMTI_ERROR_NONE || one.slot >= size) {
        continue;
      }
    }
    const jlong place[] = {one.mark, one.depth, one.slot};
    for (jlong part : place) fine = fine && numbers.push(part);
    bool& known = asked[static_cast<size_t>(one.mark)];
    if (!known) fine = fine && wanted.push(one.mark);
    known = true;
  }
  jvmtiError error = fine ? give(numbers, place_count, places) : JVMTI_ERROR_OUT_OF_MEMORY;
  if (error != JVMTI_ERROR_NONE || wanted.empty()) return error;
  return tags.env()->GetObjectsWithTags(static_cast<jint>(wanted.size()), wanted.begin(), count,
                                        objects, marks);
}

}  // namespace operations
}  // namespace jvmti
