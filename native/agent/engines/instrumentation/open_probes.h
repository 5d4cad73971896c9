// The sets of probes of a session.
#pragma once

#include <jvmti.h>

#include "agent/core/engine.h"
#include "base/containers.h"

namespace jvmti {

class ProbeSet;

class OpenProbes {
 public:
  explicit OpenProbes(Session& session) : session_(session) {}
  ~OpenProbes();

  bool keep(ProbeSet* set);
  bool has(const ProbeSet* set);
  // Its probes do nothing from now on, and when this returns the classes are as they were.
  bool close(JNIEnv* jni, uint32_t number);
  void mute_all();
  void close_all(JNIEnv* jni);
  // The numbers of those that report events; false without memory.
  bool find_reporting(Vector<uint32_t>* numbers);
  bool free_closed(JNIEnv* jni);

 private:
  Session& session_;
  bool holds_moves_ = false;
  Vector<ProbeSet*> open_;
  Vector<ProbeSet*> closed_;  // a thread may still be inside
};

}  // namespace jvmti
