// The Java stack of the thread that a signal interrupted, by HotSpot's AsyncGetCallTrace.
//
// The VM did not expect to be interrupted there, and reads memory that may be anything: a fault in
// a walk ends that walk and nothing else.  A walk takes no lock and no memory, and needs no storage
// of the thread's own, which a library that is loaded late gets from malloc.
#pragma once

#include <jvmti.h>
#include <setjmp.h>
#include <sys/types.h>

#include <atomic>

#include "agent/engines/profiling/trace_table.h"
#include "agent/engines/profiling/walks/code_ranges.h"
#include "agent/engines/profiling/walks/entry_methods.h"
#include "agent/engines/profiling/walks/java_anchor.h"
#include "agent/engines/profiling/walks/left_callers.h"
#include "generated/layouts.h"

namespace jvmti {

// One at a time in each; who finds all taken has lost its sample.
class StackWalk : NoCopy {
 public:
  enum class Outcome { kWalked, kNoJava, kFailed };

  // Before the first: null, or why this VM's stacks cannot be walked.
  static const char* prepare();
  // For good: faults outside of walks go on to who handled them before.
  static bool guard_faults();

  // Null where all are taken.
  static StackWalk* begin();
  void end() { owner_.store(0, std::memory_order_release); }

  // The frames follow at `frames()`, the innermost first.
  Outcome walk(JNIEnv* jni, void* context, const CodeRanges& ranges, const EntryMethods& entries,
               jint depth);
  StackFrame* frames() { return frames_ + 1; }  // with space for one before them
  uint32_t count() const { return count_; }
  bool faulted() const { return faulted_; }
  // The virtual thread on the current one, as `MountedThread::id`; 0 where reading met a fault.
  int64_t mounted(const JNIEnv* jni);
  // Leaves out the frames of its carrier. False where there are no others: it is being mounted, or
  // leaves.
  bool cut_carrier();

 private:
  friend void fault_in_walk(int signal, void* info, void* context);
  Outcome attempt(JNIEnv* jni, void* context, const CodeRanges& ranges, jint depth);
  // How many frames; `from` frames stay before them.
  jint ask(JNIEnv* jni, void* context, jint depth, jint from = 0);
  jint from_before(JNIEnv* jni, const void* context, jint depth);
  jint from_edge(JNIEnv* jni, void* context, jint depth);

  std::atomic<pid_t> owner_;
  const EntryMethods* entries_;
  LeftCallers left_;
  JavaAnchor anchor_;
  volatile bool guarded_;
  bool faulted_;
  uint32_t count_;
  sigjmp_buf out_;
  StackFrame frames_[layouts::Profiles::kDepth + 1];
};

// The stack of the current thread, a platform one, in a callback of JVM TI or a native method: with
// less work than JVM TI has.  How many frames there are but for the first ones, which are left out;
// none where JVM TI must be asked instead, as for methods without an id.
jint walk_in_callback(JNIEnv* jni, jint left_out, StackFrame* frames, jint depth);

// The program counter where a signal interrupted the thread; 0 where the machine is not known.
uint64_t interrupted_at(const void* context);

}  // namespace jvmti
