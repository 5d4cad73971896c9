// A profile: samples of stacks that are taken until it is stopped, and read meanwhile.
//
// Who takes samples, a handler of signals, an event of the VM, or the profile's own thread, adds
// them without a lock.  The profile's thread names what is new in them a few times each second.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <cstdlib>

#include "agent/calls/call.h"
#include "agent/engines/profiling/profile_names.h"
#include "agent/engines/profiling/sample_ring.h"
#include "agent/engines/profiling/trace_table.h"
#include "agent/engines/profiling/walks/code_ranges.h"
#include "agent/engines/profiling/walks/entry_methods.h"
#include "base/lock.h"
#include "generated/layouts.h"

namespace jvmti {

class Profile;

// What takes the samples of a profile. All but `start` and `stop` may be null.
struct Sampling {
  // Null, or why it does not work.
  const char* (*start)(JNIEnv* jni, Profile& profile);
  // Takes samples, on the profile's thread; the nanoseconds until the next time.
  int64_t (*tick)(JNIEnv* jni, Profile& profile);
  // Gives names to virtual threads that samples have the numbers of, and samples of carriers to
  // those that were mounted on them; by one thread at a time.
  void (*identify)(JNIEnv* jni, Profile& profile, Vector<Sample>& samples);
  // The name of a thread that was not noted; false where it is not known.
  bool (*describe)(JNIEnv* jni, Profile& profile, uint32_t thread, ProfiledThread* found);
  // No sample is taken from here on.
  void (*stop)(JNIEnv* jni, Profile& profile);
  // Afterwards, when no event is under way.
  void (*free)(JNIEnv* jni, Profile& profile);
};

struct ProfileRequest {
  layouts::ProfiledKind kind;
  layouts::ProfileEngine engine;
  int64_t interval;
  jint depth;
  bool exact;
  const char* threads;  // patterns for the names of platform threads, one a line; null for all
};

// A profile that is not freed meanwhile; null when it is gone. Also in a signal handler.
class UsedProfile : NoCopy {
 public:
  explicit UsedProfile(uint32_t number);
  explicit UsedProfile(jvmtiEnv* env);
  ~UsedProfile();
  Profile* get() const { return profile_; }
  operator Profile*() const { return profile_; }
  Profile* operator->() const { return profile_; }

 private:
  void use(uint32_t number);
  uint32_t place_ = 0;
  Profile* profile_ = nullptr;
};

class Profile : NoCopy {
 public:
  // Null with a refusal.
  static Profile* open(Call& call, const ProfileRequest& request, char* reason, size_t size);
  // Takes no more samples.
  void stop(JNIEnv* jni);
  // False while a thread is inside.
  bool free(JNIEnv* jni);
  // What was sampled since the last time, in memory of the VM's.
  jvmtiError read(JNIEnv* jni, jint* count, unsigned char** bytes);

  // Adds a sample at this moment, which may have no frames.
  void add(const StackFrame* frames, uint32_t count, uint32_t thread, int64_t weight,
           uint32_t state, int64_t virtual_id = 0);
  // The same of a stack that is known, at a certain time.
  void add(const Sample& sample);
  // The same; false where there is no space now.
  bool offer(const Sample& sample) { return ring_.put(sample); }
  uint32_t trace(const StackFrame* frames, uint32_t count);
  const TraceTable& traces() const { return traces_; }
  uint32_t new_thread() { return threads++; }
  // Has the profile's thread look now, and not only when it wanted to.
  void hurry() { awaited_.post(); }
  // Has it look for new names often from now on. Also in a signal handler.
  void name_soon();

  const uint32_t number;
  const ProfileRequest request;
  jvmtiEnv* env = nullptr;  // its own
  CodeRanges ranges;
  EntryMethods entries;
  ProfileNames names{ranges};
  std::atomic<uint32_t> threads{0};
  std::atomic<uint64_t> faults{0};
  std::atomic<uint64_t> truncated{0};
  std::atomic<uint64_t> cut{0};
  std::atomic<uint64_t> lost{0};
  std::atomic<uint64_t> failed{0};
  std::atomic<uint64_t> unfollowed{0};
  std::atomic<uint64_t> carried{0};  // samples of virtual threads that count as their carriers'
  std::atomic<bool> apart{false};    // whether those of others do not
  std::atomic<uint64_t> looks{0};    // at threads; or how many sampled objects were found dead
  std::atomic<uint64_t> span{0};     // nanoseconds between these looks and the ones before
  std::atomic<uint64_t> changes{0};  // of the signal, because another handler was set
  std::atomic<int64_t> ended{0};     // when others had all signals; 0: they have not
  void* sampler = nullptr;           // of the sampling
  char* patterns = nullptr;          // a copy of those of the request
  std::atomic<bool> active{false};
  layouts::ProfileEngine engine = layouts::ProfileEngine::kBest;

 private:
  friend class UsedProfile;
  Profile(uint32_t number, const ProfileRequest& request) : number(number), request(request) {}
  ~Profile() { std::free(patterns); }
  bool prepare(Call& call, char* reason, size_t size);
  const char* start(JNIEnv* jni, const Sampling& one);
  void halt_thread();
  void collect(JNIEnv* jni);
  void take(JNIEnv* jni, const Sample& sample);
  static void JNICALL serve(jvmtiEnv* env, JNIEnv* jni, void* profile);
  void work(JNIEnv* jni);

  const Sampling* sampling_ = nullptr;
  TraceTable traces_;
  SampleRing ring_;
  Turn reading_;  // who names and reads; only service threads
  Vector<Sample> taken_;
  std::atomic<int64_t> naming_{0};    // nanoseconds between two looks for new names
  int64_t identify_at_ = 0;           // when former methods may get ids again
  int64_t identifying_ = 1000000000;  // nanoseconds from there to the next time
  int64_t virtual_seen_ = 0;          // when a sample had the number of a virtual thread last
  Vector<layouts::ProfileRecord> records_;

  Mutex mutex_{Guards::kLists};
  Condition changed_;
  bool serving_ = false;
  Semaphore awaited_;
  std::atomic<bool> halting_{false};
};

constexpr int64_t kNoTime = 0;
int64_t epoch_now();  // in nanoseconds

// The `free` of a sampling whose sampler is of this type.
template <class T>
void free_sampler(JNIEnv*, Profile& profile) {
  unmake(static_cast<T*>(profile.sampler));
  profile.sampler = nullptr;
}

}  // namespace jvmti
