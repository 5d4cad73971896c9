#include "agent/engines/profiling/waiting_samples.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "agent/engines/profiling/profile.h"

namespace jvmti {

namespace {

constexpr uint32_t kPlaces = 64;
constexpr uint32_t kMostWaiting = 8;
constexpr uint32_t kMostCallers = 256;

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

}  // namespace

// But for its owner, only that one's thread and the handlers on it read and write a place.
struct CallbackStack::Place {
  std::atomic<pid_t> owner;
  std::atomic<bool> open;
  std::atomic<uint32_t> count;
  uint32_t profile;
  uint32_t trace;
  WaitingSample waiting[kMostWaiting];
};

// The place of a thread, or a free one for 0.
CallbackStack::Place* CallbackStack::find(pid_t thread) {
  static Place places[kPlaces];
  for (Place& one : places) {
    pid_t owner = one.owner.load(std::memory_order_relaxed);
    if (owner != thread) continue;
    if (thread != 0 || one.owner.compare_exchange_strong(owner, this_thread())) return &one;
  }
  return nullptr;
}

CallbackStack::CallbackStack() : place_(find(0)) {
  if (place_ == nullptr) return;
  place_->count = 0;
  place_->profile = 0;
  place_->trace = TraceTable::kNone;
  place_->open = true;
}

void CallbackStack::note(uint32_t profile, uint32_t trace) {
  Place* place = find(this_thread());
  if (place == nullptr || trace == TraceTable::kNone) return;
  place->profile = profile;
  place->trace = trace;
}

bool CallbackStack::put_off(const WaitingSample& sample) {
  Place* place = find(this_thread());
  if (place == nullptr || !place->open || place->count == kMostWaiting) return false;
  place->waiting[place->count] = sample;
  place->count = place->count + 1;
  return true;
}

namespace {

void add(const WaitingSample& sample, const StackFrame* callers, uint32_t count) {
  UsedProfile profile(sample.profile);
  if (profile == nullptr) return;
  uint32_t depth = static_cast<uint32_t>(profile->request.depth);
  if (count > depth) count = depth;
  if (count == 0) profile->failed.fetch_add(1, std::memory_order_relaxed);
  StackFrame frames[kMostCallers + 1];
  frames[0] = sample.code;
  if (count > 0) std::memcpy(frames + 1, callers, count * sizeof *frames);
  profile->add(frames, count + 1, sample.thread, sample.weight, layouts::SampleState::kRunning,
               sample.virtual_id);
}

}  // namespace

CallbackStack::~CallbackStack() {
  if (place_ == nullptr) return;
  place_->open = false;
  if (uint32_t waiting = place_->count) {
    UsedProfile asked(place_->profile);
    const StackFrame* frames = nullptr;
    uint32_t count = 0;
    bool known = asked != nullptr && place_->trace != TraceTable::kNone &&
                 asked->traces().read(place_->trace, &frames, &count) && count <= kMostCallers + 1;
    for (uint32_t i = 0; i < waiting; ++i) {
      add(place_->waiting[i], known ? frames + 1 : nullptr, known ? count - 1 : 0);
    }
  }
  place_->owner.store(0, std::memory_order_release);
}

}  // namespace jvmti
