// The stay of an event in the environment that the VM has called us for.
//
// While an `EventScope` lasts, the environment and its session stay.  Every report of the event
// goes through one channel, which the first `Delivery` borrows.  At the end the thread is suspended
// where its handler asked for that, and meets the exception that the handler threw.
#pragma once

#include <initializer_list>
#include <optional>

#include "agent/channels/channel.h"
#include "agent/events/event_taps.h"
#include "generated/layouts.h"

namespace jvmti {

struct Environment;

// Which events that our own work causes (a service thread's, or a handler's) are reported.  The
// numbers are those of OwnWork in src/jvmti/layouts.
using layouts::OwnWork;

class EventScope : NoCopy {
 public:
  // A tap, and what holds for it where our own work causes the event.
  struct Wish {
    Tap tap;
    OwnWork own_work;
  };

  // Of an event of JVM TI, where one of these taps is on.
  EventScope(jvmtiEnv* env, JNIEnv* jni, int event, std::initializer_list<Wish> wishes);
  // Of anything else that an environment is called for, where `wants` says so of the environment.
  template <class Wants>
  EventScope(Environment* environment, JNIEnv* jni, Wants wants) : jni_(jni) {
    if (!pin(environment)) return;
    if (!wants(*environment) || !enter()) unpin();
  }
  ~EventScope() { leave(); }

  // The environment that belongs to one of the VM's; null without.
  static Environment* environment_of(jvmtiEnv* env);

  // Whether the environment has been entered.
  explicit operator bool() const { return environment_ != nullptr; }
  Environment& environment() const { return *environment_; }
  Session& session() const;
  // Our own work is the cause.
  bool ours() const { return ours_; }
  // The tap is on, also after what others have made of the event.
  bool wants(Tap tap) const;
  // Ends it early.
  void leave();

 private:
  friend class Delivery;
  bool pin(Environment* environment);
  void unpin();
  bool enter();
  void allow(std::initializer_list<Wish> wishes);
  // The channel for the next report; null if none is free in time.
  Channel* converse(JNIEnv* jni, int number, int event, int64_t deadline);
  Channel* borrow(int number, int64_t deadline);
  void give_back();
  void asked(bool answered, jthrowable thrown);

  Environment* environment_ = nullptr;
  JNIEnv* jni_;
  int event_ = 0;
  uint32_t allowed_ = 0;  // taps, by their bits
  bool ours_ = false;
  bool conversed_ = false;
  enum { kServing, kControl, kEvents } place_ = kEvents;
  Channel* channel_ = nullptr;
  bool lost_ = false;             // the channel is good for nothing more
  jthrowable thrown_ = nullptr;   // by the handler
  jthrowable waiting_ = nullptr;  // in the thread, put aside meanwhile
  std::optional<Serving> serving_;
};

}  // namespace jvmti
