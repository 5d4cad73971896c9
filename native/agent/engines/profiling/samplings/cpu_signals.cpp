// Processor time: each thread is interrupted by a signal when it has used some, and walks its own
// stack in the handler.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "agent/core/class_changes.h"
#include "agent/core/vm_structures.h"
#include "agent/engines/profiling/samplings.h"
#include "agent/engines/profiling/samplings/signal_sources.h"
#include "agent/engines/profiling/threads/carried_threads.h"
#include "agent/engines/profiling/threads/mounted_thread.h"
#include "agent/engines/profiling/waiting_samples.h"
#include "agent/engines/profiling/walks/code_heaps.h"
#include "agent/engines/profiling/walks/cut_stacks.h"
#include "agent/engines/profiling/walks/event_stacks.h"
#include "agent/engines/profiling/walks/stack_walk.h"
#include "base/clock.h"

namespace jvmti {

namespace {

using layouts::CodeKind;
using layouts::ProfileEngine;
using layouts::SampleState;

constexpr int64_t kScan =
    200000000;  // nanoseconds between two looks for threads that are no Java's

struct SignalSampler {
  explicit SignalSampler(Profile& profile)
      : sources(&profile.threads), carried(profile), cut(profile.entries) {}
  SignalSources sources;
  CarriedThreads carried;
  CutStacks cut;
  int signal = 0;
  int64_t scanned = 0;
};

SignalSources& sources_of(Profile& profile) {
  return static_cast<SignalSampler*>(profile.sampler)->sources;
}

// Signals are the process's: there is one profile of them at a time.
std::atomic<uint32_t> signalled{0};   // its number
std::atomic<uint32_t> handling{0};    // threads inside of the handler
std::atomic<bool> collecting{false};  // the VM is stopped for a collection

// A signal that comes up while a thread is in a system call is handled when it returns, or before
// it calls again.
bool calls_kernel(const CodeRanges& ranges, uint64_t pc) {
#if defined(__x86_64__)
  constexpr uint8_t kCall[] = {0x0f, 0x05};
#elif defined(__aarch64__)
  constexpr uint8_t kCall[] = {0x01, 0x00, 0x00, 0xd4};
#else
  constexpr uint8_t kCall[] = {0};
  return false;
#endif
  auto is_call = [&](uint64_t at) {
    return ranges.of(at) != CodeRanges::kNone &&
           std::memcmp(reinterpret_cast<const void*>(at), kCall, sizeof kCall) == 0;
  };
  return is_call(pc - sizeof kCall) || is_call(pc);
}

uint32_t leaf_of(const CodeRanges& ranges, uint32_t code, uint64_t pc) {
  switch (code) {
    case CodeKind::kCollector:
      return CodeNames::kCollector;
    case CodeKind::kCompiler:
      return CodeNames::kCompiler;
    case CodeKind::kVm:
      // The serial collector has no thread of its own.
      return collecting ? CodeNames::kCollector : CodeNames::kVm;
    default:
      uint32_t library = ranges.of(pc);
      // Code that a program makes as it runs is in no library.
      if (library == CodeRanges::kNone) return CodeHeaps::lack(pc) ? +CodeNames::kNative : 0;
      return calls_kernel(ranges, pc) ? CodeNames::kKernel : CodeNames::kLibraries + library;
  }
}

void sample(Profile& profile, SignalSource& source, int64_t used, void* context) {
  int64_t weight = used - source.used;
  // The first comes by chance anywhere in the interval, and stands for all of it.
  if (!source.sampled && weight < profile.request.interval) weight = profile.request.interval;
  source.used = used;
  source.sampled = true;
  JNIEnv* jni = nullptr;
  void* found = nullptr;
  if (source.code == CodeKind::kUnknown && agent.vm->GetEnv(&found, JNI_VERSION_1_6) == JNI_OK) {
    jni = static_cast<JNIEnv*>(found);
    source.jni.store(jni, std::memory_order_relaxed);
  }
  uint32_t leaf = leaf_of(profile.ranges, source.code, interrupted_at(context));
  StackFrame code = CodeNames::frame(leaf == 0 ? +CodeNames::kVm : leaf);
  if (jni == nullptr) {
    profile.add(&code, 1, source.thread, weight, SampleState::kRunning);
    return;
  }
  StackWalk* walk = StackWalk::begin();
  if (walk == nullptr) {
    profile.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  StackWalk::Outcome outcome =
      walk->walk(jni, context, profile.ranges, profile.entries, profile.request.depth);
  bool failed = outcome == StackWalk::Outcome::kFailed;
  if (walk->faulted()) profile.faults.fetch_add(1, std::memory_order_relaxed);
  int64_t mounted = walk->mounted(jni);
  if (mounted == source.id) mounted = 0;
  if (mounted != 0 && !walk->cut_carrier()) mounted = 0;
  if (failed && !walk->faulted() && leaf != 0 &&
      CallbackStack::put_off({profile.number, source.thread, weight, code, mounted})) {
    walk->end();
    return;
  }
  if (failed) profile.failed.fetch_add(1, std::memory_order_relaxed);
  StackFrame* frames = walk->frames();
  uint32_t count = walk->count();
  if (count == static_cast<uint32_t>(profile.request.depth)) {
    profile.truncated.fetch_add(1, std::memory_order_relaxed);
  }
  // Where the callers are unknown, what runs is still known outside of Java.
  if (outcome == StackWalk::Outcome::kNoJava || leaf != 0) {
    *--frames = code;
    ++count;
  }
  profile.add(frames, count, source.thread, weight, SampleState::kRunning, mounted);
  walk->end();
  if (mounted != 0) profile.name_soon();
}

void on_signal(int, siginfo_t* info, void* context) {
  int before = errno;
  handling.fetch_add(1);
  if (uint32_t number = signalled.load()) {
    UsedProfile profile(number);
    if (profile != nullptr && profile->active) {
      SignalSources& sources = sources_of(*profile);
      if (SignalSource* source = sources.sender(*info)) {
        int64_t began = nanoseconds_now();
        int64_t used = thread_time();
        if (sources.is_due(*source, used)) {
          sample(*profile, *source, used, context);
          sources.rearm(*source, began);
        }
      }
    }
  }
  handling.fetch_sub(1);
  errno = before;
}

// The first of these that nobody handles is taken. The kernel itself never sends the second one.
constexpr int kSignals[] = {SIGPROF, SIGSTKFLT};

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

// A signal with our handler; 0 where others have all of them. The handler stays for good, idle: a
// signal may be under way when the last profile ends, and it would end the process without one.
int take_signal() {
  for (int signal : kSignals) {
    struct sigaction now;
    if (sigaction(signal, nullptr, &now) != 0) continue;
    if (is_ours(now)) return signal;
    bool free = (now.sa_flags & SA_SIGINFO) == 0 &&
                (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
    if (!free) continue;
    struct sigaction ours;
    sigemptyset(&ours.sa_mask);
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    ours.sa_sigaction = on_signal;
    if (sigaction(signal, &ours, nullptr) == 0) return signal;
  }
  return 0;
}

// ---- events ------------------------------------------------------------------------------------

// The VM walks stacks in handlers only while somebody listens to these.
void JNICALL class_load(jvmtiEnv*, JNIEnv*, jthread, jclass) {}

// And it gives no method an id while it walks.
void give_ids(jvmtiEnv* env, jclass klass) {
  jint count = 0;
  Deallocated<jmethodID> methods(env);
  env->GetClassMethods(klass, &count, methods.out());
}

void JNICALL class_prepare(jvmtiEnv* env, JNIEnv*, jthread, jclass klass) { give_ids(env, klass); }

void JNICALL compiled(jvmtiEnv*, jmethodID, jint, const void*, jint, const jvmtiAddrLocationMap*,
                      const void*) {}

void JNICALL collection_start(jvmtiEnv*) { collecting = true; }

void JNICALL collection_finish(jvmtiEnv*) { collecting = false; }

void JNICALL thread_start(jvmtiEnv* env, JNIEnv* jni, jthread thread) {
  UsedProfile profile(env);
  if (profile == nullptr || !profile->active) return;
  SignalSources& sources = sources_of(*profile);
  pid_t tid = static_cast<pid_t>(syscall(SYS_gettid));
  char name[SignalSource::kNameSize] = "";
  prctl(PR_GET_NAME, name);
  sources.follow(tid, name);
  sources.identify(tid, thread_id(jni, thread), epoch_now());
}

void JNICALL thread_end(jvmtiEnv* env, JNIEnv* jni, jthread thread) {
  UsedProfile profile(env);
  if (profile == nullptr || !profile->active) return;
  SignalSources& sources = sources_of(*profile);
  SignalSource* source = sources.disarm(static_cast<pid_t>(syscall(SYS_gettid)));
  if (source == nullptr) return;
  if (source->sampled) {
    ProfiledThread known;
    describe_thread(env, jni, thread, &known);
    profile->names.note_thread(source->thread, known);
  }
  sources.release(source);
}

void give_all_ids(jvmtiEnv* env, JNIEnv* jni) {
  LocalRefs<jclass> classes(env, jni);
  if (env->GetLoadedClasses(classes.count_out(), classes.out()) != JVMTI_ERROR_NONE) return;
  for (jclass klass : classes) give_ids(env, klass);
}

// HotSpot up to 17 compiles with debug information between safepoints while somebody listens to
// compilations. What is compiled already was not; but the first class that is retransformed throws
// all of it away.
void have_exact_frames(jvmtiEnv* env, JNIEnv* jni) {
  static std::atomic<bool> done{false};
  jvmtiCapabilities wanted{};
  wanted.can_generate_compiled_method_load_events = 1;
  wanted.can_retransform_classes = 1;
  if (major_version(agent.version) > 17 || env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) {
    return;
  }
  env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD, nullptr);
  if (done.exchange(true)) return;
  LocalRef<jclass> small(jni, jni->FindClass("java/lang/Void"));
  if (small == nullptr) {
    jni->ExceptionClear();
    return;
  }
  ClassChange change;
  jclass one = small;
  env->RetransformClasses(1, &one);
}

// ---- the sampling ------------------------------------------------------------------------------

constexpr jvmtiEvent kEvents[] = {
    JVMTI_EVENT_CLASS_LOAD,
    JVMTI_EVENT_CLASS_PREPARE,
    JVMTI_EVENT_THREAD_START,
    JVMTI_EVENT_THREAD_END,
    JVMTI_EVENT_GARBAGE_COLLECTION_START,
    JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
};

const char* listen_to_code(jvmtiEnv* env) {
  jvmtiCapabilities wanted{};
  wanted.can_generate_garbage_collection_events = 1;
  if (env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) return "the VM reports no collections";
  collecting = false;
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassLoad = class_load;
  callbacks.ClassPrepare = class_prepare;
  callbacks.CompiledMethodLoad = compiled;
  callbacks.ThreadStart = thread_start;
  callbacks.ThreadEnd = thread_end;
  callbacks.GarbageCollectionStart = collection_start;
  callbacks.GarbageCollectionFinish = collection_finish;
  return listen(env, callbacks, kEvents, sizeof kEvents / sizeof *kEvents);
}

void note_ended(Profile& profile, SignalSource& source) {
  if (!source.sampled) return;
  ProfiledThread known;
  snprintf(known.name, sizeof known.name, "%s", source.name);
  profile.names.note_thread(source.thread, known);
}

void scan(Profile& profile) {
  profile.ranges.find();
  sources_of(profile).scan([&profile](SignalSource& ended) { note_ended(profile, ended); });
  profile.unfollowed = sources_of(profile).unfollowed();
}

const char* start(JNIEnv* jni, Profile& profile) {
  const char* why = StackWalk::prepare();
  if (why == nullptr) why = SignalSources::try_engine(profile.engine, profile.request.interval);
  if (why != nullptr) return why;
  int signal = take_signal();
  if (signal == 0) {
    return "SIGPROF and SIGSTKFLT have handlers already, of the program or of another profiler";
  }
  SignalSampler* sampler = make<SignalSampler>(profile);
  if (sampler == nullptr ||
      !sampler->sources.start(profile.engine, profile.request.interval, signal)) {
    unmake(sampler);
    return "there is no memory for it";
  }
  sampler->signal = signal;
  profile.sampler = sampler;
  MountedThread::prepare(jni);
  profile.apart = MountedThread::known();
  sampler->carried.prepare(jni);
  if (!StackWalk::guard_faults()) return "faults of a stack walk cannot be caught";
  uint32_t none = 0;
  if (!signalled.compare_exchange_strong(none, profile.number)) {
    return "another profile of this JVM takes processor time by signals";
  }
  why = listen_to_code(profile.env);
  if (why != nullptr) return why;
  if (profile.request.exact) have_exact_frames(profile.env, jni);
  give_all_ids(profile.env, jni);
  scan(profile);
  sampler->scanned = nanoseconds_now();
  return nullptr;
}

void end_signals(Profile& profile) {
  sources_of(profile).mute();
  uint32_t own = profile.number;
  signalled.compare_exchange_strong(own, 0);
  // Who is inside may be about to wake its timer.
  while (handling > 0) usleep(100);
  sources_of(profile).stop();
}

// Another profiler may set a handler of its own over ours: the samples go on by another signal.
void keep_signal(Profile& profile, SignalSampler& sampler) {
  struct sigaction now;
  if (sampler.signal == 0 || sigaction(sampler.signal, nullptr, &now) != 0 || is_ours(now)) return;
  sampler.signal = take_signal();
  if (sampler.signal == 0) {
    end_signals(profile);
    profile.ended = epoch_now();
    return;
  }
  profile.changes.fetch_add(1, std::memory_order_relaxed);
  sampler.sources.change_signal(sampler.signal);
}

int64_t tick(JNIEnv*, Profile& profile) {
  SignalSampler& sampler = *static_cast<SignalSampler*>(profile.sampler);
  keep_signal(profile, sampler);
  int64_t now = nanoseconds_now();
  if (now - sampler.scanned >= kScan) {
    sampler.scanned = now;
    scan(profile);
  }
  return kScan;
}

bool describe(JNIEnv* jni, Profile& profile, uint32_t thread, ProfiledThread* found) {
  SignalSource* source = sources_of(profile).find(thread);
  if (source == nullptr) return false;
  const JNIEnv* of = source->jni;
  if (of != nullptr && describe_thread_of(profile.env, jni, of, found)) return true;
  snprintf(found->name, sizeof found->name, "%s", source->name);
  return true;
}

// The ids of threads that began before the profile did.
void identify_sources(JNIEnv* jni, Profile& profile) {
  LocalRefs<jthread> threads(profile.env, jni);
  Index places;
  if (profile.env->GetAllThreads(threads.count_out(), threads.out()) != JVMTI_ERROR_NONE) return;
  for (jint i = 0; i < threads.count(); ++i) {
    uintptr_t of_vm = vm_thread(jni, threads[i]);
    if (of_vm != 0 && !places.insert(of_vm, static_cast<uint32_t>(i + 1))) return;
  }
  sources_of(profile).each([&](SignalSource& source) {
    if (source.jni == nullptr) return;
    uint32_t place = places.find(vm_thread(source.jni));
    int64_t unknown = 0;
    source.id.compare_exchange_strong(
        unknown,
        place == 0 ? SignalSource::kNoId : thread_id(jni, threads[static_cast<jint>(place - 1)]));
  });
}

// Before samples of virtual threads become theirs: a carrier has an entry of its own.
void count_cut(JNIEnv* jni, Profile& profile, const Vector<Sample>& samples) {
  SignalSampler& sampler = *static_cast<SignalSampler*>(profile.sampler);
  for (const Sample& one : samples) {
    const StackFrame* frames = nullptr;
    uint32_t count = 0;
    if (one.trace == TraceTable::kNone || !profile.traces().read(one.trace, &frames, &count) ||
        count >= static_cast<uint32_t>(profile.request.depth)) {
      continue;
    }
    const StackFrame& last = frames[count - 1];
    if (last.location == StackFrame::kNoMethod || profile.entries.has(last.method)) continue;
    SignalSource* source = one.virtual_id == 0 ? sampler.sources.find(one.thread) : nullptr;
    sampler.cut.note(last.method, source == nullptr ? nullptr : source->jni.load());
  }
  profile.cut = sampler.cut.count(profile.env, jni);
}

// What a thread of the VM has in the place of the id of a virtual thread may be its own.
void identify(JNIEnv* jni, Profile& profile, Vector<Sample>& samples) {
  SignalSampler& sampler = *static_cast<SignalSampler*>(profile.sampler);
  const SignalSource* source = nullptr;
  for (Sample& one : samples) {
    if (one.virtual_id == 0) continue;
    if (source == nullptr || source->thread != one.thread) {
      source = sampler.sources.find(one.thread);
    }
    if (source != nullptr && source->id == 0) identify_sources(jni, profile);
    bool own = source == nullptr || source->id <= 0 || source->id == one.virtual_id ||
               one.time < source->identified;
    if (own) one.virtual_id = 0;
  }
  count_cut(jni, profile, samples);
  sampler.carried.identify_mounted(jni, samples);
}

void stop(JNIEnv*, Profile& profile) {
  mute(profile.env, kEvents, sizeof kEvents / sizeof *kEvents);
  if (profile.sampler != nullptr) end_signals(profile);
}

void free(JNIEnv* jni, Profile& profile) {
  if (profile.sampler == nullptr) return;
  static_cast<SignalSampler*>(profile.sampler)->carried.forget(jni);
  free_sampler<SignalSampler>(jni, profile);
}

}  // namespace

extern const Sampling kSignalSampling{start, tick, identify, describe, stop, free};

}  // namespace jvmti
