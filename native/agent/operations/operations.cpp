// The agent's own operations, declared in src/jvmti/operations/functions.py.

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/engines/interception/jni_interception.h"
#include "agent/engines/streams/streams.h"
#include "agent/events/events.h"
#include "generated/overrides.h"

namespace jvmti::operations {

jvmtiError Proceed(Call& call) {
  if (!call.session.held()) {
    return call.refuse(JVMTI_ERROR_WRONG_PHASE, "the VM is not held in OnLoad");
  }
  call.session.proceed();
  return JVMTI_ERROR_NONE;
}

jvmtiError Refuse(Call& call, const In<jint>& result) {
  if (!call.session.held()) {
    return call.refuse(JVMTI_ERROR_WRONG_PHASE, "the VM is not held in OnLoad");
  }
  if (result.c() == 0) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT,
                       "0 is the result of an agent that lets the VM start");
  }
  call.session.refuse(result.c());
  return JVMTI_ERROR_NONE;
}

jvmtiError NewEnv(Call& call, const In<jint>& version, jint* number) {
  jvmtiPhase phase = JVMTI_PHASE_PRIMORDIAL;
  agent.env->GetPhase(&phase);
  if (phase != JVMTI_PHASE_ONLOAD && phase != JVMTI_PHASE_LIVE) {
    return call.refuse(JVMTI_ERROR_WRONG_PHASE,
                       "environments are made in OnLoad and in the live phase");
  }
  // GetEnv knows other interfaces too, JNI among them, whose tables are no JVM TI environments.
  bool is_jvmti = version.c() == 0 || (version.c() & JVMTI_VERSION_MASK_INTERFACE_TYPE) ==
                                          JVMTI_VERSION_INTERFACE_JVMTI;
  uint32_t made = 0;
  jvmtiError error = is_jvmti ? call.session.environments.add(version.c(), &made)
                              : JVMTI_ERROR_UNSUPPORTED_VERSION;
  *number = static_cast<jint>(made);
  if (error == JVMTI_ERROR_UNSUPPORTED_VERSION) {
    call.refuse(JVMTI_ERROR_UNSUPPORTED_VERSION,
                "this VM has JVM TI 0x%x, which 0 stands for, and no version 0x%x",
                static_cast<unsigned>(agent.version), static_cast<unsigned>(version.c()));
  }
  return error;
}

jvmtiError Identify(Call& call, const In<kinds::Object>& object, jobject* same) {
  *same = call.jni->NewLocalRef(object.c());
  call.identify = true;
  return JVMTI_ERROR_NONE;
}

jvmtiError ServiceThreads(Call& call, jint* count, jthread** threads) {
  if (call.jni == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  Vector<jobject> copies;
  if (!agent.service_threads.copy(call.jni, &copies)) return JVMTI_ERROR_OUT_OF_MEMORY;
  return give(copies, count, threads);
}

jvmtiError Stats(Call& call, jlong* sessions, jlong* service_threads, jlong* channels,
                 jlong* environments, jlong* objects, jlong* methods, jlong* fields,
                 jlong* monitors, jlong* memory, jlong* calls, jlong* events_answered,
                 jlong* events_overran, jlong* events_too_deep, jlong* events_waiting,
                 jlong* streams, jlong* events_streamed, jlong* events_dropped, jlong* heap_passes,
                 jlong* heap_nanoseconds) {
  {
    Locked locked(agent.mutex);
    *sessions = static_cast<jlong>(agent.sessions.size());
  }
  *service_threads = static_cast<jlong>(agent.service_threads.size());
  Session& session = call.session;
  *channels = static_cast<jlong>(session.channel_count());
  *environments = static_cast<jlong>(session.environments.count());
  *objects = static_cast<jlong>(session.objects.live());
  *methods = static_cast<jlong>(session.methods.size());
  *fields = static_cast<jlong>(session.fields.size());
  *monitors = static_cast<jlong>(session.pointers.live(kinds::RawMonitor::kind));
  *memory = static_cast<jlong>(session.pointers.live(kinds::Memory::kind));
  *calls = static_cast<jlong>(session.calls.load());
  *events_answered = static_cast<jlong>(session.events_answered.load());
  *events_overran = static_cast<jlong>(session.events_overran.load());
  *events_too_deep = static_cast<jlong>(session.events_too_deep.load());
  *events_waiting = static_cast<jlong>(session.event_channels.waiting.load());
  Counts counts;
  each_engine([&](const Engine& engine) {
    if (engine.count != nullptr) engine.count(session, &counts);
  });
  *streams = static_cast<jlong>(counts.streams);
  *events_streamed = static_cast<jlong>(counts.streamed);
  *events_dropped = static_cast<jlong>(counts.dropped);
  *heap_passes = static_cast<jlong>(counts.heap_passes);
  *heap_nanoseconds = static_cast<jlong>(counts.heap_nanoseconds);
  return JVMTI_ERROR_NONE;
}

jvmtiError SetEventHandling(Call& call, const In<jvmtiEvent>& event, const In<jboolean>& answered,
                            const In<jboolean>& own, const In<jlong>& limit) {
  int number = event.c() - kFirstEvent;
  // Unlike JVM TI's own functions, operations come here for a disposed environment too.
  if (call.environment == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  if (number < 0 || number >= kEventCount) return JVMTI_ERROR_INVALID_EVENT_TYPE;
  EventTaps& taps = call.environment->taps[number];
  taps.own_work = own.c() != 0;
  taps.limit = limit.c();
  taps.set(Tap::kHandler, answered.c() != 0);
  return set_callbacks(*call.environment);
}

jvmtiError OpenStream(Call& call, const In<List<jint>>& events, const In<jint>& wishes,
                      const In<jint>& words, const In<jlong>& size, const In<jint>& stack_depth,
                      const In<jlong>& shortest, const In<List<kinds::Thread>>& threads,
                      const In<Nullable<Text>>& classes, const In<Nullable<Text>>& methods,
                      const In<Nullable<Text>>& exceptions, jlong* number) {
  StreamRequest request{events.items(),  events.count(),  wishes.c(),   words.c(),
                        size.c(),        stack_depth.c(), shortest.c(), threads.items(),
                        threads.count(), classes.c(),     methods.c(),  exceptions.c()};
  if (call.environment == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  Stream* stream = Stream::open(call, request, call.channel.take_descriptor());
  if (stream == nullptr) return call.outcome();
  if (!call.session.streams.keep(stream)) {
    stream->unlink();
    stream->free(call.jni, 1000);
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  *number = static_cast<jlong>(stream->serial);
  return set_callbacks(*call.environment);
}

jvmtiError CloseStream(Call& call, const In<jlong>& number) {
  Environment* environment =
      call.session.streams.close(call.jni, static_cast<uint64_t>(number.c()));
  if (environment == nullptr) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  return environment == call.environment ? set_callbacks(*environment) : JVMTI_ERROR_NONE;
}

jvmtiError Suspend(Call& call, const In<List<kinds::Thread>>& threads, const In<jlong>& key,
                   jint* count, jint** errors) {
  if (call.environment == nullptr || call.env == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  if (jvmtiError error = allocate_list(static_cast<size_t>(threads.count()), errors)) return error;
  *count = threads.count();
  LocalRef<jthread> current = current_thread(call.env, call.jni);
  // The current one runs what this call is for; a service thread would never come back.
  Vector<jthread> others;
  Vector<jint> places;
  Vector<jint> outcomes;
  size_t most = static_cast<size_t>(threads.count()) + 1;
  if (!others.reserve(most) || !places.reserve(most) || !outcomes.reserve(most)) {
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  for (jint i = 0; i < threads.count(); ++i) {
    jthread thread = threads.items()[i];
    bool itself = current != nullptr && call.jni->IsSameObject(current, thread);
    (*errors)[i] = itself ? JVMTI_ERROR_NONE : JVMTI_ERROR_INVALID_THREAD;
    if (itself || is_service_thread(call.jni, thread)) continue;
    others.put(thread);
    places.put(i);
  }
  current.reset();  // before a call that may last
  call.session.suspensions.suspend(call.jni, call.env, call.channel.serviced, key.c(),
                                   static_cast<jint>(others.size()), others.begin(),
                                   outcomes.begin());
  for (size_t i = 0; i < places.size(); ++i) (*errors)[places[i]] = outcomes[i];
  return JVMTI_ERROR_NONE;
}

jvmtiError Resume(Call& call, const In<jlong>& key) {
  if (call.environment == nullptr || call.env == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  return call.session.suspensions.resume(call.jni, call.env, call.channel.serviced, key.c());
}

// Without a line of Java: the message is what the field says, however the class overrides it.
jvmtiError DescribeThrowable(Call& call, const In<kinds::Throwable>& throwable, char** signature,
                             char** message) {
  JNIEnv* jni = call.jni;
  LocalRef<jclass> type(jni, jni->GetObjectClass(throwable.c()));
  jvmtiError error = agent.env->GetClassSignature(type, signature, nullptr);
  if (error != JVMTI_ERROR_NONE) return error;
  LocalRef<jclass> base = class_named(jni, "java/lang/Throwable");
  jfieldID field =
      base == nullptr ? nullptr : jni->GetFieldID(base, "detailMessage", "Ljava/lang/String;");
  LocalRef<jstring> string(jni,
                           field == nullptr ? nullptr : jni->GetObjectField(throwable.c(), field));
  const char* text = string == nullptr ? nullptr : jni->GetStringUTFChars(string, nullptr);
  jni->ExceptionClear();
  if (text != nullptr) {
    error = give_text(text, message);
    jni->ReleaseStringUTFChars(string, text);
  }
  return error;
}

jvmtiError OpenTemporaryFile(Call& call, const In<jlong>& capacity, char** name) {
  int descriptor = call.channel.take_descriptor();
  if (descriptor < 0) return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "no file came along");
  char found[TemporaryFiles::kLongestName];
  if (!call.session.files.name_for(descriptor, capacity.c(), found)) {
    jvmtiError why = errno == ENOSPC   ? JVMTI_ERROR_NOT_AVAILABLE  // the user can make room
                     : errno == ENOMEM ? JVMTI_ERROR_OUT_OF_MEMORY
                                       : JVMTI_ERROR_ACCESS_DENIED;
    return call.refuse(why, "the VM has no name for the file: %s", strerror(errno));
  }
  jvmtiError error = give_text(found, name);
  if (error != JVMTI_ERROR_NONE) call.session.files.give_back(found);
  return error;
}

jvmtiError CloseTemporaryFile(Call& call, const In<Text>& name) {
  if (call.session.files.give_back(name.c())) return JVMTI_ERROR_NONE;
  return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "no temporary file has this name");
}

namespace {

bool within(Call& call, int64_t offset, int64_t length, int64_t size) {
  if (offset >= 0 && length >= 0 && length <= size && offset <= size - length) return true;
  return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "there are %lld bytes",
                     static_cast<long long>(size));
}

// Copies without a fault: a buffer may be mapped over a file that has become shorter.  The system
// copies, and says so where there is nothing; where it may not, the pages are believed in.
bool copy_carefully(void* to, const void* from, size_t size, bool to_is_mapped) {
  iovec target{to, size};
  iovec source{const_cast<void*>(from), size};
  ssize_t copied = to_is_mapped ? process_vm_writev(getpid(), &source, 1, &target, 1, 0)
                                : process_vm_readv(getpid(), &target, 1, &source, 1, 0);
  if (copied < 0 && (errno == ENOSYS || errno == EPERM)) {
    std::memcpy(to, from, size);
    return true;
  }
  return copied >= 0 && static_cast<size_t>(copied) == size;
}

jvmtiError read(Call& call, const void* from, int64_t size, int64_t offset, int64_t length,
                jint* count, unsigned char** bytes) {
  if (!within(call, offset, length, size) || length > INT32_MAX) {
    return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  }
  if (jvmtiError error = allocate_list(static_cast<size_t>(length), bytes)) return error;
  if (!copy_carefully(*bytes, static_cast<const uint8_t*>(from) + offset,
                      static_cast<size_t>(length), false)) {
    call.deallocate(*bytes);
    *bytes = nullptr;
    return JVMTI_ERROR_ACCESS_DENIED;
  }
  *count = static_cast<jint>(length);
  return JVMTI_ERROR_NONE;
}

// The memory of a direct buffer and its size in bytes; null with a refusal for anything else.
void* direct_memory(Call& call, jobject buffer, int64_t* size) {
  void* address = nullptr;
  if (call.jni != nullptr) {
    LocalRef<jclass> type = class_named(call.jni, "java/nio/ByteBuffer");
    if (type != nullptr && call.jni->IsInstanceOf(buffer, type)) {
      address = call.jni->GetDirectBufferAddress(buffer);
      *size = call.jni->GetDirectBufferCapacity(buffer);
    }
  }
  if (address == nullptr) call.refuse(JVMTI_ERROR_INVALID_OBJECT, "not a direct ByteBuffer");
  return address;
}

}  // namespace

jvmtiError ReadMemory(Call& call, const In<kinds::Memory>& memory, const In<jlong>& offset,
                      const In<jlong>& length, jint* count, unsigned char** bytes) {
  return read(call, memory.c(), memory.size(), offset.c(), length.c(), count, bytes);
}

jvmtiError WriteMemory(Call& call, const In<kinds::Memory>& memory, const In<jlong>& offset,
                       const In<Bytes>& bytes) {
  if (!within(call, offset.c(), bytes.size(), memory.size())) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  std::memcpy(memory.c() + offset.c(), bytes.data(), static_cast<size_t>(bytes.size()));
  return JVMTI_ERROR_NONE;
}

namespace {

// Memory that the intercepted call in progress hands over; null where there is none such.
const JniBuffer* jni_buffer(Call& call, jint number) {
  JniCall* intercepted = call.channel.jni_call;
  if (intercepted != nullptr && (number == 0 || number == 1) &&
      intercepted->buffers[number].at != nullptr) {
    return &intercepted->buffers[number];
  }
  return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT,
                     "the call that handed this memory over has gone on");
}

}  // namespace

jvmtiError ReadJniBuffer(Call& call, const In<jint>& number, const In<jlong>& offset,
                         const In<jlong>& length, jint* count, unsigned char** bytes) {
  const JniBuffer* buffer = jni_buffer(call, number.c());
  if (buffer == nullptr) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  return read(call, buffer->at, buffer->size, offset.c(), length.c(), count, bytes);
}

jvmtiError WriteJniBuffer(Call& call, const In<jint>& number, const In<jlong>& offset,
                          const In<Bytes>& bytes) {
  const JniBuffer* buffer = jni_buffer(call, number.c());
  if (buffer == nullptr) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  if (!within(call, offset.c(), bytes.size(), buffer->size)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  if (buffer->writable && copy_carefully(static_cast<uint8_t*>(buffer->at) + offset.c(),
                                         bytes.data(), static_cast<size_t>(bytes.size()), true)) {
    return JVMTI_ERROR_NONE;
  }
  return call.refuse(JVMTI_ERROR_ACCESS_DENIED, "the memory is for reading");
}

jvmtiError ReadDirectBuffer(Call& call, const In<kinds::Object>& buffer, const In<jlong>& offset,
                            const In<jlong>& length, jint* count, unsigned char** bytes) {
  int64_t size = 0;
  void* address = direct_memory(call, buffer.c(), &size);
  if (address == nullptr) return JVMTI_ERROR_INVALID_OBJECT;
  return read(call, address, size, offset.c(), length.c(), count, bytes);
}

jvmtiError WriteDirectBuffer(Call& call, const In<kinds::Object>& buffer, const In<jlong>& offset,
                             const In<Bytes>& bytes) {
  int64_t size = 0;
  void* address = direct_memory(call, buffer.c(), &size);
  if (address == nullptr) return JVMTI_ERROR_INVALID_OBJECT;
  if (!within(call, offset.c(), bytes.size(), size)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  LocalRef<jclass> type(call.jni, call.jni->GetObjectClass(buffer.c()));
  jmethodID read_only =
      type == nullptr ? nullptr : call.jni->GetMethodID(type, "isReadOnly", "()Z");
  if (read_only == nullptr || call.jni->CallBooleanMethodA(buffer.c(), read_only, nullptr)) {
    return call.refuse(JVMTI_ERROR_ACCESS_DENIED, "the buffer is read-only");
  }
  bool written = copy_carefully(static_cast<uint8_t*>(address) + offset.c(), bytes.data(),
                                static_cast<size_t>(bytes.size()), true);
  return written ? JVMTI_ERROR_NONE : JVMTI_ERROR_ACCESS_DENIED;
}

}  // namespace jvmti::operations
