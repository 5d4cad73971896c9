#include "agent/engines/profiling/samplings/signal_sources.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/address_space.h"
#include "base/clock.h"
#include "base/event_clock.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace jvmti {

namespace {

using layouts::CodeKind;
using layouts::ProfileEngine;

constexpr int64_t kListed = 1000000000;  // nanoseconds from one list of as many threads to the next
constexpr uint32_t kAlike = 4;           // samples with the same period
constexpr int64_t kSoonest = 32;         // the first sample comes after this part of the interval
constexpr int64_t kPause = 4;  // a thread has this part of the interval to itself, at least
constexpr int kTimerMark = 0x4A560000;  // in the value of a timer's signal, above its place

template <class T>
void unreserve(T* memory, uint64_t count) {
  if (memory != nullptr) munmap(static_cast<void*>(memory), count * sizeof(T));
}

// CLOCK_THREAD_CPUTIME_ID of any thread, as the kernel numbers it.
clockid_t clock_of(pid_t tid) {
  return static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3 | 6);
}

int64_t time_of(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int open_event(pid_t tid, int64_t interval, bool kernel) {
  perf_event_attr wanted;
  std::memset(&wanted, 0, sizeof wanted);
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_CPU_CLOCK;
  wanted.sample_period = static_cast<uint64_t>(interval);
  wanted.wakeup_events = 1;
  wanted.disabled = 1;
  wanted.exclude_kernel = !kernel;
  wanted.exclude_hv = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &wanted, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

int open_event(pid_t tid, int64_t interval) {
  int descriptor = open_event(tid, interval, true);
  return descriptor >= 0 ? descriptor : open_event(tid, interval, false);
}

int make_timer(pid_t tid, int value, int signal) {
  sigevent wanted;
  std::memset(&wanted, 0, sizeof wanted);
  wanted.sigev_notify = SIGEV_THREAD_ID;
  wanted.sigev_signo = signal;
  wanted.sigev_value.sival_int = value;
  wanted.sigev_notify_thread_id = tid;
  int timer = -1;
  // By the number of the system call: the timers of libraries differ.
  return syscall(SYS_timer_create, clock_of(tid), &wanted, &timer) == 0 ? timer : -1;
}

void set_timer(int timer, int64_t first, int64_t interval) {
  itimerspec wanted{{interval / 1000000000, interval % 1000000000},
                    {first / 1000000000, first % 1000000000}};
  syscall(SYS_timer_settime, timer, 0, &wanted, nullptr);
}

// What a system call says of a thread that has ended differs; a timer of one is an invalid
// argument.
bool has_ended(pid_t tid) { return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH; }

// What the kernel has in a file of a thread, by the number that /proc has for it.
template <size_t kSize>
void read_of(pid_t listed, const char* file, char (&text)[kSize]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", listed, file);
  text[0] = '\0';
  int opened = open(path, O_RDONLY | O_CLOEXEC);
  if (opened < 0) return;
  ssize_t length = read(opened, text, kSize - 1);
  close(opened);
  text[length > 0 ? length : 0] = '\0';
}

// In a namespace of processes without a /proc of its own, threads have other numbers there.
bool is_listed_otherwise() {
  char path[64];
  ssize_t length = readlink("/proc/thread-self", path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  const char* number = std::strrchr(path, '/');
  return number != nullptr && std::atoi(number + 1) != syscall(SYS_gettid);
}

// The number of a thread in its own namespace, the last of those that it has; 0 if it has ended.
pid_t own_number(pid_t listed) {
  char status[2048];
  read_of(listed, "status", status);
  char* numbers = std::strstr(status, "\nNSpid:");
  if (numbers == nullptr) return 0;
  numbers[std::strcspn(numbers + 1, "\n") + 1] = '\0';
  return std::atoi(std::strrchr(numbers, '\t') + 1);
}

// What threads of HotSpot do that run no Java code, by the beginnings of their names.
uint32_t code_of(const char* name) {
  struct Known {
    const char* begins;
    uint32_t code;
  };
  constexpr Known kKnown[] = {
      {"C1 CompilerThre", CodeKind::kCompiler}, {"C2 CompilerThre", CodeKind::kCompiler},
      {"GC Thread", CodeKind::kCollector},      {"G1 ", CodeKind::kCollector},
      {"ParGC Thread", CodeKind::kCollector},   {"Gang worker", CodeKind::kCollector},
      {"Shenandoah", CodeKind::kCollector},     {"ZWorker", CodeKind::kCollector},
      {"ZDriver", CodeKind::kCollector},        {"ZDirector", CodeKind::kCollector},
      {"ZUncommitter", CodeKind::kCollector},   {"ZStat", CodeKind::kCollector},
      {"XWorker", CodeKind::kCollector},        {"XDriver", CodeKind::kCollector},
      {"XDirector", CodeKind::kCollector},      {"XUncommitter", CodeKind::kCollector},
      {"XStat", CodeKind::kCollector},          {"VM Thread", CodeKind::kVm},
      {"VM Periodic Tas", CodeKind::kVm},
  };
  for (const Known& one : kKnown) {
    if (std::strncmp(name, one.begins, std::strlen(one.begins)) == 0) return one.code;
  }
  return CodeKind::kUnknown;
}

}  // namespace

int64_t thread_time() { return time_of(CLOCK_THREAD_CPUTIME_ID); }
int64_t thread_time(pid_t tid) { return time_of(clock_of(tid)); }

SignalSources::~SignalSources() {
  if (tasks_ != nullptr) closedir(tasks_);
  unreserve(sources_, kMost);
  unreserve(by_tid_, kMostTids);
  unreserve(by_descriptor_, kMostDescriptors);
}

const char* SignalSources::try_engine(ProfileEngine engine, int64_t interval) {
  pid_t tid = static_cast<pid_t>(syscall(SYS_gettid));
  if (engine == ProfileEngine::kPerf) {
    int descriptor = open_event(tid, interval);
    if (descriptor < 0) {
      return errno == ENOSYS ? "this kernel has no perf_event_open"
                             : "the kernel does not allow perf_event_open here";
    }
    close(descriptor);
    return nullptr;
  }
  int timer = make_timer(tid, 0, SIGPROF);
  if (timer < 0) return "the kernel does not allow timers on the processor time of threads here";
  syscall(SYS_timer_delete, timer);
  return nullptr;
}

bool SignalSources::start(ProfileEngine engine, int64_t interval, int signal) {
  engine_ = engine;
  interval_ = interval;
  signal_ = signal;
  sources_ = reserve<SignalSource>(kMost);
  by_tid_ = reserve<uint32_t>(kMostTids);
  by_descriptor_ = reserve<std::atomic<uint32_t>>(kMostDescriptors);
  // It stays open: to find it takes as long as to look into it.
  tasks_ = opendir("/proc/self/task");
  listed_otherwise_ = is_listed_otherwise();
  if (sources_ == nullptr || by_tid_ == nullptr || by_descriptor_ == nullptr || tasks_ == nullptr) {
    return false;
  }
  Locked locked(mutex_);
  running_ = true;
  return true;
}

void SignalSources::change_signal(int signal) {
  Locked locked(mutex_);
  signal_ = signal;
  for (uint32_t i = 0; running_ && i < most_; ++i) {
    SignalSource& one = sources_[i];
    pid_t tid = one.tid;
    if (tid == 0 || !one.armed) continue;
    silence(one);
    // One that has ended meanwhile is no loss.
    if (!arm(one, tid, jittered(one)) && !has_ended(tid)) ++unfollowed_;
  }
}

void SignalSources::mute() {
  Locked locked(mutex_);
  running_ = false;
  for (uint32_t i = 0; i < most_; ++i) sources_[i].armed = false;
}

void SignalSources::stop() {
  Locked locked(mutex_);
  for (uint32_t i = 0; i < most_; ++i) {
    if (sources_[i].tid != 0) silence(sources_[i]);
  }
}

void SignalSources::silence(SignalSource& source) {
  source.armed = false;
  if (source.descriptor >= 0) {
    ioctl(source.descriptor, PERF_EVENT_IOC_DISABLE, 0);
    by_descriptor_[source.descriptor] = 0;
    close(source.descriptor);
    source.descriptor = -1;
  }
  if (source.timer >= 0) syscall(SYS_timer_delete, source.timer);
  source.timer = -1;
}

bool SignalSources::arm(SignalSource& source, pid_t tid, int64_t first) {
  uint32_t place = static_cast<uint32_t>(&source - sources_);
  if (engine_ == ProfileEngine::kTimer) {
    source.timer = make_timer(tid, kTimerMark | static_cast<int>(place), signal_);
    if (source.timer < 0) return false;
    source.armed = true;
    set_timer(source.timer, first, interval_);
    return true;
  }
  int descriptor = open_event(tid, first);
  if (descriptor < 0) return false;
  f_owner_ex owner{F_OWNER_TID, tid};
  if (descriptor >= kMostDescriptors || fcntl(descriptor, F_SETFL, O_ASYNC | O_NONBLOCK) != 0 ||
      fcntl(descriptor, F_SETSIG, signal_) != 0 || fcntl(descriptor, F_SETOWN_EX, &owner) != 0) {
    close(descriptor);
    return false;
  }
  source.descriptor = descriptor;
  source.armed = true;
  by_descriptor_[descriptor] = place + 1;
  ioctl(descriptor, PERF_EVENT_IOC_ENABLE, 0);
  return true;
}

void SignalSources::follow(pid_t tid, const char* name) {
  // Our own.
  if (std::strncmp(name, "jvmti ", 6) == 0) return;
  Locked locked(mutex_);
  if (!running_ || tid <= 0 || static_cast<uint32_t>(tid) >= kMostTids || by_tid_[tid] != 0) return;
  uint32_t place = 0;
  while (place < most_ && sources_[place].tid != 0) ++place;
  if (place == kMost) {
    ++unfollowed_;
    return;
  }
  SignalSource& source = sources_[place];
  source.sampled = false;
  source.descriptor = -1;
  source.timer = -1;
  source.thread = threads_->fetch_add(1);
  source.random = static_cast<uint32_t>(tid) * 2654435761u | 1;
  source.code = code_of(name);
  source.round = round_;
  source.jni = nullptr;
  source.id = 0;
  source.identified = 0;
  source.used = thread_time(tid);
  source.resumed = 0;
  source.alike = kAlike - 1;  // its first period is no interval
  snprintf(source.name, sizeof source.name, "%s", name);
  source.tid = tid;
  if (place == most_) ++most_;
  if (!arm(source, tid, first_of(source))) {
    source.tid = 0;
    // One that has ended meanwhile is no loss.
    if (!has_ended(tid)) ++unfollowed_;
    return;
  }
  by_tid_[tid] = place + 1;
}

void SignalSources::identify(pid_t tid, int64_t id, int64_t now) {
  Locked locked(mutex_);
  if (!running_ || tid <= 0 || static_cast<uint32_t>(tid) >= kMostTids || by_tid_[tid] == 0) return;
  SignalSource& source = sources_[by_tid_[tid] - 1];
  source.identified = now;
  source.id = id;
}

SignalSource* SignalSources::disarm(pid_t tid) {
  Locked locked(mutex_);
  if (!running_ || tid <= 0 || static_cast<uint32_t>(tid) >= kMostTids) return nullptr;
  uint32_t place = by_tid_[tid];
  if (place == 0) return nullptr;
  by_tid_[tid] = 0;
  silence(sources_[place - 1]);
  return &sources_[place - 1];
}

void SignalSources::release(SignalSource* source) { source->tid = 0; }

// False where there are as many as before: a list takes a hundred times as long as their count.
bool SignalSources::find_threads() {
  struct stat folder;
  int64_t now = nanoseconds_now();
  // What counts no folders says 1 or 2.
  if (tasks_ == nullptr || fstat(dirfd(tasks_), &folder) != 0) return false;
  if (folder.st_nlink > 2 && folder.st_nlink == seen_ && now - listed_ < kListed) return false;
  seen_ = folder.st_nlink;
  listed_ = now;
  rewinddir(tasks_);
  {
    Locked locked(mutex_);
    ++round_;
  }
  while (const dirent* entry = readdir(tasks_)) {
    pid_t listed = std::atoi(entry->d_name);
    pid_t tid = listed > 0 && listed_otherwise_ ? own_number(listed) : listed;
    if (tid <= 0 || static_cast<uint32_t>(tid) >= kMostTids) continue;
    bool known;
    {
      Locked locked(mutex_);
      uint32_t place = by_tid_[tid];
      known = place != 0;
      if (known) sources_[place - 1].round = round_;
    }
    if (known) continue;
    char name[SignalSource::kNameSize];
    read_of(listed, "comm", name);
    name[std::strcspn(name, "\n")] = '\0';
    follow(tid, name);
  }
  return true;
}

SignalSource* SignalSources::find(uint32_t thread) {
  for (uint32_t i = 0; i < most_; ++i) {
    if (sources_[i].tid != 0 && sources_[i].thread == thread) return &sources_[i];
  }
  return nullptr;
}

uint32_t SignalSources::next_random(SignalSource& source) const {
  source.random ^= source.random << 13;
  source.random ^= source.random >> 17;
  return source.random ^= source.random << 5;
}

// Anywhere in the interval: so a thread that ends before it has used a whole one has a sample as
// often as its part of the interval says, and the time of many such threads is not missing.
int64_t SignalSources::first_of(SignalSource& source) const {
  // The numbers of threads are alike, and so is what first comes of them.
  for (int i = 0; i < 4; ++i) next_random(source);
  double part = next_random(source) / 4294967296.0;
  int64_t soonest = interval_ / kSoonest;
  return soonest + static_cast<int64_t>(static_cast<double>(interval_ - soonest) * part);
}

// Some longer, some shorter: equal ones would meet what the program does at equal intervals.
int64_t SignalSources::jittered(SignalSource& source) const {
  return interval_ / 2 + static_cast<int64_t>(static_cast<double>(interval_) *
                                              (next_random(source) / 4294967296.0));
}

SignalSource* SignalSources::sender(const siginfo_t& info) {
  uint32_t place = 0;
  if (engine_ == ProfileEngine::kTimer) {
    int value = info.si_value.sival_int;
    if (info.si_code != SI_TIMER || (value & ~(kMost - 1)) != static_cast<uint32_t>(kTimerMark)) {
      return nullptr;
    }
    place = static_cast<uint32_t>(value) & (kMost - 1);
  } else {
    int descriptor = info.si_fd;
    bool ours = info.si_code == POLL_IN && descriptor >= 0 && descriptor < kMostDescriptors;
    uint32_t found = ours ? by_descriptor_[descriptor].load() : 0;
    if (found == 0) return nullptr;
    place = found - 1;
  }
  SignalSource& source = sources_[place];
  bool own = source.tid == static_cast<pid_t>(syscall(SYS_gettid)) && source.armed;
  return own ? &source : nullptr;
}

// One that came up during a sample waits for its end. Were it taken, a thread with deep stacks and
// a short interval would do nothing but walk them.
bool SignalSources::is_due(const SignalSource& source, int64_t used) const {
  return source.resumed == 0 || used - source.resumed >= interval_ / kPause;
}

void SignalSources::rearm(SignalSource& source, int64_t began) {
  if (nanoseconds_now() - began >= interval_ / kPause) source.resumed = thread_time();
  if (engine_ == ProfileEngine::kTimer) {
    if (source.armed) set_timer(source.timer, jittered(source), interval_);
    return;
  }
  // The event goes on by itself. Another period takes as long as all the rest of a sample does.
  if (++source.alike < kAlike) return;
  source.alike = 0;
  // Disarmed meanwhile, it has no descriptor, or one that the program has by now.
  int descriptor = source.descriptor;
  if (!source.armed || descriptor < 0) return;
  uint64_t period = static_cast<uint64_t>(jittered(source));
  ioctl(descriptor, PERF_EVENT_IOC_PERIOD, &period);
}

}  // namespace jvmti
