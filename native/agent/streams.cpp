#include "streams.h"

#include <stdio.h>
#include <time.h>

#include <new>

#include "class_names.h"
#include "log.h"
#include "own_references.h"

namespace jvmti {

namespace {

using protocol::kControlSize;
using protocol::kLaneLine;
using protocol::kMaximumLanes;
using protocol::kMaximumStreams;
using protocol::kNamesSize;

constexpr int kPause = 200 * 1000;  // nanoseconds, before looking for room again
constexpr jint kMostFrames = 256;
constexpr jlong kLargestLane = jlong{1} << 32;

Mutex registry_mutex{Guards::kLists};  // the lists of streams, and who is which number
Stream* registered[kMaximumStreams];
uint64_t last_serial = 0;

char* copy_of(const char* text) {
  if (text == nullptr) return nullptr;
  size_t size = std::strlen(text) + 1;
  char* made = static_cast<char*>(std::malloc(size));
  if (made != nullptr) std::memcpy(made, text, size);
  return made;
}

void put_text(Writer& payload, const char* text) {
  uint32_t length = text == nullptr ? 0 : static_cast<uint32_t>(std::strlen(text));
  payload.number(length);
  payload.bytes(text, length);
}

uint64_t key_of_text(const char* text) {
  uint64_t key = 0xCBF29CE484222325u;
  for (; *text != '\0'; ++text) {
    key = (key ^ static_cast<uint8_t>(*text)) * 0x100000001B3u;
  }
  return Numbers::mix(key) | 1;
}

// A thread of the system can be another Java thread later, with its JNI environment at the same
// address: the one that has run `main` comes again as DestroyJavaVM.  What a stream knows of the
// first ends with it, after the stream itself has been told, whose environment is the older one.
void JNICALL forget_thread(jvmtiEnv* lookup, JNIEnv*, jthread) {
  void* number = nullptr;
  Producer* own = Producer::current();
  if (own == nullptr || lookup->GetEnvironmentLocalStorage(&number) != JVMTI_ERROR_NONE) return;
  Place& place = own->places[reinterpret_cast<uintptr_t>(number)];
  place.thread = nullptr;
  place.usual.store(nullptr, std::memory_order_relaxed);
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
      waits_((request.wishes & protocol::kWishesWait) != 0),
      own_((request.wishes & protocol::kWishesOwn) != 0),
      objects_((request.wishes & protocol::kWishesObjects) != 0),
      subclasses_((request.wishes & protocol::kWishesSubclasses) != 0),
      measures_((request.words & protocol::kWordsDuration) != 0),
      beginnings_((request.wishes & protocol::kWishesBeginnings) != 0),
      places_((request.wishes & protocol::kWishesPlaces) != 0),
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
    for (uint32_t i = 0; i < kMaximumStreams && stream == nullptr; ++i) {
      if (registered[i] != nullptr) continue;
      stream = new (memory) Stream(*call.environment, i, ++last_serial, request);
      registered[i] = stream;
    }
  }
  if (stream == nullptr) {
    std::free(memory);
    if (descriptor >= 0) SharedMemory().open(descriptor);  // closes it
    if (memory == nullptr) {
      call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
      return nullptr;
    }
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY, "this JVM has %d streams already",
                static_cast<int>(kMaximumStreams));
    return nullptr;
  }
  if (stream->prepare(call, request, descriptor)) return stream;
  stream->unlink();
  stream->free(call.jni, 1000);
  if (!call.refused()) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  return nullptr;
}

bool Stream::prepare(Call& call, const StreamRequest& request, int descriptor) {
  const char* why = memory_.open(descriptor);
  if (why != nullptr) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s", why);
    return false;
  }
  constexpr jint kWords =
      protocol::kWordsTime | protocol::kWordsDuration | protocol::kWordsStack;
  bool fine = request.event_count > 0 && request.event_count <= kEventCount &&
              (request.words & ~kWords) == 0 && request.stack_depth >= 0 &&
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
  // Nobody could be waited for, and no frames can be asked for, while the VM is stopped.
  fine = fine && !(stopped && (waits_ || (stack_depth_ > 0 && !places_)));
  record_size_ += static_cast<uint32_t>(protocol::kRecordHead);
  for (uint32_t words = words_; words != 0; words &= words - 1) record_size_ += 8;
  fine = fine && request.size >= record_size_ && request.size <= kLargestLane;
  capacity_ = 1;
  while (fine && capacity_ * 2 * record_size_ <= static_cast<uint64_t>(request.size)) {
    capacity_ *= 2;
  }
  uint64_t lane_size = (capacity_ * record_size_ + 63) / 64 * 64;
  fine = fine && memory_.size() >= kControlSize + kNamesSize + kMaximumLanes * lane_size;
  if (!fine) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "a stream cannot be of this shape");
    return false;
  }

  class_patterns_ = copy_of(request.classes);
  method_patterns_ = copy_of(request.methods);
  exception_patterns_ = copy_of(request.exceptions);
  if (request.thread_count > 0) {
    threads_ = static_cast<jobject*>(
        std::calloc(static_cast<size_t>(request.thread_count), sizeof(jobject)));
    if (threads_ == nullptr) return false;
    for (jint i = 0; i < request.thread_count; ++i) {
      threads_[i] = hold(call.jni, request.threads[i]);
    }
    thread_count_ = request.thread_count;
  }
  unknown_thread_.wanted = threads_ == nullptr;

  jvmtiCapabilities held{};
  environment.env.load()->GetCapabilities(&held);
  virtual_threads_ = held.can_support_virtual_threads;
  EventClock::prepare();
  Producer::register_for_barrier();
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
  uint8_t* heard = data + kControlSize / 2;
  told_names_head_ = reinterpret_cast<std::atomic<uint64_t>*>(data);
  told_names_tail_ = reinterpret_cast<std::atomic<uint64_t>*>(heard);
  names_ = data + kControlSize;
  for (size_t i = 0; i < kMaximumLanes; ++i) {
    Lane* lane = &lanes_[i];
    lane->size = record_size_;
    lane->timed = words_ == protocol::kWordsTime;
    lane->records = names_ + kNamesSize + i * lane_size;
    lane->told_head = reinterpret_cast<std::atomic<uint64_t>*>(data + (i + 1) * kLaneLine);
    lane->told_dropped = lane->told_head + 1;
    lane->told_tail = reinterpret_cast<std::atomic<uint64_t>*>(heard + (i + 1) * kLaneLine);
  }
  lanes_[kMaximumLanes - 1].shared = true;
  lanes_[kMaximumLanes - 1].taken = true;
  link(request);
  return true;
}

void Stream::link(const StreamRequest& request) {
  remember_environment(&environment);
  bool timed_first = words_ == protocol::kWordsTime && class_patterns_ == nullptr &&
                     method_patterns_ == nullptr;
  Locked locked(registry_mutex);
  for (jint i = 0; i < request.event_count; ++i) {
    StreamLink* link = new (&links_[i]) StreamLink{
        this, {nullptr}, environment.env, number * sizeof(Place), timed_first,
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
  if (Producer::inside() || !Producer::wait_for_all(milliseconds)) return false;
  {
    Locked locked(registry_mutex);
    Producer::forget(number);
    registered[number] = nullptr;
  }
  if (lookup_ != nullptr) lookup_->DisposeEnvironment();
  for (jint i = 0; i < thread_count_; ++i) {
    if (jni != nullptr && threads_[i] != nullptr) let_go(jni, threads_[i]);
  }
  for (size_t i = 0; i < met_threads_.size(); ++i) std::free(met_threads_.at(i)->begun);
  std::free(threads_);
  std::free(class_patterns_);
  std::free(method_patterns_);
  std::free(exception_patterns_);
  this->~Stream();
  std::free(this);
  return true;
}

void Stream::count(uint64_t* streamed, uint64_t* dropped) const {
  for (size_t i = 0; i < kMaximumLanes; ++i) {
    *streamed += lanes_[i].head.load(std::memory_order_relaxed);
    *dropped += lanes_[i].dropped.load(std::memory_order_relaxed);
  }
}

// ---- lanes --------------------------------------------------------------------------------------

Lane* Stream::take_lane() {
  Locked locked(mutex_);
  for (size_t i = 0; i < kMaximumLanes; ++i) {
    if (lanes_[i].taken.exchange(true)) continue;
    return &lanes_[i];
  }
  return &lanes_[kMaximumLanes - 1];
}

void Stream::give_back_lanes(Place* places) {
  Locked locked(registry_mutex);
  for (uint32_t i = 0; i < kMaximumStreams; ++i) {
    Place& place = places[i];
    if (place.lane != nullptr && registered[i] != nullptr &&
        registered[i]->serial == place.stream && !place.lane->shared) {
      place.lane->taken.store(false, std::memory_order_release);
    }
    place.clear();
  }
}

void Stream::pause() const {
  timespec shortly{0, kPause};
  nanosleep(&shortly, nullptr);
}

void Stream::drop(Lane& lane) {
  lane.told_dropped->store(lane.dropped.fetch_add(1, std::memory_order_relaxed) + 1,
                           std::memory_order_release);
}

// The lane looks full or ends; a shared one is locked.
bool Stream::make_room(Lane& lane) {
  Patience patience(lane.given_up);
  while (true) {
    uint64_t head = lane.head.load(std::memory_order_relaxed);
    uint64_t tail = lane.told_tail->load(std::memory_order_acquire);
    if (head - tail <= capacity_) lane.tail = tail;  // else nobody can have read so many
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

// ---- what is numbered ---------------------------------------------------------------------------

// Puts an announcement into its ring.  With `known`, what
// another thread has announced meanwhile is found there, and the new number kept.
uint32_t Stream::announce(int kind, const Writer& payload, Numbers* known, uint64_t key,
                          uint64_t bits) {
  layouts::Announcement head{};
  size_t size = (sizeof head + payload.size() + 7) / 8 * 8;
  if (payload.failed() || size > kNamesSize / 2) return 0;
  Patience patience(names_given_up_);
  uint64_t tail = 0;
  while (true) {
    {
      Locked locked(mutex_);
      if (known != nullptr) {
        uint32_t there = static_cast<uint32_t>(known->find(key));
        if (there != 0) return there;
      }
      tail = told_names_tail_->load(std::memory_order_acquire);
      if (names_head_ - tail <= kNamesSize && tail % 8 == 0) names_tail_ = tail;
      size_t at = names_head_ % kNamesSize;
      size_t padding = at + size > kNamesSize ? kNamesSize - at : 0;
      if (names_head_ - names_tail_ + padding + size <= kNamesSize) {
        if (padding != 0) {
          head.size = static_cast<uint32_t>(padding);
          head.kind = protocol::kAnnouncedPadding;
          std::memcpy(names_ + at, &head, 8);  // there are eight bytes at least
          names_head_ += padding;
          at = 0;
        }
        uint32_t number = announced_[kind] + 1;
        if (known != nullptr && !known->put(key, bits | number)) return 0;
        announced_[kind] = number;
        head.size = static_cast<uint32_t>(size);
        head.kind = static_cast<uint32_t>(kind);
        head.number = number;
        head.length = static_cast<uint32_t>(payload.size());
        std::memcpy(names_ + at, &head, sizeof head);
        std::memcpy(names_ + at + sizeof head, payload.data(), payload.size());
        names_head_ += size;
        told_names_head_->store(names_head_, std::memory_order_release);
        return number;
      }
    }
    if (!waits_ || closed_ || !patience.waits_on(tail)) return 0;
    pause();
  }
}

StreamedThread* Stream::meet_thread(JNIEnv* jni, jthread thread) {
  void* kept = nullptr;
  if (virtual_threads_ && lookup_->GetThreadLocalStorage(nullptr, &kept) == JVMTI_ERROR_NONE &&
      kept != nullptr) {
    return static_cast<StreamedThread*>(kept);
  }
  jvmtiThreadInfo info{};
  if (lookup_->GetThreadInfo(thread, &info) != JVMTI_ERROR_NONE) return &unknown_thread_;
  Writer payload;
  payload.number(layouts::AnnouncedThread{info.is_daemon != 0});
  put_text(payload, info.name);
  lookup_->Deallocate(reinterpret_cast<unsigned char*>(info.name));
  if (info.thread_group != nullptr) jni->DeleteLocalRef(info.thread_group);
  if (info.context_class_loader != nullptr) jni->DeleteLocalRef(info.context_class_loader);
  bool wanted = threads_ == nullptr;
  for (jint i = 0; i < thread_count_ && !wanted; ++i) {
    wanted = jni->IsSameObject(thread, threads_[i]);
  }
  uint32_t number = 0;
  if (wanted) {
    number = announce(protocol::kAnnouncedThread, payload, nullptr, 0, 0);
    if (number == 0) return nullptr;
  }
  StreamedThread* met;
  {
    Locked locked(mutex_);
    met = met_threads_.add();
  }
  if (met == nullptr) return nullptr;
  met->number = number;
  met->wanted = wanted;
  if (virtual_threads_) lookup_->SetThreadLocalStorage(nullptr, met);
  return met;
}

bool Stream::wants_exception(JNIEnv* jni, jclass klass, const char* name) {
  if (exception_patterns_ == nullptr || fits_any(exception_patterns_, name)) return true;
  bool wanted = false;
  jclass above = subclasses_ ? jni->GetSuperclass(klass) : nullptr;
  while (above != nullptr && !wanted) {
    char* signature = nullptr;
    if (lookup_->GetClassSignature(above, &signature, nullptr) == JVMTI_ERROR_NONE) {
      char above_name[kLongestClassName];
      write_class_name(signature, above_name, sizeof above_name);
      wanted = fits_any(exception_patterns_, above_name);
      lookup_->Deallocate(reinterpret_cast<unsigned char*>(signature));
    }
    jclass next = wanted ? nullptr : jni->GetSuperclass(above);
    jni->DeleteLocalRef(above);
    above = next;
  }
  if (above != nullptr) jni->DeleteLocalRef(above);
  return wanted;
}

// Two threads that meet a class at once give it two numbers, which say the same.
uint64_t Stream::meet_class(JNIEnv* jni, jclass klass) {
  char* signature = nullptr;
  if (lookup_->GetClassSignature(klass, &signature, nullptr) != JVMTI_ERROR_NONE) {
    return kKnown | kWanted | kWantedException;
  }
  Writer payload;
  put_text(payload, signature);
  char name[kLongestClassName];
  write_class_name(signature, name, sizeof name);
  lookup_->Deallocate(reinterpret_cast<unsigned char*>(signature));
  uint64_t bits = kKnown;
  if (fits_any(class_patterns_, name)) bits |= kWanted;
  if (wants_exception(jni, klass, name)) bits |= kWantedException;
  uint32_t number = announce(protocol::kAnnouncedClass, payload, nullptr, 0, 0);
  if (number == 0) return 0;
  lookup_->SetTag(klass, static_cast<jlong>(bits | number));
  return bits | number;
}

// A method that the filters leave out is announced only where it is named nevertheless.
uint64_t Stream::meet_method(JNIEnv* jni, jmethodID method, bool filtered) {
  uint64_t key = key_of(method);
  char* name = nullptr;
  char* signature = nullptr;
  char* file = nullptr;
  jclass klass = nullptr;
  jint modifiers = 0;
  jint count = 0;
  jvmtiLineNumberEntry* lines = nullptr;
  jlocation start = 0;
  jlocation end = -1;
  uint64_t class_bits = kKnown | kWanted;
  if (lookup_->GetMethodName(method, &name, &signature, nullptr) == JVMTI_ERROR_NONE &&
      lookup_->GetMethodDeclaringClass(method, &klass) == JVMTI_ERROR_NONE) {
    class_bits = class_of(jni, klass);
    lookup_->GetMethodModifiers(method, &modifiers);
  }
  uint64_t bits = kKnown;
  if (class_bits & kWanted && fits_any(method_patterns_, name == nullptr ? "" : name)) {
    bits |= kWanted;
  }
  if (modifiers & 0x0100) bits |= kNative;
  const char* closing = signature == nullptr ? nullptr : std::strrchr(signature, ')');
  char type = closing == nullptr ? 'V' : closing[1];
  bits |= static_cast<uint64_t>(type == '[' ? 'L' : type) << kReturnType;
  uint64_t found = 0;
  if (class_bits == 0) {
    // No room for the announcement of its class.
  } else if (filtered && !(bits & kWanted)) {
    Locked locked(mutex_);
    uint64_t there = methods_.find(key);
    found = there != 0 ? there : methods_.put(key, bits) ? bits : 0;
  } else {
    if (klass != nullptr) {
      lookup_->GetSourceFileName(klass, &file);
      lookup_->GetMethodLocation(method, &start, &end);
      if (lookup_->GetLineNumberTable(method, &count, &lines) != JVMTI_ERROR_NONE) count = 0;
    }
    constexpr jint kMostLines = kNamesSize / 32;
    Writer payload;
    if (count > kMostLines) count = kMostLines;
    payload.number(layouts::AnnouncedMethod{static_cast<uint32_t>(class_bits), modifiers,
                                            static_cast<int32_t>(end), count});
    for (jint i = 0; i < count; ++i) {
      payload.number(layouts::AnnouncedLine{static_cast<int32_t>(lines[i].start_location),
                                            static_cast<int32_t>(lines[i].line_number)});
    }
    put_text(payload, name);
    put_text(payload, signature);
    put_text(payload, file);
    uint32_t number =
        announce(protocol::kAnnouncedMethod, payload, &methods_, key, bits);
    found = number == 0 ? 0 : bits | number;
  }
  if (klass != nullptr) jni->DeleteLocalRef(klass);
  char* const texts[] = {name, signature, file};
  // The VM takes null as well.
  for (char* one : texts) lookup_->Deallocate(reinterpret_cast<unsigned char*>(one));
  lookup_->Deallocate(reinterpret_cast<unsigned char*>(lines));
  return found;
}

uint64_t Stream::field_of(JNIEnv* jni, jclass klass, jfieldID field) {
  uint64_t class_bits = class_of(jni, klass);
  if (class_bits == 0) return 0;
  // A jfieldID is good in its class only.
  uint64_t key = key_of_both(static_cast<uint32_t>(class_bits), reinterpret_cast<uint64_t>(field));
  uint64_t known = fields_.find(key);
  if (known != 0) return known;
  char* name = nullptr;
  char* signature = nullptr;
  jint modifiers = 0;
  lookup_->GetFieldName(klass, field, &name, &signature, nullptr);
  lookup_->GetFieldModifiers(klass, field, &modifiers);
  Writer payload;
  payload.number(layouts::AnnouncedField{static_cast<uint32_t>(class_bits), modifiers});
  put_text(payload, name);
  put_text(payload, signature);
  lookup_->Deallocate(reinterpret_cast<unsigned char*>(name));
  lookup_->Deallocate(reinterpret_cast<unsigned char*>(signature));
  uint32_t number = announce(protocol::kAnnouncedField, payload, &fields_, key, kKnown);
  return number == 0 ? 0 : kKnown | number;
}

uint32_t Stream::text(const char* value) {
  uint64_t key = key_of_text(value);
  uint64_t known = texts_.find(key);
  if (known != 0) return static_cast<uint32_t>(known);
  Writer payload;
  put_text(payload, value);
  return announce(protocol::kAnnouncedText, payload, &texts_, key, 0);
}

uint32_t Stream::stack(JNIEnv* jni) {
  jvmtiFrameInfo frames[kMostFrames];
  jint count = 0;
  if (lookup_->GetStackTrace(nullptr, 0, stack_depth_, frames, &count) != JVMTI_ERROR_NONE) {
    count = 0;
  }
  uint64_t key = static_cast<uint64_t>(count);
  for (jint i = 0; i < count; ++i) {
    key = key_of_both(key, reinterpret_cast<uint64_t>(frames[i].method));
    key = key_of_both(key, static_cast<uint64_t>(frames[i].location) + 1);
  }
  key |= 1;
  uint64_t known = stacks_.find(key);
  if (known != 0) return static_cast<uint32_t>(known);
  Writer payload;
  payload.number(layouts::AnnouncedStack{count});
  for (jint i = 0; i < count; ++i) {
    uint64_t method = methods_.find(key_of(frames[i].method));
    if (static_cast<uint32_t>(method) == 0) method = meet_method(jni, frames[i].method, false);
    if (method == 0) return 0;
    payload.number(layouts::AnnouncedFrame{static_cast<uint32_t>(method),
                                           static_cast<int32_t>(frames[i].location)});
  }
  return announce(protocol::kAnnouncedStack, payload, &stacks_, key, 0);
}

// ---- one event ----------------------------------------------------------------------------------

void Recording::settle() {
  place_->clear();
  place_->lane = stream_->take_lane();
  place_->stream = stream_->serial;
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
  thread_ = stream_->meet_thread(jni_, thread);
  if (thread_ == nullptr) failed_ = true;
  if (thread_ == &stream_->unknown_thread_) return;
  place_->thread = thread_;
  place_->jni = jni_;
  constexpr uint32_t kPlain = protocol::kWordsTime;
  bool usual = thread_ != nullptr && thread_->wanted && (stream_->words_ & ~kPlain) == 0 &&
               !stream_->virtual_threads_ && !stream_->objects_ && !place_->lane->shared;
  place_->usual.store(usual ? jni_ : nullptr, std::memory_order_relaxed);
  place_->usual_number = usual ? static_cast<uint64_t>(thread_->number) << 32 : 0;
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
  if (stream_->class_patterns_ == nullptr) return true;
  if (name == nullptr) return false;
  char dotted[kLongestClassName];
  size_t at = 0;
  for (; name[at] != '\0' && at + 1 < sizeof dotted; ++at) {
    dotted[at] = name[at] == '/' ? '.' : name[at];
  }
  dotted[at] = '\0';
  return fits_any(stream_->class_patterns_, dotted);
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

// What began within and has not ended was cut off: a popped frame is not told of.
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
  stream_->drop(*place_->lane);
  return nullptr;
}

}  // namespace jvmti
