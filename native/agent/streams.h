// Streams: events as fixed records in memory that the controller shares, which nobody waits for.
//
// The memory has, behind a few pages of counters, a ring of announcements and a ring of records for
// each lane.  A lane belongs to one thread at a time, so that writing a record takes no more than
// plain stores; the last lane is for all threads that find none free, behind a lock.  What is not a
// number has one, which is announced before the first record that has it.  From the other side
// come only the counters of what was read, and they are believed only where they are possible.
//
// A stream is found through a list for each event of its environment.  A recorder (generated, one
// for each event) goes through that list inside a `Recording`; nothing is freed before every thread
// that may have seen the stream there has left (`Producer::wait_for_all`).
#pragma once

#include <algorithm>
#include <cstring>

#include "call.h"
#include "event_clock.h"
#include "events.h"
#include "numbers.h"
#include "patterns.h"
#include "producers.h"
#include "shared_memory.h"

namespace jvmti {

// A thread as a stream knows it.
struct StreamedThread {
  struct Begun {
    const void* what;
    int64_t time;
  };
  uint32_t number;
  bool wanted;
  Begun* begun;  // what has begun and not ended, the outermost first
  uint32_t depth;
  uint32_t capacity;
};

// How long a thread waits for room that the controller makes by reading: not when that has read nothing
// for a while.  Then nobody waits any more until it reads again.
class Patience {
 public:
  static constexpr int64_t kLongest = 10000;  // milliseconds
  // `given_up` is where the controller was when somebody gave up, plus one.
  explicit Patience(std::atomic<uint64_t>& given_up) : given_up_(given_up) {}
  bool waits_on(uint64_t tail) {
    if (given_up_ == tail + 1) return false;
    int64_t now = now_in_milliseconds();
    if (since_ == 0 || tail != seen_) since_ = now;
    seen_ = tail;
    if (now - since_ < kLongest) return true;
    given_up_ = tail + 1;
    return false;
  }

 private:
  std::atomic<uint64_t>& given_up_;
  uint64_t seen_ = 0;
  int64_t since_ = 0;
};

struct alignas(128) Lane {
  uint8_t* next;               // where the next record goes
  uint8_t* end;                // where there is no room any more
  uint32_t size;               // of a record
  bool timed;                  // there is a time in each
  int64_t last;                // time of a record
  std::atomic<uint64_t> head;  // records so far
  std::atomic<uint64_t>* told_head;
  std::atomic<uint64_t> dropped;  // events without room
  uint64_t tail;                  // as last heard of the controller
  uint8_t* records;
  std::atomic<uint64_t>* told_dropped;
  const std::atomic<uint64_t>* told_tail;
  std::atomic<bool> taken;
  bool shared;  // by threads that hold the stream's mutex for it
  std::atomic<uint64_t> given_up;  // see Patience

  // The record at `next` is written.
  void commit() {
    next += size;
    uint64_t so_far = head.load(std::memory_order_relaxed) + 1;
    head.store(so_far, std::memory_order_relaxed);
    told_head->store(so_far, std::memory_order_release);
  }
};

class Stream;

// A stream in the list of one event.
struct StreamLink {
  Stream* stream;
  std::atomic<StreamLink*> next;
  jvmtiEnv* env;
  size_t place;  // the stream's of a `Producer`, in bytes
  // There is a time in each record and no filter: the clock is read while the rest is found.
  bool timed_first;
  uint8_t event;
};

// What a stream is asked for, as the controller says it.
struct StreamRequest {
  const jint* events;
  jint event_count;
  jint wishes;
  jint words;
  jlong size;
  jint stack_depth;
  jlong shortest;
  const jthread* threads;
  jint thread_count;
  const char* classes;
  const char* methods;
  const char* exceptions;
};

// What most events need of it, with the first lanes, is in one page of memory.
class alignas(4096) Stream {
 public:
  // The bits of what a class or a method has beside its number.
  static constexpr uint64_t kKnown = uint64_t{1} << 32;
  static constexpr uint64_t kWanted = uint64_t{1} << 33;
  static constexpr uint64_t kWantedException = uint64_t{1} << 34;
  static constexpr uint64_t kNative = uint64_t{1} << 35;
  static constexpr int kReturnType = 40;

  static uint64_t key_of(jmethodID method) {
    return Numbers::key_of(reinterpret_cast<uint64_t>(method));
  }
  // Of an instruction that accesses a field: the same one always means the same field.  Never 0,
  // because it is odd.
  static uint64_t key_of_site(jmethodID method, jlocation at, jfieldID field) {
    return reinterpret_cast<uint64_t>(method) * 0x9E3779B97F4A7C16u +
           static_cast<uint64_t>(at) * 0xD6E8FEB86659FD92u +
           reinterpret_cast<uint64_t>(field) * 0xA0761D6478BD642Eu + 1;
  }
  static uint64_t key_of_both(uint64_t one, uint64_t two) {
    return (Numbers::mix(Numbers::mix(one) + two * 0xD6E8FEB86659FD93u) << 1) | 1;
  }

  static Stream* open(Call& call, const StreamRequest& request, int descriptor);
  // Off the lists: from here on no further thread finds it.
  void unlink();
  // Frees a stream that was unlinked; false while a thread is still inside.
  bool free(JNIEnv* jni, int milliseconds);
  static void give_back_lanes(Place* places);
  void count(uint64_t* streamed, uint64_t* dropped) const;

  Environment& environment;
  const uint32_t number;
  const uint64_t serial;

 private:
  friend class Recording;
  friend class QuickRecording;
  friend struct StreamLink;
  Stream(Environment& environment, uint32_t number, uint64_t serial, const StreamRequest& request);
  ~Stream() = default;
  bool prepare(Call& call, const StreamRequest& request, int descriptor);
  void link(const StreamRequest& request);
  static void find_only_link(uint8_t event);
  void release(JNIEnv* jni);

  Lane* take_lane();
  bool make_room(Lane& lane);
  void drop(Lane& lane);
  void pause() const;

  // Of what has no number yet.  0, or null, says that it could not be announced.
  StreamedThread* meet_thread(JNIEnv* jni, jthread thread);
  uint64_t meet_class(JNIEnv* jni, jclass klass);
  uint64_t meet_method(JNIEnv* jni, jmethodID method, bool filtered);
  uint64_t field_of(JNIEnv* jni, jclass klass, jfieldID field);
  uint32_t text(const char* value);
  uint32_t stack(JNIEnv* jni);
  bool wants_exception(JNIEnv* jni, jclass klass, const char* name);
  uint32_t announce(int kind, const Writer& payload, Numbers* known, uint64_t key, uint64_t bits);

  uint64_t class_of(JNIEnv* jni, jclass klass) {
    jlong tag = 0;
    if (lookup_->GetTag(klass, &tag) == JVMTI_ERROR_NONE && tag != 0) {
      return static_cast<uint64_t>(tag);
    }
    return meet_class(jni, klass);
  }

  std::atomic<bool> closed_{false};
  bool waits_;
  bool own_;
  bool objects_;
  bool subclasses_;
  bool virtual_threads_ = false;
  bool measures_;
  bool beginnings_;
  bool places_;
  int64_t shortest_;  // nanoseconds; -1 for a stream that measures nothing but waits
  jint stack_depth_;
  uint32_t words_;
  uint32_t record_size_ = 0;
  uint64_t capacity_ = 0;  // records of a lane, a power of two
  char* class_patterns_ = nullptr;
  char* method_patterns_ = nullptr;
  char* exception_patterns_ = nullptr;
  jobject* threads_ = nullptr;  // global references; null for all
  jint thread_count_ = 0;
  jvmtiEnv* lookup_ = nullptr;  // whose tags are the classes' numbers
  SharedMemory memory_;

  Mutex mutex_{Guards::kStream};  // names, numbers, lanes
  uint8_t* names_ = nullptr;
  uint64_t names_head_ = 0;
  uint64_t names_tail_ = 0;
  std::atomic<uint64_t> names_given_up_{0};
  std::atomic<uint64_t>* told_names_head_ = nullptr;
  const std::atomic<uint64_t>* told_names_tail_ = nullptr;
  uint32_t announced_[8] = {};
  Numbers methods_;
  Numbers fields_;
  Numbers sites_;  // of a method, 0 if it is left out, and above it of the field it accesses
  Numbers texts_;
  Numbers stacks_;
  Stable<StreamedThread> met_threads_;
  StreamedThread unknown_thread_{};

  uint32_t link_count_ = 0;
  StreamLink links_[kEventCount]{};
  Mutex shared_lane_mutex_{Guards::kSharedLane};
  Lane lanes_[protocol::kMaximumLanes]{};
};

// Of each event the only stream in this JVM; where there are more or none, a link of no environment.
// What most events need is found from here in the fewest steps.
extern StreamLink no_only_link;
struct OnlyLink : std::atomic<StreamLink*> {
  constexpr OnlyLink() : std::atomic<StreamLink*>(&no_only_link) {}
};
extern OnlyLink only_links[kEventCount];

void remember_environment(Environment* environment);
// Environments as their last events found them, so that most events ask nothing of the VM.
extern std::atomic<Environment*> remembered_environments[256];
inline size_t remembered_at(const jvmtiEnv* env) {
  return Numbers::mix(reinterpret_cast<uint64_t>(env) >> 4) & 255;
}
// The environment, if it is remembered and its events are wanted.
inline Environment* remembered_environment(jvmtiEnv* env) {
  Environment* known = remembered_environments[remembered_at(env)].load(std::memory_order_acquire);
  bool wanted = known != nullptr && known->env.load(std::memory_order_acquire) == env &&
                !known->muted.load(std::memory_order_acquire);
  return __builtin_expect(wanted, true) ? known : nullptr;
}
Environment* find_environment(jvmtiEnv* env);

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
  Recording(jvmtiEnv* env, JNIEnv* jni, int event, OwnWork own)
      : producer_(Producer::current()), jni_(jni), event_(event), own_(own) {
    if (producer_ == nullptr) return;
    producer_->enter();
    environment_ = remembered_environment(env);
    if (environment_ == nullptr) environment_ = find_environment(env);
    if (environment_ != nullptr) {
      next_ = environment_->taps[event - kFirstEvent].streams.load(std::memory_order_acquire);
    }
  }
  ~Recording() {
    if (producer_ != nullptr) producer_->leave();
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // The next stream that wants it.
  bool next() {
    while (next_ != nullptr) {
      stream_ = next_->stream;
      next_ = next_->next.load(std::memory_order_acquire);
      if (!stream_->own_ && ours()) continue;
      place_ = &producer_->places[stream_->number];
      if (place_->stream != stream_->serial) settle();
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
    if (!stream_->virtual_threads_ && place_->thread != nullptr && place_->jni == jni_) {
      thread_ = place_->thread;
    } else {
      find_thread(thread);
    }
    return thread_ == nullptr || thread_->wanted;
  }
  uint64_t method(jmethodID method) { return number(method, true); }
  uint32_t method_number(jmethodID method) {
    return static_cast<uint32_t>(number(method, false));
  }
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
    jclass type = jni_->GetObjectClass(object);
    uint64_t found = klass(type);
    jni_->DeleteLocalRef(type);
    return found;
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
  // What began is noted and not told of, in a stream that wants to know how long it lasts.
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
    if (stream_->words_ & protocol::kWordsTime) time();
    if (stream_->words_ & protocol::kWordsStack && (!stream_->places_ || waits()) &&
        !find_stack()) {
      return refuse();
    }
    Lane* lane = place_->lane;
    if (lane->shared) stream_->shared_lane_mutex_.lock();
    if (__builtin_expect(lane->next == lane->end, false) && !stream_->make_room(*lane)) {
      if (lane->shared) stream_->shared_lane_mutex_.unlock();
      return nullptr;
    }
    uint8_t* record = lane->next;
    uint64_t first = static_cast<uint64_t>(event_) |
                     static_cast<uint64_t>(thread_ == nullptr ? 0 : thread_->number) << 32;
    std::memcpy(record, &first, sizeof first);
    uint8_t* at = record + sizeof first;
    if (stream_->words_ & protocol::kWordsTime) {
      // The clock may step back a little, the times of a lane do not.
      if (time_ > lane->last) lane->last = time_;
      put(&at, lane->last);
    }
    if (stream_->words_ & protocol::kWordsDuration) put(&at, duration_);
    if (stream_->words_ & protocol::kWordsStack) put(&at, static_cast<int64_t>(stack_));
    return at;
  }
  void commit() {
    Lane* lane = place_->lane;
    lane->commit();
    if (lane->shared) stream_->shared_lane_mutex_.unlock();
  }

 private:
  static void put(uint8_t** at, int64_t value) {
    std::memcpy(*at, &value, sizeof value);
    *at += sizeof value;
  }
  bool ours() {
    if (!producer_->serves()) return false;
    const Serving* serving = Serving::of(environment_->session);
    return serving != nullptr &&
           (own_ == OwnWork::kNever || (own_ == OwnWork::kInCalls && serving->handler));
  }
  bool waits() const {
    static_assert(JVMTI_EVENT_MONITOR_CONTENDED_ENTERED - JVMTI_EVENT_MONITOR_WAIT == 3);
    return event_ >= JVMTI_EVENT_MONITOR_WAIT && event_ <= JVMTI_EVENT_MONITOR_CONTENDED_ENTERED;
  }
  bool measured() const {
    return stream_->measures_ && (stream_->shortest_ >= 0 || waits());
  }
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
    known = usable() ? stream_->meet_method(jni_, method, filtered) : 0;
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

  Producer* producer_;
  Environment* environment_ = nullptr;
  JNIEnv* jni_;
  int event_;
  OwnWork own_;
  StreamLink* next_ = nullptr;
  Stream* stream_ = nullptr;
  Place* place_ = nullptr;
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
      : producer_(Producer::usual()) {
    if (producer_ == nullptr) return;
    producer_->enter_shortly();
    StreamLink* link = only_links[event - kFirstEvent].load(std::memory_order_acquire);
    if (__builtin_expect(link->env != env, false)) {
      Environment* environment = remembered_environment(env);
      if (environment == nullptr) return;
      link = environment->taps[event - kFirstEvent].streams.load(std::memory_order_acquire);
      if (link == nullptr || link->next.load(std::memory_order_acquire) != nullptr) return;
    }
    if (__builtin_expect(link->timed_first, false)) ticks_ = EventClock::ticks();
    Place& place = producer_->place_at(link->place);
    if (place.usual.load(std::memory_order_relaxed) != jni) return;
    stream_ = link->stream;
    lane_ = place.lane;
    first_ = static_cast<uint32_t>(event) | place.usual_number;
    usual_ = true;
  }
  JVMTI_INLINE ~QuickRecording() {
    if (producer_ != nullptr) producer_->leave_shortly();
  }
  QuickRecording(const QuickRecording&) = delete;
  QuickRecording& operator=(const QuickRecording&) = delete;
  // So far all has been as usual.
  bool usual() const { return __builtin_expect(usual_, true); }

  // 0 for what is met for the first time.
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
    record += protocol::kRecordHead;
    if (__builtin_expect(!lane_->timed, true)) return record;
    int64_t time = EventClock::time_of(ticks_ != 0 ? ticks_ : EventClock::ticks());
    lane_->last = std::max(time, lane_->last);
    std::memcpy(record, &lane_->last, sizeof time);
    return record + sizeof time;
  }
  JVMTI_INLINE void commit() { lane_->commit(); }

 private:
  Producer* producer_;
  Stream* stream_ = nullptr;
  Lane* lane_ = nullptr;
  uint64_t first_ = 0;  // what the record begins with
  uint64_t ticks_ = 0;
  bool usual_ = false;
};

// Generated: the bytes of an event's fields.
uint32_t record_size(int event);

}  // namespace jvmti
