#include "heap_pass.h"

#include <sys/mman.h>

#include <atomic>

#include "log.h"

namespace jvmti {

namespace {

// The words of the control page.
constexpr size_t kCancelled = 0;  // written by the controller
constexpr size_t kVisited = 1;    // written here

std::atomic<uint64_t>* word(uint8_t* data, size_t number) {
  return reinterpret_cast<std::atomic<uint64_t>*>(data) + number;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

}  // namespace

PassControl::PassControl(Call& call, int64_t limit)
    : call_(call), until_(limit < 0 ? -1 : now_in_milliseconds() + limit) {}

bool PassControl::open(uint64_t size) {
  int descriptor = call_.channel.take_descriptor();
  if (descriptor < 0 && size == 0) return true;
  if (descriptor < 0) {
    call_.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "no shared memory came with the request");
    return false;
  }
  const char* why = memory_.open(descriptor);
  if (why == nullptr && memory_.size() < protocol::kPassControlSize + size) {
    why = "the shared memory is too short";
  }
  if (why != nullptr) {
    call_.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s", why);
    return false;
  }
  // The controller has made the pages; mapping them now spares their faults while the VM is stopped.
  madvise(memory_.data(), memory_.size(), MADV_POPULATE_WRITE);
  return true;
}

bool PassControl::look() {
  if (memory_.data() != nullptr) {
    word(memory_.data(), kVisited)->store(visited_, std::memory_order_relaxed);
    if (word(memory_.data(), kCancelled)->load(std::memory_order_relaxed) != 0) over_ = true;
  }
  if (call_.session.ending()) over_ = true;
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
  if (took > longest_) longest_ = took;
  if (memory_.data() != nullptr) {
    word(memory_.data(), kVisited)->store(visited_, std::memory_order_relaxed);
  }
}

PassTags::PassTags() : env_(new_tagging_environment()) {}

PassTags::~PassTags() {
  if (env_ != nullptr) env_->DisposeEnvironment();
}

jvmtiError PassTags::number(const jclass* classes, jint count) {
  if (env_ == nullptr) return JVMTI_ERROR_NOT_AVAILABLE;
  for (jint i = 0; i < count; ++i) {
    jvmtiError error = env_->SetTag(classes[i], i + 1);
    if (error != JVMTI_ERROR_NONE) return error;
  }
  return JVMTI_ERROR_NONE;
}

jlong* as_result(const Vector<jlong>& from, jint* count) {
  unsigned char* memory = nullptr;
  jlong size = static_cast<jlong>((from.size() + 1) * sizeof(jlong));
  if (agent.env->Allocate(size, &memory) != JVMTI_ERROR_NONE) return nullptr;
  jlong* made = reinterpret_cast<jlong*>(memory);
  for (size_t i = 0; i < from.size(); ++i) made[i] = from[i];
  *count = static_cast<jint>(from.size());
  return made;
}

}  // namespace jvmti
