#include "agent/events/delivery.h"

#include <dlfcn.h>
#include <jvmticmlr.h>

#include "agent/events/events.h"
#include "agent/guards/method_details.h"
#include "agent/handles/agent_references.h"
#include "base/log.h"

namespace jvmti {

Delivery::Delivery(EventScope& scope, JNIEnv* jni)
    : Delivery(
          scope, jni,
          scope.ours() ? scope.event_ | static_cast<int>(layouts::Opening::kOwnWork) : scope.event_,
          scope.event_, scope.environment().taps[scope.event_ - kFirstEvent].limit) {}

Delivery::Delivery(EventScope& scope, JNIEnv* jni, int number, int event, int64_t limit)
    : scope_(scope),
      number_(number),
      limit_(limit),
      channel_(scope.converse(jni, number, event, milliseconds_from_now(limit))),
      call_(channel_ != nullptr ? *channel_ : scope.session().control_channel(), scope.jni_,
            &scope.environment()) {
  call_.writers = &payload_;
}

void Delivery::ask() {
  Session& session = scope_.session();
  Channel& channel = *channel_;
  Header opening{0, layouts::Kind::kEvent,       0, static_cast<uint16_t>(number_),
                 0, scope_.environment().number, 0};
  jobject outer = channel.thrown;
  channel.thrown = nullptr;
  Channel::Outcome outcome = channel.ask(scope_.jni_, opening, payload_, limit_, &reader_);
  jthrowable thrown = nullptr;
  if (channel.thrown != nullptr) {
    thrown = static_cast<jthrowable>(scope_.jni_->NewLocalRef(channel.thrown));
    let_go(scope_.jni_, channel.thrown);
  }
  channel.thrown = outer;
  bool answered = outcome == Channel::Outcome::kAnswered;
  scope_.asked(answered, thrown);
  session.events_answered.fetch_add(1, std::memory_order_relaxed);
  if (outcome == Channel::Outcome::kOverran) {
    session.events_overran.fetch_add(1);
    log("event %d: its handler has not answered within %lld ms", number_,
        static_cast<long long>(limit_));
  }
  if (!answered) reader_ = Reader();
}

void Delivery::bytes(jint size, const unsigned char* data) {
  payload_.number(static_cast<int32_t>(size));
  payload_.bytes(data, static_cast<size_t>(size));
}

void Delivery::value(char type, const jvalue& value) {
  if (type == '[') type = 'L';
  layouts::Value out{type, 0};
  if (type != 'V') out.bits = type == 'L' ? handle<kinds::Object>(value.l) : bits_of(type, value);
  payload_.number(out);
}

char Delivery::return_type(jmethodID method) {
  const MethodDetails* details = details_of(call_, method);
  return details == nullptr ? 'V' : details->return_type;
}

// The records of jvmticmlr.h: for addresses in the code, the frames that are inlined there.
void Delivery::inlining(const void* compile_info) {
  size_t at = payload_.leave(sizeof(int32_t));
  int32_t count = 0;
  for (auto* header = static_cast<const jvmtiCompiledMethodLoadRecordHeader*>(compile_info);
       header != nullptr; header = header->next) {
    if (header->kind != JVMTI_CMLR_INLINE_INFO) continue;
    auto* record = reinterpret_cast<const jvmtiCompiledMethodLoadInlineRecord*>(header);
    for (jint i = 0; i < record->numpcs; ++i) {
      const PCStackInfo& info = record->pcinfo[i];
      address(info.pc);
      payload_.number(static_cast<int32_t>(info.numstackframes));
      for (jint j = 0; j < info.numstackframes; ++j) method(info.methods[j]);
      payload_.number(static_cast<int32_t>(info.numstackframes));
      for (jint j = 0; j < info.numstackframes; ++j) {
        payload_.number(static_cast<int32_t>(info.bcis[j]));
      }
      ++count;
    }
  }
  payload_.fill(at, count);
}

void Delivery::answer(jint* size, unsigned char** data) {
  if (!answered()) return;
  uint32_t length = reader_.number<uint32_t>();
  const uint8_t* bytes = reader_.take(length);
  unsigned char* memory = nullptr;
  if (bytes == nullptr || length > INT32_MAX ||
      call_.env->Allocate(static_cast<jlong>(length), &memory) != JVMTI_ERROR_NONE) {
    return;
  }
  std::memcpy(memory, bytes, length);
  *size = static_cast<jint>(length);
  *data = memory;
}

// Only a function that a library of the target has under a name: the VM jumps there.
void Delivery::answer(void** address) {
  if (!answered()) return;
  void* asked = reinterpret_cast<void*>(reader_.number<uint64_t>());
  Dl_info about{};
  if (!reader_.failed() && dladdr(asked, &about) != 0 && about.dli_saddr == asked) {
    *address = asked;
  } else {
    log("event %d: %p is not the address of a function", number_, asked);
  }
}

}  // namespace jvmti
