#include "agent/calls/call.h"

#include <stdarg.h>
#include <stdio.h>

#include "agent/engines/threads/leave_frame.h"
#include "agent/handles/agent_references.h"
#include "generated/overrides.h"

namespace jvmti {

Refusal Call::refuse(int error, const char* format, ...) {
  if (status != 0) return outcome();  // the first reason counts
  if (error == kNothingAnswered) {
    error = JVMTI_ERROR_INTERNAL;
    format = "the VM says that it has succeeded, and answers nothing";
  }
  status = error;
  if (format == nullptr) return outcome();
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  return outcome();
}

bool Call::settled() {
  if (jni == nullptr || !jni->ExceptionCheck()) return status == 0;
  LocalRef<jthrowable> thrown(jni, jni->ExceptionOccurred());
  jni->ExceptionClear();
  if (channel.pending != nullptr) let_go(jni, channel.pending);
  channel.pending = hold(jni, thrown);
  if (throws) {
    if (channel.thrown != nullptr) let_go(jni, channel.thrown);
    channel.thrown = hold(jni, thrown);
  }
  status = layouts::Status::kJavaException;
  if (identify) exception = issue(thrown, kinds::Throwable::kind);
  return false;
}

uint64_t Call::issue(jobject object, uint8_t kind) {
  if (object == nullptr) return 0;
  uint64_t handle = session.objects.issue(jni, session.tags(), object, kind, identify);
  if (handle == 0) refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  if (global) {
    session.objects.note_global(handle);
  } else if (!channel.frames.empty()) {
    // What is not listed would not end with its frame.
    if (handle != 0 && !channel.issued.push(handle)) {
      session.objects.give_up(jni, session.tags(), handle, 1);
      refuse(JVMTI_ERROR_OUT_OF_MEMORY);
      return 0;
    }
  }
  return handle;
}

void Call::deallocate(void* memory) { jvmti::deallocate(agent.env, memory); }

bool too_early(Call& call) {
  if (call.jni != nullptr) return false;
  call.refuse(JVMTI_ERROR_WRONG_PHASE, "there are no objects yet");
  return true;
}

namespace {

constexpr jint kDeepest = 1024;  // frames that are searched

bool is_among(const jvmtiFrameInfo* frames, jint count, jmethodID method) {
  for (jint i = 0; frames != nullptr && i < count; ++i) {
    if (frames[i].method == method) return true;
  }
  return false;
}

}  // namespace

void check_runs(Call& call, jmethodID obsolete) {
  jvmtiEnv* env = call.session.tags();
  if (env == nullptr || too_early(call)) return;
  jvmtiFrameInfo own[64];  // a handler asks for the frames of its own thread
  jint count = walk_stack(env, nullptr, 0, own, sizeof own / sizeof *own);
  if (is_among(own, count, obsolete)) return;
  Deallocated<jvmtiStackInfo> stacks(env);
  if (env->GetAllStackTraces(kDeepest, stacks.out(), &count) == JVMTI_ERROR_NONE) {
    bool runs = false;
    for (jint i = 0; stacks != nullptr && i < count; ++i) {
      const jvmtiStackInfo& stack = stacks.get()[i];
      delete_local(call.jni, stack.thread);
      runs = runs || is_among(stack.frame_buffer, stack.frame_count, obsolete);
    }
    if (runs) return;
  }
  call.refuse(JVMTI_ERROR_INVALID_METHODID,
              "the method is of a version of its class that was replaced, and no thread runs it "
              "any more");
}

bool Borrowed::borrow(Call& call, uint64_t handle, uint8_t kind, bool any_array) {
  if (too_early(call) || handle == 0) return false;
  uint8_t own = kind_of(handle);
  if (own > kinds::kLastObjectKind) return false;
  bool weak = false;
  jobject reference = call.session.objects.pin(handle, &weak);
  if (reference == nullptr) return false;
  call_ = &call;
  handle_ = handle;
  reference_ = reference;
  if (weak) {
    reference_ = call.jni->NewLocalRef(reference);
    local_ = true;
    if (reference_ == nullptr) {
      release();
      collected_ = true;
      return false;
    }
    own = kind == kinds::Object::kind && !any_array ? kind : kind_of_object(call.jni, reference_);
  }
  // An array of any kind has no kind of its own but that of objects, which all would fit.
  bool matches = any_array ? own >= kinds::ObjectArray::kind && own <= kinds::DoubleArray::kind
                           : kind == kinds::Object::kind || own == kind;
  if (kind == kinds::WeakReference::kind) matches = weak;
  if (!matches) {
    release();
    return false;
  }
  return true;
}

void Borrowed::release() {
  if (call_ == nullptr) return;
  if (local_) delete_local(call_->jni, reference_);
  call_->session.objects.unpin(call_->jni, call_->session.tags(), handle_);
  call_ = nullptr;
  reference_ = nullptr;
}

namespace {

// The handles of a list, and room for what they name; none if the call is refused.
template <class T>
Reader handles_with_room(Call& call, int parameter, Array<T>* room, uint32_t* count) {
  Reader& reader = call.reader(parameter);
  uint32_t there = 0;
  if (!reader.count(&there, sizeof(uint64_t))) return Reader(nullptr, 0);
  Reader handles(reader.take(there * sizeof(uint64_t)), there * sizeof(uint64_t));
  if (!room->allocate(there)) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return Reader(nullptr, 0);
  }
  *count = there;
  return handles;
}

}  // namespace

In<List<kinds::Field>>::In(Call& call, int parameter) {
  uint32_t count = 0;
  Reader items = handles_with_room(call, parameter, &items_, &count);
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t handle = items.number<uint64_t>();
    items_[i] = call.session.fields.find(handle);
    if (items_[i] == nullptr) {
      call.refuse(JVMTI_ERROR_INVALID_FIELDID, "item %u: field %llx was not issued here", i,
                  static_cast<unsigned long long>(handle));
      return;
    }
    count_ = static_cast<jint>(i) + 1;
  }
}

In<List<kinds::Method>>::In(Call& call, int parameter) {
  uint32_t count = 0;
  Reader items = handles_with_room(call, parameter, &items_, &count);
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t handle = items.number<uint64_t>();
    MethodRecord* record = call.session.methods.find(handle);
    if (record == nullptr) {
      call.refuse(JVMTI_ERROR_INVALID_METHODID, "item %u: method %llx was not issued here", i,
                  static_cast<unsigned long long>(handle));
      return;
    }
    if (record->obsolete) check_runs(call, record->id);
    items_[i] = record->id;
    count_ = static_cast<jint>(i) + 1;
  }
}

namespace {

// Modified UTF-8 has one-, two- and three-byte forms, no four-byte form and no zero byte.
bool well_formed(const uint8_t* text, size_t length) {
  size_t i = 0;
  while (i < length) {
    uint8_t lead = text[i];
    size_t more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : 2;
    bool leads = lead != 0 && (lead < 0x80 || (lead >= 0xC0 && lead < 0xF0));
    if (!leads || length - i <= more) return false;
    for (size_t k = 1; k <= more; ++k) {
      if ((text[i + k] & 0xC0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

// A length, the bytes, and a terminating zero; -1 for null.
const char* read_text(Call& call, Reader& reader) {
  int32_t length = reader.number<int32_t>();
  if (length == -1) return nullptr;
  if (length < 0) {
    reader.fail();
    return nullptr;
  }
  const uint8_t* text = reader.take(static_cast<size_t>(length) + 1);
  if (text == nullptr) return nullptr;
  if (text[length] != 0 || !well_formed(text, static_cast<size_t>(length))) {
    return call.refuse(layouts::Status::kMalformedRequest,
                       "a string is not well-formed modified UTF-8");
  }
  return reinterpret_cast<const char*>(text);
}

}  // namespace

In<Nullable<Text>>::In(Call& call, int parameter)
    : text_(read_text(call, call.reader(parameter))) {}

In<List<Text>>::In(Call& call, int parameter) {
  Reader& reader = call.reader(parameter);
  uint32_t count = 0;
  if (!reader.count(&count, sizeof(int32_t))) return;
  if (!items_.allocate(count)) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  // To the end also if it is refused: in a map request the next row's follows.
  for (uint32_t i = 0; i < count; ++i) {
    char* text = const_cast<char*>(read_text(call, reader));
    if (text == nullptr) call.refuse(JVMTI_ERROR_NULL_POINTER, "item %u is null", i);
    if (items_) items_[i] = text;
  }
  if (!call.refused()) count_ = static_cast<jint>(count);
}

In<List<jvmtiClassDefinition>>::In(Call& call, int parameter) {
  Reader& reader = call.reader(parameter);
  uint32_t count = 0;
  if (!reader.count(&count, 12)) return;
  if (!items_.allocate(count) || !borrowed_.allocate(count)) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t handle = reader.number<uint64_t>();
    uint32_t size = reader.number<uint32_t>();
    const uint8_t* bytes = reader.take(size);
    if (call.refused()) continue;
    if (!borrowed_[i].borrow(call, handle, kinds::Class::kind, false)) {
      call.refuse(JVMTI_ERROR_INVALID_CLASS, "definition %u: not a live class", i);
      continue;
    }
    items_[i].klass = static_cast<jclass>(borrowed_[i].reference());
    items_[i].class_byte_count = static_cast<jint>(size);
    items_[i].class_bytes = bytes;
    count_ = static_cast<jint>(i) + 1;
  }
}

In<Arguments>::In(Call& call, int parameter) {
  Reader& reader = call.reader(parameter);
  uint32_t count = reader.number<uint32_t>();
  if (count > kMaximum || count > reader.remaining()) {
    reader.fail();
    return;
  }
  if (!values_.allocate(count) || !borrowed_.allocate(count)) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    count_ = i + 1;
    types_[i] = static_cast<char>(reader.number<uint8_t>());
    switch (types_[i]) {
      case 'J':
        values_[i].j = reader.number<jlong>();
        break;
      case 'D':
        values_[i].d = reader.number<jdouble>();
        break;
      case 'L': {
        uint64_t handle = reader.number<uint64_t>();
        if (handle == 0) break;
        if (!borrowed_[i].borrow(call, handle, kinds::Object::kind, false)) {
          call.refuse(JVMTI_ERROR_INVALID_OBJECT,
                      "argument %u: handle %llx is not a live object of this session", i + 1,
                      static_cast<unsigned long long>(handle));
          return;
        }
        values_[i].l = borrowed_[i].reference();
        break;
      }
      default:
        reader.fail();
        return;
    }
  }
}

const Function* find_function(uint16_t number) {
  unsigned low = 0;
  unsigned high = kFunctionCount;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    if (kFunctions[middle].number < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < kFunctionCount && kFunctions[low].number == number ? &kFunctions[low] : nullptr;
}

namespace {

// Whether this VM has the function: older tables are shorter, and reserved slots are null.
bool present(const Call& call, const Function& function) {
  if (function.table == Table::kJvmti) {
    if (function.since > major_version(agent.version)) return false;
    return function.overridden ||
           reinterpret_cast<void* const*>(call.env->functions)[function.slot - 1] != nullptr;
  }
  if (function.table == Table::kJni) {
    if (call.jni == nullptr) return true;  // the phase is what is wrong
    return function.since <= major_version(call.jni->GetVersion());
  }
  return true;
}

}  // namespace

// In the early start phase (with can_generate_early_vmstart), the classes of exceptions are not
// initialised yet.  HotSpot does so where it is about to throw one, runs code of classes that are
// not linked, and crashes or ends.  To an environment without the capability it is the primordial
// phase.
bool can_throw() {
  jvmtiPhase phase = JVMTI_PHASE_PRIMORDIAL;
  return agent.live || agent.plain_env == nullptr ||
         (agent.plain_env->GetPhase(&phase) == JVMTI_ERROR_NONE && phase != JVMTI_PHASE_ONLOAD &&
          phase != JVMTI_PHASE_PRIMORDIAL);
}

void invoke(Call& call, const Function& function) {
  if (!present(call, function)) {
    call.refuse(layouts::Status::kNotInThisVersion);
    return;
  }
  bool jni_function = function.table == Table::kJni;
  if (jni_function && call.jni == nullptr) {
    call.refuse(JVMTI_ERROR_WRONG_PHASE, "JNI needs the start phase");
    return;
  }
  if (jni_function && !function.early && !can_throw()) {
    call.refuse(JVMTI_ERROR_WRONG_PHASE, "the VM cannot throw exceptions yet");
    return;
  }
  if (function.runs_java && call.jni != nullptr && is_leaving()) {
    call.refuse(layouts::Status::kLeavingFrame);
    return;
  }
  call.parameters = function.parameters;
  call.jni_function = jni_function;
  call.global = false;
  call.throws = false;
  if (call.channel.pending != nullptr && jni_function && !function.while_pending) {
    overrides::forget_pending(call);
  }
  function.thunk(call);
}

}  // namespace jvmti
