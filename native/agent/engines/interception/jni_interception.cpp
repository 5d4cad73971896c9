#include "agent/engines/interception/jni_interception.h"

#include "generated/overrides.h"

namespace jvmti {

namespace {

constexpr jint kFirstCritical = 222;  // GetPrimitiveArrayCritical
constexpr jint kLastCritical = 225;   // ReleaseStringCritical
constexpr int64_t kLimit = 10000;     // milliseconds that a call waits for Python

struct Tally {
  std::atomic<uint64_t> calls;
  std::atomic<uint64_t> nanoseconds;
};

// Nothing of this is ever freed: a thread may be on its way through a wrapper long after the table
// has gone back.
Mutex mutex{Guards::kLists};
uint64_t wishes = 0;  // how often it has been said which slots are wanted
std::atomic<Environment*> interceptor{nullptr};
std::atomic<jniNativeInterface*> found_table{nullptr};
jniNativeInterface* original() { return jni_original_table(); }
size_t known_slots = 0;
Tally tallies[kJniSlots];
std::atomic<bool> counted[kJniSlots];
std::atomic<bool> python_has[kJniSlots];

}  // namespace

jniNativeInterface* jni_original_table() { return found_table.load(std::memory_order_acquire); }
void* jni_original(int slot) { return reinterpret_cast<void* const*>(original())[slot]; }

void throw_unseen(JNIEnv* jni, jthrowable thrown) {
  if (thrown == nullptr) return;
  const JNINativeInterface_* table = interceptor.load() == nullptr ? jni->functions : original();
  table->Throw(jni, thrown);
  table->DeleteLocalRef(jni, thrown);
}

jobject answered_object(Call& call, uint64_t handle, jobject made, int slot) {
  constexpr int kNewGlobalRef = 21;
  constexpr int kNewWeakGlobalRef = 226;
  bool weak = false;
  jobject found = handle == 0 ? nullptr : call.session.objects.pin(handle, &weak);
  if (found == nullptr) return nullptr;
  jobject answer = made;
  if (made == nullptr || !original()->IsSameObject(call.jni, made, found)) {
    answer = slot == kNewGlobalRef       ? original()->NewGlobalRef(call.jni, found)
             : slot == kNewWeakGlobalRef ? original()->NewWeakGlobalRef(call.jni, found)
                                         : original()->NewLocalRef(call.jni, found);
  }
  call.session.objects.unpin(call.jni, call.session.tags(), handle);
  return answer;
}

jmethodID answered_method(Call& call, uint64_t handle) {
  MethodRecord* record = handle == 0 ? nullptr : call.session.methods.find(handle);
  return record == nullptr ? nullptr : record->id;
}

jfieldID answered_field(Call& call, uint64_t handle) {
  FieldRecord* record = handle == 0 ? nullptr : call.session.fields.find(handle);
  return record == nullptr ? nullptr : record->id;
}

namespace {

// The environment that holds the table, entered where the call is to be seen.
class JniScope : public EventScope {
 public:
  JniScope()
      : EventScope(Serving::retired() ? nullptr : interceptor.load(), nullptr,
                   [](const Environment& environment) {
                     return interceptor.load() == &environment && agent.live &&
                            Serving::of(environment.session) == nullptr;
                   }) {}
};

// The exception that waits in a thread, put aside while Python answers.
class Pending {
 public:
  explicit Pending(JNIEnv* jni) : jni_(jni) { take(); }
  ~Pending() { put_back(); }
  void take() {
    // Through the original table: these calls are our own.
    if (!original()->ExceptionCheck(jni_)) return;
    thrown_.reset(original()->ExceptionOccurred(jni_));
    original()->ExceptionClear(jni_);
  }
  void put_back() { throw_unseen(jni_, thrown_.release()); }
  // Another one, a local reference, in its place.
  void replace(jthrowable thrown) { thrown_.reset(thrown); }

 private:
  JNIEnv* jni_;
  OriginalRef<jthrowable> thrown_{jni_};
};

// A call that Python decides about, and may ask for.
struct InterceptedCall {
  const JniCallType& type;
  void* called;
  Pending& pending;
  Owner owner_kind;
  int slot;
  bool done;
  jobject owner;  // whose the call is: it says of which class a field in the result is
  JniCall call;
};

void proceed(void* state, Call& asking, Writer& out) {
  InterceptedCall& of = *static_cast<InterceptedCall*>(state);
  if (!of.done) {
    of.done = true;
    of.pending.put_back();
    {
      Unserved program;
      of.type.make(of.called);
    }
    of.pending.take();
  }
  JniValues values(asking, out, of.owner_kind, of.slot, of.call.buffers);
  values.begin_result(of.owner);
  of.type.put_result(of.called, values);
}

void ask(EventScope& scope, JNIEnv* jni, InterceptedCall& intercepted) {
  int number = kJniCall + intercepted.slot;
  Delivery it(scope, jni, number, number, kLimit);
  if (!it.ready()) return;
  Channel& channel = it.call().channel;
  // From here on what this thread calls is our own work.
  Serving serving(channel, number, nullptr);
  it.letter(intercepted.type.letter);
  JniValues values(it.call(), it.payload(), intercepted.owner_kind, intercepted.slot,
                   intercepted.call.buffers);
  intercepted.type.put_arguments(intercepted.called, values);
  intercepted.owner = values.owner();
  intercepted.call.outer = channel.jni_call;
  channel.jni_call = &intercepted.call;
  it.ask();
  channel.jni_call = intercepted.call.outer;
  if (it.answered()) {
    intercepted.type.answer(intercepted.called, it.call(), it.reader().number<uint64_t>(),
                            intercepted.slot);
    intercepted.done = true;
  }
  if (it.threw()) {
    intercepted.done = true;
    intercepted.pending.replace(it.take_thrown());
  }
}

}  // namespace

void intercept(JNIEnv* jni, int slot, Owner owner_kind, const JniCallType& type, void* called) {
  JniScope scope;
  if (!scope) return type.make(called);
  bool counts = counted[slot].load(std::memory_order_relaxed);
  Tally& tally = tallies[slot];
  if (!python_has[slot].load(std::memory_order_relaxed)) {
    scope.leave();
    if (!counts) return type.make(called);
    int64_t begun = nanoseconds_now();
    type.make(called);
    uint64_t took = static_cast<uint64_t>(nanoseconds_now() - begun);
    tally.nanoseconds.fetch_add(took, std::memory_order_relaxed);
    tally.calls.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (counts) tally.calls.fetch_add(1, std::memory_order_relaxed);
  Pending pending(jni);
  InterceptedCall intercepted{type, called, pending, owner_kind, slot, false, nullptr, {}};
  intercepted.call.state = &intercepted;
  intercepted.call.proceed = proceed;
  ask(scope, jni, intercepted);
  scope.leave();
  if (intercepted.done) return;
  pending.put_back();
  type.make(called);
}

namespace {

// Installs the table as it is to be now.  The VM stops for that, so no thread may hold a mutex; a
// thread that finds an outdated table installs it again, and the last one is right.
jvmtiError install(jvmtiEnv* env) {
  Deallocated<jniNativeInterface> table(env);
  jvmtiError error = env->GetJNIFunctionTable(table.out());
  if (error != JVMTI_ERROR_NONE) return error;
  void** entries = reinterpret_cast<void**>(table.get());
  for (uint64_t installed = 0;;) {
    {
      Locked locked(mutex);
      if (installed == wishes) break;
      installed = wishes;
      for (size_t slot = 0; slot < known_slots; ++slot) {
        bool wanted = (counted[slot] || python_has[slot]) && kJniWrappers[slot] != nullptr;
        entries[slot] = wanted ? kJniWrappers[slot] : jni_original(static_cast<int>(slot));
      }
    }
    error = env->SetJNIFunctionTable(table);
    if (error != JVMTI_ERROR_NONE) break;
  }
  return error;
}

// The VM's own table, where no wrapper is in it.
jvmtiError find_original(Call& call) {
  Deallocated<jniNativeInterface> table(call.env);
  if (jvmtiError error = call.env->GetJNIFunctionTable(table.out())) return error;
  size_t slots = slots_of(call.jni);
  void** entries = reinterpret_cast<void**>(table.get());
  bool clean = true;
  for (size_t slot = 0; slot < slots; ++slot) {
    clean = clean && (entries[slot] == nullptr || entries[slot] != kJniWrappers[slot]);
  }
  // What was found before is kept for good, because a thread may still be between two of its steps.
  // It is found anew only where another agent has changed the table since.
  Locked locked(mutex);
  bool known = original() != nullptr && known_slots == slots &&
               std::memcmp(original(), table, slots * sizeof *entries) == 0;
  if (interceptor.load() == nullptr && clean && !known) {
    found_table.store(table.release(), std::memory_order_release);
    known_slots = slots;
  }
  return JVMTI_ERROR_NONE;
}

// Sets which slots are wanted, unless another session has the table.
jvmtiError want(Call& call, const In<List<jint>>& slots, std::atomic<bool>* wanted) {
  for (jint i = 0; i < slots.count(); ++i) {
    jint slot = slots.items()[i];
    if (slot < 4 || slot >= kJniSlots) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  }
  if (call.jni == nullptr || call.environment == nullptr) return JVMTI_ERROR_WRONG_PHASE;
  if (interceptor.load() == nullptr) {
    if (jvmtiError error = find_original(call)) return error;
  }
  {
    Locked locked(mutex);
    Environment* has = interceptor.load();
    if (has != nullptr && has != call.environment) {
      return call.refuse(JVMTI_ERROR_NOT_AVAILABLE, "the JNI function table is held by %s",
                         has->session == &call.session ? "another environment of this session"
                                                       : has->session->name());
    }
    for (int slot = 0; slot < kJniSlots; ++slot) wanted[slot] = false;
    for (jint i = 0; i < slots.count(); ++i) wanted[slots.items()[i]] = true;
    bool any = false;
    for (int slot = 0; slot < kJniSlots; ++slot) any = any || counted[slot] || python_has[slot];
    interceptor = any ? call.environment : nullptr;
    ++wishes;
  }
  return install(call.env);
}

}  // namespace

// Gives the table back, where the environment has it.
static void release_jni_table(Environment& environment) {
  {
    Locked locked(mutex);
    if (interceptor.load() != &environment) return;
    for (int slot = 0; slot < kJniSlots; ++slot) counted[slot] = python_has[slot] = false;
    interceptor = nullptr;
    ++wishes;
  }
  jvmtiEnv* env = environment.env;
  if (env == nullptr || install(env) != JVMTI_ERROR_NONE) install(agent.env);
}

namespace overrides {

jvmtiError SetJNIFunctionTable(Call& call, const In<List<jint>>& slots) {
  // A thread in a critical region must neither call nor wait: the collector may wait for it. So
  // calls that begin or end one can be counted, but not taken over.
  for (jint i = 0; i < slots.count(); ++i) {
    if (slots.items()[i] < kFirstCritical || slots.items()[i] > kLastCritical) continue;
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "slot %d begins or ends a critical region",
                       slots.items()[i]);
  }
  return want(call, slots, python_has);
}

}  // namespace overrides

namespace operations {

jvmtiError CountJniCalls(Call& call, const In<List<jint>>& slots) {
  for (Tally& tally : tallies) tally.calls = tally.nanoseconds = 0;
  return want(call, slots, counted);
}

jvmtiError JniCounts(Call&, jint* count, jlong** calls, jint* times, jlong** nanoseconds) {
  jlong so_far[kJniSlots];
  jlong spent[kJniSlots];
  for (int slot = 0; slot < kJniSlots; ++slot) {
    so_far[slot] = static_cast<jlong>(tallies[slot].calls.load());
    spent[slot] = static_cast<jlong>(tallies[slot].nanoseconds.load());
  }
  jvmtiError error = give(so_far, kJniSlots, count, calls);
  return error != JVMTI_ERROR_NONE ? error : give(spent, kJniSlots, times, nanoseconds);
}

jvmtiError ProceedJniCall(Call& call, jint* count, unsigned char** bytes) {
  JniCall* intercepted = call.channel.jni_call;
  if (intercepted == nullptr) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "no intercepted call is in progress here");
  }
  Writer out;
  intercepted->proceed(intercepted->state, call, out);
  return give(out.data(), out.size(), count, bytes);
}

}  // namespace operations
extern const Engine kJniInterceptionEngine{release_jni_table, nullptr, nullptr, nullptr};

}  // namespace jvmti
