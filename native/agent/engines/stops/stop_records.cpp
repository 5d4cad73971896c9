#include "agent/engines/stops/stop_records.h"

#include <algorithm>
#include <atomic>

#include "agent/calls/call.h"
#include "agent/handles/handles.h"
#include "agent/sessions/session.h"
#include "base/clock.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

constexpr int64_t kSecond = 1000000000;

}  // namespace

uint8_t* RecordedHit::room(size_t size) {
  if (size > kMost - size_) return nullptr;
  uint8_t* found = bytes_ + size_;
  size_ += size;
  return found;
}

void RecordedHit::begin(jlong form) {
  form_ = static_cast<uint32_t>(form);
  size_ = sizeof(layouts::RecordedStop);
}

const uint8_t* RecordedHit::finish(int64_t time) {
  layouts::RecordedStop head{time, static_cast<uint32_t>(size_), form_};
  std::memcpy(bytes_, &head, sizeof head);
  return bytes_;
}

bool RecordedHit::put(char type, jlong bits) {
  uint8_t* to = room(1 + sizeof bits);
  if (to == nullptr) return false;
  *to = static_cast<uint8_t>(type);
  std::memcpy(to + 1, &bits, sizeof bits);
  return true;
}

bool RecordedHit::put_null() {
  uint8_t* to = room(1);
  if (to == nullptr) return false;
  *to = 'N';
  return true;
}

bool RecordedHit::put_text(JNIEnv* jni, jobject text) {
  if (text == nullptr) return put_null();
  if (kind_of_object(jni, text) != kinds::String::kind) return false;
  jsize units = jni->GetStringLength(static_cast<jstring>(text));
  if (static_cast<size_t>(units) > kMost / sizeof(jchar)) return false;
  if (!put('T', units)) return false;
  uint8_t* to = room(static_cast<size_t>(units) * sizeof(jchar));
  if (to == nullptr) return false;
  // In pieces, since characters are aligned to two.
  constexpr jsize kPiece = 64;
  jchar piece[kPiece];
  for (jsize at = 0; at < units; at += kPiece) {
    jsize many = std::min(units - at, kPiece);
    jni->GetStringRegion(static_cast<jstring>(text), at, many, piece);
    std::memcpy(to + at * 2, piece, static_cast<size_t>(many) * sizeof(jchar));
  }
  return true;
}

const char* StopRecords::open(int descriptor) {
  Locked locked(mutex_);
  if (memory_.data() != nullptr) {
    SharedMemory().open(descriptor);  // closes it
    return "the session has memory for recorded hits already";
  }
  const char* why = memory_.open(descriptor);
  if (why == nullptr && memory_.size() != Ring::kAll) why = "the shared memory has another size";
  if (why != nullptr) memory_.leave();
  return why;
}

bool StopRecords::has_space(size_t size) const {
  uint64_t tail = at<std::atomic<uint64_t>>(Ring::kTail)->load(std::memory_order_acquire);
  // What the controller has read is believed only where it is possible.
  return head_ - tail <= Ring::kSize && Ring::kSize - (head_ - tail) >= size;
}

void StopRecords::add(RecordedHit& hit, RecordedRate* rate) {
  Locked locked(mutex_);
  if (memory_.data() == nullptr) return;
  // Within the lock, so that the records are in the order of their times.
  int64_t now = nanoseconds_now();
  if (now - rate->second > kSecond) *rate = RecordedRate{now, 0};
  if (rate->count >= Ring::kPerSecond || !has_space(hit.size())) {
    at<std::atomic<uint64_t>>(Ring::kDropped)->store(++dropped_, std::memory_order_release);
    return;
  }
  ++rate->count;
  const uint8_t* bytes = hit.finish(now);
  size_t place = head_ % Ring::kSize;
  size_t first = std::min(hit.size(), Ring::kSize - place);
  std::memcpy(at<uint8_t>(Ring::kRecords + place), bytes, first);
  std::memcpy(at<uint8_t>(Ring::kRecords), bytes + first, hit.size() - first);
  head_ += hit.size();
  at<std::atomic<uint64_t>>(Ring::kHead)->store(head_, std::memory_order_release);
}

namespace operations {

jvmtiError OpenStopRecords(Call& call) {
  int descriptor = call.channel.take_descriptor();
  const char* why = descriptor < 0 ? "the request brings no descriptor"
                                   : call.session.stop_requests.records.open(descriptor);
  if (why != nullptr) call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s", why);
  return call.outcome();
}

}  // namespace operations

}  // namespace jvmti
