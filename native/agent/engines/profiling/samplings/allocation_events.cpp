// The VM samples one object of many, and each stands for more bytes than it has.
//
// Points lie by chance in what a thread allocates, an interval from each other on average; an
// object is sampled if there is one in it.  So it counts as its size divided by the chance of that.
// Up to Java 13 the VM finds a next point from the end of the sampled object on, and takes the
// object's size off once more if the point is farther than that.  One that is nearer stays where it
// is, so that the next points are too near.  There the chance depends on how much the thread has
// allocated since, and on the object before.

#include "agent/engines/profiling/samplings/allocation_events.h"

#include "agent/core/agent.h"
#include "agent/core/vm_structures.h"
#include "agent/engines/profiling/walks/event_stacks.h"
#include "agent/engines/profiling/walks/stack_walk.h"
#include "agent/sessions/environments.h"

namespace jvmti {

namespace {

constexpr jvmtiEvent kEvents[] = {JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, JVMTI_EVENT_CLASS_LOAD};

// Who is sent events by the place of its number, which no other open profile has.
struct Received {
  std::atomic<uint32_t> profile{0};
  AllocationEvents::Receiver receiver = nullptr;
};
Received received[layouts::Profiles::kMost];

constexpr int kFirstRight = 14;  // version of Java

// The chance that a length of some intervals has a point: 1 - exp(-length).
double chance_in(double length) {
  if (length > 40) return 1;
  int halved = 0;
  for (; length > 0.01; ++halved) length /= 2;
  double found = length * (1 - length / 2 * (1 - length / 3 * (1 - length / 4)));
  for (; halved > 0; --halved) found *= 2 - found;
  return found;
}

// What threads allocate, as the VM's structures say.
class Allocated : NoCopy {
 public:
  void prepare();
  void begin(int64_t interval);
  // What an object stands for, which the current thread has allocated just now.
  int64_t weight(const JNIEnv* jni, int64_t size);
  // The VM chooses the next point from here on.
  void note(const JNIEnv* jni, int64_t size);

 private:
  struct Last {
    int64_t end;   // bytes that the thread had allocated by then
    int64_t size;  // of its object; 0 before the first one
  };
  int64_t by_thread(uintptr_t thread) const;

  double interval_ = 1;
  bool known_ = false;
  size_t bytes_ = 0;  // of a thread: places in structures
  size_t buffer_ = 0;
  size_t start_ = 0;  // of its buffer
  size_t top_ = 0;
  Mutex mutex_{Guards::kLists};
  Index places_;  // plus 1, by the VM's thread
  Vector<Last> lasts_;
};
Allocated bytes_allocated;

void Allocated::prepare() {
  if (known_ || major_version(agent.version) >= kFirstRight) return;
  VmTables tables;
  VmTables::Field bytes = tables.field("Thread", "_allocated_bytes");
  VmTables::Field buffer = tables.field("Thread", "_tlab");
  VmTables::Field start = tables.field("ThreadLocalAllocBuffer", "_start");
  VmTables::Field top = tables.field("ThreadLocalAllocBuffer", "_top");
  known_ = bytes.known && buffer.known && start.known && top.known;
  bytes_ = bytes.place;
  buffer_ = buffer.place;
  start_ = start.place;
  top_ = top.place;
}

void Allocated::begin(int64_t interval) {
  Locked locked(mutex_);
  interval_ = static_cast<double>(interval < 1 ? 1 : interval);
  for (Last& one : lasts_) one.size = 0;
}

int64_t Allocated::by_thread(uintptr_t thread) const {
  int64_t in_buffer =
      in_vm<int64_t>(thread, buffer_ + top_) - in_vm<int64_t>(thread, buffer_ + start_);
  return in_vm<int64_t>(thread, bytes_) + in_buffer;
}

int64_t Allocated::weight(const JNIEnv* jni, int64_t size) {
  double length = static_cast<double>(size) / interval_;
  double chance = chance_in(length);
  uintptr_t thread = known_ ? vm_thread(jni) : 0;
  if (thread != 0) {
    Locked locked(mutex_);
    uint32_t place = places_.find(thread);
    Last last = place == 0 ? Last{0, 0} : lasts_[place - 1];
    int64_t passed = by_thread(thread) - size - last.end;
    if (passed >= 0 && passed < last.size) {
      double before = static_cast<double>(last.size) / interval_;
      // The chance of no point up to there.
      auto none = [before](double to) {
        double beyond = 1 - chance_in(before);
        return to < before ? 1 - (1 + beyond) * chance_in(to) : beyond * (1 - chance_in(to));
      };
      double from = static_cast<double>(passed) / interval_;
      chance = 1 - none(from + length) / none(from);
    }
  }
  return static_cast<int64_t>(static_cast<double>(size) / chance + 0.5);
}

void Allocated::note(const JNIEnv* jni, int64_t size) {
  uintptr_t thread = known_ ? vm_thread(jni) : 0;
  if (thread == 0) return;
  Last last{by_thread(thread), size};
  Locked locked(mutex_);
  uint32_t place = places_.find(thread);
  if (place != 0) {
    lasts_[place - 1] = last;
  } else if (lasts_.push(last) && !places_.insert(thread, static_cast<uint32_t>(lasts_.size()))) {
    lasts_.pop();
  }
}

// The environment stays, so that an event that is under way may use it; it has the capability only
// while a profile wants events, since another agent may want it.
Mutex mutex{Guards::kLists};
jvmtiEnv* env = nullptr;
uint32_t count = 0;
int64_t interval = 0;

void JNICALL sampled(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object, jclass klass,
                     jlong size) {
  jlong weight = bytes_allocated.weight(jni, size);
  for (Received& one : received) {
    uint32_t number = one.profile.load(std::memory_order_acquire);
    if (number == 0) continue;
    UsedProfile profile(number);
    if (profile != nullptr && profile->active) {
      one.receiver(*profile, jni, thread, object, klass, weight);
    }
  }
  bytes_allocated.note(jni, size);
}

jvmtiCapabilities wanted() {
  jvmtiCapabilities one{};
  one.can_generate_sampled_object_alloc_events = 1;
  return one;
}

const char* begin(int64_t bytes) {
  if (env == nullptr) env = new_jvmti_environment();
  if (env == nullptr) return "there is no memory for it";
  jvmtiCapabilities capability = wanted();
  if (env->AddCapabilities(&capability) != JVMTI_ERROR_NONE) {
    return "another environment has the events of sampled allocations";
  }
  env->SetHeapSamplingInterval(static_cast<jint>(bytes));
  jvmtiEventCallbacks callbacks{};
  callbacks.SampledObjectAlloc = sampled;
  callbacks.ClassLoad = class_loaded;
  (void)StackWalk::prepare();
  bytes_allocated.prepare();
  bytes_allocated.begin(bytes);
  interval = bytes;
  return listen(env, callbacks, kEvents, sizeof kEvents / sizeof *kEvents);
}

// Java 11 ends the samples of all environments if one without them asks for none: so this first.
void end() {
  mute(env, kEvents, sizeof kEvents / sizeof *kEvents);
  jvmtiCapabilities capability = wanted();
  env->RelinquishCapabilities(&capability);
}

}  // namespace

const char* AllocationEvents::add(Profile& profile, Receiver receiver) {
  Locked locked(mutex);
  if (count > 0 && interval != profile.request.interval) {
    return "another profile has the events of sampled allocations with another interval; the VM "
           "has one for all";
  }
  Received& place = received[profile.number % layouts::Profiles::kMost];
  place.receiver = receiver;
  place.profile.store(profile.number, std::memory_order_release);
  if (count == 0) {
    const char* why = begin(profile.request.interval);
    if (why != nullptr) {
      place.profile = 0;
      if (env != nullptr) end();
      return why;
    }
  }
  ++count;
  return nullptr;
}

void AllocationEvents::remove(Profile& profile) {
  Locked locked(mutex);
  Received& place = received[profile.number % layouts::Profiles::kMost];
  if (place.profile != profile.number) return;
  place.profile = 0;
  if (--count == 0) end();
}

}  // namespace jvmti
