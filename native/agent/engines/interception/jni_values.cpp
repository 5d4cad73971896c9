#include "agent/engines/interception/jni_values.h"

#include "agent/engines/interception/jni_interception.h"
#include "agent/guards/method_details.h"

namespace jvmti {

// The calls here are our own, so they go past the wrappers.

// A reflection answers for itself: its own class is java.lang.reflect.Field.
jclass JniValues::class_of_field() {
  JNIEnv* jni = call_.jni;
  if (owner_kind_ == Owner::kClass)
    return static_cast<jclass>(jni_original_table()->NewLocalRef(jni, owner_));
  OriginalRef<jclass> type(jni, jni_original_table()->GetObjectClass(jni, owner_));
  if (owner_kind_ == Owner::kInstance) return type.release();
  jmethodID getter = type == nullptr ? nullptr
                                     : jni_original_table()->GetMethodID(
                                           jni, type, "getDeclaringClass", "()Ljava/lang/Class;");
  jobject declaring = getter == nullptr
                          ? nullptr
                          : jni_original_table()->CallObjectMethodA(jni, owner_, getter, nullptr);
  jni_original_table()->ExceptionClear(jni);
  return static_cast<jclass>(declaring);
}

void JniValues::put_field(jfieldID field) {
  OriginalRef<jclass> klass(call_.jni,
                            field == nullptr || owner_ == nullptr ? nullptr : class_of_field());
  letter('f');
  out_.number(klass == nullptr
                  ? uint64_t{0}
                  : call_.session.fields.issue(call_.jni, call_.session.tags(), klass, field));
}

void JniValues::put_arguments(const jvalue* values) {
  const MethodDetails* details = method_ == nullptr ? nullptr : details_of(call_, method_);
  uint32_t count = details == nullptr || values == nullptr ? 0 : details->argument_count;
  letter('A');
  out_.number(static_cast<int32_t>(count));
  for (uint32_t i = 0; i < count; ++i) {
    const jvalue& value = values[i];
    switch (simple_type(details->argument_types[i])) {
      case 'L':
        letter('L');
        out_.number(call_.issue(value.l, 0));
        break;
      case 'Z':
        put_number(value.z);
        break;
      case 'B':
        put_number(value.b);
        break;
      case 'C':
        put_number(value.c);
        break;
      case 'S':
        put_number(value.s);
        break;
      case 'I':
        put_number(value.i);
        break;
      case 'F':
        put_number(value.f);
        break;
      case 'D':
        put_number(value.d);
        break;
      default:
        put_number(value.j);
    }
  }
}

// Read from the descriptor itself: nothing may be asked of the session here, which a call that is
// only counted does not enter.
JniArguments::JniArguments(jmethodID method, va_list* given) {
  Deallocated<char> signature(agent.env);
  if (agent.env->GetMethodName(method, nullptr, signature.out(), nullptr) != JVMTI_ERROR_NONE)
    return;
  if (!values_.allocate(255)) return;
  size_t at = 0;
  for (const char* type = signature + 1; *type != ')' && at < values_.size(); ++type) {
    jvalue& value = values_[at++];
    switch (*type) {
      case 'Z':
        value.z = va_arg(*given, int) != 0;
        break;
      case 'B':
        value.b = static_cast<jbyte>(va_arg(*given, int));
        break;
      case 'C':
        value.c = static_cast<jchar>(va_arg(*given, int));
        break;
      case 'S':
        value.s = static_cast<jshort>(va_arg(*given, int));
        break;
      case 'I':
        value.i = va_arg(*given, jint);
        break;
      case 'J':
        value.j = va_arg(*given, jlong);
        break;
      case 'F':
        value.f = static_cast<jfloat>(va_arg(*given, double));
        break;
      case 'D':
        value.d = va_arg(*given, double);
        break;
      default:
        value.l = va_arg(*given, jobject);
        while (*type == '[') ++type;
        if (*type == 'L') type = std::strchr(type, ';');
    }
  }
}

namespace {

// Slots of functions whose pointers lead to something; the ranges have one for each primitive type.
constexpr int kDefineClass = 5;
constexpr int kNewString = 163;
constexpr int kGetStringChars = 165;
constexpr int kReleaseStringChars = 166;
constexpr int kGetStringUTFChars = 169;
constexpr int kFirstGetElements = 183;
constexpr int kFirstReleaseElements = 191;
constexpr int kFirstRegion = 199;
constexpr int kLastRegion = 214;
constexpr int kGetStringRegion = 220;
constexpr int kGetStringUTFRegion = 221;
constexpr int kNewDirectByteBuffer = 229;
constexpr int kGetDirectBufferAddress = 230;

jint within(jint start, jint length, jint whole) {
  return start >= 0 && length >= 0 && start <= whole - length ? length : 0;
}

// How many bytes GetStringUTFRegion writes, the zero at the end included.
jint utf_length(JNIEnv* jni, jstring string, jint start, jint length) {
  jchar units[256];
  jint bytes = 1;
  for (jint done = 0; done < length;) {
    jint some = length - done < 256 ? length - done : 256;
    jni_original_table()->GetStringRegion(jni, string, start + done, some, units);
    for (jint i = 0; i < some; ++i) {
      bytes += units[i] != 0 && units[i] < 0x80 ? 1 : units[i] < 0x800 ? 2 : 3;
    }
    done += some;
  }
  return bytes;
}

// How many bytes an element of a buffer has; 0 where it is none. No Java code runs for it.
jlong element_size(JNIEnv* jni, jobject buffer) {
  constexpr struct {
    const char* signature;
    jlong size;
  } kBuffers[] = {{"Ljava/nio/ByteBuffer;", 1},  {"Ljava/nio/CharBuffer;", 2},
                  {"Ljava/nio/ShortBuffer;", 2}, {"Ljava/nio/IntBuffer;", 4},
                  {"Ljava/nio/FloatBuffer;", 4}, {"Ljava/nio/LongBuffer;", 8},
                  {"Ljava/nio/DoubleBuffer;", 8}};
  OriginalRef<jclass> type(jni, jni_original_table()->GetObjectClass(jni, buffer));
  for (; type != nullptr; type.reset(jni_original_table()->GetSuperclass(jni, type))) {
    Deallocated<char> signature(agent.env);
    if (agent.env->GetClassSignature(type, signature.out(), nullptr) != JVMTI_ERROR_NONE) continue;
    for (const auto& one : kBuffers) {
      if (std::strcmp(signature, one.signature) == 0) return one.size;
    }
  }
  return 0;
}

}  // namespace

// How many elements a pointer of this function leads to.  Where the VM will refuse the call because
// of its numbers, the memory is not looked at.
jint JniValues::elements() const {
  JNIEnv* jni = call_.jni;
  auto array = static_cast<jarray>(owner_);
  auto string = static_cast<jstring>(owner_);
  bool has_copy = slot_ == kGetStringChars || slot_ == kGetStringUTFChars ||
                  (slot_ >= kFirstGetElements && slot_ < kFirstReleaseElements);
  if (has_copy && !result_) return 1;
  if (slot_ == kNewString || slot_ == kDefineClass) return last_ > 0 ? last_ : 0;
  if (slot_ == kNewDirectByteBuffer) return wide_ > 0 && wide_ <= INT32_MAX ? jint(wide_) : 0;
  if (owner_ == nullptr) return 0;
  if (slot_ == kGetDirectBufferAddress) {
    jlong bytes =
        jni_original_table()->GetDirectBufferCapacity(jni, owner_) * element_size(jni, owner_);
    return bytes < 0 ? 0 : bytes > INT32_MAX ? INT32_MAX : jint(bytes);
  }
  if (slot_ == kGetStringChars || slot_ == kReleaseStringChars) {
    return jni_original_table()->GetStringLength(jni, string);
  }
  if (slot_ >= kFirstGetElements && slot_ < kFirstRegion) {
    return jni_original_table()->GetArrayLength(jni, array);
  }
  if (slot_ >= kFirstRegion && slot_ <= kLastRegion) {
    return within(before_, last_, jni_original_table()->GetArrayLength(jni, array));
  }
  if (slot_ == kGetStringRegion || slot_ == kGetStringUTFRegion) {
    jint length = jni_original_table()->GetStringLength(jni, string);
    bool good = before_ >= 0 && last_ >= 0 && before_ <= length - last_;
    if (slot_ == kGetStringRegion || !good) return good ? last_ : 0;
    return utf_length(jni, string, before_, last_);
  }
  return 0;
}

void JniValues::put_buffer(char type, size_t each, bool writable, void* at) {
  if (buffers_ == nullptr) {
    letter('p');
    out_.number(reinterpret_cast<uint64_t>(at));
    return;
  }
  int number = result_ ? 1 : 0;
  jint count = at == nullptr ? 0 : elements();
  buffers_[number] = JniBuffer{at, static_cast<size_t>(count) * each, writable};
  letter('b');
  out_.number(layouts::Buffer{type, writable, static_cast<uint8_t>(number), count,
                              reinterpret_cast<uint64_t>(at)});
}

// The type of a direct buffer's contents is unknown: bytes, in their order in memory.
void JniValues::put_memory(void* at) {
  if (slot_ == kNewDirectByteBuffer || slot_ == kGetDirectBufferAddress) {
    put_buffer('c', 1, true, at);
  } else {
    letter('p');
    out_.number(reinterpret_cast<uint64_t>(at));
  }
}

// RegisterNatives: a list of name, signature and address.
void JniValues::put_natives(const JNINativeMethod* natives) {
  jint count = natives != nullptr && last_ > 0 ? last_ : 0;
  letter('A');
  out_.number(static_cast<int32_t>(count));
  for (jint i = 0; i < count; ++i) {
    letter('A');
    out_.number(static_cast<int32_t>(3));
    put(static_cast<const char*>(natives[i].name));
    put(static_cast<const char*>(natives[i].signature));
    put(natives[i].fnPtr);
  }
}

}  // namespace jvmti
