#include "agent/engines/profiling/threads/carried_threads.h"

#include <cstdio>

#include "agent/engines/profiling/samplings/signal_sources.h"
#include "base/clock.h"

namespace jvmti {

namespace {

constexpr int64_t kShare = 100;            // lists take this part of the time
constexpr int64_t kMostCredit = 20000000;  // nanoseconds for many at once, after a while of few

}  // namespace

void CarriedThreads::prepare(JNIEnv* jni) {
  threads_.prepare_lists(jni);
  // The first list loads classes.
  threads_.list(jni);
  threads_.drop_lists(jni);
  credit_ = kMostCredit;
  credited_ = nanoseconds_now();
}

uint32_t CarriedThreads::number_of(int64_t id) {
  uint32_t known = numbers_.find(static_cast<uint64_t>(id));
  if (known != 0 || count_ == kMost) return known;
  uint32_t number = profile_.new_thread();
  if (!unnamed_.push(Unnamed{id, number, false})) return 0;
  if (!numbers_.insert(static_cast<uint64_t>(id), number + 1)) {
    unnamed_.pop();
    return 0;
  }
  ++count_;
  return number + 1;
}

void CarriedThreads::identify_mounted(JNIEnv* jni, Vector<Sample>& samples) {
  for (Sample& sample : samples) {
    if (sample.virtual_id == 0) continue;
    uint32_t number = number_of(sample.virtual_id);
    if (number != 0) {
      sample.thread = number - 1;
    } else {
      profile_.carried.fetch_add(1, std::memory_order_relaxed);
    }
  }
  name_new(jni, true);
}

void CarriedThreads::identify_owners(JNIEnv* jni, Vector<Sample>& samples) {
  for (Sample& sample : samples) {
    if (sample.virtual_id != 0) sample.owner = number_of(sample.virtual_id);
  }
  name_new(jni, false);
}

void CarriedThreads::name_new(JNIEnv* jni, bool are_virtual) {
  if (unnamed_.empty()) return;
  int64_t now = nanoseconds_now();
  credit_ += (now - credited_) / kShare;
  if (credit_ > kMostCredit) credit_ = kMostCredit;
  credited_ = now;
  if (credit_ > 0 && !jni->ExceptionCheck()) {
    int64_t before = thread_time();
    name_listed(jni);
    credit_ -= thread_time() - before;
  }
  for (const Unnamed& one : unnamed_) {
    if (one.named) continue;
    ProfiledThread known;
    known.id = one.id;
    known.is_virtual = are_virtual;
    if (are_virtual) snprintf(known.group, sizeof known.group, "VirtualThreads");
    snprintf(known.name, sizeof known.name, "#%lld", static_cast<long long>(one.id));
    profile_.names.add_thread(one.number, known);
  }
  unnamed_.clear();
}

void CarriedThreads::name_listed(JNIEnv* jni) {
  Index places;
  for (size_t i = 0; i < unnamed_.size(); ++i) {
    if (!places.insert(static_cast<uint64_t>(unnamed_[i].id), static_cast<uint32_t>(i + 1))) return;
  }
  threads_.list(jni);
  size_t left = unnamed_.size();
  for (uint32_t i = 0; i < threads_.count() && left > 0; ++i) {
    LocalRef<jthread> thread(jni, threads_.at(jni, i));
    if (thread == nullptr) continue;
    uint32_t place = places.find(static_cast<uint64_t>(thread_id(jni, thread)));
    if (place == 0 || unnamed_[place - 1].named) continue;
    ProfiledThread known;
    describe_thread(profile_.env, jni, thread, &known);
    if (!profile_.names.add_thread(unnamed_[place - 1].number, known)) continue;
    unnamed_[place - 1].named = true;
    --left;
  }
  threads_.drop_lists(jni);
}

}  // namespace jvmti
