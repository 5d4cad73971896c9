// What the slots of a frame hold, numbers among them, without the capability to read variables.
//
// JVM TI gives that only to agents that were there when the VM started.  But the JDK's StackWalker
// can be asked for live frames, which have all slots, compiled or not: of the thread that asks.  So
// a thread that has stopped at an event walks its own stack for the event's handler.
//
// The frames are those of JVM TI, because the walk shows hidden ones, too.  It is taken for the
// same stack only if each frame down to the wanted one is at the same place of its code.

#include <atomic>

#include "agent/handles/agent_references.h"
#include "agent/handles/class_names.h"
#include "generated/overrides.h"
#include "generated/probe_helper.h"

namespace jvmti {

namespace {

// Of the JDK's, found once; its classes stay for good.
struct LiveFrames {
  jobject walker;
  jclass walked;  // ours, which the walker calls
  jclass number;  // what stands in a slot for all but objects
  jmethodID walk;
  jmethodID location;
  jmethodID slots;
  jmethodID bits;
  jfieldID most;
  jfieldID mode;
};

constexpr jint kCompiled = 2;
constexpr jint kDeepest = 1 << 17;  // the walk makes an object for each frame

std::atomic<const LiveFrames*> live_frames{nullptr};

jclass walked_class(JNIEnv* jni) {
  jclass found = jni->FindClass(kWalkedFrames);
  if (found != nullptr) return found;
  jni->ExceptionClear();
  found =
      jni->DefineClass(kWalkedFrames, nullptr, reinterpret_cast<const jbyte*>(kWalkedFramesClass),
                       static_cast<jsize>(sizeof kWalkedFramesClass));
  if (found != nullptr) return found;
  // Another thread may have been faster.
  jni->ExceptionClear();
  return jni->FindClass(kWalkedFrames);
}

// Without the options that a security manager would ask the program's code about.
jobject new_walker(JNIEnv* jni) {
  jclass option = jni->FindClass("java/lang/StackWalker$Option");
  jclass further =
      option == nullptr ? nullptr : jni->FindClass("java/lang/StackWalker$ExtendedOption");
  jclass set = further == nullptr ? nullptr : jni->FindClass("java/util/Collections");
  jclass type = set == nullptr ? nullptr : jni->FindClass("java/lang/StackWalker");
  if (type == nullptr) return nullptr;
  jfieldID shown =
      jni->GetStaticFieldID(option, "SHOW_HIDDEN_FRAMES", "Ljava/lang/StackWalker$Option;");
  jfieldID live = shown == nullptr
                      ? nullptr
                      : jni->GetStaticFieldID(further, "LOCALS_AND_OPERANDS",
                                              "Ljava/lang/StackWalker$ExtendedOption;");
  jmethodID one = live == nullptr ? nullptr
                                  : jni->GetStaticMethodID(set, "singleton",
                                                           "(Ljava/lang/Object;)Ljava/util/Set;");
  jmethodID make = one == nullptr ? nullptr
                                  : jni->GetStaticMethodID(
                                        type, "newInstance",
                                        "(Ljava/util/Set;Ljava/lang/StackWalker$ExtendedOption;)"
                                        "Ljava/lang/StackWalker;");
  if (make == nullptr) return nullptr;
  jvalue arguments[2];
  arguments[0].l = jni->GetStaticObjectField(option, shown);
  arguments[0].l = jni->CallStaticObjectMethodA(set, one, arguments);
  if (jni->ExceptionCheck()) return nullptr;
  arguments[1].l = jni->GetStaticObjectField(further, live);
  return jni->CallStaticObjectMethodA(type, make, arguments);
}

bool find_members(JNIEnv* jni, LiveFrames* found) {
  jclass walker = jni->GetObjectClass(found->walker);
  found->walk =
      jni->GetMethodID(walker, "walk", "(Ljava/util/function/Function;)Ljava/lang/Object;");
  if (found->walk == nullptr) return false;
  found->most = jni->GetFieldID(found->walked, "most", "J");
  if (found->most == nullptr) return false;
  found->bits = jni->GetMethodID(found->number, "longValue", "()J");
  if (found->bits == nullptr) return false;
  jclass frame = jni->FindClass("java/lang/LiveStackFrameInfo");
  if (frame == nullptr) return false;
  found->location = jni->GetMethodID(frame, "getByteCodeIndex", "()I");
  if (found->location == nullptr) return false;
  found->slots = jni->GetMethodID(frame, "getLocals", "()[Ljava/lang/Object;");
  if (found->slots == nullptr) return false;
  found->mode = jni->GetFieldID(frame, "mode", "I");
  return found->mode != nullptr;
}

// Null with an exception.
const LiveFrames* find_live_frames(JNIEnv* jni) {
  const LiveFrames* known = live_frames.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  LocalFrame scope(jni, 16);
  if (!scope) return nullptr;
  LiveFrames found{};
  jobject walker = new_walker(jni);
  if (walker == nullptr || jni->ExceptionCheck()) return nullptr;
  found.walker = walker;
  found.walked = walked_class(jni);
  if (found.walked == nullptr) return nullptr;
  found.number = jni->FindClass("java/lang/LiveStackFrame$PrimitiveSlot");
  if (found.number == nullptr || !find_members(jni, &found)) return nullptr;
  // Nothing waits for another thread here, which may be suspended.
  LiveFrames* made = static_cast<LiveFrames*>(std::malloc(sizeof found));
  if (made == nullptr) return nullptr;
  found.walker = hold(jni, found.walker);
  found.walked = static_cast<jclass>(hold(jni, found.walked));
  found.number = static_cast<jclass>(hold(jni, found.number));
  *made = found;
  if (live_frames.compare_exchange_strong(known, made)) return made;
  let_go(jni, made->walker);
  let_go(jni, made->walked);
  let_go(jni, made->number);
  std::free(made);
  return known;
}

// The topmost frames of the current thread; null with an exception.
jobjectArray walk(JNIEnv* jni, const LiveFrames& live, jint most) {
  LocalRef<> walked(jni, jni->AllocObject(live.walked));
  if (walked == nullptr) return nullptr;
  jni->SetLongField(walked, live.most, most);
  jvalue argument;
  argument.l = walked;
  return static_cast<jobjectArray>(jni->CallObjectMethodA(live.walker, live.walk, &argument));
}

// The frame at a depth, whose stack above is that of JVM TI; null if it is another stack.
jobject frame_of(JNIEnv* jni, const LiveFrames& live, jobjectArray walked,
                 const Vector<jvmtiFrameInfo>& frames) {
  jsize count = static_cast<jsize>(frames.size());
  if (jni->GetArrayLength(walked) != count) return nullptr;
  LocalRef<> last(jni);
  for (jsize i = 0; i < count; ++i) {
    last.reset(jni->GetObjectArrayElement(walked, i));
    jint location = jni->CallIntMethodA(last, live.location, nullptr);
    if (jni->ExceptionCheck()) return nullptr;
    if (location != frames[static_cast<size_t>(i)].location) return nullptr;
  }
  return last.release();
}

struct SlotContents {
  Vector<jlong> numbers;
  Vector<uint8_t> kinds;
  Vector<jobject> objects;
};

bool read_slots(JNIEnv* jni, const LiveFrames& live, jobjectArray values, SlotContents* found) {
  jsize count = jni->GetArrayLength(values);
  for (jsize i = 0; i < count; ++i) {
    LocalRef<> value(jni, jni->GetObjectArrayElement(values, i));
    bool is_number = value != nullptr && jni->IsInstanceOf(value, live.number);
    jlong bits = is_number ? jni->CallLongMethodA(value, live.bits, nullptr) : 0;
    uint8_t kind = is_number ? 'N' : value == nullptr ? 'n' : 'L';
    if (jni->ExceptionCheck() || !found->numbers.push(bits) || !found->kinds.push(kind) ||
        (kind == 'L' && !found->objects.push(value.get()))) {
      return false;
    }
    if (kind == 'L') value.release();
  }
  return true;
}

}  // namespace

namespace operations {

jvmtiError FrameSlots(Call& call, const In<kinds::Thread>& thread, const In<jint>& depth,
                      jboolean* compiled, jint* number_count, jlong** numbers, jint* kind_count,
                      unsigned char** kinds, jint* object_count, jobject** objects) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  if (call.env == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  if (depth.c() < 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  if (!is_current(call.env, call.jni, thread.c())) {
    return call.refuse(JVMTI_ERROR_THREAD_NOT_SUSPENDED, "it is not the thread of this event");
  }
  if (depth.c() >= kDeepest) {
    return call.refuse(JVMTI_ERROR_NOT_AVAILABLE, "the frame is too far down for a walk");
  }
  jint count = depth.c() + 1;
  jint there = 0;
  if (jvmtiError error = call.env->GetFrameCount(thread.c(), &there)) return error;
  if (there < count) return JVMTI_ERROR_NO_MORE_FRAMES;
  Vector<jvmtiFrameInfo> frames;
  if (!frames.reserve(static_cast<size_t>(count))) return JVMTI_ERROR_OUT_OF_MEMORY;
  if (walk_stack(call.env, thread.c(), 0, frames.begin(), count) != count) {
    return JVMTI_ERROR_NO_MORE_FRAMES;
  }
  frames.grow(static_cast<size_t>(count));
  const LiveFrames* live = find_live_frames(call.jni);
  LocalRef<jobjectArray> walked(call.jni);
  LocalRef<> frame(call.jni);
  LocalRef<jobjectArray> values(call.jni);
  if (live != nullptr) walked.reset(walk(call.jni, *live, count));
  if (walked != nullptr) frame.reset(frame_of(call.jni, *live, walked, frames));
  if (frame != nullptr) {
    jobject slots = call.jni->CallObjectMethodA(frame, live->slots, nullptr);
    values.reset(static_cast<jobjectArray>(slots));
  }
  if (!call.settled()) return call.outcome();
  if (values == nullptr) {
    return call.refuse(JVMTI_ERROR_NOT_AVAILABLE, "the JDK's StackWalker has another stack");
  }
  *compiled = call.jni->GetIntField(frame, live->mode) == kCompiled;
  SlotContents found;
  if (!read_slots(call.jni, *live, values, &found)) {
    for (jobject one : found.objects) delete_local(call.jni, one);
    return call.settled() ? JVMTI_ERROR_OUT_OF_MEMORY : call.outcome();
  }
  jvmtiError error = give(found.numbers, number_count, numbers);
  if (error == JVMTI_ERROR_NONE) error = give(found.kinds, kind_count, kinds);
  if (error == JVMTI_ERROR_NONE) error = give(found.objects, object_count, objects);
  return error;
}

}  // namespace operations
}  // namespace jvmti
