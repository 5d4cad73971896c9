#include "agent/engines/profiling/profile.h"

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "agent/channels/channel.h"
#include "agent/engines/profiling/living_classes.h"
#include "agent/engines/profiling/samplings.h"
#include "agent/sessions/environments.h"
#include "base/clock.h"

namespace jvmti {

namespace {

using layouts::ProfileEngine;
using layouts::Profiles;

// Nanoseconds between two looks for new names: on a busy machine each takes 0.1 ms.
constexpr int64_t kNaming = 100000000;
constexpr int64_t kNamingSoon = 25000000;  // where threads are short or samples many
constexpr int64_t kRecent = 1000000000;    // nanoseconds
constexpr size_t kMany = 1 << 12;          // samples in one look
constexpr size_t kMostRecords = 4 << 20;   // that wait to be read
constexpr uint32_t kMostThreads = 1 << 30;

struct Place {
  std::atomic<Profile*> profile{nullptr};
  std::atomic<jvmtiEnv*> env{nullptr};  // the profile's, for its events
  std::atomic<uint32_t> users{0};
  bool taken = false;
  uint32_t rounds = 0;
};
Mutex places_mutex{Guards::kLists};
Place places[Profiles::kMost];

}  // namespace

int64_t epoch_now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// ---- who uses one ------------------------------------------------------------------------------

void UsedProfile::use(uint32_t number) {
  place_ = number % Profiles::kMost;
  places[place_].users.fetch_add(1);
  profile_ = places[place_].profile.load();
  if (profile_ != nullptr && profile_->number != number) profile_ = nullptr;
}

UsedProfile::UsedProfile(uint32_t number) { use(number); }

// Events come often: a call of the VM's would take longer.
UsedProfile::UsedProfile(jvmtiEnv* env) {
  while (place_ + 1 < Profiles::kMost && places[place_].env != env) ++place_;
  places[place_].users.fetch_add(1);
  profile_ = places[place_].profile.load();
  if (profile_ != nullptr && profile_->env != env) profile_ = nullptr;
}

UsedProfile::~UsedProfile() { places[place_].users.fetch_sub(1); }

// ---- begin and end -----------------------------------------------------------------------------

Profile* Profile::open(Call& call, const ProfileRequest& request, char* reason, size_t size) {
  uint32_t place = Profiles::kMost;
  uint32_t round = 0;
  {
    Locked locked(places_mutex);
    for (uint32_t i = 0; i < Profiles::kMost && place == Profiles::kMost; ++i) {
      if (places[i].taken) continue;
      places[i].taken = true;
      place = i;
      round = places[i].rounds = places[i].rounds % 0x03FFFFFF + 1;
    }
  }
  if (place == Profiles::kMost) {
    call.refuse(JVMTI_ERROR_NOT_AVAILABLE, "this JVM has %u profiles already",
                static_cast<unsigned>(Profiles::kMost));
    return nullptr;
  }
  void* memory = std::calloc(1, sizeof(Profile));
  Profile* made =
      memory == nullptr ? nullptr : new (memory) Profile(round * Profiles::kMost + place, request);
  if (made != nullptr) {
    places[place].profile = made;
    if (made->prepare(call, reason, size)) return made;
    made->stop(call.jni);
    while (!made->free(call.jni)) {
    }
  } else {
    Locked locked(places_mutex);
    places[place].taken = false;
  }
  if (!call.refused()) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  return nullptr;
}

bool Profile::prepare(Call& call, char* reason, size_t size) {
  if (!traces_.allocate() || !ring_.allocate()) return false;
  if (request.threads != nullptr) {
    patterns = copy_of(request.threads);
    if (patterns == nullptr) return false;
  }
  ranges.find();
  env = new_jvmti_environment();
  if (env == nullptr) return false;
  places[number % Profiles::kMost].env = env;
  jvmtiCapabilities wanted{};
  wanted.can_get_line_numbers = 1;
  if (env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) return false;
  prepare_threads(env, call.jni);
  entries.prepare(call.jni);
  Candidate candidates[kMostCandidates];
  int count = candidates_for(request, candidates);
  const char* why = count == 0 ? "there is no such engine for this kind of profile" : nullptr;
  size_t used = 0;
  for (int i = 0; i < count; ++i) {
    engine = candidates[i].engine;
    why = start(call.jni, *candidates[i].sampling);
    if (why == nullptr) break;
    int written = snprintf(reason + used, size - used, "%s%s", used == 0 ? "" : "; ", why);
    used =
        used + static_cast<size_t>(written) < size ? used + static_cast<size_t>(written) : size - 1;
  }
  if (why != nullptr) {
    call.refuse(JVMTI_ERROR_NOT_AVAILABLE, "no profile can be taken: %s", why);
    return false;
  }
  {
    Locked locked(mutex_);
    serving_ = true;
  }
  if (start_service_thread(call.jni, "jvmti profiler", serve, this)) return true;
  Locked locked(mutex_);
  serving_ = false;
  return false;
}

const char* Profile::start(JNIEnv* jni, const Sampling& one) {
  sampling_ = &one;
  active = true;
  const char* why = one.start(jni, *this);
  if (why == nullptr) return nullptr;
  active = false;
  one.stop(jni, *this);
  if (one.free != nullptr) one.free(jni, *this);
  sampling_ = nullptr;
  return why;
}

void Profile::stop(JNIEnv* jni) {
  if (active.exchange(false) && sampling_ != nullptr) sampling_->stop(jni, *this);
  halt_thread();
}

void Profile::halt_thread() {
  halting_ = true;
  awaited_.post();
  Locked locked(mutex_);
  while (serving_) changed_.wait(mutex_);
}

bool Profile::free(JNIEnv* jni) {
  Place& place = places[number % Profiles::kMost];
  place.env = nullptr;
  place.profile = nullptr;
  if (place.users > 0) {
    usleep(1000);
    return false;
  }
  if (sampling_ != nullptr && sampling_->free != nullptr) sampling_->free(jni, *this);
  if (env != nullptr) env->DisposeEnvironment();
  this->~Profile();
  std::free(this);
  Locked locked(places_mutex);
  place.taken = false;
  return true;
}

// ---- samples -----------------------------------------------------------------------------------

uint32_t Profile::trace(const StackFrame* frames, uint32_t count) {
  return count == 0 ? TraceTable::kNone : traces_.add(frames, count);
}

void Profile::add(const StackFrame* frames, uint32_t count, uint32_t thread, int64_t weight,
                  uint32_t state, int64_t virtual_id) {
  Sample sample{epoch_now(), weight, trace(frames, count), thread, 0, state, virtual_id};
  if (count > 0 && sample.trace == TraceTable::kNone) {
    lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  add(sample);
}

void Profile::add(const Sample& sample) {
  if (!ring_.put(sample)) lost.fetch_add(1, std::memory_order_relaxed);
}

// Gives what is new its names, and keeps it to be read.
void Profile::collect(JNIEnv* jni) {
  naming_ = kNaming;  // first: samples that come meanwhile may want it sooner
  Sample sample;
  taken_.clear();
  while (ring_.take(&sample)) {
    if (!taken_.push(sample)) lost.fetch_add(1, std::memory_order_relaxed);
  }
  if (sampling_->identify != nullptr) sampling_->identify(jni, *this, taken_);
  int64_t now = nanoseconds_now();
  for (const Sample& one : taken_) {
    if (one.virtual_id != 0) virtual_seen_ = now;
    take(jni, one);
  }
  if (now - virtual_seen_ < kRecent || taken_.size() >= kMany) naming_ = kNamingSoon;
  if (now > identify_at_ && names.met_nameless()) {
    // Of many threads that takes long, and not all methods get an id by it.
    identify_at_ = now + identifying_;
    identifying_ *= 2;
    identify_former_methods(env, jni);
  }
}

// A virtual thread may be over soon after its first sample, and many come after one.
void Profile::name_soon() {
  if (naming_.exchange(kNamingSoon) != kNamingSoon) awaited_.post();
}

void Profile::take(JNIEnv* jni, const Sample& sample) {
  bool fits = records_.size() < kMostRecords && sample.thread < kMostThreads;
  uint32_t stack =
      sample.trace == TraceTable::kNone ? 0 : names.stack(env, jni, traces_, sample.trace);
  uint32_t thread = fits ? names.thread(sample.thread) : 0;
  if (fits && thread == 0 && !names.add_noted(sample.thread)) {
    ProfiledThread known;
    bool found =
        sampling_->describe != nullptr && sampling_->describe(jni, *this, sample.thread, &known);
    // It may have ended, and been noted, meanwhile.
    if (!names.add_noted(sample.thread)) {
      if (!found) snprintf(known.name, sizeof known.name, "(ended thread)");
      names.add_thread(sample.thread, known);
    }
  }
  if (fits && thread == 0) thread = names.thread(sample.thread);
  uint32_t owner = sample.owner == 0 ? 0 : names.thread(sample.owner - 1);
  // One that has not waited itself has been noted, but has no sample.
  if (sample.owner != 0 && owner == 0 && names.add_noted(sample.owner - 1)) {
    owner = names.thread(sample.owner - 1);
  }
  if (thread == 0 || !records_.push(layouts::ProfileRecord{sample.time, sample.weight, stack,
                                                           thread - 1, owner, sample.state})) {
    lost.fetch_add(1, std::memory_order_relaxed);
  }
}

jvmtiError Profile::read(JNIEnv* jni, jint* count, unsigned char** bytes) {
  reading_.take();
  collect(jni);
  uint32_t taken = static_cast<uint32_t>(records_.size() < Profiles::kRecords ? records_.size()
                                                                              : Profiles::kRecords);
  layouts::ProfileChunk head{};
  head.records = taken;
  head.threads = static_cast<uint32_t>(names.new_threads.size());
  head.frames = static_cast<uint32_t>(names.new_frames.size());
  head.stacks = static_cast<uint32_t>(names.new_depths.size());
  head.stack_frames = static_cast<uint32_t>(names.new_stack_frames.size());
  head.methods = names.new_methods;
  head.text = static_cast<uint32_t>(names.new_thread_texts.size() + names.new_method_texts.size());
  head.rest = records_.size() > taken;
  head.failed = failed;
  head.faults = faults;
  head.truncated = truncated;
  head.cut = cut;
  head.lost = lost;
  head.unfollowed = unfollowed;
  head.carried = carried;
  head.apart = apart;
  head.looks = looks;
  head.span = span;
  head.changes = changes;
  head.ended = ended;
  head.unresolved = names.unresolved();
  size_t size = sizeof head + taken * sizeof(layouts::ProfileRecord) +
                head.threads * sizeof(layouts::ProfileThread) +
                head.frames * sizeof(layouts::ProfileFrame) +
                (head.stacks + head.stack_frames) * sizeof(uint32_t) + head.text;
  jvmtiError error = agent.env->Allocate(static_cast<jlong>(size), bytes);
  if (error == JVMTI_ERROR_NONE) {
    *count = static_cast<jint>(size);
    unsigned char* at = *bytes;
    auto put = [&at](const void* from, size_t length) {
      if (length > 0) std::memcpy(at, from, length);
      at += length;
    };
    put(&head, sizeof head);
    put(records_.begin(), taken * sizeof(layouts::ProfileRecord));
    put(names.new_threads.begin(), head.threads * sizeof(layouts::ProfileThread));
    put(names.new_frames.begin(), head.frames * sizeof(layouts::ProfileFrame));
    put(names.new_depths.begin(), head.stacks * sizeof(uint32_t));
    put(names.new_stack_frames.begin(), head.stack_frames * sizeof(uint32_t));
    put(names.new_thread_texts.begin(), names.new_thread_texts.size());
    put(names.new_method_texts.begin(), names.new_method_texts.size());
    names.taken();
    size_t rest = records_.size() - taken;
    if (rest > 0) {
      std::memmove(records_.begin(), records_.begin() + taken,
                   rest * sizeof(layouts::ProfileRecord));
    }
    records_.shrink(rest);
  }
  reading_.give_back();
  return error;
}

// ---- the profile's thread ----------------------------------------------------------------------

void JNICALL Profile::serve(jvmtiEnv*, JNIEnv* jni, void* what) {
  Profile& profile = *static_cast<Profile*>(what);
  Serving::retire();  // what happens here is the agent's own doing
  jthread thread = nullptr;
  agent.env->GetCurrentThread(&thread);
  profile.work(jni);
  leave_service(jni, thread);
  Locked locked(profile.mutex_);
  profile.serving_ = false;
  profile.changed_.notify_all();
  // From here on the profile may be gone.
}

void Profile::work(JNIEnv* jni) {
  int64_t named = nanoseconds_now();
  naming_ = kNamingSoon;
  while (true) {
    int64_t wait = naming_;
    if (active && sampling_->tick != nullptr) {
      int64_t next = sampling_->tick(jni, *this);
      if (next < wait) wait = next;
    }
    if (nanoseconds_now() - named >= naming_) {
      reading_.take();
      collect(jni);
      reading_.give_back();
      named = nanoseconds_now();
    }
    if (wait < 1000000) {
      // Shorter than what a condition waits for.
      timespec shortly{0, wait < 0 ? 0 : wait};
      nanosleep(&shortly, nullptr);
    } else {
      awaited_.wait(static_cast<int>((wait + 500000) / 1000000));
    }
    if (halting_) return;
  }
}

}  // namespace jvmti
