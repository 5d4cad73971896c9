#include "events.h"

#include <dlfcn.h>
#include <jvmticmlr.h>

#include "leave_frame.h"
#include "log.h"
#include "method_details.h"
#include "own_references.h"
#include "self_suspension.h"

namespace jvmti {

namespace {

// A handler may be told of what its own calls cause, whose handler is told of what its calls cause,
// and so on.  In C that ends with the thread's stack; here it ends before.
constexpr int kDeepest = 16;

Environment* hear_for(jvmtiEnv* env, int event, OwnWork own, bool for_stops, bool* ours) {
  void* kept = nullptr;
  if (env->GetEnvironmentLocalStorage(&kept) != JVMTI_ERROR_NONE || kept == nullptr) return nullptr;
  Environment* environment = static_cast<Environment*>(kept);
  environment->in_flight.fetch_add(1);
  const Handling& handling = environment->handling[event - kFirstEvent];
  if (!environment->deaf && environment->env == env &&
      (for_stops ? handling.stops : handling.answered)) {
    const Serving* serving = Serving::of(environment->session);
    *ours = serving != nullptr && (own == OwnWork::kNever ||
                                   (own == OwnWork::kInCalls && serving->handler));
    bool told = !*ours || (handling.own && !for_stops);
    if (told && !for_stops && serving != nullptr &&
        Serving::depth(environment->session) >= kDeepest) {
      environment->session->events_too_deep.fetch_add(1, std::memory_order_relaxed);
      told = false;
    }
    if (told && environment->session->enter_environment(environment->number) != nullptr) {
      return environment;
    }
  }
  environment->in_flight.fetch_sub(1);
  return nullptr;
}

}  // namespace

Environment* hear(jvmtiEnv* env, int event, OwnWork own, bool* ours) {
  return hear_for(env, event, own, false, ours);
}

Environment* hear_stops(jvmtiEnv* env, int event, OwnWork own) {
  bool ours = false;
  return hear_for(env, event, own, true, &ours);
}

Environment* hear_thread(jvmtiEnv* env, JNIEnv* jni, jthread thread, int event, bool* ours) {
  if (Serving::retired() || (thread != nullptr && is_service_thread(jni, thread))) return nullptr;
  return hear(env, event, OwnWork::kNever, ours);
}

jclass if_named(jvmtiEnv* env, jclass klass, const char* name) {
  char* signature = nullptr;
  if (klass == nullptr || name == nullptr ||
      env->GetClassSignature(klass, &signature, nullptr) != JVMTI_ERROR_NONE) {
    return klass;
  }
  size_t length = std::strlen(name);
  bool same = std::strncmp(signature + 1, name, length) == 0 && signature[length + 1] == ';';
  env->Deallocate(reinterpret_cast<unsigned char*>(signature));
  return same ? klass : nullptr;
}

namespace {

// The JNI environment that a handler may call with: none before the start phase, in which there are
// no objects yet.
JNIEnv* usable(Environment& environment, JNIEnv* jni) {
  if (!agent.live) {
    jvmtiPhase phase = JVMTI_PHASE_PRIMORDIAL;
    environment.env.load()->GetPhase(&phase);
    if (phase != JVMTI_PHASE_START && phase != JVMTI_PHASE_LIVE) return nullptr;
  }
  if (jni == nullptr) agent.vm->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_1_6);
  return jni;
}

}  // namespace

Occurrence::Occurrence(Environment& environment, JNIEnv* jni, int number, int event, int64_t limit)
    : environment_(environment),
      jni_(usable(environment, jni)),
      event_(number),
      limit_(limit),
      deadline_(milliseconds_from_now(limit_)),
      channel_(borrow()),
      call_{*environment.session,
            channel_ != nullptr ? *channel_ : environment.session->control_channel(),
            jni_,
            environment.env,
            &environment,
            environment.number,
            nullptr,
            0,
            &payload_,
            0,
            true,
            0,
            0,
            {},
            0,
            0} {
  // From now on what this thread runs into is our own doing: naming an object can load a class.
  if (channel_ == nullptr) return;
  serving_.emplace(*channel_, event & ~static_cast<int>(layouts::Opening::kOwnWork), environment.env);
  // An exception that waits in the thread is not for us to meet, or to lose.
  if (jni_ != nullptr && jni_->ExceptionCheck()) {
    waiting_ = jni_->ExceptionOccurred();
    jni_->ExceptionClear();
  }
}

Channel* Occurrence::borrow() {
  Session& session = *environment_.session;
  Serving* serving = Serving::of(&session);
  if (serving != nullptr) {
    place_ = kServing;
    return &serving->channel;
  }
  if (!agent.live || !session.served()) {
    bool given_up = false;
    Channel* control = session.borrow_control(deadline_, &given_up);
    if (control != nullptr) {
      place_ = kControl;
      return control;
    }
    if (given_up) return nullptr;
  }
  place_ = kEvents;
  Channel* channel = session.borrow_event_channel(deadline_);
  if (channel == nullptr && !session.ending()) {
    session.events_overran.fetch_add(1);
    log("event %d: no handler came for it in time", event_);
  }
  return channel;
}

void Occurrence::ask() {
  Session& session = *environment_.session;
  Channel& channel = *channel_;
  Header opening{0, protocol::kEvent, 0, static_cast<uint16_t>(event_), 0, environment_.number, 0};
  jobject outer = channel.thrown;
  channel.thrown = nullptr;
  Channel::Outcome outcome = channel.ask(jni_, opening, payload_, limit_, &reader_);
  if (channel.thrown != nullptr) {
    thrown_ = static_cast<jthrowable>(jni_->NewLocalRef(channel.thrown));
    let_go(jni_, channel.thrown);
  }
  channel.thrown = outer;
  if (place_ != kServing) {
    // The channel will be another thread's: what the handler entered and did not leave is left.
    channel.release_monitors(jni_);
    if (channel.pending != nullptr) let_go(jni_, channel.pending);
    channel.pending = nullptr;
    channel.issued.clear();
    channel.frames.clear();
  }
  session.events_answered.fetch_add(1, std::memory_order_relaxed);
  if (outcome == Channel::Outcome::kOverran) {
    session.events_overran.fetch_add(1);
    log("event %d: its handler has not answered within %lld ms", event_,
        static_cast<long long>(limit_));
  }
  lost_ = outcome != Channel::Outcome::kAnswered;
  if (lost_) reader_ = Reader();
}

Occurrence::~Occurrence() {
  serving_.reset();
  handler_ended();
  Session& session = *environment_.session;
  if (channel_ != nullptr && place_ == kControl) session.return_control();
  if (channel_ != nullptr && place_ == kEvents) session.return_event_channel(channel_, !lost_);
  session.leave_environment(jni_, &environment_);
  environment_.in_flight.fetch_sub(1);
  // From here on the session may be gone.
  if (jni_ == nullptr) return;
  if (Serving::innermost() == nullptr) suspend_as_asked(jni_);
  // The later one takes the place of the other, as it does in C.
  if (thrown_ != nullptr && waiting_ != nullptr) jni_->DeleteLocalRef(waiting_);
  throw_unseen(jni_, thrown_ != nullptr ? thrown_ : waiting_);
}

void Occurrence::bytes(jint size, const unsigned char* data) {
  payload_.number(static_cast<int32_t>(size));
  payload_.bytes(data, static_cast<size_t>(size));
}

void Occurrence::value(char type, const jvalue& value) {
  if (type == '[') type = 'L';
  layouts::Value out{type, 0};
  switch (type) {
    case 'L':
      out.bits = handle<kinds::Object>(value.l);
      break;
    case 'Z':
      out.bits = value.z != 0;
      break;
    case 'B':
      out.bits = static_cast<uint64_t>(value.b);
      break;
    case 'C':
      out.bits = value.c;
      break;
    case 'S':
      out.bits = static_cast<uint64_t>(value.s);
      break;
    case 'I':
      out.bits = static_cast<uint64_t>(value.i);
      break;
    case 'F': {
      double wide = static_cast<double>(value.f);
      std::memcpy(&out.bits, &wide, sizeof wide);
      break;
    }
    case 'V':
      break;
    default:  // J and D
      out.bits = static_cast<uint64_t>(value.j);
  }
  payload_.number(out);
}

char Occurrence::return_type(jmethodID method) {
  const MethodDetails* details = details_of(call_, method);
  return details == nullptr ? 'V' : details->return_type;
}

// The records of jvmticmlr.h: for addresses in the code, the frames that are inlined there.
void Occurrence::inlining(const void* compile_info) {
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

void Occurrence::answer(jint* size, unsigned char** data) {
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
void Occurrence::answer(void** address) {
  if (!answered()) return;
  void* asked = reinterpret_cast<void*>(reader_.number<uint64_t>());
  Dl_info about{};
  if (!reader_.failed() && dladdr(asked, &about) != 0 && about.dli_saddr == asked) {
    *address = asked;
  } else {
    log("event %d: %p is not the address of a function", event_, asked);
  }
}

jvmtiError set_callbacks(Environment& environment) {
  jvmtiEventCallbacks callbacks{};
  fill_callbacks(&callbacks, environment.handling);
  return environment.env.load()->SetEventCallbacks(&callbacks, sizeof callbacks);
}

}  // namespace jvmti
