// The floor for profiles of processor time: each Java thread is interrupted by the same signals as
// in a profile, and the handler does nothing.  Loaded with `start NANOSECONDS`, from then on each
// thread has a perf event, or where the kernel allows none a timer; with `stop` none has.
#include <fcntl.h>
#include <jvmti.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Source {
  int event = -1;
  int timer = -1;
};

std::mutex mutex;
std::map<pid_t, Source> sources;
int64_t interval = 0;  // 0: no thread has any
bool listening = false;

int number_of_signal() { return SIGRTMIN + 5; }

void on_signal(int, siginfo_t*, void*) {}

int open_event(pid_t thread, bool kernel) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_CPU_CLOCK;
  wanted.sample_period = static_cast<uint64_t>(interval);
  wanted.wakeup_events = 1;
  wanted.exclude_kernel = !kernel;
  wanted.exclude_hv = 1;
  wanted.disabled = 1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

int make_timer(pid_t thread) {
  sigevent wanted{};
  wanted.sigev_notify = SIGEV_THREAD_ID;
  wanted.sigev_signo = number_of_signal();
  wanted._sigev_un._tid = thread;
  clockid_t clock = static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | 6);
  int timer = -1;
  if (syscall(SYS_timer_create, clock, &wanted, &timer) != 0) return -1;
  timespec period{interval / 1000000000, interval % 1000000000};
  itimerspec times{period, period};
  syscall(SYS_timer_settime, timer, 0, &times, nullptr);
  return timer;
}

void follow(pid_t thread) {
  std::lock_guard<std::mutex> locked(mutex);
  if (interval == 0 || sources.count(thread) != 0) return;
  Source source;
  source.event = open_event(thread, true);
  if (source.event < 0) source.event = open_event(thread, false);
  if (source.event < 0) {
    source.timer = make_timer(thread);
  } else {
    f_owner_ex owner{F_OWNER_TID, thread};
    fcntl(source.event, F_SETFL, O_ASYNC | O_NONBLOCK);
    fcntl(source.event, F_SETSIG, number_of_signal());
    fcntl(source.event, F_SETOWN_EX, &owner);
    ioctl(source.event, PERF_EVENT_IOC_ENABLE, 0);
  }
  sources[thread] = source;
}

void silence(const Source& source) {
  if (source.event >= 0) close(source.event);
  if (source.timer >= 0) syscall(SYS_timer_delete, source.timer);
}

void JNICALL on_start(jvmtiEnv*, JNIEnv*, jthread) {
  follow(static_cast<pid_t>(syscall(SYS_gettid)));
}

void JNICALL on_end(jvmtiEnv*, JNIEnv*, jthread) {
  std::lock_guard<std::mutex> locked(mutex);
  auto found = sources.find(static_cast<pid_t>(syscall(SYS_gettid)));
  if (found == sources.end()) return;
  silence(found->second);
  sources.erase(found);
}

bool listen(JavaVM* vm) {
  jvmtiEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JVMTI_VERSION_1_2) != JNI_OK) return false;
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  action.sa_sigaction = on_signal;
  if (sigaction(number_of_signal(), &action, nullptr) != 0) return false;
  jvmtiEventCallbacks callbacks{};
  callbacks.ThreadStart = on_start;
  callbacks.ThreadEnd = on_end;
  env->SetEventCallbacks(&callbacks, sizeof callbacks);
  env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_THREAD_START, nullptr);
  env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_THREAD_END, nullptr);
  return true;
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM* vm, char* options, void*) {
  if (!listening && !listen(vm)) return JNI_ERR;
  listening = true;
  if (std::strncmp(options, "start ", 6) == 0) {
    {
      std::lock_guard<std::mutex> locked(mutex);
      interval = std::atoll(options + 6);
    }
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      follow(static_cast<pid_t>(std::atoi(task.path().filename().c_str())));
    }
    return JNI_OK;
  }
  std::lock_guard<std::mutex> locked(mutex);
  interval = 0;
  for (const auto& [thread, source] : sources) silence(source);
  sources.clear();
  return JNI_OK;
}
