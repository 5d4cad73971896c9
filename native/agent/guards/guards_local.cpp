// Checks of local variables and forced returns, which HotSpot makes only where the method has a
// local variable table, and by name alone.

#include "agent/engines/threads/leave_frame.h"
#include "agent/guards/guards.h"
#include "agent/guards/method_details.h"

namespace jvmti::guard {

namespace {

constexpr char kSecondHalf = '2';  // of a long or double, and of nothing else
constexpr char kNoOneType = '?';

// The code's own information about a slot without a local variable table: the type of the
// parameter there and of every store to it, when they agree; '\0' where nothing is ever stored.
char type_of_slot(const MethodDetails* details, const Code& code, jint slot) {
  char type = '\0';
  bool second_half = false;
  bool next_used = false;
  auto use = [&](jint at, char used) {
    bool wide = used == 'J' || used == 'D';
    if (at == slot) {
      type = type == '\0' || type == used ? used : kNoOneType;
    } else if (wide && at + 1 == slot) {
      second_half = true;
    } else if (at - 1 == slot) {
      next_used = true;
    }
  };
  jint at = 0;
  if ((details->modifiers & kAccStatic) == 0) use(at++, 'L');
  for (uint32_t i = 0; i < details->argument_count; ++i) {
    char one = details->argument_types[i];
    char used = one == 'Z' || one == 'B' || one == 'C' || one == 'S' ? 'I' : one;
    use(at, used);
    at += used == 'J' || used == 'D' ? 2 : 1;
  }
  code.each_store(use);
  if (second_half) return type == '\0' ? kSecondHalf : kNoOneType;
  if (next_used && (type == 'J' || type == 'D')) return kNoOneType;
  if (type == 'L' && code.has_subroutines()) return kNoOneType;
  return type;
}

// A frame of a method without a local variable table, against which the VM would check.
struct Untabled {
  const MethodDetails* details = nullptr;  // null: the VM has a table, or refuses the call itself
  char type = '\0';
};

// The VM hands a number on as it is, and compiled code believes that a byte is one.
bool in_range(char type, jint value) {
  switch (type) {
    case 'Z':
      return value == 0 || value == 1;
    case 'B':
      return value >= INT8_MIN && value <= INT8_MAX;
    case 'C':
      return value >= 0 && value <= UINT16_MAX;
    case 'S':
      return value >= INT16_MIN && value <= INT16_MAX;
    default:
      return true;
  }
}

// What is to be stored: an object, or a number where there is one to be looked at.
struct Stored {
  jobject object = nullptr;
  const jint* number = nullptr;
};

bool refuse_narrow(Call& call, const MethodDetails* details, jint slot, char type, jint value) {
  return call.refuse(JVMTI_ERROR_TYPE_MISMATCH, "slot %d of %s holds type %c, which has no %d",
                     slot, details->name.get(), type, value);
}

// Whether a value is of the type that a table's entry gives; entries are freed on the way.
bool matches_table(Call& call, const MethodDetails* details, jvmtiLocalVariableEntry* table,
                   jint entries, jint slot, jlocation location, Stored value) {
  bool matches = true;
  char narrow = '\0';
  for (jint i = 0; i < entries; ++i) {
    const jvmtiLocalVariableEntry& entry = table[i];
    bool there = entry.slot == slot && location >= entry.start_location &&
                 location < entry.start_location + entry.length;
    if (value.object != nullptr && there && simple_type(entry.signature[0]) == 'L') {
      matches = is_of_type(call, details, entry.signature, value.object);
    }
    if (value.number != nullptr && there && !in_range(entry.signature[0], *value.number)) {
      narrow = entry.signature[0];
    }
    call.deallocate(entry.name);
    call.deallocate(entry.signature);
    call.deallocate(entry.generic_signature);
  }
  call.deallocate(table);
  if (narrow != '\0') return refuse_narrow(call, details, slot, narrow, *value.number);
  return matches ||
         call.refuse(JVMTI_ERROR_TYPE_MISMATCH, "the value is not of the variable's type");
}

// The type of a parameter that is never stored to, where the code says nothing narrower than int.
char type_of_parameter(const MethodDetails* details, const Code& code, jint slot) {
  bool stored = false;
  code.each_store([&](jint at, char) { stored = stored || at == slot; });
  jint at = (details->modifiers & kAccStatic) == 0;
  for (uint32_t i = 0; i < details->argument_count && !stored; ++i) {
    char type = details->argument_types[i];
    if (at == slot) return type;
    at += type == 'J' || type == 'D' ? 2 : 1;
  }
  return '\0';
}

// False when the call is refused.
bool look_at_slot(Call& call, jthread thread, jint depth, jint slot, Stored value,
                  Untabled* found) {
  if (!held(call.env).can_access_local_variables) return true;
  jmethodID method = nullptr;
  jlocation location = 0;
  jvmtiError error = call.env->GetFrameLocation(thread, depth, &method, &location);
  if (error != JVMTI_ERROR_NONE) return true;
  const MethodDetails* details = details_of(call, method);
  if (details == nullptr) return false;
  if ((details->modifiers & kAccNative) != 0) return true;
  jint entries = 0;
  jvmtiLocalVariableEntry* table = nullptr;
  error = call.env->GetLocalVariableTable(method, &entries, &table);
  if (error == JVMTI_ERROR_NONE) {
    if (!matches_table(call, details, table, entries, slot, location, value)) return false;
    if (entries > 0) return true;
  }
  Code code;
  if (!code.fetch(call, method)) return false;
  found->details = details;
  found->type = slot < 0 ? '\0' : type_of_slot(details, code, slot);
  if (value.number == nullptr) return true;
  char narrow = type_of_parameter(details, code, slot);
  if (in_range(narrow, *value.number)) return true;
  return refuse_narrow(call, details, slot, narrow, *value.number);
}

bool right_type(Call& call, const Untabled& found, jint slot, char type) {
  if (found.type == '\0' || found.type == kSecondHalf) {
    return call.refuse(JVMTI_ERROR_INVALID_SLOT, "no variable of %s begins at slot %d",
                       found.details->name.get(), slot);
  }
  if (found.type != kNoOneType && found.type != type) {
    return call.refuse(JVMTI_ERROR_TYPE_MISMATCH, "slot %d of %s holds type %c", slot,
                       found.details->name.get(), found.type);
  }
  return true;
}

bool suspended_or_current(Call& call, jthread thread) {
  jint state = 0;
  return thread == nullptr || is_current(call.env, call.jni, thread) ||
         (call.env->GetThreadState(thread, &state) == JVMTI_ERROR_NONE &&
          (state & JVMTI_THREAD_STATE_SUSPENDED) != 0);
}

// The VM adds one to the slot of a long or double before it looks how many slots there are.
bool countable(Call& call, jint slot, char type) {
  if (slot < INT32_MAX || (type != 'J' && type != 'D')) return true;
  return call.refuse(JVMTI_ERROR_INVALID_SLOT);
}

// JDK 11 walks the stack of a thread while it runs, and crashes on it; 17 stops it first.
bool stands_still(Call& call, jthread thread) {
  if (major_version(agent.version) >= 17 || suspended_or_current(call, thread)) return true;
  if (!held(call.env).can_access_local_variables) return true;  // the VM says so itself
  jint depth = 0;
  jvmtiError error = call.env->GetFrameCount(thread, &depth);
  if (error == JVMTI_ERROR_NONE) error = JVMTI_ERROR_THREAD_NOT_SUSPENDED;
  return call.refuse(error, "this VM reads variables of suspended threads only");
}

}  // namespace

// Without a table the VM hands out whatever bits lie in the slot.
bool get_local(Call& call, jthread thread, jint depth, jint slot, char type) {
  Untabled found;
  if (!countable(call, slot, type) || !stands_still(call, thread)) return false;
  if (!look_at_slot(call, thread, depth, slot, Stored{}, &found)) return false;
  return found.details == nullptr || right_type(call, found, slot, type);
}

// HotSpot 11 answers for a static method too, with whatever its first variable is.
bool get_local_instance(Call& call, const ThreadOrCurrent& thread, const Depth& depth) {
  if (!stands_still(call, thread.c())) return false;
  jmethodID method = nullptr;
  jlocation location = 0;
  jint modifiers = 0;
  if (!held(call.env).can_access_local_variables ||
      call.env->GetFrameLocation(thread.c(), depth.c(), &method, &location) != JVMTI_ERROR_NONE ||
      location < 0 || call.env->GetMethodModifiers(method, &modifiers) != JVMTI_ERROR_NONE ||
      (modifiers & kAccStatic) == 0) {
    return true;  // the VM answers, or says itself what is wrong
  }
  return call.refuse(JVMTI_ERROR_INVALID_SLOT, "a static method has no instance");
}

bool set_local(Call& call, jthread thread, jint depth, jint slot, char type, jobject value,
               const jint* number) {
  Untabled found;
  if (!countable(call, slot, type) || !stands_still(call, thread)) return false;
  Stored stored{value, number};
  if (!look_at_slot(call, thread, depth, slot, stored, &found)) return false;
  if (found.details == nullptr) return true;
  // Otherwise the frame looked at might not be the one that is changed.
  if (!suspended_or_current(call, thread)) {
    return call.refuse(JVMTI_ERROR_THREAD_NOT_SUSPENDED, "%s has no local variable table",
                       found.details->name.get());
  }
  if (!right_type(call, found, slot, type)) return false;
  if (found.type == kNoOneType) {
    return call.refuse(
        JVMTI_ERROR_INVALID_SLOT,
        "%s has no local variable table, and its code does not determine one type for slot %d",
        found.details->name.get(), slot);
  }
  if (type != 'L' || value == nullptr) return true;
  // A wrong class here would be believed by compiled code, so only what is surely right passes:
  // an instance of the class of what is there now.
  LocalRef<> current(call.jni);
  jvmtiError error = call.env->GetLocalObject(thread, depth, slot, current.out());
  if (error != JVMTI_ERROR_NONE) return call.refuse(error);
  if (current != nullptr) {
    LocalRef<jclass> klass(call.jni, call.jni->GetObjectClass(current));
    if (klass != nullptr && call.jni->IsInstanceOf(value, klass)) return true;
  }
  return call.refuse(JVMTI_ERROR_TYPE_MISMATCH,
                     "%s has no local variable table; slot %d takes null or an instance of the "
                     "class of its current value",
                     found.details->name.get(), slot);
}

namespace {

// The method that would return; null where the VM says itself what is wrong.
const MethodDetails* returning_method(Call& call, jthread thread) {
  jmethodID method = nullptr;
  jlocation location = 0;
  if (!held(call.env).can_force_early_return ||
      call.env->GetFrameLocation(thread, 0, &method, &location) != JVMTI_ERROR_NONE) {
    return nullptr;
  }
  return details_of(call, method);
}

}  // namespace

bool force_early_return_object(Call& call, const ThreadOrCurrent& thread,
                               const In<Nullable<kinds::Object>>& value) {
  if (!force_early_return(call, thread.c())) return false;
  const MethodDetails* details = returning_method(call, thread.c());
  // A thread that already has a request is refused for that.
  if (details == nullptr || value.c() == nullptr || details->return_type != 'L' || is_leaving()) {
    return !call.refused();
  }
  const char* returned = std::strchr(details->signature.get(), ')') + 1;
  if (is_of_type(call, details, returned, value.c())) return true;
  return call.refuse(JVMTI_ERROR_TYPE_MISMATCH, "%s%s returns no such object", details->name.get(),
                     details->signature.get());
}

bool force_early_return_int(Call& call, const ThreadOrCurrent& thread, const In<jint>& value) {
  if (!force_early_return(call, thread.c())) return false;
  const MethodDetails* details = returning_method(call, thread.c());
  if (details == nullptr) return !call.refused();
  if (in_range(details->return_type, value.c())) return true;
  return call.refuse(JVMTI_ERROR_TYPE_MISMATCH, "%s%s returns no %d", details->name.get(),
                     details->signature.get(), value.c());
}

}  // namespace jvmti::guard
