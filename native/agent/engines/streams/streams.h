// Streams: events as fixed records in memory shared with the controller; no thread waits for an
// answer.
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

#include "agent/calls/call.h"
#include "agent/engines/streams/lanes.h"
#include "agent/engines/streams/writer_threads.h"
#include "agent/events/events.h"
#include "base/intern_table.h"
#include "base/patterns.h"
#include "base/shared_memory.h"

namespace jvmti {

class Stream;

// A stream in the list of one event.
struct StreamLink {
  Stream* stream;
  std::atomic<StreamLink*> next;
  jvmtiEnv* env;
  size_t offset;  // of its `ThreadStream` in a `Producer`, in bytes
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
  static constexpr jint kMostFrames = 256;

  static uint64_t key_of(jmethodID method) {
    return InternTable::key_of(reinterpret_cast<uint64_t>(method));
  }
  // Of an instruction that accesses a field: the same one always means the same field.  Never 0,
  // because it is odd.
  static uint64_t key_of_site(jmethodID method, jlocation at, jfieldID field) {
    return reinterpret_cast<uint64_t>(method) * 0x9E3779B97F4A7C16u +
           static_cast<uint64_t>(at) * 0xD6E8FEB86659FD92u +
           reinterpret_cast<uint64_t>(field) * 0xA0761D6478BD642Eu + 1;
  }
  static uint64_t key_of_both(uint64_t one, uint64_t two) {
    return (InternTable::mix(InternTable::mix(one) + two * 0xD6E8FEB86659FD93u) << 1) | 1;
  }

  static Stream* open(Call& call, const StreamRequest& request, int descriptor);
  // Off the lists: from here on no further thread finds it.
  void unlink();
  // Frees a stream that was unlinked; false while a thread is still inside.
  bool free(JNIEnv* jni, int milliseconds);
  static void give_back_lanes(ThreadStream* streams);
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
  bool make_space(Lane& lane);
  void drop(Lane& lane);
  void pause() const;

  // Of what has no number yet.  0, or null, says that it could not be announced.
  StreamedThread* intern_thread(JNIEnv* jni, jthread thread);
  uint64_t intern_class(JNIEnv* jni, jclass klass);
  uint64_t intern_method(JNIEnv* jni, jmethodID method, bool filtered);
  uint64_t field_of(JNIEnv* jni, jclass klass, jfieldID field);
  uint32_t text(const char* value);
  uint32_t stack(JNIEnv* jni);
  bool wants_exception(JNIEnv* jni, jclass klass, const char* name);
  uint32_t announce(layouts::Announced kind, const Writer& payload, InternTable* known,
                    uint64_t key, uint64_t bits);

  uint64_t class_of(JNIEnv* jni, jclass klass) {
    jlong tag = 0;
    if (lookup_->GetTag(klass, &tag) == JVMTI_ERROR_NONE && tag != 0) {
      return static_cast<uint64_t>(tag);
    }
    return intern_class(jni, klass);
  }

  std::atomic<bool> closed_{false};
  bool waits_;
  bool own_work_;
  bool objects_;
  bool subclasses_;
  bool virtual_threads_ = false;
  bool measures_;
  bool beginnings_;
  bool places_;
  bool before_probes_;
  int64_t shortest_;  // nanoseconds; -1 for a stream that measures nothing but waits
  jint stack_depth_;
  uint32_t words_;
  uint32_t record_size_ = 0;
  uint64_t capacity_ = 0;  // records of a lane, a power of two
  Array<char> class_patterns_;
  Array<char> method_patterns_;
  Array<char> exception_patterns_;
  Array<jobject> threads_;      // global references; none for all
  jvmtiEnv* lookup_ = nullptr;  // whose tags are the classes' numbers
  SharedMemory memory_;

  Mutex mutex_{Guards::kStream};  // names, numbers, lanes
  uint8_t* names_ = nullptr;
  uint64_t names_head_ = 0;
  uint64_t names_tail_ = 0;
  std::atomic<uint64_t> names_given_up_{0};
  std::atomic<uint64_t>* shared_names_head_ = nullptr;
  const std::atomic<uint64_t>* shared_names_tail_ = nullptr;
  uint32_t announced_[layouts::kAnnouncedCount] = {};
  InternTable methods_;
  InternTable fields_;
  InternTable sites_;  // of a method, 0 if it is left out, and above it of the field it accesses
  InternTable texts_;
  InternTable stacks_;
  Stable<StreamedThread> threads_seen_;
  StreamedThread unknown_thread_{};

  uint32_t link_count_ = 0;
  StreamLink links_[kEventCount]{};
  Mutex shared_lane_mutex_{Guards::kSharedLane};
  Lane lanes_[layouts::Streams::kLanes]{};
};

// Of each event the only stream in this JVM; where there are more or none, a link of no
// environment. What most events need is found from here in the fewest steps.
extern StreamLink no_only_link;
struct OnlyLink : std::atomic<StreamLink*> {
  constexpr OnlyLink() : std::atomic<StreamLink*>(&no_only_link) {}
};
extern OnlyLink only_links[kEventCount];

void remember_environment(Environment* environment);
// Environments as their last events found them, so that most events ask nothing of the VM.
extern std::atomic<Environment*> remembered_environments[256];
inline size_t remembered_at(const jvmtiEnv* env) {
  return InternTable::mix(reinterpret_cast<uint64_t>(env) >> 4) & 255;
}
// The environment, if it is remembered and its events are wanted.
inline Environment* remembered_environment(jvmtiEnv* env) {
  Environment* known = remembered_environments[remembered_at(env)].load(std::memory_order_acquire);
  bool wanted = known != nullptr && known->env.load(std::memory_order_acquire) == env &&
                !known->muted.load(std::memory_order_acquire);
  return __builtin_expect(wanted, true) ? known : nullptr;
}
Environment* find_environment(jvmtiEnv* env);

// Generated: the bytes of an event's fields.
uint32_t record_size(int event);

}  // namespace jvmti
