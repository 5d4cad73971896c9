// The threads of the VM that write to streams, and how to know that none of them is inside.
//
// A thread says that it is inside with a plain store, and looks at the lists of streams after that.
// Who takes a stream off the lists makes every processor see all of this with a barrier of the
// system's (`membarrier`), and waits for those that were inside: so the price is paid where a
// stream ends and not at each event.  To register for it takes milliseconds, which the first stream
// pays.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <cstdint>

#include "generated/layouts.h"

namespace jvmti {

struct Lane;
struct StreamedThread;

// What a thread has of one stream; what most events read comes first.
struct ThreadStream {
  uint64_t stream;  // its serial number: it may be left over from an earlier stream
  // Where a `QuickRecording` can do it: that of the Java thread.  Others may clear it.
  std::atomic<JNIEnv*> usual;
  Lane* lane;
  uint64_t usual_number;  // the number of that thread, where it is in the head of a record
  StreamedThread* thread;
  JNIEnv* jni;  // of the Java thread that `thread` is about

  void clear() {
    stream = 0;
    usual.store(nullptr, std::memory_order_relaxed);
    lane = nullptr;
    usual_number = 0;
    thread = nullptr;
    jni = nullptr;
  }
};

class alignas(64) WriterThread {
 public:
  // The current thread's; null without memory.
  static WriterThread* current() {
    WriterThread* writer_thread = usual();
    return __builtin_expect(writer_thread != nullptr, true) ? writer_thread : find();
  }
  // The same where it is found at once; null where there is no barrier, and where what the thread
  // does may be our own work.
  static WriterThread* usual() {
    uintptr_t thread = this_thread();
    WriterThread* one = lately[place_of(thread)].load(std::memory_order_relaxed);
    // Only a thread itself says that one is its own, and takes it back before it ends.
    bool own = one != nullptr && one->owner_.load(std::memory_order_relaxed) == thread;
    return __builtin_expect(own, true) ? one : nullptr;
  }
  // Before the first stream is found by any thread: asks for the barrier.
  static void register_for_barrier();
  // Waits until every thread that is inside at this moment has been outside once; the current one
  // is left out.  False when the time, in milliseconds, ran out.
  static bool wait_for_all(int milliseconds);
  // No thread knows a stream any more, after all have been waited for.
  static void forget(uint32_t stream);
  // Whether the current thread is inside, and so would wait for itself.
  static bool inside();

  void enter() {
    if (depth_++ > 0) return;
    passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (has_barrier.load(std::memory_order_relaxed)) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }
  void leave() {
    if (--depth_ > 0) return;
    passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // The same for what calls nothing while it is inside.
  void enter_shortly() {
    inside_shortly_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void leave_shortly() { inside_shortly_.store(false, std::memory_order_release); }

  // Whether it serves a session or is in a handler, so that what it does may be our own work.
  bool serves() const { return serves_ > 0; }
  static void note_serving(int more);

 private:
  static WriterThread* find();
  static WriterThread* make();
  // A number that no other living thread has.
  static uintptr_t this_thread() {
#ifdef __x86_64__
    uintptr_t thread;
    __asm__("mov %%fs:0, %0" : "=r"(thread));
    return thread;
#else
    return reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
#endif
  }
  static size_t place_of(uintptr_t thread) {
    return static_cast<uint64_t>(thread) * 0x9E3779B97F4A7C15u >> 55;
  }
  static std::atomic<WriterThread*> lately[512];
  static void thread_ends(void* writer_thread);
  static void prepare();
  static std::atomic<bool> has_barrier;

  // With the first stream, what most events read is in one line of the processor's memory.
  std::atomic<uintptr_t> owner_;  // the thread, while it may be found by that
  std::atomic<uint64_t> passes_;  // odd while inside
  uint32_t depth_;
  int serves_;
  std::atomic<bool> inside_shortly_;

 public:
  ThreadStream streams[layouts::Streams::kMost];

  // The stream that begins this number of bytes after the first.
  ThreadStream& stream_at(size_t bytes) {
    return *reinterpret_cast<ThreadStream*>(reinterpret_cast<uint8_t*>(streams) + bytes);
  }

 private:
  std::atomic<bool> used_;
  WriterThread* next_;
};

}  // namespace jvmti
