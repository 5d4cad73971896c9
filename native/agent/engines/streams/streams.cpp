#include "agent/engines/streams/streams.h"

#include <stdio.h>
#include <time.h>

#include <algorithm>
#include <new>

#include "agent/handles/agent_references.h"
#include "base/event_clock.h"
#include "base/log.h"

namespace jvmti {

using layouts::StreamCounters;
using layouts::Streams;

namespace {

constexpr int kPause = 200 * 1000;  // nanoseconds, before looking for space again
constexpr jlong kLargestLane = jlong{1} << 32;

Mutex registry_mutex{Guards::kLists};  // the lists of streams, and who is which number
Stream* registered[Streams::kMost];
uint64_t last_serial = 0;

// A thread of the system can be another Java thread later, with its JNI environment at the same
// address: the one that has run `main` comes again as DestroyJavaVM.  The stream forgets the first
// when it ends, after the stream's own event, because its environment is the older one.
void JNICALL forget_thread(jvmtiEnv* lookup, JNIEnv*, jthread) {
  void* number = nullptr;
  WriterThread* own = WriterThread::current();
  if (own == nullptr || lookup->GetEnvironmentLocalStorage(&number) != JVMTI_ERROR_NONE) return;
  ThreadStream& known = own->streams[reinterpret_cast<uintptr_t>(number)];
  known.thread = nullptr;
  known.usual.store(nullptr, std::memory_order_relaxed);
}

}  // namespace

std::atomic<Environment*> remembered_environments[256];
StreamLink no_only_link{};
OnlyLink only_links[kEventCount];

namespace {

std::atomic<Environment*>& place_of(jvmtiEnv* env) {
  return remembered_environments[remembered_at(env)];
}

}  // namespace

void remember_environment(Environment* environment) {
  place_of(environment->env).store(environment, std::memory_order_release);
}

Environment* find_environment(jvmtiEnv* env) {
  // While the VM is stopped nothing is asked of it: `remember_environment` has been called.
  Environment* environment = EventScope::environment_of(env);
  if (environment == nullptr || environment->env != env) return nullptr;
  place_of(env).store(environment, std::memory_order_release);
  return environment->muted ? nullptr : environment;
}

// ---- the beginning and the end of a stream ------------------------------------------------------

Stream::Stream(Environment& environment, uint32_t number, uint64_t serial,
               const StreamRequest& request)
    : environment(environment),
      number(number),
      serial(serial),
      waits_((request.wishes & layouts::Wishes::kWait) != 0),
      own_work_((request.wishes & layouts::Wishes::kOwn) != 0),
      objects_((request.wishes & layouts::Wishes::kObjects) != 0),
      subclasses_((request.wishes & layouts::Wishes::kSubclasses) != 0),
      measures_((request.words & layouts::Words::kDuration) != 0),
      beginnings_((request.wishes & layouts::Wishes::kBeginnings) != 0),
      places_((request.wishes & layouts::Wishes::kPlaces) != 0),
      before_probes_((request.wishes & layouts::Wishes::kBeforeProbes) != 0),
      shortest_(request.shortest),
      stack_depth_(request.stack_depth),
      words_(static_cast<uint32_t>(request.words)) {}

Stream* Stream::open(Call& call, const StreamRequest& request, int descriptor) {
  Stream* stream = nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignof(Stream), sizeof(Stream)) != 0) {
    memory = nullptr;
  } else {
    Locked locked(registry_mutex);
    for (uint32_t i = 0; i < Streams::kMost && stream == nullptr; ++i) {
      if (registered[i] != nullptr) continue;
      stream = new (memory) Stream(*call.environment, i, ++last_serial, request);
      registered[i] = stream;
    }
  }
  if (stream == nullptr) {
    std::free(memory);
    if (descriptor >= 0) SharedMemory().open(descriptor);  // closes it
    if (memory == nullptr) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY, "this JVM has %d streams already",
                       static_cast<int>(Streams::kMost));
  }
  if (stream->prepare(call, request, descriptor)) return stream;
  stream->unlink();
  stream->free(call.jni, 1000);
  if (!call.refused()) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  return nullptr;
}

bool Stream::prepare(Call& call, const StreamRequest& request, int descriptor) {
  const char* why = memory_.open(descriptor);
  if (why != nullptr) return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s", why);
  bool fine = request.event_count > 0 && request.event_count <= kEventCount &&
              (request.words & ~layouts::Words::kAll) == 0 && request.stack_depth >= 0 &&
              request.stack_depth <= kMostFrames;
  bool stopped = false;
  for (jint i = 0; fine && i < request.event_count; ++i) {
    jint event = request.events[i];
    fine = event >= kFirstEvent && event < kFirstEvent + kEventCount;
    if (!fine) break;
    if (record_size(event) > record_size_) record_size_ = record_size(event);
    stopped = stopped || event == JVMTI_EVENT_GARBAGE_COLLECTION_START ||
              event == JVMTI_EVENT_GARBAGE_COLLECTION_FINISH || event == JVMTI_EVENT_OBJECT_FREE;
  }
  // While the VM is stopped, threads cannot wait and frames are not available.
  fine = fine && !(stopped && (waits_ || (stack_depth_ > 0 && !places_)));
  record_size_ += static_cast<uint32_t>(sizeof(layouts::RecordHead));
  for (uint32_t words = words_; words != 0; words &= words - 1) record_size_ += 8;
  fine = fine && request.size >= record_size_ && request.size <= kLargestLane;
  capacity_ = 1;
  while (fine && capacity_ * 2 * record_size_ <= static_cast<uint64_t>(request.size)) {
    capacity_ *= 2;
  }
  uint64_t lane_size = (capacity_ * record_size_ + 63) / 64 * 64;
  fine = fine && memory_.size() >=
                     StreamCounters::kSize + Streams::kNamesSize + Streams::kLanes * lane_size;
  if (!fine) return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "a stream cannot be of this shape");

  if ((request.classes != nullptr && !class_patterns_.copy(request.classes)) ||
      (request.methods != nullptr && !method_patterns_.copy(request.methods)) ||
      (request.exceptions != nullptr && !exception_patterns_.copy(request.exceptions))) {
    return false;
  }
  if (request.thread_count > 0) {
    if (!threads_.allocate(static_cast<size_t>(request.thread_count))) return false;
    for (jint i = 0; i < request.thread_count; ++i) {
      threads_[static_cast<size_t>(i)] = hold(call.jni, request.threads[i]);
    }
  }
  unknown_thread_.wanted = !threads_;

  virtual_threads_ = held(environment.env).can_support_virtual_threads;
  EventClock::prepare();
  WriterThread::register_for_barrier();
  lookup_ = new_lookup_environment(virtual_threads_);
  if (lookup_ == nullptr) return false;
  jvmtiEventCallbacks callbacks{};
  callbacks.ThreadEnd = forget_thread;
  lookup_->SetEnvironmentLocalStorage(reinterpret_cast<void*>(static_cast<uintptr_t>(number)));
  if (lookup_->SetEventCallbacks(&callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
      lookup_->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_THREAD_END, nullptr) !=
          JVMTI_ERROR_NONE) {
    return false;
  }

  uint8_t* data = memory_.data();
  uint8_t* read_counters = data + StreamCounters::kRead;
  shared_names_head_ = reinterpret_cast<std::atomic<uint64_t>*>(data) + StreamCounters::kHead;
  shared_names_tail_ =
      reinterpret_cast<std::atomic<uint64_t>*>(read_counters) + StreamCounters::kTail;
  names_ = data + StreamCounters::kSize;
  for (size_t i = 0; i < Streams::kLanes; ++i) {
    Lane* lane = &lanes_[i];
    lane->size = record_size_;
    lane->timed = words_ == layouts::Words::kTime;
    lane->records = names_ + Streams::kNamesSize + i * lane_size;
    size_t line = (i + 1) * StreamCounters::kLine;
    auto* written = reinterpret_cast<std::atomic<uint64_t>*>(data + line);
    auto* read = reinterpret_cast<std::atomic<uint64_t>*>(read_counters + line);
    lane->shared_head = written + StreamCounters::kHead;
    lane->shared_dropped = written + StreamCounters::kDropped;
    lane->shared_tail = read + StreamCounters::kTail;
  }
  lanes_[Streams::kLanes - 1].shared = true;
  lanes_[Streams::kLanes - 1].taken = true;
  link(request);
  return true;
}

void Stream::link(const StreamRequest& request) {
  remember_environment(&environment);
  bool timed_first = words_ == layouts::Words::kTime && !class_patterns_ && !method_patterns_;
  Locked locked(registry_mutex);
  for (jint i = 0; i < request.event_count; ++i) {
    StreamLink* link = new (&links_[i]) StreamLink{this,
                                                   {nullptr},
                                                   environment.env,
                                                   number * sizeof(ThreadStream),
                                                   timed_first,
                                                   static_cast<uint8_t>(request.events[i])};
    auto& first = environment.taps[request.events[i] - kFirstEvent].streams;
    link->next = first.load();
    first.store(link, std::memory_order_release);
    ++link_count_;
    find_only_link(link->event);
  }
}

// Inside the lock of the lists.
void Stream::find_only_link(uint8_t event) {
  StreamLink* only = nullptr;
  int found = 0;
  for (Stream* stream : registered) {
    for (uint32_t i = 0; stream != nullptr && i < stream->link_count_; ++i) {
      if (stream->links_[i].event != event) continue;
      only = &stream->links_[i];
      ++found;
    }
  }
  only_links[event - kFirstEvent].store(found == 1 ? only : &no_only_link,
                                        std::memory_order_release);
}

void Stream::unlink() {
  Locked locked(registry_mutex);
  while (link_count_ > 0) {
    StreamLink& link = links_[--link_count_];
    std::atomic<StreamLink*>* at = &environment.taps[link.event - kFirstEvent].streams;
    while (at->load() != nullptr && at->load() != &link) at = &at->load()->next;
    if (at->load() == &link) at->store(link.next.load(), std::memory_order_release);
    find_only_link(link.event);
  }
  closed_ = true;
}

bool Stream::free(JNIEnv* jni, int milliseconds) {
  if (WriterThread::inside() || !WriterThread::wait_for_all(milliseconds)) return false;
  {
    Locked locked(registry_mutex);
    WriterThread::forget(number);
    registered[number] = nullptr;
  }
  if (lookup_ != nullptr) lookup_->DisposeEnvironment();
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (jni != nullptr && threads_[i] != nullptr) let_go(jni, threads_[i]);
  }
  for (size_t i = 0; i < threads_seen_.size(); ++i) std::free(threads_seen_.at(i)->begun);
  this->~Stream();
  std::free(this);
  return true;
}

void Stream::count(uint64_t* streamed, uint64_t* dropped) const {
  for (size_t i = 0; i < Streams::kLanes; ++i) {
    *streamed += lanes_[i].head.load(std::memory_order_relaxed);
    *dropped += lanes_[i].dropped.load(std::memory_order_relaxed);
  }
}

// ---- lanes --------------------------------------------------------------------------------------

Lane* Stream::take_lane() {
  Locked locked(mutex_);
  for (size_t i = 0; i < Streams::kLanes; ++i) {
    if (lanes_[i].taken.exchange(true)) continue;
    return &lanes_[i];
  }
  return &lanes_[Streams::kLanes - 1];
}

void Stream::give_back_lanes(ThreadStream* streams) {
  Locked locked(registry_mutex);
  for (uint32_t i = 0; i < Streams::kMost; ++i) {
    ThreadStream& known = streams[i];
    if (known.lane != nullptr && registered[i] != nullptr &&
        registered[i]->serial == known.stream && !known.lane->shared) {
      known.lane->taken.store(false, std::memory_order_release);
    }
    known.clear();
  }
}

void Stream::pause() const {
  timespec shortly{0, kPause};
  nanosleep(&shortly, nullptr);
}

void Stream::drop(Lane& lane) {
  lane.shared_dropped->store(lane.dropped.fetch_add(1, std::memory_order_relaxed) + 1,
                             std::memory_order_release);
}

// The lane looks full or ends; a shared one is locked.
bool Stream::make_space(Lane& lane) {
  Patience patience(lane.given_up);
  while (true) {
    uint64_t head = lane.head.load(std::memory_order_relaxed);
    uint64_t tail = lane.shared_tail->load(std::memory_order_acquire);
    if (head - tail <= capacity_) lane.tail = tail;  // otherwise the value is impossible
    if (head - lane.tail < capacity_) {
      uint64_t at = head & (capacity_ - 1);
      lane.next = lane.records + at * record_size_;
      lane.end = lane.next + std::min(lane.tail + capacity_ - head, capacity_ - at) * record_size_;
      return true;
    }
    if (!waits_ || closed_ || !patience.waits_on(tail)) {
      drop(lane);
      return false;
    }
    if (lane.shared) shared_lane_mutex_.unlock();
    pause();
    if (lane.shared) shared_lane_mutex_.lock();
  }
}

}  // namespace jvmti
