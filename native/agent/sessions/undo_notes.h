// Notes taken after a call of what must be undone when the controller goes.
#pragma once

#include "agent/calls/call.h"

namespace jvmti::undo {

inline void resume_all_virtual_threads(Call& call, const In<List<kinds::Thread>>&) {
  call.session.suspensions.all_virtual = false;
}
inline void note(Call& call, const VmSetting& one, jclass klass, bool set) {
  if (!set) {
    call.session.undo_list.forget(call.jni, one);
  } else if (!call.session.undo_list.note(call.jni, one, klass)) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
}
template <bool set>
void breakpoint(Call& call, const In<kinds::Method>& method, const In<jlocation>& location) {
  const VmSetting one{JVMTI_EVENT_BREAKPOINT, call.env, method.c(), location.c(), nullptr};
  LocalRef<jclass> klass(call.jni);
  if (set && call.env->GetMethodDeclaringClass(method.c(), klass.out()) != JVMTI_ERROR_NONE) {
    one.clear(nullptr);
    call.refuse(JVMTI_ERROR_INVALID_METHODID);
  } else {
    note(call, one, klass, set);
  }
}
template <jvmtiEvent event, bool set>
void watch(Call& call, const In<kinds::Class>& klass, const In<kinds::Field>& field) {
  note(call, VmSetting{event, call.env, field.c(), 0, nullptr}, klass.c(), set);
}
constexpr auto set_breakpoint = breakpoint<true>;
constexpr auto clear_breakpoint = breakpoint<false>;
constexpr auto set_field_access_watch = watch<JVMTI_EVENT_FIELD_ACCESS, true>;
constexpr auto clear_field_access_watch = watch<JVMTI_EVENT_FIELD_ACCESS, false>;
constexpr auto set_field_modification_watch = watch<JVMTI_EVENT_FIELD_MODIFICATION, true>;
constexpr auto clear_field_modification_watch = watch<JVMTI_EVENT_FIELD_MODIFICATION, false>;

inline void set_verbose_flag(Call& call, const In<jvmtiVerboseFlag>& flag,
                             const In<jboolean>& value) {
  if (value.c() != 0) {
    call.session.verbose_flags |= flag.c();
  } else {
    call.session.verbose_flags &= ~flag.c();
  }
}
inline void set_heap_sampling_interval(Call& call, const In<jint>&) {
  call.session.sampling_changed = true;
}

}  // namespace jvmti::undo
