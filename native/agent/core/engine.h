// What every part of the agent that works for a session answers to: a stream, a breakpoint, a
// replaced table.  A session knows its engines by this only, so a new one is a line in engines.cpp.
#pragma once

#include <jvmti.h>

#include <cstdint>

namespace jvmti {

class Session;
struct Environment;

// The stages of a session's end; some come twice, because calls that were going on come back
// meanwhile.
enum class Stage {
  kResume,   // threads that the session suspended go on
  kMute,     // no event reaches the controller any more
  kHangUp,   // conversations end, and threads that wait for one are let go
  kUndo,     // what was set in the VM is taken back
  kSettle,   // no thread is inside any more: again until every engine says so
  kUnlist,   // no thread visits the session any more
  kDispose,  // its environments go
  kFree,     // its own memory goes
  kForget,   // what a visitor may have looked at until now goes, too
};

// What a session has done so far.
struct Counts {
  uint64_t streams = 0;
  uint64_t streamed = 0;
  uint64_t dropped = 0;
  uint64_t heap_passes = 0;
  uint64_t heap_nanoseconds = 0;
};

// Each may be null.
struct Engine {
  // The events of an environment are not wanted any more; may be asked for again.
  void (*mute)(Environment& environment) = nullptr;
  // An environment goes, with the last call in it; `jni` is null before the start phase.
  void (*leave)(JNIEnv* jni, Session& session, Environment& environment) = nullptr;
  // A stage of the session's end; false in `kSettle` where somebody is inside.
  bool (*end)(JNIEnv* jni, Session& session, Stage stage) = nullptr;
  void (*count)(Session& session, Counts* counts) = nullptr;
};

// In the order in which they are asked.
extern const Engine* const kEngines[];
extern const int kEngineCount;

template <class Ask>
void each_engine(Ask ask) {
  for (int i = 0; i < kEngineCount; ++i) ask(*kEngines[i]);
}

}  // namespace jvmti
