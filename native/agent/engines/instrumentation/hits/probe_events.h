// Events of JVM TI that probes report, where the VM grants their capabilities only while it starts.
//
// A probe calls the same callbacks as the VM would: what an environment does with an event (record
// it, ask a handler) does not depend on where it comes from.  A set of such probes serves a whole
// session; its plan changes with what the session's environments ask for.
#pragma once

#include "agent/calls/call.h"
#include "agent/sessions/environments.h"
#include "base/containers.h"
#include "base/lock.h"
#include "classfile/instrumenter.h"

namespace jvmti {

// What a probe at the end of a method reports as the location of a step, less the real one.
constexpr jlocation kAtEnd = -2;

constexpr jint kHelperFrames = 2;  // of the helper class, on top of the frame with the probe

// A thread at a probe, while handlers have the event: what its variables are in.
struct Halted {
  jobject thread;
  jobject values;
  uint32_t set;
  uint32_t site;
  jint depth;  // how many frames are above the one with the probe
  Halted* next;
};

class ListedHalt : NoCopy {
 public:
  ListedHalt(JNIEnv* jni, jthread thread, jobjectArray values, uint32_t set, uint32_t site,
             jint depth);
  ~ListedHalt();

 private:
  JNIEnv* jni_;
  Halted halted_;
};

// The innermost of a thread; false where it is at no probe.
bool find_halted(JNIEnv* jni, jthread thread, Halted* found, LocalRef<>* values);

// Frames on top of a thread's stack that belong to a probe; 0 where it is at none.
jint frames_of_probe(jvmtiEnv* env, JNIEnv* jni, jthread thread);

// How deep the frame is that makes the exception of this probe, below its constructors.
jint depth_of_throw(jvmtiEnv* env, JNIEnv* jni);

// Of one set, under its lock.
class ProbeEvents : NoCopy {
 public:
  struct Site {
    uint16_t event;
    bool is_exceptional;
    bool is_end;      // a step may end there because the method returns
    char type;        // of what the method returns, as in a descriptor
    uint32_t method;  // its position in the class file
    uint32_t location;
    uint32_t about;
  };
  struct Field {
    jobject klass;
    jfieldID id;
    char type;
  };
  // A frame whose end is to be reported.
  struct AwaitedPop {
    uint32_t environment;
    jobject thread;
    jint from_bottom;  // frames of the stack while it is on top
  };

  explicit ProbeEvents(uint32_t set) : set_(set) {}
  ~ProbeEvents() { unmake(plan_); }
  // Takes another plan; null, or why not.
  const char* read(const uint8_t* data, uint64_t size, classfile::Plan** plan) const;
  classfile::Plan* exchange(classfile::Plan* plan) {
    classfile::Plan* before = plan_;
    plan_ = plan;
    return before;
  }
  const classfile::Plan* plan() const { return plan_; }

  // The number of the first site that a class had when it was woven last; else `fresh`.
  uint32_t first_site(uint64_t klass, uint32_t fresh) const {
    uint32_t known = first_sites_.find(klass);
    return known == 0 ? fresh : known - 1;
  }
  // Whether a class has been woven just as before.
  bool is_as_before(uint32_t first_site, const classfile::Instrumenter& woven) const;
  // Notes what has been woven; false without memory.
  bool note(uint64_t klass, const classfile::Instrumenter& woven);
  void forget_from(uint32_t site) { sites_.shrink(site); }
  bool site(uint32_t number, Site* found) const {
    if (number >= sites_.size()) return false;
    *found = sites_[number];
    return true;
  }

  jvmtiError enable(JNIEnv* jni, uint32_t environment, bool on, int event, jthread thread);
  void forget_environment(JNIEnv* jni, uint32_t environment);
  // Environments that get an event of a thread, in their order; false without memory.
  bool receivers(JNIEnv* jni, int event, jthread thread, Vector<uint32_t>* found) const;
  // Whether anybody receives anything; without that the probes need do nothing.
  bool may_step() const;  // whether the plan has probes by which threads are stepped
  bool has_receivers() const { return !enabled_.empty() || !pops_.empty(); }
  jvmtiError watch(JNIEnv* jni, jclass klass, jfieldID field, char type, jint* number);
  const Field* field(uint32_t number) const {
    return number == 0 || number > fields_.size() ? nullptr : &fields_[number - 1];
  }
  jvmtiError await_pop(JNIEnv* jni, const AwaitedPop& pop);
  // Those who wait for the end of a frame do so no longer.
  bool take_pops(JNIEnv* jni, jthread thread, jint from_bottom, Vector<uint32_t>* found);
  void clear_pops(JNIEnv* jni, uint32_t environment, jthread thread);
  bool awaits_pops() const { return !pops_.empty(); }
  void let_go(JNIEnv* jni);

 private:
  struct Enabled {
    uint32_t environment;
    int event;
    jobject thread;  // null for all
  };

  Site site_of(const layouts::InsertedProbe& placed, const classfile::Instrumenter& woven) const;

  const uint32_t set_;
  classfile::Plan* plan_ = nullptr;
  Vector<Site> sites_;
  Vector<Enabled> enabled_;
  Vector<Field> fields_;
  Vector<AwaitedPop> pops_;
  Index first_sites_;  // of classes, from 1, by their hashes
};

}  // namespace jvmti
