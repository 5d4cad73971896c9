// Notes taken after a call of what must be undone when the controller goes.
#pragma once

#include "agent/calls/call.h"

namespace jvmti {
namespace record {

inline void resume_all_virtual_threads(Call& call, const In<List<kinds::Thread>>&) {
  call.session.suspensions.all_virtual = false;
}
inline void breakpoint(Call& call, MethodRecord* method, jlocation location, bool placed) {
  const Placed one{Placed::kBreakpoint, call.env, method->id, location, nullptr};
  if (!placed) {
    call.session.undo_list.forget(call.jni, one);
    return;
  }
  LocalRef<jclass> klass(call.jni);
  if (call.env->GetMethodDeclaringClass(method->id, klass.out()) != JVMTI_ERROR_NONE) {
    call.env->ClearBreakpoint(method->id, location);
    call.refuse(JVMTI_ERROR_INVALID_METHODID);
    return;
  }
  if (!call.session.undo_list.note(call.jni, one, klass)) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
}
inline void set_breakpoint(Call& call, const In<kinds::Method>& method,
                           const In<jlocation>& location) {
  breakpoint(call, method.record(), location.c(), true);
}
inline void clear_breakpoint(Call& call, const In<kinds::Method>& method,
                             const In<jlocation>& location) {
  breakpoint(call, method.record(), location.c(), false);
}
template <Placed::What what, bool placed>
void watch(Call& call, const In<kinds::Class>& klass, const In<kinds::Field>& field) {
  const Placed one{what, call.env, field.c(), 0, nullptr};
  if (!placed) {
    call.session.undo_list.forget(call.jni, one);
  } else if (!call.session.undo_list.note(call.jni, one, klass.c())) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
}
constexpr auto set_field_access_watch = watch<Placed::kAccessWatch, true>;
constexpr auto clear_field_access_watch = watch<Placed::kAccessWatch, false>;
constexpr auto set_field_modification_watch = watch<Placed::kModificationWatch, true>;
constexpr auto clear_field_modification_watch = watch<Placed::kModificationWatch, false>;

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

}  // namespace record
}  // namespace jvmti
