// JNI calls of the whole VM on their way through us: counted here, or passed to Python.
//
// The table that the VM's threads call through is one, so one environment of one session has it at
// a time.  For every slot there is a wrapper with the slot's own C type (the generated source lists
// them); in the table are those that are wanted.  What that session's own threads and handlers call
// goes on to the VM unseen, as does everything before the VM is live.
#pragma once

#include <stdarg.h>

#include "agent/engines/interception/jni_values.h"
#include "agent/events/events.h"

namespace jvmti {

// The length of the VM's table, which has grown.
inline size_t slots_of(JNIEnv* jni) {
  return jni->GetVersion() >= 0x00180000 ? 236 : jni->GetVersion() >= 0x00150000 ? 235 : 234;
}

constexpr int kJniSlots = 236;
constexpr int kJniCall = layouts::Opening::kJniCall;

// The VM's own table, while another is in its place.
jniNativeInterface* jni_original_table();

// A local reference of our own, which goes past the wrappers.
struct DeleteByOriginal {
  static void drop(JNIEnv* jni, jobject reference) {
    jni_original_table()->DeleteLocalRef(jni, reference);
  }
};
template <class T = jobject>
using OriginalRef = LocalRef<T, DeleteByOriginal>;

// The original of a slot.
void* jni_original(int slot);

// The intercepted call of a thread, which Python may ask it to make.
struct JniCall {
  void* state;
  void (*proceed)(void* state, Call& call, Writer& out);
  JniCall* outer;
  JniBuffer buffers[2];  // of an argument and of the result
};

template <class R>
constexpr char result_letter() {
  if constexpr (std::is_void<R>::value) {
    return 'V';
  } else if constexpr (std::is_same<R, jboolean>::value) {
    return 'Z';
  } else if constexpr (std::is_floating_point<R>::value) {
    return 'D';
  } else if constexpr (std::is_arithmetic<R>::value) {
    return 'J';
  } else if constexpr (std::is_same<R, jmethodID>::value) {
    return 'm';
  } else if constexpr (std::is_same<R, jfieldID>::value) {
    return 'f';
  } else if constexpr (std::is_convertible<R, jobject>::value) {
    return 'L';
  } else {
    return 'p';
  }
}

// The object of an answer, as the kind of reference that the function of a slot gives; `made`
// itself where it is the same object.
jobject answered_object(Call& call, uint64_t handle, jobject made, int slot);
jmethodID answered_method(Call& call, uint64_t handle);
jfieldID answered_field(Call& call, uint64_t handle);

// The result of a JNI function: kept as it is, so that pointers stay good too.
template <class R>
struct JniResult {
  R value{};
  template <class F>
  void set(F original) {
    value = original();
  }
  void put(JniValues& values) { values.put(value); }
  void answer(Call& call, uint64_t bits, int slot) {
    if constexpr (std::is_floating_point<R>::value) {
      double real;
      std::memcpy(&real, &bits, sizeof real);
      value = static_cast<R>(real);
    } else if constexpr (std::is_arithmetic<R>::value || std::is_enum<R>::value) {
      value = static_cast<R>(bits);
    } else if constexpr (std::is_same<R, jmethodID>::value) {
      value = answered_method(call, bits);
    } else if constexpr (std::is_same<R, jfieldID>::value) {
      value = answered_field(call, bits);
    } else if constexpr (std::is_convertible<R, jobject>::value) {
      value = static_cast<R>(answered_object(call, bits, value, slot));
    }
  }
  R get() { return value; }
};
template <>
struct JniResult<void> {
  template <class F>
  void set(F original) {
    original();
  }
  void put(JniValues&) {}
  void answer(Call&, uint64_t, int) {}
  void get() {}
};

// What is done with an intercepted call in its own C type, of which `called` knows the arguments
// and the result.  All else is the same for all, and stands once: there are wrappers by the
// hundred.
struct JniCallType {
  char letter;  // of the result
  void (*make)(void* called);
  void (*put_arguments)(void* called, JniValues& values);
  void (*put_result)(void* called, JniValues& values);
  void (*answer)(void* called, Call& call, uint64_t bits, int slot);
};

// Makes the call of a slot, and counts it or asks Python as is wanted.
void intercept(JNIEnv* jni, int slot, Owner owner_kind, const JniCallType& type, void* called);

template <class R, class Original, class Write>
R intercepted(JNIEnv* jni, int slot, Owner owner_kind, Original original, Write write) {
  struct Called {
    Original& original;
    Write& write;
    JniResult<R> result;
  };
  static constexpr JniCallType type{
      result_letter<R>(),
      [](void* called) {
        Called& of = *static_cast<Called*>(called);
        of.result.set(of.original);
      },
      [](void* called, JniValues& values) { static_cast<Called*>(called)->write(values); },
      [](void* called, JniValues& values) { static_cast<Called*>(called)->result.put(values); },
      [](void* called, Call& call, uint64_t bits, int slot_of) {
        static_cast<Called*>(called)->result.answer(call, bits, slot_of);
      }};
  Called called{original, write, {}};
  intercept(jni, slot, owner_kind, type, &called);
  return called.result.get();
}

// One wrapper: its slot, how a field in it is known, its C type.
template <int slot, Owner owner_kind, class Type>
struct JniWrapper;

template <int slot, Owner owner_kind, class R, class... A>
struct JniWrapper<slot, owner_kind, R(JNICALL*)(JNIEnv*, A...)> {
  using Function = R(JNICALL*)(JNIEnv*, A...);
  static R JNICALL call(JNIEnv* jni, A... given) {
    Function function = reinterpret_cast<Function>(jni_original(slot));
    return intercepted<R>(
        jni, slot, owner_kind, [&]() -> R { return function(jni, given...); },
        [&](JniValues& values) {
          values.look(given...);
          (values.put(given), ...);
        });
  }
};

struct JniListEnd {
  va_list& list;
  ~JniListEnd() { va_end(list); }
};

// The va_list and the variadic form of a slot: the form with jvalues stands behind them, and does
// what they do.
template <int slot, class R, class... A>
struct JniListWrapper {
  using Function = R(JNICALL*)(JNIEnv*, A..., const jvalue*);
  static R through(JNIEnv* jni, int called, va_list* list, jmethodID method, A... given) {
    Function function = reinterpret_cast<Function>(jni_original(slot));
    JniArguments arguments(method, list);
    return intercepted<R>(
        jni, called, Owner::kInstance,
        [&]() -> R { return function(jni, given..., arguments.values()); },
        [&](JniValues& values) {
          (values.put(given), ...);
          values.put_arguments(arguments.values());
        });
  }
};

template <int slot, class Type>
struct JniFormWrapper;
template <int slot, class R, class O>
struct JniFormWrapper<slot, R(JNICALL*)(JNIEnv*, O, jmethodID, const jvalue*)> {
  using Through = JniListWrapper<slot, R, O, jmethodID>;
  static R JNICALL call_v(JNIEnv* jni, O on, jmethodID method, va_list given) {
    va_list copy;
    va_copy(copy, given);
    JniListEnd end{copy};
    return Through::through(jni, slot - 1, &copy, method, on, method);
  }
  static R JNICALL call_variadic(JNIEnv* jni, O on, jmethodID method, ...) {
    va_list given;
    va_start(given, method);
    JniListEnd end{given};
    return Through::through(jni, slot - 2, &given, method, on, method);
  }
};
template <int slot, class R>
struct JniFormWrapper<slot, R(JNICALL*)(JNIEnv*, jobject, jclass, jmethodID, const jvalue*)> {
  using Through = JniListWrapper<slot, R, jobject, jclass, jmethodID>;
  static R JNICALL call_v(JNIEnv* jni, jobject on, jclass of, jmethodID method, va_list given) {
    va_list copy;
    va_copy(copy, given);
    JniListEnd end{copy};
    return Through::through(jni, slot - 1, &copy, method, on, of, method);
  }
  static R JNICALL call_variadic(JNIEnv* jni, jobject on, jclass of, jmethodID method, ...) {
    va_list given;
    va_start(given, method);
    JniListEnd end{given};
    return Through::through(jni, slot - 2, &given, method, on, of, method);
  }
};

// Generated: the wrapper of each slot, null for those that are reserved.
extern void* const kJniWrappers[kJniSlots];

}  // namespace jvmti
