// Stops: breakpoints, watchpoints, steps, catchpoints and prepared classes. They are filtered here
// before they are reported: by thread, number of hits, caller and variables.
//
// A stop has the filters that let a thread pass without a report, and any number of places.
// Several stops may share a place, where the VM has one breakpoint or watch.
#pragma once

#include <jvmti.h>

#include "agent/engines/stops/stop_records.h"
#include "base/containers.h"
#include "base/lock.h"
#include "generated/layouts.h"

namespace jvmti {

using layouts::Caught;
using layouts::Step;

struct Call;
struct StopRequest;
struct Installed;
class Session;
class StopCondition;

// A request that a thread has hit, with what else must hold there.
struct StopHit {
  StopRequest* request;
  const StopCondition* condition;
  jweak klass;          // of a watched field
  bool counted = true;  // here; otherwise the controller decides first, and says that it counts
  jint depth = 0;       // of the frame that it is about
};

class StopRequests : NoCopy {
 public:
  static constexpr size_t kMost = 32;  // stops at one place, and of one thread

  StopRequests() = default;
  ~StopRequests();

  // Takes the stop over and numbers it; 0 without memory.
  uint32_t add(StopRequest* request);
  // The stop of a number, kept until `leave`; null when there is none.
  StopRequest* enter(uint32_t number);
  static void leave(JNIEnv* jni, StopRequest* request);
  bool remove(Call& call, uint32_t number);
  // At the end of the session, when no thread is inside any more.
  void clear(JNIEnv* jni);

  // Gives a stop a place, and sees that the VM stops there; refused where it will not.  `key`
  // identifies the place, `member` is the method or field in events.  The condition is taken over.
  void place(Call& call, StopRequest* request, jclass klass, const void* key, void* member,
             jlocation location, StopCondition* condition, bool counted);

  // Takes a place away again; false when there is none such.
  bool uninstall_place(Call& call, StopRequest* request, const void* key, jlocation location);
  // A frame of the thread was discarded, perhaps the one whose end its step waits for.
  void frame_was_popped(JNIEnv* jni, Session& session, jthread thread);
  void frame_begins_again(JNIEnv* jni, jthread thread);

  // The stops that have this place, kept until `leave`.
  size_t at_place(int event, const void* member, jlocation location, StopHit* hits);
  // The stops of an event without places.
  size_t of_event(int event, StopHit* hits);
  bool has_place(int event, const void* member, jlocation location);

  StopRecords records;

 private:
  static constexpr size_t kBuckets = 256;
  Installed** bucket(const void* member);
  bool shared(const Installed& place);
  void uninstall(Installed* place);

  Mutex mutex_{Guards::kLists};
  Vector<StopRequest*> requests_;
  uint32_t last_ = 0;
  Installed* buckets_[kBuckets] = {};
};

}  // namespace jvmti
