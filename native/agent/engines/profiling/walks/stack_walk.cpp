#include "agent/engines/profiling/walks/stack_walk.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

#include "agent/core/agent.h"
#include "agent/engines/profiling/threads/mounted_thread.h"
#include "agent/engines/profiling/walks/code_heaps.h"
#include "agent/engines/profiling/walks/java_anchor.h"
#include "base/lock.h"
#include "base/log.h"

namespace jvmti {

namespace {

constexpr int kWalks = 32;                      // at once
[[maybe_unused]] constexpr int kMostSaved = 4;  // registers, by the code of one operation

// What AsyncGetCallTrace says in place of a number of frames.
constexpr jint kNoJavaFrames = 0;
constexpr jint kUnknownFrame = -3;                      // of a thread that does not run Java
[[maybe_unused]] constexpr jint kBrokenJavaFrame = -5;  // of a thread that runs Java
constexpr jint kThreadEnds = -8;

struct Trace {
  JNIEnv* jni;
  jint count;
  StackFrame* frames;
};
using AsyncGetCallTrace = void (*)(Trace* trace, jint depth, void* context);
AsyncGetCallTrace async_get_call_trace;

StackWalk* walks() {
  alignas(StackWalk) static char memory[kWalks * sizeof(StackWalk)];
  return reinterpret_cast<StackWalk*>(memory);
}

std::atomic<int> walking{0};
struct sigaction faults_before[2];  // of SIGSEGV and SIGBUS
Mutex guarding{Guards::kLists};
bool guarded[2];

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

#ifdef __x86_64__
greg_t* registers_of(void* context) { return static_cast<ucontext_t*>(context)->uc_mcontext.gregs; }

greg_t at(greg_t address) { return *reinterpret_cast<const greg_t*>(address); }

// Within the call that returns there: of code that was interrupted, AsyncGetCallTrace takes what
// comes next, which after a call may be of another method that was compiled into this one.
greg_t call_before(greg_t back) { return back - 1; }

// Compiled code makes its frame in one of two ways, and then may look whether it is to be entered:
//
//     sub $size,%rsp; mov %rbp,size-8(%rsp)        push %rbp; sub $size,%rsp
//     cmpl $number,field(%r15); jne
//
// It leaves it by `add $size,%rsp; pop %rbp`, may look whether the thread is to stop, and returns.
// AsyncGetCallTrace walks from none of these.  Small methods that are called often, and that no
// caller takes in, spend most of their time there.
class FrameEdge {
 public:
  // With the registers of the interrupted code.
  explicit FrameEdge(const greg_t* registers)
      : pc_(registers[REG_RIP]), sp_(registers[REG_RSP]), fp_(registers[REG_RBP]) {
    known_ = begins() || ends();
  }
  // Whether it is one of these. Then `pc` and `sp` are those with the whole frame.
  bool known() const { return known_; }
  greg_t pc() const { return pc_; }
  greg_t sp() const { return sp_; }
  // Where the return address is; 0 if unknown.
  greg_t back() const { return back_; }

 private:
  static bool is(greg_t at, std::initializer_list<uint8_t> bytes) {
    return std::memcmp(reinterpret_cast<const void*>(at), bytes.begin(), bytes.size()) == 0;
  }
  template <class T>
  static greg_t number(greg_t at) {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
    return value;
  }
  bool begins();
  bool ends();
  // Whether an `add` to the stack pointer ends there; then it begins at `pc_`.
  bool added(greg_t end);

  greg_t pc_;
  greg_t sp_;
  greg_t fp_;
  greg_t back_ = 0;
  bool known_;
};

bool FrameEdge::begins() {
  greg_t at = pc_;
  if (is(at, {0x89, 0x84, 0x24})) at += 7;  // touches the page that the stack will need
  if (is(at, {0x55})) {
    back_ = sp_;
    sp_ -= 8;
    at += 1;
  }
  bool is_short = is(at, {0x48, 0x83, 0xEC});
  if (is_short || is(at, {0x48, 0x81, 0xEC})) {
    if (back_ == 0) back_ = is(at - 1, {0x55}) && ::jvmti::at(sp_) == fp_ ? sp_ + 8 : sp_;
    sp_ -= is_short ? number<int8_t>(at + 3) : number<int32_t>(at + 3);
    at += is_short ? 4 : 7;
  }
  is_short = is(at, {0x48, 0x89, 0x6C, 0x24});
  if (is_short || is(at, {0x48, 0x89, 0xAC, 0x24})) {
    back_ = sp_ + (is_short ? number<int8_t>(at + 4) : number<int32_t>(at + 4)) + 8;
    at += is_short ? 5 : 8;
  }
  if (is(at, {0x41, 0x81, 0x7F})) {
    at += 8;
  } else if (is(at, {0x41, 0x81, 0xBF})) {
    at += 11;
  }
  if (is(at, {0x0F, 0x85})) {
    at += 6;
  } else if (is(at, {0x74, 0x05, 0xE8})) {
    at += 7;
  }
  bool changed = at != pc_;
  pc_ = at;
  return changed;
}

bool FrameEdge::added(greg_t end) {
  bool is_short = is(end - 4, {0x48, 0x83, 0xC4});
  if (!is_short && !is(end - 7, {0x48, 0x81, 0xC4})) return false;
  sp_ -= is_short ? number<int8_t>(end - 1) : number<int32_t>(end - 4);
  pc_ = end - (is_short ? 4 : 7);
  return true;
}

bool FrameEdge::ends() {
  if (is(pc_, {0x5D})) {
    back_ = sp_ + 8;
    return added(pc_);
  }
  // The instructions between the `pop` and the `ret`, as releases from 11 on have them.
  bool after_pop = is(pc_, {0xC3}) || is(pc_, {0x0F, 0x87}) || is(pc_, {0x49, 0x3B, 0x67}) ||
                   is(pc_, {0x49, 0x3B, 0xA7}) || is(pc_, {0x85, 0x05}) ||
                   is(pc_, {0x4D, 0x8B, 0x97}) || is(pc_, {0x41, 0x85, 0x02});
  // What was popped is still there.
  if (!after_pop || ::jvmti::at(sp_ - 8) != fp_) return false;
  back_ = sp_;
  for (int passed : {0, 4, 6, 7, 10, 13}) {
    greg_t pop = pc_ - passed - 1;
    if (!is(pop, {0x5D}) || !added(pop)) continue;
    sp_ -= 8;
    return true;
  }
  return false;
}
#endif

}  // namespace

uint64_t interrupted_at(const void* context) {
#if defined(__x86_64__)
  return static_cast<uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
  (void)context;
  return 0;
#endif
}

const char* StackWalk::prepare() {
  if (async_get_call_trace != nullptr) return nullptr;
  // The interpreter-only VM has the function, which cannot walk that VM's frames.
  char* name = nullptr;
  bool zero = agent.env->GetSystemProperty("java.vm.name", &name) == JVMTI_ERROR_NONE &&
              std::strstr(name, "Zero") != nullptr;
  agent.env->Deallocate(reinterpret_cast<unsigned char*>(name));
  if (zero) return "an interpreter-only VM cannot walk stacks in a signal handler";
  Dl_info vm;
  void* of_vm = reinterpret_cast<void*>(agent.vm->functions->GetEnv);
  void* library = dladdr(of_vm, &vm) == 0 ? nullptr : dlopen(vm.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void* found = dlsym(library == nullptr ? RTLD_DEFAULT : library, "AsyncGetCallTrace");
  if (found == nullptr) return "this VM has no AsyncGetCallTrace";
  async_get_call_trace = reinterpret_cast<AsyncGetCallTrace>(found);
  LeftCallers::prepare();
  JavaAnchor::prepare();
  return nullptr;
}

// Found by the thread, because the storage of threads is not for handlers.
void fault_in_walk(int signal, void* info, void* context) {
  if (walking.load(std::memory_order_relaxed) > 0) {
    pid_t thread = this_thread();
    for (int i = 0; i < kWalks; ++i) {
      StackWalk& one = walks()[i];
      if (one.owner_.load(std::memory_order_relaxed) != thread || !one.guarded_) continue;
      one.guarded_ = false;
      // The jump does not bring the mask of signals back.
      sigprocmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
      siglongjmp(one.out_, 1);
    }
  }
  const struct sigaction& before = faults_before[signal == SIGBUS];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, static_cast<siginfo_t*>(info), context);
  } else if (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL) {
    before.sa_handler(signal);
  } else {
    // It comes again, and meets what was there before.
    sigaction(signal, &before, nullptr);
  }
}

namespace {
void on_fault(int signal, siginfo_t* info, void* context) { fault_in_walk(signal, info, context); }
}  // namespace

// Once: another profiler that comes later goes on to ours, and to go on to it in turn would make a
// circle, in which a fault of the program's would never end.
bool StackWalk::guard_faults() {
  constexpr int kSignals[] = {SIGSEGV, SIGBUS};
  Locked locked(guarding);
  for (int i = 0; i < 2; ++i) {
    if (guarded[i]) continue;
    struct sigaction now;
    if (sigaction(kSignals[i], nullptr, &now) != 0) return false;
    faults_before[i] = now;
    struct sigaction ours = now;
    ours.sa_flags = now.sa_flags | SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    ours.sa_sigaction = on_fault;
    if (sigaction(kSignals[i], &ours, nullptr) != 0) return false;
    guarded[i] = true;
  }
  return true;
}

StackWalk* StackWalk::begin() {
  pid_t thread = this_thread();
  for (int i = 0; i < kWalks; ++i) {
    StackWalk& one = walks()[(thread + i) % kWalks];
    pid_t none = 0;
    if (one.owner_.load(std::memory_order_relaxed) == 0 &&
        one.owner_.compare_exchange_strong(none, thread)) {
      return &one;
    }
  }
  return nullptr;
}

jint StackWalk::ask(JNIEnv* jni, void* context, jint depth, jint from) {
  Trace trace{jni, 0, frames() + from};
  async_get_call_trace(&trace, depth, context);
#ifdef __x86_64__
  const greg_t* registers = registers_of(context);
  bool broken = trace.count == kBrokenJavaFrame ||
                (trace.count > 0 && !entries_->end(trace.frames, trace.count, depth));
  if (broken && left_.mend(static_cast<uintptr_t>(registers[REG_RIP]),
                           static_cast<uintptr_t>(registers[REG_RSP]),
                           static_cast<uintptr_t>(registers[REG_RBP]))) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    async_get_call_trace(&trace, depth, context);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    left_.restore();
  }
#endif
  bool outside = trace.count == kUnknownFrame && JavaAnchor::is_missing(jni);
  return outside ? kNoJavaFrames : trace.count;
}

#ifdef __x86_64__
// A processor charges the time of an instruction that is slow to the next one, which may be of
// another method that was compiled into this one: so this asks for the one before.
jint StackWalk::from_before(JNIEnv* jni, const void* context, jint depth) {
  ucontext_t changed;
  std::memcpy(&changed, context, sizeof changed);
  registers_of(&changed)[REG_RIP] -= 1;
  return ask(jni, &changed, depth);
}

// The number of frames from code at the edge of its frame; otherwise none.
jint StackWalk::from_edge(JNIEnv* jni, void* context, jint depth) {
  FrameEdge edge(registers_of(context));
  if (!edge.known()) return kNoJavaFrames;
  ucontext_t changed;
  std::memcpy(&changed, context, sizeof changed);
  greg_t* edited = registers_of(&changed);
  edited[REG_RIP] = edge.pc();
  edited[REG_RSP] = edge.sp();
  jint found = ask(jni, &changed, depth);
  // Code without debug information there: the method, but not its caller.
  if ((found > 1 && found <= depth) || edge.back() == 0 || depth == 1) return found;
  jint known = found == 1 ? 1 : 0;
  edited[REG_RIP] = call_before(at(edge.back()));
  edited[REG_RSP] = edge.back() + 8;
  found = ask(jni, &changed, depth - known, known);
  return found > 0 ? found + known : known;
}
#endif

StackWalk::Outcome StackWalk::attempt(JNIEnv* jni, void* context, const CodeRanges& ranges,
                                      jint depth) {
#ifdef __x86_64__
  greg_t* own = registers_of(context);
  auto in_library_at = [&ranges](greg_t pc) {
    return ranges.of(static_cast<uint64_t>(pc)) != CodeRanges::kNone ||
           CodeHeaps::lack(static_cast<uintptr_t>(pc));
  };
  bool in_library = in_library_at(own[REG_RIP]);
  if (in_library) anchor_.complete(jni);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  jint found = in_library ? -1 : from_edge(jni, context, depth);
  if (found == kNoJavaFrames) found = from_before(jni, context, depth);
  if (found <= 0) found = ask(jni, context, depth);
  // In a stub the frame is not complete, and a leaf function of the VM leaves no trace of the frame
  // below.  Its caller can be walked, where we find it: by the return address on top of the stack,
  // below a saved register, or by the frame pointer.
  if (found < 0 && found != kThreadEnds) {
    ucontext_t changed;
    std::memcpy(&changed, context, sizeof changed);
    greg_t* edited = registers_of(&changed);
    greg_t sp = own[REG_RSP];
    greg_t fp = own[REG_RBP];
    // Compiled code saves registers while it compares or copies text: its frame is further down.
    for (int i = 1; i <= kMostSaved && found == kBrokenJavaFrame && !in_library; ++i) {
      edited[REG_RSP] = sp + i * 8;
      jint shifted = ask(jni, &changed, depth);
      if (shifted > 0) found = shifted;
    }
    for (int i = 1; i <= 2 && found < 0 && !in_library; ++i) {
      edited[REG_RIP] = call_before(at(sp + (i - 1) * 8));
      edited[REG_RSP] = sp + i * 8;
      edited[REG_RBP] = i == 1 ? fp : at(sp);
      found = ask(jni, &changed, depth);
    }
    constexpr int kMostNative = 64;
    constexpr greg_t kLargestFrame = 1 << 18;
    for (int i = 0; i < kMostNative && found < 0; ++i) {
      if (fp <= sp || fp - sp > kLargestFrame || fp % 8 != 0) break;
      edited[REG_RIP] = call_before(at(fp + 8));
      edited[REG_RSP] = sp = fp + 16;
      edited[REG_RBP] = fp = at(fp);
      if (in_library_at(edited[REG_RIP])) continue;
      found = ask(jni, &changed, depth);
      if (!in_library) break;
    }
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (in_library) anchor_.restore();
#else
  (void)ranges;
  jint found = ask(jni, context, depth);
#endif
  if (found > 0) {
    count_ = static_cast<uint32_t>(found);
    return Outcome::kWalked;
  }
  return found == kNoJavaFrames || found == kThreadEnds ? Outcome::kNoJava : Outcome::kFailed;
}

StackWalk::Outcome StackWalk::walk(JNIEnv* jni, void* context, const CodeRanges& ranges,
                                   const EntryMethods& entries, jint depth) {
  count_ = 0;
  entries_ = &entries;
  faulted_ = false;
  walking.fetch_add(1, std::memory_order_relaxed);
  Outcome outcome = Outcome::kFailed;
  if (sigsetjmp(out_, 0) == 0) {
    guarded_ = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    outcome = attempt(jni, context, ranges, depth);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    guarded_ = false;
  } else {
    left_.restore();
    anchor_.restore();
    // The VM has noted that this thread walks, and would note the end of that at the end of a walk
    // only; so there is another one, which finds nothing.
    outcome = Outcome::kFailed;
    count_ = 0;
    faulted_ = true;
    if (sigsetjmp(out_, 0) == 0) {
      guarded_ = true;
      ucontext_t nowhere;
      std::memset(&nowhere, 0, sizeof nowhere);
      ask(jni, &nowhere, 1);
      guarded_ = false;
    }
  }
  walking.fetch_sub(1, std::memory_order_relaxed);
  return outcome;
}

int64_t StackWalk::mounted(const JNIEnv* jni) {
  if (!MountedThread::known()) return 0;
  volatile int64_t found = 0;
  walking.fetch_add(1, std::memory_order_relaxed);
  if (sigsetjmp(out_, 0) == 0) {
    guarded_ = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    found = MountedThread::id(jni);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    guarded_ = false;
  }
  walking.fetch_sub(1, std::memory_order_relaxed);
  return found;
}

// The VM has noted where the thread left Java, and looks at no register.
jint walk_in_callback(JNIEnv* jni, jint left_out, StackFrame* frames, jint depth) {
  if (async_get_call_trace == nullptr) return 0;
  static ucontext_t nowhere;
  Trace trace{jni, 0, frames};
  async_get_call_trace(&trace, depth, &nowhere);
  // A stack that was cut off would be too short.
  if (trace.count <= left_out || (left_out > 0 && trace.count == depth)) return 0;
  jint count = trace.count - left_out;
  for (jint i = 0; i < count; ++i) {
    frames[i] = frames[i + left_out];
    if (frames[i].method == nullptr) return 0;
  }
  return count;
}

bool StackWalk::cut_carrier() {
  const MountedThread::Methods methods = MountedThread::methods();
  for (uint32_t i = 0; i < count_; ++i) {
    const StackFrame& frame = frames()[i];
    if (frame.location == StackFrame::kNoMethod || frame.method == nullptr) continue;
    if (frame.method == methods.carries) return false;
    if (frame.method != methods.border || i == 0) continue;
    count_ = i;
    return true;
  }
  return true;
}

}  // namespace jvmti
