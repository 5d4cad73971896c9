// The objects that the variables of a thread's frames refer to.
//
// JVM TI reads variables only for agents that were there when the VM started.  But every object that
// a frame refers to is a root of the heap, and a walk names the frame and the slot: so this one looks
// at the roots, and follows none of them.
//
// The thread is known by its tag.  A virtual thread that is not mounted has no stack that would be
// walked by itself; the VM walks it where it comes by the thread object, to which our own handle
// leads.

#include "heap_pass.h"
#include "own.h"

namespace jvmti {

namespace {

constexpr jlong kThread = 1;  // the mark of the thread; those of other objects come behind

struct Variable {
  jlong mark;
  jint depth;
  jmethodID method;
  jlocation location;
  jint slot;
};

class Stack {
 public:
  Stack(PassControl& control, jint depth) : control(control), depth(depth) {}

  PassControl& control;
  jint depth;  // -1 for all
  jlong marks = kThread;
  Vector<Variable> variables;
  bool failed = false;  // no memory
};

jint JNICALL note_variable(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                           jlong, jlong, jlong* tag, jlong* referrer_tag, jint, void* data) {
  Stack& stack = *static_cast<Stack*>(data);
  if (!stack.control.go_on()) return JVMTI_VISIT_ABORT;
  if (referrer_tag != nullptr) return 0;
  if (kind == JVMTI_HEAP_REFERENCE_JNI_GLOBAL && *tag == kThread) return JVMTI_VISIT_OBJECTS;
  if (kind != JVMTI_HEAP_REFERENCE_STACK_LOCAL) return 0;
  const jvmtiHeapReferenceInfoStackLocal& local = info->stack_local;
  if (local.thread_tag != kThread) return 0;
  if (stack.depth >= 0 && local.depth != stack.depth) return 0;
  if (*tag == 0) *tag = ++stack.marks;
  if (!stack.variables.push(Variable{*tag, local.depth, local.method, local.location, local.slot})) {
    stack.failed = true;
    return JVMTI_VISIT_ABORT;
  }
  return 0;
}

}  // namespace

namespace own {

jvmtiError LocalObjects(Call& call, const In<kinds::Thread>& thread, const In<jint>& depth,
                        jint* count, jobject** objects, jlong** marks, jint* place_count,
                        jlong** places, jlong* stopped) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  PassControl control(call, -1);
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  PassTags tags;
  if (tags.env() == nullptr) return JVMTI_ERROR_NOT_AVAILABLE;
  jvmtiError error = tags.env()->SetTag(thread.c(), kThread);
  if (error != JVMTI_ERROR_NONE) return error;
  Stack stack(control, depth.c());
  jvmtiHeapCallbacks callbacks{};
  callbacks.heap_reference_callback = note_variable;
  control.begin();
  error = tags.env()->FollowReferences(0, nullptr, nullptr, &callbacks, &stack);
  control.finish();
  if (error != JVMTI_ERROR_NONE) return error;
  *stopped = control.stopped();
  Vector<jlong> numbers;
  Vector<jlong> wanted;
  Vector<bool> asked;  // for each mark
  bool fine = !stack.failed;
  for (jlong mark = 0; fine && mark <= stack.marks; ++mark) fine = asked.push(false);
  if (!fine) return JVMTI_ERROR_OUT_OF_MEMORY;
  for (const Variable& one : stack.variables) {
    // Behind its variables is what a frame has on its operand stack.
    jint size = 0;
    if (tags.env()->GetMaxLocals(one.method, &size) != JVMTI_ERROR_NONE ||
        one.slot >= size) {
      continue;
    }
    jlong method = static_cast<jlong>(call.session.methods.issue(one.method));
    const jlong place[] = {one.mark, one.depth, method, one.location, one.slot};
    for (jlong part : place) fine = fine && numbers.push(part);
    bool& known = asked[static_cast<size_t>(one.mark)];
    if (!known) fine = fine && wanted.push(one.mark);
    known = true;
  }
  *places = fine ? as_result(numbers, place_count) : nullptr;
  if (*places == nullptr) return JVMTI_ERROR_OUT_OF_MEMORY;
  if (wanted.empty()) return JVMTI_ERROR_NONE;
  return tags.env()->GetObjectsWithTags(static_cast<jint>(wanted.size()), wanted.begin(), count,
                                        objects, marks);
}

}  // namespace own
}  // namespace jvmti
