// One event on its way into the streams that want it: what the generated recorders are made of.
//
// A `QuickRecording` has what most events need and calls nothing; what is not usual, and what is
// met for the first time, is left to a `Recording`.
#pragma once

#include <algorithm>
#include <cstring>

#include "agent/engines/streams/streams.h"
#include "base/event_clock.h"

namespace jvmti {

// A value as a record has it; `object` stands for a reference.
inline int64_t recorded_value(char type, const jvalue& value, int64_t object) {
  // Taken as a whole: clang would put together from bytes what is looked at in several ways.
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "narrow values are the lowest bytes");
  int64_t whole = value.j;
  if (__builtin_expect(type == 'I', true)) return static_cast<jint>(whole);
  switch (type) {
    case 'L':
    case '[':
      return object;
    case 'Z':
      return static_cast<jboolean>(whole) != 0;
    case 'B':
      return static_cast<jbyte>(whole);
    case 'C':
      return static_cast<jchar>(whole);
    case 'S':
      return static_cast<jshort>(whole);
    case 'F': {
      // A double in the record, so that one column holds all fractions.
      jfloat narrow;
      std::memcpy(&narrow, &whole, sizeof narrow);
      double wide = narrow;
      std::memcpy(&whole, &wide, sizeof whole);
      return whole;
    }
    case 'V':
      return 0;
    default:  // J and D
      return whole;
  }
}

// One event on its way into the streams that want it.
class Recording {
 public:
  Recording(jvmtiEnv* env, JNIEnv* jni, int event, OwnWork own_work)
      : writer_thread_(WriterThread::current()), jni_(jni), event_(event), own_work_(own_work) {
    if (writer_thread_ == nullptr) return;
    writer_thread_->enter();
    environment_ = remembered_environment(env);
    if (environment_ == nullptr) environment_ = find_environment(env);
    if (environment_ != nullptr) {
      next_ = environment_->taps[event - kFirstEvent].streams.load(std::memory_order_acquire);
    }
  }
  ~Recording() {
    if (writer_thread_ != nullptr) writer_thread_->leave();
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // The next stream that wants it.
  bool next() {
    while (next_ != nullptr) {
      stream_ = next_->stream;
      next_ = next_->next.load(std::memory_order_acquire);
      if (!stream_->own_work_ && ours()) continue;
      thread_stream_ = &writer_thread_->streams[stream_->number];
      if (thread_stream_->stream != stream_->serial) settle();
      thread_ = nullptr;
      failed_ = false;
      duration_ = 0;
      stack_ = 0;
      return true;
    }
    return false;
  }

  // False for a thread that the stream leaves out.
  bool thread(jthread thread) {
    if (!stream_->virtual_threads_ && thread_stream_->thread != nullptr &&
        thread_stream_->jni == jni_) {
      thread_ = thread_stream_->thread;
    } else {
      find_thread(thread);
    }
    return thread_ == nullptr || thread_->wanted;
  }
  uint64_t method(jmethodID method) { return number(method, true); }
  uint32_t method_number(jmethodID method) { return static_cast<uint32_t>(number(method, false)); }
  static char return_type(uint64_t method) {
    return static_cast<char>(method >> Stream::kReturnType);
  }
  uint64_t klass(jclass klass) {
    if (klass == nullptr || !usable()) return Stream::kWanted;
    uint64_t found = stream_->class_of(jni_, klass);
    if (found == 0) failed_ = true;
    return found;
  }
  // The class of an object; `often` says that the event is a frequent one.
  uint64_t object(jobject object, bool often) {
    if (often && !stream_->objects_) return Stream::kWanted;
    if (object == nullptr || !usable()) return Stream::kWanted;
    return klass(LocalRef<jclass>(jni_, jni_->GetObjectClass(object)));
  }
  uint32_t field(jclass klass, jfieldID field, uint64_t method, jmethodID id, jlocation at);
  void leave_out(jfieldID field, uint64_t method, jmethodID id, jlocation at);
  uint32_t text(const char* value) {
    if (value == nullptr) return 0;
    uint32_t found = stream_->text(value);
    if (found == 0) failed_ = true;
    return found;
  }
  bool wants_name(const char* name);
  bool wants(uint64_t found) const { return failed_ || (found & Stream::kWanted) != 0; }
  bool wants_exception(uint64_t found) const {
    return failed_ || (found & Stream::kWantedException) != 0;
  }
  // In a stream with durations, the beginning is noted and not recorded.
  bool begins(const void* what) {
    if (!measured()) return false;
    begin(what);
    return !(stream_->beginnings_ && waits());
  }
  // Whether what ends has lasted long enough.
  bool ends(const void* what) { return !measured() || end(what); }
  // What Java's `System.identityHashCode` gives.
  int32_t hash(jobject object) {
    jint found = 0;
    if (object != nullptr && usable()) stream_->lookup_->GetObjectHashCode(object, &found);
    return found;
  }
  int64_t value(char type, const jvalue& value) {
    bool refers = (type == 'L' || type == '[') && value.l != nullptr;
    return recorded_value(type, value, refers ? static_cast<uint32_t>(object(value.l, true)) : 0);
  }

  // Room for a record; null where the event is dropped.
  uint8_t* reserve() {
    if (__builtin_expect(failed_, false)) return refuse();
    if (stream_->words_ & layouts::Words::kTime) time();
    if (stream_->words_ & layouts::Words::kStack && (!stream_->places_ || waits()) &&
        !find_stack()) {
      return refuse();
    }
    Lane* lane = thread_stream_->lane;
    if (lane->shared) stream_->shared_lane_mutex_.lock();
    if (__builtin_expect(lane->next == lane->end, false) && !stream_->make_space(*lane)) {
      if (lane->shared) stream_->shared_lane_mutex_.unlock();
      return nullptr;
    }
    uint8_t* record = lane->next;
    layouts::RecordHead head{static_cast<uint32_t>(event_),
                             thread_ == nullptr ? 0 : thread_->number};
    std::memcpy(record, &head, sizeof head);
    uint8_t* at = record + sizeof head;
    if (stream_->words_ & layouts::Words::kTime) {
      // The clock may step back a little, the times of a lane do not.
      if (time_ > lane->last) lane->last = time_;
      put(&at, lane->last);
    }
    if (stream_->words_ & layouts::Words::kDuration) put(&at, duration_);
    if (stream_->words_ & layouts::Words::kStack) put(&at, static_cast<int64_t>(stack_));
    return at;
  }
  void commit() {
    Lane* lane = thread_stream_->lane;
    lane->commit();
    if (lane->shared) stream_->shared_lane_mutex_.unlock();
  }

 private:
  static void put(uint8_t** at, int64_t value) {
    std::memcpy(*at, &value, sizeof value);
    *at += sizeof value;
  }
  bool ours() {
    if (!writer_thread_->serves()) return false;
    const Serving* serving = Serving::of(environment_->session);
    return serving != nullptr &&
           (own_work_ == OwnWork::kNever || (own_work_ == OwnWork::kInCalls && serving->handler));
  }
  bool waits() const {
    static_assert(JVMTI_EVENT_MONITOR_CONTENDED_ENTERED - JVMTI_EVENT_MONITOR_WAIT == 3);
    return event_ >= JVMTI_EVENT_MONITOR_WAIT && event_ <= JVMTI_EVENT_MONITOR_CONTENDED_ENTERED;
  }
  bool measured() const { return stream_->measures_ && (stream_->shortest_ >= 0 || waits()); }
  int64_t time() {
    if (time_ == 0) time_ = EventClock::now();
    return time_;
  }
  uint64_t number(jmethodID method, bool filtered) {
    if (method == nullptr) return Stream::kWanted;
    uint64_t known = stream_->methods_.find(Stream::key_of(method));
    // One that is left out has a number only where another event names it.
    if (__builtin_expect(known != 0 && (filtered || static_cast<uint32_t>(known) != 0), true)) {
      return known;
    }
    known = usable() ? stream_->intern_method(jni_, method, filtered) : 0;
    if (known == 0) failed_ = true;
    return known;
  }
  bool usable();
  void settle();
  void find_thread(jthread thread);
  void begin(const void* what);
  bool end(const void* what);
  bool find_stack();
  uint8_t* refuse();

  WriterThread* writer_thread_;
  Environment* environment_ = nullptr;
  JNIEnv* jni_;
  int event_;
  OwnWork own_work_;
  StreamLink* next_ = nullptr;
  Stream* stream_ = nullptr;
  ThreadStream* thread_stream_ = nullptr;
  StreamedThread* thread_ = nullptr;
  int64_t time_ = 0;
  int64_t duration_ = 0;
  uint32_t stack_ = 0;
  bool failed_ = false;
};

#define JVMTI_INLINE __attribute__((always_inline)) inline

// The usual case of a frequent event: one stream, a thread, a method and a field that it knows, and
// room.  Nothing is called here, so that all of it stays in registers, and what the processor waits
// for is asked for early.  What is not usual is left to a `Recording`, with nothing committed.
class QuickRecording {
 public:
  JVMTI_INLINE QuickRecording(jvmtiEnv* env, JNIEnv* jni, int event)
      : writer_thread_(WriterThread::usual()) {
    if (writer_thread_ == nullptr) return;
    writer_thread_->enter_shortly();
    StreamLink* link = only_links[event - kFirstEvent].load(std::memory_order_acquire);
    if (__builtin_expect(link->env != env, false)) {
      Environment* environment = remembered_environment(env);
      if (environment == nullptr) return;
      link = environment->taps[event - kFirstEvent].streams.load(std::memory_order_acquire);
      if (link == nullptr || link->next.load(std::memory_order_acquire) != nullptr) return;
    }
    if (__builtin_expect(link->timed_first, false)) ticks_ = EventClock::ticks();
    ThreadStream& known = writer_thread_->stream_at(link->offset);
    if (known.usual.load(std::memory_order_relaxed) != jni) return;
    stream_ = link->stream;
    lane_ = known.lane;
    first_ = static_cast<uint32_t>(event) | known.usual_number;
    usual_ = true;
  }
  JVMTI_INLINE ~QuickRecording() {
    if (writer_thread_ != nullptr) writer_thread_->leave_shortly();
  }
  QuickRecording(const QuickRecording&) = delete;
  QuickRecording& operator=(const QuickRecording&) = delete;
  // So far all has been as usual.
  bool usual() const { return __builtin_expect(usual_, true); }

  // 0 for a first occurrence.
  JVMTI_INLINE uint64_t method(jmethodID method) const {
    return stream_->methods_.find(Stream::key_of(method));
  }
  static bool wants(uint64_t method) { return (method & Stream::kWanted) != 0; }
  static char return_type(uint64_t method) { return Recording::return_type(method); }
  JVMTI_INLINE uint64_t site(jmethodID method, jlocation at, jfieldID field) const {
    return stream_->sites_.find(Stream::key_of_site(method, at, field));
  }
  static bool wants_site(uint64_t site) { return site << 32 != 0; }
  static uint64_t object(jobject, bool) { return 0; }
  JVMTI_INLINE static int64_t value(char type, const jvalue& value) {
    return recorded_value(type, value, 0);
  }
  // Null without room.
  JVMTI_INLINE uint8_t* reserve() {
    uint8_t* record = lane_->next;
    if (__builtin_expect(record == lane_->end, false)) return nullptr;
    std::memcpy(record, &first_, sizeof first_);
    record += sizeof(layouts::RecordHead);
    if (__builtin_expect(!lane_->timed, true)) return record;
    int64_t time = EventClock::time_of(ticks_ != 0 ? ticks_ : EventClock::ticks());
    lane_->last = std::max(time, lane_->last);
    std::memcpy(record, &lane_->last, sizeof time);
    return record + sizeof time;
  }
  JVMTI_INLINE void commit() { lane_->commit(); }

 private:
  WriterThread* writer_thread_;
  Stream* stream_ = nullptr;
  Lane* lane_ = nullptr;
  uint64_t first_ = 0;  // what the record begins with
  uint64_t ticks_ = 0;
  bool usual_ = false;
};

}  // namespace jvmti
