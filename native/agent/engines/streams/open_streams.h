// The streams of a session, and those that are closed while a thread may still be inside.
#pragma once

#include <jvmti.h>

#include "agent/core/engine.h"
#include "base/containers.h"

namespace jvmti {

class Stream;

class OpenStreams {
 public:
  explicit OpenStreams(Session& session) : session_(session) {}

  bool keep(Stream* stream);
  // Takes a stream off its events; its memory goes when no thread is inside any more.  Null when
  // there is none of that number.
  Environment* close(JNIEnv* jni, uint64_t number);
  // Those of an environment, or all of them; false while some cannot be freed.
  bool close_all(JNIEnv* jni, const Environment* environment);
  void count(Counts* counts);

 private:
  bool free_closed(JNIEnv* jni, int milliseconds);

  Session& session_;
  Vector<Stream*> open_;
  Vector<Stream*> closed_;  // a thread may still be inside
  size_t leaving_ = 0;      // of these, taken out to be freed, and perhaps back in
  uint64_t streamed_ = 0;   // by streams that are no more
  uint64_t dropped_ = 0;
};

}  // namespace jvmti
