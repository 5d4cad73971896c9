#include "agent/engines/profiling/threads/allocated_bytes.h"

#include "agent/core/agent.h"
#include "agent/core/vm_structures.h"

namespace jvmti {

namespace {

// Versions of Java: JDK-8356372 is mended, and an object's size is taken off once.
constexpr int kCountsObjects = 25;
constexpr int kTakesOffOnce = 14;

constexpr int64_t kWord = 8;

// The chance that a length of some intervals has a point: 1 - exp(-length).
double chance_in(double length) {
  if (length > 40) return 1;
  int halved = 0;
  for (; length > 0.01; ++halved) length /= 2;
  double found = length * (1 - length / 2 * (1 - length / 3 * (1 - length / 4)));
  for (; halved > 0; --halved) found *= 2 - found;
  return found;
}

}  // namespace

void AllocatedBytes::prepare() {
  int version = major_version(agent.version);
  if (known_ || version >= kCountsObjects) return;
  takes_off_twice_ = version < kTakesOffOnce;
  constexpr const char* kBuffer = "ThreadLocalAllocBuffer";
  VmTables tables;
  bool known = true;
  auto place = [&](const char* structure, const char* name) {
    VmTables::Field found = tables.field(structure, name);
    known &= found.known;
    return found.place;
  };
  bytes_ = place("Thread", "_allocated_bytes");
  size_t buffer = place("Thread", "_tlab");
  start_ = buffer + place(kBuffer, "_start");
  top_ = buffer + place(kBuffer, "_top");
  end_ = buffer + place(kBuffer, "_end");
  refills_ = buffer + place(kBuffer, "_number_of_refills");
  // Java 11 has another one, of buffers that compiled code discards.
  bool slow = tables.field(kBuffer, "_slow_refill_waste").known;
  wasted_ = buffer + place(kBuffer, slow ? "_slow_refill_waste" : "_refill_waste");
  VmTables::Field reserve = tables.field(kBuffer, "_reserve_for_allocation_prefetch");
  if (reserve.known) reserve_ = in_vm<int32_t>(reserve.global, 0) * kWord;
  known_ = known;
}

void AllocatedBytes::begin(int64_t interval) {
  Locked locked(mutex_);
  interval_ = static_cast<double>(interval < 1 ? 1 : interval);
  for (Last& one : lasts_) one.size = one.owed = 0;
}

AllocatedBytes::State AllocatedBytes::of(uintptr_t thread) const {
  State state{in_vm<int64_t>(thread, bytes_),    in_vm<int64_t>(thread, start_),
              in_vm<int64_t>(thread, top_),      in_vm<int64_t>(thread, end_),
              in_vm<uint32_t>(thread, refills_), in_vm<uint32_t>(thread, wasted_)};
  state.bytes += state.top - state.start;
  return state;
}

// For the first object of a buffer.  Of several buffers since the last sample each counts as the
// mean, and each is as long as this one.
AllocatedBytes::Besides AllocatedBytes::besides(const State& last, const State& now,
                                                int64_t size) const {
  // A collection begins to count anew.
  if (last.start == 0 || now.refills <= last.refills || now.wasted < last.wasted) return {0, 0};
  double buffers = now.refills - last.refills;
  double wasted = static_cast<double>((now.wasted - last.wasted) * kWord) / buffers;
  double all = static_cast<double>(now.bytes - size - last.bytes);
  double in_first = static_cast<double>(last.end + reserve_ - last.top) - wasted;
  double in_others = static_cast<double>(now.end + reserve_ - now.start) - wasted;
  double outside = (all - in_first - (buffers - 1) * in_others) / buffers;
  return {wasted, outside > 0 ? outside : 0};
}

double AllocatedBytes::chance_on_11(const Last& last, int64_t passed, double length) const {
  double before = static_cast<double>(last.size) / interval_;
  // The chance of no point up to there.
  auto none = [before](double to) {
    double beyond = 1 - chance_in(before);
    return to < before ? 1 - (1 + beyond) * chance_in(to) : beyond * (1 - chance_in(to));
  };
  double from = static_cast<double>(passed) / interval_;
  return 1 - none(from + length) / none(from);
}

int64_t AllocatedBytes::weight(const JNIEnv* jni, jobject object, int64_t size) {
  double bytes = static_cast<double>(size);
  uintptr_t thread = known_ ? vm_thread(jni) : 0;
  double length = bytes / interval_;
  if (thread == 0) return static_cast<int64_t>(bytes / chance_in(length) + 0.5);
  State now = of(thread);
  Locked locked(mutex_);
  uint32_t place = places_.find(thread);
  Last none{};
  Last& last = place == 0 ? none : lasts_[place - 1];
  int64_t passed = now.bytes - size - last.state.bytes;
  bool follows = last.size > 0 && passed >= 0;
  // The VM may move the object meanwhile, but then the buffer is gone.
  bool first = follows && now.start != 0 && *reinterpret_cast<const int64_t*>(object) == now.start;
  Besides found = first ? besides(last.state, now, size) : Besides{0, 0};
  length += (found.wasted + found.allocated) / interval_;
  double chance = takes_off_twice_ && follows && passed < last.size
                      ? chance_on_11(last, passed, length)
                      : chance_in(length);
  double weight = bytes / chance;
  if (found.allocated > 0) {
    last.owed += static_cast<int64_t>(found.allocated / chance);
  } else if (follows) {
    weight += static_cast<double>(last.owed);
    last.owed = 0;
  }
  return static_cast<int64_t>(weight + 0.5);
}

void AllocatedBytes::note(const JNIEnv* jni, int64_t size) {
  uintptr_t thread = known_ ? vm_thread(jni) : 0;
  if (thread == 0) return;
  Last last{of(thread), size, 0};
  Locked locked(mutex_);
  uint32_t place = places_.find(thread);
  if (place != 0) {
    last.owed = lasts_[place - 1].owed;
    lasts_[place - 1] = last;
  } else if (lasts_.push(last) && !places_.insert(thread, static_cast<uint32_t>(lasts_.size()))) {
    lasts_.pop();
  }
}

}  // namespace jvmti
