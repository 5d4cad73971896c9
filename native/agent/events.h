// Events on their way to a handler: what the generated trampolines are made of.
#pragma once

#include <optional>

#include "call.h"
#include "channel.h"

namespace jvmti {

// Of an event that our own work causes: a service thread's, or a handler's.  The numbers are those
// of OwnWork in src/jvmti/env/events.py.
using layouts::OwnWork;

// The environment whose controller is to be told of an event, kept until the `Occurrence` made of
// it ends; null when it is not.
// `ours` says whether our own work is the cause.
Environment* hear(jvmtiEnv* env, int event, OwnWork own, bool* ours);
// The same for the stops that are made of it.
Environment* hear_stops(jvmtiEnv* env, int event, OwnWork own);
// The same where a thread begins or ends: of service threads there is nothing to tell.
Environment* hear_thread(jvmtiEnv* env, JNIEnv* jni, jthread thread, int event, bool* ours);

// The class if that is its name, else null: while a thread redefines a class, HotSpot names that
// one with whatever other class the thread loads besides.
jclass if_named(jvmtiEnv* env, jclass klass, const char* name);

// One event that the VM has just called us for.  The trampoline writes what the event brings, in
// the order of its declaration, and asks; what the handler answers is read after that.
class Occurrence {
 public:
  Occurrence(Environment& environment, JNIEnv* jni, int event, bool ours)
      : Occurrence(environment, jni, ours ? event | static_cast<int>(layouts::Opening::kOwnWork) : event,
                   environment.handling[event - kFirstEvent].limit) {}
  // Of something else that Python is told of; `limit` is in milliseconds, -1 is for ever.
  Occurrence(Environment& environment, JNIEnv* jni, int number, int64_t limit)
      : Occurrence(environment, jni, number, number, limit) {}
  // The same of what is made of an event.
  Occurrence(Environment& environment, JNIEnv* jni, int number, int event, int64_t limit);
  ~Occurrence();
  Occurrence(const Occurrence&) = delete;
  Occurrence& operator=(const Occurrence&) = delete;
  // There is a channel to speak on.
  bool ready() const { return channel_ != nullptr; }
  // The handler threw an exception, which the thread has when this ends.
  bool threw() const { return thrown_ != nullptr; }
  // That exception, which whoever takes it throws.
  jthrowable take_thrown() {
    jthrowable thrown = thrown_;
    thrown_ = nullptr;
    return thrown;
  }

  template <class Kind>
  uint64_t handle(typename Kind::C reference) {
    uint8_t kind = Kind::kind == kinds::Object::kind ? 0 : Kind::kind;
    return call_.jni == nullptr ? uint64_t{0} : call_.issue(reference, kind);
  }
  uint64_t handle(jmethodID id) { return call_.session.methods.issue(id); }
  template <class Kind>
  void object(typename Kind::C reference) {
    payload_.number(handle<Kind>(reference));
  }
  void method(jmethodID id) { payload_.number(handle(id)); }
  void field(jclass klass, jfieldID id) {
    payload_.number(call_.session.fields.issue(call_.jni, call_.session.tags(), klass, id));
  }
  template <class T>
  void number(T value) {
    payload_.number(value);
  }
  void address(const void* value) { payload_.number(reinterpret_cast<uint64_t>(value)); }
  void text(const char* value) { Wire<Text>::write(call_, Sink{&payload_, 0}, value); }
  void bytes(jint size, const unsigned char* data);
  void letter(char value) { payload_.number(static_cast<uint8_t>(value)); }
  // A value of the type that a descriptor's first character names; `V` has none.
  void value(char type, const jvalue& value);
  char return_type(jmethodID method);
  template <class T>
  void list(jint count, const T* items) {
    Wire<List<T>>::write(call_, Sink{&payload_, 0}, count, const_cast<T*>(items), false);
  }
  void inlining(const void* compile_info);

  void ask();
  Call& call() { return call_; }
  Writer& payload() { return payload_; }
  Reader& reader() { return reader_; }
  bool answered() { return reader_.number<uint8_t>() != 0; }

  // The handler's answers; without one nothing is changed.
  void answer(jint* size, unsigned char** data);
  void answer(void** address);

 private:
  Channel* borrow();

  Environment& environment_;
  JNIEnv* jni_;
  int event_;
  int64_t limit_;
  int64_t deadline_;
  enum { kServing, kControl, kEvents } place_ = kEvents;
  Channel* channel_;
  bool lost_ = false;
  jthrowable thrown_ = nullptr;   // by the handler
  jthrowable waiting_ = nullptr;  // in the thread, put aside meanwhile
  Reader reader_;
  Writer payload_;
  Call call_;
  std::optional<Serving> serving_;
};

// Tells the VM which events an environment has a handler for; it sends no others.
jvmtiError set_callbacks(Environment& environment);

// Generated: whether it is the number of an event.
bool is_event(int number);

// Throws an exception without a wrapper of JNI functions seeing it, and gives the reference up.
void throw_unseen(JNIEnv* jni, jthrowable thrown);

// Generated: whether the VM brings an exception from a handler to the program.
bool carries_exceptions(int event);

// Generated: the trampolines of the events that are wanted.
void fill_callbacks(jvmtiEventCallbacks* callbacks, const Handling* handling);

}  // namespace jvmti
