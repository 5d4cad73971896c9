// The same work for several parts at once, on as many threads.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace jvmti {
namespace heap {

constexpr uint32_t kMostThreads = 16;

// Calls work(part) for each part below `parts`, which is at most kMostThreads.  A part whose
// thread cannot be started is done by the caller.
template <class Work>
void in_parallel(uint32_t parts, Work& work) {
  struct Task {
    Work* work;
    uint32_t part;
    pthread_t thread;
    bool started;
    static void* run(void* task) {
      Task* self = static_cast<Task*>(task);
      (*self->work)(self->part);
      return nullptr;
    }
  };
  Task tasks[kMostThreads];
  for (uint32_t part = 1; part < parts; ++part) {
    tasks[part] = Task{&work, part, pthread_t(), false};
    tasks[part].started =
        pthread_create(&tasks[part].thread, nullptr, &Task::run, &tasks[part]) == 0;
  }
  if (parts > 0) work(0);
  for (uint32_t part = 1; part < parts; ++part) {
    if (tasks[part].started) {
      pthread_join(tasks[part].thread, nullptr);
    } else {
      work(part);
    }
  }
}

}  // namespace heap
}  // namespace jvmti
