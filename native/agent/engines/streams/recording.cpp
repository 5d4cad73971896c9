#include "agent/engines/streams/recording.h"

#include "agent/handles/class_names.h"
#include "base/patterns.h"

namespace jvmti {

void Recording::settle() {
  thread_stream_->clear();
  thread_stream_->lane = stream_->take_lane();
  thread_stream_->stream = stream_->serial;
}

bool Recording::usable() {
  if (jni_ == nullptr) agent.vm->GetEnv(reinterpret_cast<void**>(&jni_), JNI_VERSION_1_6);
  if (agent.live) return jni_ != nullptr;
  jvmtiPhase phase = JVMTI_PHASE_PRIMORDIAL;
  environment_->env.load()->GetPhase(&phase);
  return jni_ != nullptr && (phase == JVMTI_PHASE_START || phase == JVMTI_PHASE_LIVE);
}

void Recording::find_thread(jthread thread) {
  thread_ = &stream_->unknown_thread_;
  if (thread == nullptr || !usable()) return;
  thread_ = stream_->intern_thread(jni_, thread);
  if (thread_ == nullptr) failed_ = true;
  if (thread_ == &stream_->unknown_thread_) return;
  thread_stream_->thread = thread_;
  thread_stream_->jni = jni_;
  constexpr uint32_t kPlain = layouts::Words::kTime;
  constexpr size_t kThreadBits = 8 * offsetof(layouts::RecordHead, thread);
  bool usual = thread_ != nullptr && thread_->wanted && (stream_->words_ & ~kPlain) == 0 &&
               !stream_->virtual_threads_ && !stream_->objects_ && !thread_stream_->lane->shared;
  thread_stream_->usual.store(usual ? jni_ : nullptr, std::memory_order_relaxed);
  thread_stream_->usual_number = usual ? static_cast<uint64_t>(thread_->number) << kThreadBits : 0;
}

uint32_t Recording::field(jclass klass, jfieldID field, uint64_t method, jmethodID id,
                          jlocation at) {
  // All native code has the same location.
  uint64_t key = method & Stream::kNative ? 0 : Stream::key_of_site(id, at, field);
  uint64_t known = key == 0 ? 0 : stream_->sites_.find(key);
  if (known != 0) return static_cast<uint32_t>(known >> 32);
  uint64_t found = usable() ? stream_->field_of(jni_, klass, field) : 0;
  uint32_t number = static_cast<uint32_t>(found);
  if (number == 0) {
    failed_ = true;
  } else if (key != 0 && static_cast<uint32_t>(method) != 0) {
    Locked locked(stream_->mutex_);
    stream_->sites_.put(key, found << 32 | static_cast<uint32_t>(method));
  }
  return number;
}

void Recording::leave_out(jfieldID field, uint64_t method, jmethodID id, jlocation at) {
  uint64_t key = Stream::key_of_site(id, at, field);
  if (method & Stream::kNative || stream_->sites_.find(key) != 0) return;
  Locked locked(stream_->mutex_);
  stream_->sites_.put(key, uint64_t{1} << 32);
}

bool Recording::wants_name(const char* name) {
  if (!stream_->class_patterns_) return true;
  if (name == nullptr) return false;
  char dotted[kLongestClassName];
  write_dotted(name, dotted, sizeof dotted);
  return matches_any(stream_->class_patterns_.get(), dotted);
}

void Recording::begin(const void* what) {
  if (thread_ == nullptr) return;
  StreamedThread& thread = *thread_;
  if (&thread == &stream_->unknown_thread_) return;
  if (thread.depth == thread.capacity) {
    uint32_t capacity = thread.capacity == 0 ? 64 : thread.capacity * 2;
    void* grown = std::realloc(thread.begun, capacity * sizeof *thread.begun);
    if (grown == nullptr) {
      refuse();
      return;
    }
    thread.begun = static_cast<StreamedThread::Begun*>(grown);
    thread.capacity = capacity;
  }
  thread.begun[thread.depth++] = {what, time()};
}

// Inner frames that have not ended were cut off: the VM does not report a popped frame.
bool Recording::end(const void* what) {
  if (thread_ == nullptr) return false;
  StreamedThread& thread = *thread_;
  for (uint32_t i = thread.depth; i > 0; --i) {
    if (thread.begun[i - 1].what != what) continue;
    thread.depth = i - 1;
    duration_ = time() - thread.begun[i - 1].time;
    if (duration_ < 0) duration_ = 0;
    return duration_ >= stream_->shortest_;
  }
  // A wait that had begun before the stream has ended in it.
  duration_ = -1;
  return stream_->beginnings_ && waits() && stream_->shortest_ <= 0;
}

bool Recording::find_stack() {
  stack_ = usable() ? stream_->stack(jni_) : 0;
  return stack_ != 0;
}

uint8_t* Recording::refuse() {
  stream_->drop(*thread_stream_->lane);
  return nullptr;
}

}  // namespace jvmti
