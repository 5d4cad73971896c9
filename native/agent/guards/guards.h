// Checks that the VM leaves to its caller: each runs before the function it is named in, and
// refuses the call with the error that the specification has for the case.
#pragma once

#include "agent/calls/call.h"

namespace jvmti::guard {

using Depth = In<jint>;
using ThreadOrCurrent = In<Nullable<kinds::Thread>>;

bool suspend_thread(Call& call, const ThreadOrCurrent& thread);
bool stop_thread(Call& call, const In<kinds::Thread>& thread, const In<kinds::Object>& exception);
bool interrupt_thread(Call& call, const In<kinds::Thread>& thread);

bool limit_frames(Call& call, const ThreadOrCurrent& thread, const Depth& start, Depth& maximum);
bool limit_frames(Call& call, Depth& maximum);
bool limit_frames(Call& call, const In<List<kinds::Thread>>& threads, Depth& maximum);

// A breakpoint anywhere but at an instruction is taken by the VM, which crashes when it gets there.
// The bytecodes may not change in between, so this check belongs to the call.
jvmtiError set_breakpoint(Call& call, jmethodID method, jlocation location);

bool event_mode(Call& call, const In<jvmtiEventMode>& mode, const In<jvmtiEvent>& event,
                const ThreadOrCurrent& thread);

bool tags_to_find(Call& call, const In<List<jlong>>& tags);

bool is_loaded(Call& call, jclass klass);
template <class... Others>
bool loaded_class(Call& call, const In<kinds::Class>& klass, const Others&...) {
  return is_loaded(call, klass.c());
}

bool loaded_classes(Call& call, const In<List<kinds::Class>>& classes);
bool classes_to_redefine(Call& call, const In<List<jvmtiClassDefinition>>& definitions);

bool field_of_class(Call& call, const In<kinds::Class>& klass, const In<kinds::Field>& field);

bool get_local_instance(Call& call, const ThreadOrCurrent& thread, const Depth& depth);
bool get_local(Call& call, jthread thread, jint depth, jint slot, char type);
template <char type>
bool get_local_of(Call& call, const ThreadOrCurrent& thread, const Depth& depth,
                  const In<jint>& slot) {
  return get_local(call, thread.c(), depth.c(), slot.c(), type);
}
bool force_early_return(Call& call, jthread thread);
template <class... Value>
bool force_early_return_as_is(Call& call, const ThreadOrCurrent& thread, const Value&...) {
  return force_early_return(call, thread.c());
}
bool force_early_return_int(Call& call, const ThreadOrCurrent& thread, const In<jint>& value);
bool force_early_return_object(Call& call, const ThreadOrCurrent& thread,
                               const In<Nullable<kinds::Object>>& value);

bool set_local(Call& call, jthread thread, jint depth, jint slot, char type, jobject value,
               const jint* number = nullptr);
inline bool set_local_object(Call& call, const ThreadOrCurrent& thread, const Depth& depth,
                             const In<jint>& slot, const In<Nullable<kinds::Object>>& value) {
  return set_local(call, thread.c(), depth.c(), slot.c(), 'L', value.c());
}
inline bool set_local_int(Call& call, const ThreadOrCurrent& thread, const Depth& depth,
                          const In<jint>& slot, const In<jint>& value) {
  const jint number = value.c();
  return set_local(call, thread.c(), depth.c(), slot.c(), 'I', nullptr, &number);
}

template <char type, class Value>
bool set_local_of(Call& call, const ThreadOrCurrent& thread, const Depth& depth,
                  const In<jint>& slot, const Value&) {
  return set_local(call, thread.c(), depth.c(), slot.c(), type, nullptr);
}

// JNI: the member belongs to the receiver, is static or not as it must be, and has the type that
// the function is for; the arguments are what the signature says.
bool check_method(Call& call, jobject receiver, jclass klass, const In<kinds::Method>& method,
                  In<Arguments>& arguments, char type, bool is_static);
bool check_field(Call& call, jobject receiver, jclass klass, const In<kinds::Field>& field,
                 char type, bool is_static);
bool check_stored(Call& call, const In<kinds::Field>& field, jobject value);

template <char type>
bool instance_method(Call& call, const In<kinds::Object>& object, const In<kinds::Method>& method,
                     In<Arguments>& arguments) {
  return check_method(call, object.c(), nullptr, method, arguments, type, false);
}
template <char type>
bool nonvirtual_method(Call& call, const In<kinds::Object>& object, const In<kinds::Class>& klass,
                       const In<kinds::Method>& method, In<Arguments>& arguments) {
  return check_method(call, object.c(), klass.c(), method, arguments, type, false);
}
template <char type>
bool static_method(Call& call, const In<kinds::Class>& klass, const In<kinds::Method>& method,
                   In<Arguments>& arguments) {
  return check_method(call, nullptr, klass.c(), method, arguments, type, true);
}
bool constructor(Call& call, const In<kinds::Class>& klass, const In<kinds::Method>& method,
                 In<Arguments>& arguments);
bool alloc_object(Call& call, const In<kinds::Class>& klass);
bool new_object_array(Call& call, const In<jint>& length, const In<kinds::Class>& klass,
                      const In<Nullable<kinds::Object>>& initial);
bool find_class(Call& call, const In<Text>& name);
bool throw_new(Call& call, const In<kinds::Class>& klass, const In<Text>& message);

template <char type>
bool instance_field(Call& call, const In<kinds::Object>& object, const In<kinds::Field>& field) {
  return check_field(call, object.c(), nullptr, field, type, false);
}
template <char type, class Value>
bool set_instance_field(Call& call, const In<kinds::Object>& object, const In<kinds::Field>& field,
                        const Value&) {
  return check_field(call, object.c(), nullptr, field, type, false);
}
inline bool set_instance_object_field(Call& call, const In<kinds::Object>& object,
                                      const In<kinds::Field>& field,
                                      const In<Nullable<kinds::Object>>& value) {
  return check_field(call, object.c(), nullptr, field, 'L', false) &&
         check_stored(call, field, value.c());
}
template <char type>
bool static_field(Call& call, const In<kinds::Class>& klass, const In<kinds::Field>& field) {
  return check_field(call, nullptr, klass.c(), field, type, true);
}
template <char type, class Value>
bool set_static_field(Call& call, const In<kinds::Class>& klass, const In<kinds::Field>& field,
                      const Value&) {
  return check_field(call, nullptr, klass.c(), field, type, true);
}
inline bool set_static_object_field(Call& call, const In<kinds::Class>& klass,
                                    const In<kinds::Field>& field,
                                    const In<Nullable<kinds::Object>>& value) {
  return check_field(call, nullptr, klass.c(), field, 'L', true) &&
         check_stored(call, field, value.c());
}
bool pop_frame(Call& call, const In<kinds::Thread>& thread);
bool to_reflected_method(Call& call, const In<kinds::Class>& klass, const In<kinds::Method>& method,
                         const In<jboolean>& is_static);
bool to_reflected_field(Call& call, const In<kinds::Class>& klass, const In<kinds::Field>& field,
                        const In<jboolean>& is_static);

}  // namespace jvmti::guard
