#include "agent/engines/stops/frame_locals.h"

#include "agent/core/vm_structures.h"

namespace jvmti {

namespace {

constexpr uint8_t kEnough = 8;  // times that JVM TI has said the same

// Words of an interpreted frame, from its pointer, on x86-64 from 11 to 25.  The last one has been
// the address of the first variable, and its distance since 21.
constexpr intptr_t kMethod = -3;
constexpr intptr_t kVariables = -7;
constexpr intptr_t kCode = -8;
constexpr uintptr_t kFarthest = 0xFFFF + 2;

// Places in the VM's structures.
struct Layout {
  bool known = false;
  bool has_plain_references = false;  // to objects, which no collector has to look at first
  size_t frame = 0;                   // in a thread: the pointer of the last Java frame
  size_t stack_base = 0;
  size_t stack_size = 0;
  size_t constant_part = 0;  // of a method
  size_t max_locals = 0;     // in that
  size_t code = 0;           // behind that
};

Layout layout;
std::atomic<bool> is_prepared{false};
std::atomic<jfieldID> changes_field{};

#if defined(__x86_64__)
bool collector_moves_only_at_safepoints(const VmTables& tables) {
  VmTables::Field barriers = tables.field("BarrierSet", "_barrier_set");
  VmTables::Field type = tables.field("BarrierSet", "_fake_rtti");
  VmTables::Field tag = tables.field("BarrierSet::FakeRtti", "_concrete_tag");
  if (barriers.global == 0 || !type.known || !tag.known) return false;
  uintptr_t used = in_vm<uintptr_t>(barriers.global, 0);
  if (used == 0) return false;
  int32_t is = in_vm<int32_t>(used, type.place + tag.place);
  int32_t one;
  return (tables.constant("BarrierSet::CardTableBarrierSet", &one) && is == one) ||
         (tables.constant("BarrierSet::G1BarrierSet", &one) && is == one);
}
#endif

Layout find_layout() {
  Layout found;
#if defined(__x86_64__)
  VmTables tables;
  VmTables::Field anchor = tables.field("JavaThread", "_anchor");
  VmTables::Field pointer = tables.field("JavaFrameAnchor", "_last_Java_fp");
  VmTables::Field base = tables.field(nullptr, "_stack_base");
  VmTables::Field size = tables.field(nullptr, "_stack_size");
  VmTables::Field constant_part = tables.field("Method", "_constMethod");
  VmTables::Field locals = tables.field("ConstMethod", "_max_locals");
  found.frame = anchor.place + pointer.place;
  found.stack_base = base.place;
  found.stack_size = size.place;
  found.constant_part = constant_part.place;
  found.max_locals = locals.place;
  found.code = tables.size_of("ConstMethod");
  found.has_plain_references = collector_moves_only_at_safepoints(tables);
  found.known = anchor.known && pointer.known && base.known && size.known && constant_part.known &&
                locals.known && found.code != 0;
#endif
  return found;
}

// The frame of the current thread; nothing says yet that it is interpreted.
InterpretedFrame last_frame(const JNIEnv* jni) {
  InterpretedFrame found;
  uintptr_t thread = vm_thread(jni);
  if (thread == 0) return found;
  uintptr_t pointer = in_vm<uintptr_t>(thread, layout.frame);
  uintptr_t base = in_vm<uintptr_t>(thread, layout.stack_base);
  uintptr_t size = in_vm<uintptr_t>(thread, layout.stack_size);
  // It is in use from the frame of this function up.
  uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  constexpr uintptr_t kWord = sizeof(uintptr_t);
  constexpr uintptr_t kBelow = static_cast<uintptr_t>(-kCode) * kWord;
  if (base - here > size || pointer % kWord != 0 || pointer < here + kBelow || pointer > base) {
    return found;
  }
  const uintptr_t* words = reinterpret_cast<const uintptr_t*>(pointer);
  uintptr_t variables = words[kVariables];
  if (variables > kFarthest) variables = (variables - pointer) / kWord;
  if (variables > kFarthest || variables >= (base - pointer) / kWord) return found;
  found.method = words[kMethod];
  found.code = words[kCode];
  found.distance = static_cast<intptr_t>(variables);
  found.pointer = words;
  return found;
}

// Whether the words of the frame are what they are taken for.
bool is_at(const InterpretedFrame& frame, jlocation location) {
  uintptr_t constant_part = 0;
  uint16_t max_locals = 0;
  return read_vm(frame.method + layout.constant_part, &constant_part, sizeof constant_part) &&
         read_vm(constant_part + layout.max_locals, &max_locals, sizeof max_locals) &&
         frame.distance == max_locals + 1 &&
         frame.code == constant_part + layout.code + static_cast<uintptr_t>(location);
}

// The VM writes there while it moves objects.
uintptr_t word_at(const void* place) { return *static_cast<const volatile uintptr_t*>(place); }

bool is_null(const uintptr_t* place) { return word_at(place) == 0; }

jobject reference_at(const uintptr_t* place) {
  return reinterpret_cast<jobject>(const_cast<uintptr_t*>(place));
}

// Whether a local reference, which is the address of such a place, too, is to the same object. The
// VM is not asked, since nothing is known of the place yet.
bool is_same(const uintptr_t* place, jobject reference) {
  if (reference == nullptr) return is_null(place);
  constexpr int kMoves = 4;  // the object may move between two looks, but not each time
  for (int i = 0; i < kMoves; ++i) {
    if (word_at(place) == word_at(reference)) return true;
  }
  return false;
}

Mutex preparing{Guards::kLists};

}  // namespace

void FrameLocals::prepare(jvmtiEnv* env, JNIEnv* jni) {
  prepare_vm_threads(env, jni);
  if (is_prepared) return;
  Layout found = find_layout();
  LocalRef<jclass> type = class_named(jni, "java/lang/Class");
  if (type != nullptr) changes_field = jni->GetFieldID(type, "classRedefinedCount", "I");
  jni->ExceptionClear();
  Locked locked(preparing);
  if (is_prepared) return;
  layout = found;
  is_prepared = true;
}

bool FrameLocals::allocate(size_t count, jlocation location) {
  location_ = location;
  return proven_.allocate(count);
}

InterpretedFrame FrameLocals::frame(JNIEnv* jni, jweak klass) const {
  jfieldID field = changes_field;
  if (differs_ || !is_prepared || !layout.known || field == nullptr) return {};
  InterpretedFrame found = last_frame(jni);
  LocalRef<jclass> of = class_behind(jni, klass);
  if (found.method == 0 || of == nullptr) return {};
  found.changes = jni->GetIntField(of, field);
  {
    Locked locked(mutex_);
    if (is_known(found)) return found;
  }
  if (!is_at(found, location_)) {
    differs_ = true;
    return {};
  }
  Locked locked(mutex_);
  if (is_known(found)) return found;
  known_ = found;
  std::memset(proven_.get(), 0, proven_.size() * sizeof(Proven));
  return found;
}

bool FrameLocals::is_known(const InterpretedFrame& frame) const {
  return frame.method == known_.method && frame.code == known_.code &&
         frame.distance == known_.distance && frame.changes == known_.changes;
}

bool FrameLocals::is_proven(const InterpretedFrame& frame, size_t which, Proof what) const {
  Locked locked(mutex_);
  if (differs_ || !is_known(frame)) return false;
  const Proven& one = proven_[which];
  return (what == Proof::kReference ? one.references : one.times) == kEnough;
}

void FrameLocals::compared(const InterpretedFrame& frame, size_t which, Proof what,
                           bool same) const {
  if (!same) {
    differs_ = true;
    return;
  }
  Locked locked(mutex_);
  if (!is_known(frame)) return;
  Proven& one = proven_[which];
  if (one.times < kEnough) ++one.times;
  if (what == Proof::kReference && one.references < kEnough) ++one.references;
}

bool FrameLocals::read(jvmtiEnv* env, JNIEnv* jni, jthread thread, const InterpretedFrame& frame,
                       size_t which, jint slot, LocalRef<>* value) const {
  const uintptr_t* at = layout.has_plain_references ? frame.slot(slot, 1) : nullptr;
  if (at != nullptr && is_proven(frame, which, is_null(at) ? Proof::kNull : Proof::kReference)) {
    // The VM reads what is there itself, and another thread may have written null meanwhile.
    value->reset(is_null(at) ? nullptr : jni->NewLocalRef(reference_at(at)));
    return true;
  }
  if (env->GetLocalObject(thread, 0, slot, value->out()) != JVMTI_ERROR_NONE) return false;
  if (at != nullptr) {
    compared(frame, which, *value == nullptr ? Proof::kNull : Proof::kReference,
             is_same(at, *value));
  }
  return true;
}

}  // namespace jvmti
