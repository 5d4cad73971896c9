#include "agent/engines/heap/heap_pass.h"

#include <sys/mman.h>

#include <atomic>

#include "agent/core/engine.h"

namespace jvmti {

namespace {

using Page = layouts::PassControlPage;

std::atomic<uint64_t>* word(uint8_t* data, size_t number) {
  return reinterpret_cast<std::atomic<uint64_t>*>(data) + number;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

}  // namespace

PassControl::PassControl(Call& call, int64_t limit)
    : call_(call), until_(milliseconds_from_now(limit)) {}

bool PassControl::open(uint64_t size) {
  int descriptor = call_.channel.take_descriptor();
  if (descriptor < 0 && size == 0) return true;
  if (descriptor < 0) {
    return call_.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "no shared memory came with the request");
  }
  const char* why = memory_.open(descriptor);
  if (why == nullptr && memory_.size() < Page::kSize + size) {
    why = "the shared memory is too short";
  }
  if (why != nullptr) return call_.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s", why);
  // The controller has made the pages; mapping them now spares their faults while the VM is
  // stopped.
  madvise(memory_.data(), memory_.size(), MADV_POPULATE_WRITE);
  return true;
}

bool PassControl::look() {
  if (memory_.data() != nullptr) {
    word(memory_.data(), Page::kVisited)->store(visited_, std::memory_order_relaxed);
    if (word(memory_.data(), Page::kCancelled)->load(std::memory_order_relaxed) != 0) over_ = true;
  }
  if (call_.session.heap_passes.cancelled) over_ = true;
  if (until_ >= 0 && now_in_milliseconds() >= until_) over_ = true;
  return !over_;
}

void PassControl::begin() {
  look();
  begun_ = nanoseconds_now();
}

void PassControl::finish() {
  int64_t took = nanoseconds_now() - begun_;
  stopped_ += took;
  ++call_.session.heap_passes.made;
  call_.session.heap_passes.stopped += static_cast<uint64_t>(took);
  if (took > longest_) longest_ = took;
  if (memory_.data() != nullptr) {
    word(memory_.data(), Page::kVisited)->store(visited_, std::memory_order_relaxed);
  }
}

jvmtiError PassControl::iterate(jvmtiEnv* env, jint filter, jclass klass,
                                const jvmtiHeapCallbacks& callbacks, void* data) {
  begin();
  jvmtiError error = env->IterateThroughHeap(filter, klass, &callbacks, data);
  finish();
  return error;
}

jvmtiError PassControl::follow(jvmtiEnv* env, jvmtiHeapReferenceCallback callback, jobject from,
                               void* data) {
  jvmtiHeapCallbacks callbacks{};
  callbacks.heap_reference_callback = callback;
  begin();
  jvmtiError error = env->FollowReferences(0, nullptr, from, &callbacks, data);
  finish();
  return error;
}

PassTags::PassTags() : env_(nullptr) {
  {
    Locked locked(agent.mutex);
    if (!agent.spare_tagging.empty()) env_ = agent.spare_tagging.pop();
  }
  if (env_ == nullptr) env_ = new_tagging_environment();
}

PassTags::~PassTags() {
  constexpr size_t kMostSpare = 4;
  if (env_ == nullptr) return;
  bool clean = !tagged_ && !left_;
  for (jint i = 0; clean && i < numbered_; ++i) {
    clean = env_->SetTag(classes_[i], 0) == JVMTI_ERROR_NONE;
  }
  if (clean) {
    Locked locked(agent.mutex);
    if (agent.spare_tagging.size() < kMostSpare && agent.spare_tagging.push(env_)) return;
  }
  env_->DisposeEnvironment();
}

jvmtiError PassTags::number(const jclass* classes, jint count) {
  if (env_ == nullptr) return JVMTI_ERROR_NOT_AVAILABLE;
  classes_ = classes;
  for (numbered_ = 0; numbered_ < count; ++numbered_) {
    if (jvmtiError error = env_->SetTag(classes[numbered_], numbered_ + 1)) return error;
  }
  return JVMTI_ERROR_NONE;
}

void PassTags::untag_classes(JNIEnv* jni, size_t tagged) {
  LocalRefs<jclass> classes(agent.env, jni);
  left_ = true;
  if (env_->GetLoadedClasses(classes.count_out(), classes.out()) != JVMTI_ERROR_NONE) return;
  left_ = static_cast<size_t>(classes.count()) < tagged;
  for (jclass one : classes) {
    if (env_->SetTag(one, 0) != JVMTI_ERROR_NONE) left_ = true;
  }
}

void PassTags::untag(JNIEnv* jni, const Vector<jlong>& tags) {
  constexpr size_t kMany = 2000;
  if (tags.size() > kMany) return;
  LocalRefs<jobject> objects(agent.env, jni);
  if (!tags.empty() &&
      env_->GetObjectsWithTags(static_cast<jint>(tags.size()), tags.begin(), objects.count_out(),
                               objects.out(), nullptr) != JVMTI_ERROR_NONE) {
    return;
  }
  tagged_ = static_cast<size_t>(objects.count()) < tags.size();
  for (jobject one : objects) {
    if (env_->SetTag(one, 0) != JVMTI_ERROR_NONE) tagged_ = true;
  }
}

extern const Engine kHeapPassEngine{nullptr, nullptr,
                                    [](JNIEnv*, Session& session, Stage stage) {
                                      if (stage == Stage::kHangUp) {
                                        session.heap_passes.cancelled = true;
                                      }
                                      return true;
                                    },
                                    [](Session& session, Counts* counts) {
                                      counts->heap_passes = session.heap_passes.made;
                                      counts->heap_nanoseconds = session.heap_passes.stopped;
                                    }};

}  // namespace jvmti
