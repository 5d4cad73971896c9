// What a stream's records name by numbers: threads, classes, methods, fields, texts and stacks,
// each announced before the first record that has its number.

#include "agent/engines/instrumentation/code_moves.h"
#include "agent/engines/streams/streams.h"
#include "agent/handles/class_names.h"
#include "base/hashes.h"
#include "base/log.h"
#include "base/patterns.h"

namespace jvmti {

using layouts::Announced;
using layouts::Streams;

namespace {

void put_text(Writer& payload, const char* text) {
  uint32_t length = text == nullptr ? 0 : static_cast<uint32_t>(std::strlen(text));
  payload.number(length);
  payload.bytes(text, length);
}

// Its Thread.threadId; 0 if unknown.  Any lookup by name may run a class loader's Java code, which
// an event must not, so the field is taken from the thread's own class.
int64_t id_of(JNIEnv* jni, jthread thread) {
  if (thread == nullptr || jni->ExceptionCheck()) return 0;
  LocalRef<jclass> type(jni, jni->GetObjectClass(thread));
  jfieldID field = jni->GetFieldID(type, "tid", "J");
  if (field != nullptr) return jni->GetLongField(thread, field);
  jni->ExceptionClear();
  return 0;
}

}  // namespace

// Puts an announcement into its ring.  With `known`, what
// another thread has announced meanwhile is found there, and the new number stored.
uint32_t Stream::announce(Announced kind, const Writer& payload, InternTable* known, uint64_t key,
                          uint64_t bits) {
  layouts::Announcement head{};
  size_t size = (sizeof head + payload.size() + 7) / 8 * 8;
  if (payload.failed() || size > Streams::kNamesSize / 2) return 0;
  Patience patience(names_given_up_);
  uint64_t tail = 0;
  while (true) {
    {
      Locked locked(mutex_);
      if (known != nullptr) {
        uint32_t there = static_cast<uint32_t>(known->find(key));
        if (there != 0) return there;
      }
      tail = shared_names_tail_->load(std::memory_order_acquire);
      if (names_head_ - tail <= Streams::kNamesSize && tail % 8 == 0) names_tail_ = tail;
      size_t at = names_head_ % Streams::kNamesSize;
      size_t padding = at + size > Streams::kNamesSize ? Streams::kNamesSize - at : 0;
      if (names_head_ - names_tail_ + padding + size <= Streams::kNamesSize) {
        if (padding != 0) {
          head.size = static_cast<uint32_t>(padding);
          head.kind = static_cast<uint32_t>(Announced::kPadding);
          std::memcpy(names_ + at, &head, 8);  // there are eight bytes at least
          names_head_ += padding;
          at = 0;
        }
        uint32_t& announced = announced_[static_cast<int>(kind)];
        uint32_t number = announced + 1;
        if (known != nullptr && !known->put(key, bits | number)) return 0;
        announced = number;
        head.size = static_cast<uint32_t>(size);
        head.kind = static_cast<uint32_t>(kind);
        head.number = number;
        head.length = static_cast<uint32_t>(payload.size());
        std::memcpy(names_ + at, &head, sizeof head);
        std::memcpy(names_ + at + sizeof head, payload.data(), payload.size());
        names_head_ += size;
        shared_names_head_->store(names_head_, std::memory_order_release);
        return number;
      }
    }
    if (!waits_ || closed_ || !patience.waits_on(tail)) return 0;
    pause();
  }
}

StreamedThread* Stream::intern_thread(JNIEnv* jni, jthread thread) {
  void* stored = nullptr;
  if (virtual_threads_ && lookup_->GetThreadLocalStorage(nullptr, &stored) == JVMTI_ERROR_NONE &&
      stored != nullptr) {
    return static_cast<StreamedThread*>(stored);
  }
  jvmtiThreadInfo info{};
  if (lookup_->GetThreadInfo(thread, &info) != JVMTI_ERROR_NONE) return &unknown_thread_;
  Writer payload;
  bool named = info.name != nullptr && info.name[0] != 0;
  payload.number(layouts::AnnouncedThread{named ? 0 : id_of(jni, thread)});
  put_text(payload, info.name);
  deallocate(lookup_, info.name);
  delete_local(jni, info.thread_group);
  delete_local(jni, info.context_class_loader);
  bool wanted = !threads_;
  for (size_t i = 0; i < threads_.size() && !wanted; ++i) {
    wanted = jni->IsSameObject(thread, threads_[i]);
  }
  uint32_t number = 0;
  if (wanted) {
    number = announce(Announced::kThread, payload, nullptr, 0, 0);
    if (number == 0) return nullptr;
  }
  StreamedThread* streamed;
  {
    Locked locked(mutex_);
    streamed = threads_seen_.add();
  }
  if (streamed == nullptr) return nullptr;
  streamed->number = number;
  streamed->wanted = wanted;
  if (virtual_threads_) lookup_->SetThreadLocalStorage(nullptr, streamed);
  return streamed;
}

bool Stream::wants_exception(JNIEnv* jni, jclass klass, const char* name) {
  if (matches_any(exception_patterns_.get(), name)) return true;
  return subclasses_ &&
         matches_any_super(lookup_, jni, LocalRef<jclass>(jni, jni->GetSuperclass(klass)),
                           exception_patterns_.get());
}

// Two threads that meet a class at once give it two numbers, which say the same.
uint64_t Stream::intern_class(JNIEnv* jni, jclass klass) {
  Deallocated<char> signature(lookup_);
  if (lookup_->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE) {
    return kKnown | kWanted | kWantedException;
  }
  Writer payload;
  put_text(payload, signature);
  char name[kLongestClassName];
  write_class_name(signature, name, sizeof name);
  uint64_t bits = kKnown;
  if (matches_any(class_patterns_.get(), name)) bits |= kWanted;
  if (wants_exception(jni, klass, name)) bits |= kWantedException;
  uint32_t number = announce(Announced::kClass, payload, nullptr, 0, 0);
  if (number == 0) return 0;
  lookup_->SetTag(klass, static_cast<jlong>(bits | number));
  return bits | number;
}

// A method that the filters leave out is announced only where it is named nevertheless.
uint64_t Stream::intern_method(JNIEnv* jni, jmethodID method, bool filtered) {
  uint64_t key = key_of(method);
  Deallocated<char> name(lookup_);
  Deallocated<char> signature(lookup_);
  Deallocated<char> file(lookup_);
  Deallocated<jvmtiLineNumberEntry> lines(lookup_);
  LocalRef<jclass> klass(jni);
  jint modifiers = 0;
  jint count = 0;
  jlocation start = 0;
  jlocation end = -1;
  uint64_t class_bits = kKnown | kWanted;
  if (lookup_->GetMethodName(method, name.out(), signature.out(), nullptr) == JVMTI_ERROR_NONE &&
      lookup_->GetMethodDeclaringClass(method, klass.out()) == JVMTI_ERROR_NONE) {
    class_bits = class_of(jni, klass);
    lookup_->GetMethodModifiers(method, &modifiers);
  }
  uint64_t bits = kKnown;
  if (class_bits & kWanted &&
      matches_any(method_patterns_.get(), name == nullptr ? "" : name.get())) {
    bits |= kWanted;
  }
  if (modifiers & 0x0100) bits |= kNative;
  const char* closing = signature == nullptr ? nullptr : std::strrchr(signature.get(), ')');
  char type = closing == nullptr ? 'V' : closing[1];
  bits |= static_cast<uint64_t>(type == '[' ? 'L' : type) << kReturnType;
  uint64_t found = 0;
  if (class_bits == 0) {
    // No room for the announcement of its class.
  } else if (filtered && !(bits & kWanted)) {
    Locked locked(mutex_);
    uint64_t there = methods_.find(key);
    found = there != 0 ? there : methods_.put(key, bits) ? bits : 0;
  } else {
    if (klass != nullptr) {
      lookup_->GetSourceFileName(klass, file.out());
      lookup_->GetMethodLocation(method, &start, &end);
      if (lookup_->GetLineNumberTable(method, &count, lines.out()) != JVMTI_ERROR_NONE) count = 0;
    }
    for (jint i = 0; before_probes_ && i < count; ++i) {
      locate_before(lookup_, jni, method, &lines.get()[i].start_location, 1);
    }
    constexpr jint kMostLines = Streams::kNamesSize / 32;
    Writer payload;
    if (count > kMostLines) count = kMostLines;
    payload.number(layouts::AnnouncedMethod{static_cast<uint32_t>(class_bits), modifiers,
                                            static_cast<int32_t>(end), count});
    for (jint i = 0; i < count; ++i) {
      payload.number(layouts::AnnouncedLine{static_cast<int32_t>(lines.get()[i].start_location),
                                            static_cast<int32_t>(lines.get()[i].line_number)});
    }
    put_text(payload, name);
    put_text(payload, signature);
    put_text(payload, file);
    uint32_t number = announce(Announced::kMethod, payload, &methods_, key, bits);
    found = number == 0 ? 0 : bits | number;
  }
  return found;
}

uint64_t Stream::field_of(JNIEnv* jni, jclass klass, jfieldID field) {
  uint64_t class_bits = class_of(jni, klass);
  if (class_bits == 0) return 0;
  // A jfieldID is good in its class only.
  uint64_t key = key_of_both(static_cast<uint32_t>(class_bits), reinterpret_cast<uint64_t>(field));
  uint64_t known = fields_.find(key);
  if (known != 0) return known;
  Deallocated<char> name(lookup_);
  Deallocated<char> signature(lookup_);
  jint modifiers = 0;
  lookup_->GetFieldName(klass, field, name.out(), signature.out(), nullptr);
  lookup_->GetFieldModifiers(klass, field, &modifiers);
  Writer payload;
  payload.number(layouts::AnnouncedField{static_cast<uint32_t>(class_bits), modifiers});
  put_text(payload, name);
  put_text(payload, signature);
  uint32_t number = announce(Announced::kField, payload, &fields_, key, kKnown);
  return number == 0 ? 0 : kKnown | number;
}

uint32_t Stream::text(const char* value) {
  uint64_t key = InternTable::mix(hash_of(value)) | 1;
  uint64_t known = texts_.find(key);
  if (known != 0) return static_cast<uint32_t>(known);
  Writer payload;
  put_text(payload, value);
  return announce(Announced::kText, payload, &texts_, key, 0);
}

uint32_t Stream::stack(JNIEnv* jni) {
  jvmtiFrameInfo frames[kMostFrames];
  jint count = walk_stack(lookup_, nullptr, 0, frames, stack_depth_);
  if (count < 0) count = 0;
  uint64_t key = static_cast<uint64_t>(count);
  for (jint i = 0; i < count; ++i) {
    key = key_of_both(key, reinterpret_cast<uint64_t>(frames[i].method));
    key = key_of_both(key, static_cast<uint64_t>(frames[i].location) + 1);
  }
  key |= 1;
  uint64_t known = stacks_.find(key);
  if (known != 0) return static_cast<uint32_t>(known);
  Writer payload;
  payload.number(layouts::AnnouncedStack{count});
  for (jint i = 0; i < count; ++i) {
    uint64_t method = methods_.find(key_of(frames[i].method));
    if (static_cast<uint32_t>(method) == 0) method = intern_method(jni, frames[i].method, false);
    if (method == 0) return 0;
    if (before_probes_) locate_before(lookup_, jni, frames[i].method, &frames[i].location, 1);
    payload.number(layouts::AnnouncedFrame{static_cast<uint32_t>(method),
                                           static_cast<int32_t>(frames[i].location)});
  }
  return announce(Announced::kStack, payload, &stacks_, key, 0);
}

}  // namespace jvmti
