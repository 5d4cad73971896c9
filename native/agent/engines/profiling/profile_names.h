// What the numbers in samples stand for: stacks, frames, methods and threads get their names here,
// early, because the id of a method says nothing any more when its class is gone.
#pragma once

#include <jvmti.h>

#include <utility>

#include "agent/engines/profiling/trace_table.h"
#include "agent/engines/profiling/walks/code_ranges.h"
#include "base/containers.h"
#include "base/lock.h"
#include "generated/layouts.h"

namespace jvmti {

// Bytes behind others; false without memory.
bool append_bytes(Vector<uint8_t>* to, const void* from, size_t size);

// What is known of a thread.
struct ProfiledThread {
  int64_t id = 0;
  bool is_virtual = false;
  char name[256] = "";
  char group[64] = "";
};

// On a Java thread, before any thread is described.
void prepare_threads(jvmtiEnv* env, JNIEnv* jni);

int64_t thread_id(JNIEnv* jni, jthread thread);  // 0 if unknown

// A thread as the VM describes it; the current one for null.
void describe_thread(jvmtiEnv* env, JNIEnv* jni, jthread thread, ProfiledThread* found);
// The same for the one whose JNIEnv this is; false where it has ended.
bool describe_thread_of(jvmtiEnv* env, JNIEnv* jni, const JNIEnv* of, ProfiledThread* found);

// Numbers for code that is no method; the libraries follow.
struct CodeNames {
  enum : uint32_t {
    kCollector = 1,
    kCompiler,
    kVm,
    kKernel,
    kNative,
    kLibraries = 16,
    kTypes = 1 << 16
  };
  static StackFrame frame(uint32_t number) {
    return StackFrame{StackFrame::kNoMethod,
                      reinterpret_cast<jmethodID>(static_cast<uintptr_t>(number))};
  }
};

class ProfileNames : NoCopy {
 public:
  explicit ProfileNames(const CodeRanges& ranges) : ranges_(ranges) {}
  ~ProfileNames();

  // From any thread: the name of one that ends. It is forgotten where many wait to be read.
  void note_thread(uint32_t thread, const ProfiledThread& known);
  // The number of a class, whose objects are allocated; 0 without memory.
  uint32_t note_type(const char* signature);

  // The rest is for one thread at a time. The number of a stack from 1, 0 where it is not known.
  uint32_t stack(jvmtiEnv* env, JNIEnv* jni, const TraceTable& traces, uint32_t trace);
  // The number of a thread from 1; 0 where it has none yet.
  uint32_t thread(uint32_t thread) const { return threads_.find(thread + 1); }
  // Whether it was noted; then it has a number.
  bool add_noted(uint32_t thread);
  bool add_thread(uint32_t thread, const ProfiledThread& known);
  uint64_t unresolved() const { return unresolved_; }
  // Whether a frame had no method since this was last asked.
  bool met_nameless() { return std::exchange(met_nameless_, false); }

  // What has been named since the last `taken`.
  Vector<layouts::ProfileThread> new_threads;
  Vector<layouts::ProfileFrame> new_frames;
  Vector<uint32_t> new_depths;
  Vector<uint32_t> new_stack_frames;
  Vector<uint8_t> new_thread_texts;
  Vector<uint8_t> new_method_texts;
  uint32_t new_methods = 0;
  void taken();

 private:
  struct Method {
    uint32_t number;
    uint32_t code;
    jint line_count;
    jvmtiLineNumberEntry* lines;
  };
  struct Noted {
    uint32_t thread;
    ProfiledThread known;
  };
  uint32_t frame(jvmtiEnv* env, JNIEnv* jni, const StackFrame& frame);
  Method* method(jvmtiEnv* env, JNIEnv* jni, const StackFrame& frame);
  bool name_code(uint32_t number, Method* made);
  bool name_method(jvmtiEnv* env, JNIEnv* jni, jmethodID id, Method* made);
  bool add_method_texts(const char* klass, const char* name, const char* descriptor);

  const CodeRanges& ranges_;
  Index stacks_;  // numbers, by the trace plus 1
  uint32_t stack_count_ = 0;
  Index frames_;
  uint32_t frame_count_ = 0;
  Index methods_;
  Stable<Method> method_list_;
  Index threads_;
  uint32_t thread_count_ = 0;
  uint64_t unresolved_ = 0;
  bool met_nameless_ = false;

  Mutex mutex_{Guards::kLists};
  Vector<Noted*> noted_;
  Index types_;
  Vector<char*> type_names_;
};

}  // namespace jvmti
