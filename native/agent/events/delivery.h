// The report of an event to the controller, and its answer.
#pragma once

#include "agent/calls/call.h"
#include "agent/events/event_scope.h"

namespace jvmti {

// One opening of a conversation inside an event's scope.  The trampoline writes what the event
// brings, in the order of its declaration, and asks; what the handler answers is read after that.
class Delivery : NoCopy {
 public:
  // Of the event itself, to its handler.
  Delivery(EventScope& scope, JNIEnv* jni);
  // Of something that is made of it: `number` is the opening's; `limit` is in milliseconds, -1 is
  // for ever.
  Delivery(EventScope& scope, JNIEnv* jni, int number, int event, int64_t limit);
  // There is a channel to speak on.
  bool ready() const { return channel_ != nullptr; }
  // The handler threw an exception, which the thread has when the scope ends.
  bool threw() const { return scope_.thrown_ != nullptr; }
  // That exception, for the caller to throw.
  jthrowable take_thrown() {
    jthrowable thrown = scope_.thrown_;
    scope_.thrown_ = nullptr;
    return thrown;
  }

  template <class Kind>
  uint64_t handle(typename Kind::C reference) {
    uint8_t kind = Kind::kind == kinds::Object::kind ? 0 : Kind::kind;
    return call_.jni == nullptr ? uint64_t{0} : call_.issue(reference, kind);
  }
  uint64_t handle(jmethodID id) { return call_.session.methods.issue(id, call_.session.tags()); }
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
  // What calls return that the controller would make next, as a batch has it.
  void calls(const uint8_t* data, size_t size) {
    channel_->make_calls(call_.jni, data, size, payload_);
  }

  void ask();
  Call& call() { return call_; }
  Writer& payload() { return payload_; }
  Reader& reader() { return reader_; }
  bool answered() { return reader_.number<uint8_t>() != 0; }

  // The handler's answers; without one nothing is changed.
  void answer(jint* size, unsigned char** data);
  void answer(void** address);

 private:
  EventScope& scope_;
  const int number_;
  const int64_t limit_;
  Channel* channel_;
  Reader reader_;
  Writer payload_;
  Call call_;
};

}  // namespace jvmti
