#include "agent/engines/streams/writer_threads.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "agent/channels/channel.h"
#include "agent/engines/streams/streams.h"

namespace jvmti {

namespace {

pthread_key_t key;
pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_once_t registration = PTHREAD_ONCE_INIT;
bool ready = false;
// Threads come and go, their entries are used again and never freed.
std::atomic<WriterThread*> all{nullptr};

long barrier(int command) { return syscall(__NR_membarrier, command, 0, 0); }

}  // namespace

std::atomic<bool> WriterThread::has_barrier{false};
std::atomic<WriterThread*> WriterThread::lately[512];

void WriterThread::prepare() { ready = pthread_key_create(&key, thread_ends) == 0; }

void WriterThread::register_for_barrier() {
  pthread_once(&registration,
               [] { has_barrier = barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0; });
}

WriterThread* WriterThread::find() {
  void* known = ready ? pthread_getspecific(key) : nullptr;
  WriterThread* found = known != nullptr ? static_cast<WriterThread*>(known) : make();
  if (found != nullptr && has_barrier && found->serves_ == 0) {
    uintptr_t thread = this_thread();
    found->owner_.store(thread, std::memory_order_relaxed);
    lately[place_of(thread)].store(found, std::memory_order_relaxed);
  }
  return found;
}

WriterThread* WriterThread::make() {
  pthread_once(&once, prepare);
  if (!ready) return nullptr;
  WriterThread* made = all.load();
  for (bool unused = false; made != nullptr; made = made->next_, unused = false) {
    if (made->used_.compare_exchange_strong(unused, true)) break;
  }
  if (made == nullptr) {
    void* memory = nullptr;
    if (posix_memalign(&memory, alignof(WriterThread), sizeof(WriterThread)) != 0) return nullptr;
    std::memset(memory, 0, sizeof(WriterThread));
    made = static_cast<WriterThread*>(memory);
    made->used_ = true;
    made->next_ = all.load();
    while (!all.compare_exchange_weak(made->next_, made)) {
    }
  }
  if (pthread_setspecific(key, made) == 0) return made;
  made->used_ = false;
  return nullptr;
}

void WriterThread::thread_ends(void* writer_thread) {
  WriterThread* ended = static_cast<WriterThread*>(writer_thread);
  Stream::give_back_lanes(ended->streams);
  ended->serves_ = 0;
  ended->owner_ = 0;
  ended->used_ = false;
}

void WriterThread::note_serving(int more) {
  WriterThread* own = current();
  if (own == nullptr) return;
  own->serves_ += more;
  own->owner_ = 0;
}

void WriterThread::forget(uint32_t stream) {
  for (WriterThread* one = all.load(); one != nullptr; one = one->next_) {
    one->streams[stream].usual.store(nullptr, std::memory_order_relaxed);
  }
}

bool WriterThread::inside() {
  WriterThread* own = current();
  return own != nullptr && own->depth_ > 0;
}

bool WriterThread::wait_for_all(int milliseconds) {
  WriterThread* own = current();
  if (has_barrier) {
    barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  int64_t until = now_in_milliseconds() + milliseconds;
  for (WriterThread* one = all.load(); one != nullptr; one = one->next_) {
    if (one == own) continue;
    uint64_t seen = one->passes_.load(std::memory_order_acquire);
    while (one->inside_shortly_.load(std::memory_order_acquire) ||
           ((seen & 1) != 0 && one->passes_.load(std::memory_order_acquire) == seen)) {
      if (now_in_milliseconds() >= until) return false;
      usleep(100);
    }
  }
  return true;
}

}  // namespace jvmti
