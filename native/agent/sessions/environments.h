// The JVM TI environments of a session, and those that the agent makes for itself.
#pragma once

#include <jvmti.h>

#include <atomic>

#include "agent/events/event_taps.h"
#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

class Session;

// Calls in progress keep an environment: a disposed one goes to the VM when the last of them has
// returned.  The VM may call us for an event some time after it was switched off, so the memory of
// an environment is used again but never freed, and the callbacks in it are counted.
struct Environment {
  std::atomic<jvmtiEnv*> env;
  Session* session;
  uint32_t number;
  uint32_t active;
  bool disposed;
  bool leaving;  // what it set VM-wide is being cleared; the environment goes next
  uint64_t storage;
  std::atomic<uint32_t> extension_events;  // those with a callback, by the bits of their places
  std::atomic<bool> muted;                 // its events are not wanted any more
  std::atomic<uint32_t> in_flight;         // callbacks of events, and who else has pinned it
  std::atomic<uint64_t> capabilities;      // that it has, by their bits
  std::atomic<bool> frees_kept;            // the VM reports freed objects until it goes
  std::atomic<bool> frees_wanted;          // and they are wanted
  std::atomic<uint64_t> frees;             // such reports so far
  EventTaps taps[kEventCount];
};

class Environments {
 public:
  explicit Environments(Session& session) : session_(session) {}

  jvmtiError add(jint version, uint32_t* number);
  Environment* enter(uint32_t number);
  void leave(JNIEnv* jni, Environment* environment);
  // True for the number of one that was disposed while the session lasts.
  bool disposed(uint32_t number);
  void dispose(uint32_t number);
  // No event of any reaches the controller from now on.
  void mute();
  // Others can have what only one environment of the VM holds.
  void relinquish_solo();
  // The session ends: all go, and their memory is kept for others.
  void dispose_all();

  Environment* at(size_t place);  // null behind the last
  // Whether something is so of any; called without a lock, and without any memory.
  template <class Matches>
  bool any(Matches matches) {
    size_t place = 0;
    while (Environment* one = at(place++)) {
      if (matches(*one)) return true;
    }
    return false;
  }
  uint64_t capabilities();  // of all together
  uint32_t in_flight();     // callbacks of events
  size_t count();

 private:
  Session& session_;
  Vector<Environment*> all_;
};

// The newest there is for 0; null without.
jvmtiEnv* new_jvmti_environment(jint version = 0);

// To an environment without this capability the early start phase is the primordial one.
void enable_early(jvmtiEnv* env);

// One with certain capabilities; null when the VM does not give them, as a solo capability that
// another environment has.
jvmtiEnv* environment_with(const jvmtiCapabilities& wanted);

// An environment for a stream's own use, with what names and lines need; null without.
jvmtiEnv* new_lookup_environment(bool virtual_threads);

// One that can tag objects and nothing else, for passes over the heap; null without.
jvmtiEnv* new_tagging_environment();

// One that receives steps if the VM grants the capability; null without memory.
jvmtiEnv* new_stepping_environment(bool* sees_steps);

}  // namespace jvmti
