// What the engine of stops knows of a request to stop: a breakpoint, a watchpoint, a catchpoint, a
// step, or classes whose preparation is waited for.  Shared by the files of that engine alone.
#pragma once

#include "agent/calls/call.h"
#include "agent/engines/stops/stop_condition.h"
#include "agent/engines/stops/stop_records.h"
#include "agent/engines/stops/stop_requests.h"
#include "agent/events/delivery.h"
#include "base/containers.h"

namespace jvmti {

constexpr int kBreakpointEvent = JVMTI_EVENT_BREAKPOINT;
constexpr int kStepEvent = JVMTI_EVENT_SINGLE_STEP;
constexpr int kFramePopEvent = JVMTI_EVENT_FRAME_POP;
constexpr int kEntryEvent = JVMTI_EVENT_METHOD_ENTRY;
constexpr int kExceptionEvent = JVMTI_EVENT_EXCEPTION;
constexpr int kAccessEvent = JVMTI_EVENT_FIELD_ACCESS;
constexpr int kModificationEvent = JVMTI_EVENT_FIELD_MODIFICATION;
constexpr int kPrepareEvent = JVMTI_EVENT_CLASS_PREPARE;
constexpr int kClassFileEvent = JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;

// Where a stepped thread is on its way.
struct Stepping {
  enum State {
    kIdle,   // it is not stepped
    kFresh,  // where it starts is where it comes by next
    kClose,  // every instruction is looked at
    kAway    // in a call, or in the frame to be left: until that frame is popped, or a method of
             // another class than those passed over begins
  };
  State state = kIdle;
  jthread thread = nullptr;  // a global reference
  Step how = Step::kInto;
  bool by_line = true;
  jint depth = 0;  // of the frame where it started, with how many there are
  jmethodID method = nullptr;
  jint line = -1;
  uint32_t probes = 0;  // the set whose probes report where it is; 0: the VM does
  bool ends = false;    // no frame below can be stepped: the end of the method is as far as it goes
  bool entries = false;  // methods that begin are reported
  bool due = false;      // it has arrived at a breakpoint, whose event follows and reports it
};

struct StopRequest {
  uint32_t number = 0;
  int event = 0;
  Environment* environment = nullptr;
  uint32_t locals = 0;      // the environment that local variables are read in
  jint every = 1;           // which hits are reported: every n-th, or for 0 only one …
  jlong after = 0;          // … after the first few
  jint kinds = 0;           // of exceptions; of a breakpoint, what else it stops
  Vector<jobject> threads;  // the only ones, as global references; none stands for all
  Array<char> callers;      // patterns for the caller's class and name, one a line; null for all
  Array<char> classes;      // patterns for the class prepared, redefined, thrown or passed over
  std::atomic<uint64_t> passes{0};
  RecordedRate recorded;  // of its hits that stop nobody; by the records' mutex
  std::atomic<uint32_t> uses{1};
  std::atomic<bool> removed{false};
  Mutex mutex{Guards::kLists};
  Index known_methods;  // whether callers match, or a step passes over: 1 for no, 2 for yes
  uint32_t known = 0;
  Stepping stepping;
  Writer calls;  // what their replies are come with the end of the step
  Installed* places = nullptr;
};

struct Installed {
  StopRequest* request;
  Installed* next_of_request;
  Installed* next;  // in its bucket
  const void* key;
  void* member;
  jlocation location;
  jweak klass;
  StopCondition* condition;
  bool counted;  // see `StopHit`

  bool is(int event, const void* of, jlocation at) const {
    return member == of && location == at && request->event == event;
  }
  VmSetting setting(jvmtiEnv* env) const {
    return VmSetting{static_cast<jvmtiEvent>(request->event), env, member, location, nullptr};
  }
};

// Whether a hit of a request is one of those that it reports; counts it.
bool counts(StopRequest* request);

void free_request(JNIEnv* jni, StopRequest* request);

// A stop of this session and of the environment that the call names.
class EnteredRequest : NoCopy {
 public:
  EnteredRequest(Call& call, jint number)
      : call_(call), stop_(call.session.stop_requests.enter(static_cast<uint32_t>(number))) {
    if (stop_ != nullptr && stop_->environment == call.environment && call.jni != nullptr) return;
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "there is no stop %d in this environment", number);
  }
  ~EnteredRequest() {
    if (stop_ != nullptr) StopRequests::leave(call_.jni, stop_);
  }
  bool is(int event, int or_event = 0) const {
    if (call_.refused()) return false;
    if (stop_->event == event || stop_->event == or_event) return true;
    return call_.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the stop is of another kind");
  }
  StopRequest* operator->() const { return stop_; }
  StopRequest* get() const { return stop_; }

 private:
  Call& call_;
  StopRequest* stop_;
};

inline jvmtiError outcome(const Call& call) { return call.outcome(); }

}  // namespace jvmti
