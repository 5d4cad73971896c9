// JNI functions that hand out the memory of strings and arrays: copies stand in for it.

#include <limits>

#include "generated/overrides.h"

namespace jvmti::overrides {

namespace {

Buffer buffer_of(Call& call, size_t size) {
  Buffer buffer;
  if (size > UINT32_MAX) return call.refuse(layouts::Status::kReplyTooLarge);
  buffer.data = std::malloc(size + 1);
  buffer.size = static_cast<uint32_t>(size);
  if (buffer.data == nullptr) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  return buffer;
}

// Whether what is released is to be written to the array: all of it, in a mode that says so.
bool written_back(Call& call, size_t released, size_t whole, jint mode) {
  if (released != whole) {
    return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the elements are not those of the array");
  }
  if (mode == 0 || mode == JNI_COMMIT || mode == JNI_ABORT) return mode != JNI_ABORT;
  return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "there is no release mode %d", mode);
}

// True for a range inside the array or string; otherwise the VM's own exception is what comes.
bool within(jint start, jint length, jsize whole) {
  return start >= 0 && length >= 0 && static_cast<jlong>(start) + length <= whole;
}

}  // namespace

Buffer GetStringChars(Call& call, const In<kinds::String>& string) {
  jsize length = call.jni->GetStringLength(string.c());
  Buffer buffer = buffer_of(call, static_cast<size_t>(length) * sizeof(jchar));
  if (buffer.data != nullptr) {
    call.jni->GetStringRegion(string.c(), 0, length, static_cast<jchar*>(buffer.data));
  }
  return buffer;
}

// The copy is taken at once: a critical region must not stay open across a message.
Buffer GetStringCritical(Call& call, const In<kinds::String>& string) {
  Buffer buffer =
      buffer_of(call, static_cast<size_t>(call.jni->GetStringLength(string.c())) * sizeof(jchar));
  if (buffer.data == nullptr) return buffer;
  const jchar* chars = call.jni->GetStringCritical(string.c(), nullptr);
  if (chars == nullptr) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  std::memcpy(buffer.data, chars, buffer.size);
  call.jni->ReleaseStringCritical(string.c(), chars);
  return buffer;
}

Buffer GetStringRegion(Call& call, const In<kinds::String>& string, const In<jint>& start,
                       const In<jint>& length) {
  jchar nothing;
  if (!within(start.c(), length.c(), call.jni->GetStringLength(string.c()))) {
    // Outside of every string: the VM throws, and writes nothing whatever it takes the length for.
    call.jni->GetStringRegion(string.c(), -1, 0, &nothing);
    return Buffer{};
  }
  Buffer buffer = buffer_of(call, static_cast<size_t>(length.c()) * sizeof(jchar));
  if (buffer.data != nullptr) {
    call.jni->GetStringRegion(string.c(), start.c(), length.c(), static_cast<jchar*>(buffer.data));
  }
  return buffer;
}

char* GetStringUTFChars(Call& call, const In<kinds::String>& string) {
  const char* chars = call.jni->GetStringUTFChars(string.c(), nullptr);
  // A string that no constructor ran on has no characters to point to, and no length either.
  bool none = chars == nullptr && call.jni->GetStringLength(string.c()) == 0;
  if (chars == nullptr && !none) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  char* made = nullptr;
  if (give_text(none ? "" : chars, &made) != JVMTI_ERROR_NONE) {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
  if (!none) call.jni->ReleaseStringUTFChars(string.c(), chars);
  return made;
}

char* GetStringUTFRegion(Call& call, const In<kinds::String>& string, const In<jint>& start,
                         const In<jint>& length) {
  char nothing[4];
  if (!within(start.c(), length.c(), call.jni->GetStringLength(string.c()))) {
    call.jni->GetStringUTFRegion(string.c(), -1, 0, nothing);
    return nullptr;
  }
  char* made = nullptr;
  size_t size = static_cast<size_t>(length.c()) * 3;
  if (allocate_list(size, &made) != JVMTI_ERROR_NONE) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  std::memset(made, 0, size + 1);
  call.jni->GetStringUTFRegion(string.c(), start.c(), length.c(), made);
  return made;
}

// Elements that fit where a region outside of its array is asked for, so that the VM throws.  A
// longer request is passed on as the largest length there is, which no array has.
constexpr jint kSpace = 256;

#define JVMTI_EACH_ARRAY(Do)                                                            \
  Do(Boolean, jboolean) Do(Byte, jbyte) Do(Char, jchar) Do(Short, jshort) Do(Int, jint) \
      Do(Long, jlong) Do(Float, jfloat) Do(Double, jdouble)
#define JVMTI_ARRAY_FUNCTIONS(Name, Type)                                                       \
  Buffer Get##Name##ArrayElements(Call& call, const In<kinds::Name##Array>& array) {            \
    jsize length = call.jni->GetArrayLength(array.c());                                         \
    Buffer buffer = buffer_of(call, static_cast<size_t>(length) * sizeof(Type));                \
    if (buffer.data != nullptr) {                                                               \
      call.jni->Get##Name##ArrayRegion(array.c(), 0, length, static_cast<Type*>(buffer.data));  \
    }                                                                                           \
    return buffer;                                                                              \
  }                                                                                             \
  void Release##Name##ArrayElements(Call& call, const In<kinds::Name##Array>& array,            \
                                    const In<Elements<Type>>& elements, const In<jint>& mode) { \
    size_t released = static_cast<size_t>(elements.size());                                     \
    size_t whole = static_cast<size_t>(call.jni->GetArrayLength(array.c()));                    \
    if (!written_back(call, released, whole, mode.c())) return;                                 \
    call.jni->Set##Name##ArrayRegion(array.c(), 0, elements.size(), elements.data());           \
  }                                                                                             \
  Buffer Get##Name##ArrayRegion(Call& call, const In<kinds::Name##Array>& array,                \
                                const In<jint>& start, const In<jint>& length) {                \
    Type space[kSpace];                                                                         \
    if (!within(start.c(), length.c(), call.jni->GetArrayLength(array.c()))) {                  \
      /* The VM throws. Were it to take the array for longer, there is room for it. */          \
      jint asked = length.c() > kSpace ? std::numeric_limits<jint>::max() : length.c();         \
      call.jni->Get##Name##ArrayRegion(array.c(), start.c(), asked, space);                     \
      return Buffer{};                                                                          \
    }                                                                                           \
    Buffer buffer = buffer_of(call, static_cast<size_t>(length.c()) * sizeof(Type));            \
    if (buffer.data != nullptr) {                                                               \
      call.jni->Get##Name##ArrayRegion(array.c(), start.c(), length.c(),                        \
                                       static_cast<Type*>(buffer.data));                        \
    }                                                                                           \
    return buffer;                                                                              \
  }                                                                                             \
  void Set##Name##ArrayRegion(Call& call, const In<kinds::Name##Array>& array,                  \
                              const In<jint>& start, const In<Elements<Type>>& elements) {      \
    call.jni->Set##Name##ArrayRegion(array.c(), start.c(), elements.size(), elements.data());   \
  }
JVMTI_EACH_ARRAY(JVMTI_ARRAY_FUNCTIONS)
#undef JVMTI_ARRAY_FUNCTIONS

namespace {

// The size of an element by the kind of the handle; 0 for an array of references.
size_t element_size(Call& call, const In<kinds::Array>& array) {
  uint8_t kind = kind_of(array.handle());
  if (kind == kinds::WeakReference::kind) kind = kind_of_object(call.jni, array.c());
#define JVMTI_ELEMENT_SIZE(Name, Type) \
  if (kind == kinds::Name##Array::kind) return sizeof(Type);
  JVMTI_EACH_ARRAY(JVMTI_ELEMENT_SIZE)
#undef JVMTI_ELEMENT_SIZE
  return call.refuse(JVMTI_ERROR_INVALID_OBJECT, "not an array of a primitive type");
}

}  // namespace

Buffer GetPrimitiveArrayCritical(Call& call, const In<kinds::Array>& array) {
  size_t width = element_size(call, array);
  if (width == 0) return Buffer{};
  Buffer buffer = buffer_of(call, static_cast<size_t>(call.jni->GetArrayLength(array.c())) * width);
  if (buffer.data == nullptr) return buffer;
  void* elements = call.jni->GetPrimitiveArrayCritical(array.c(), nullptr);
  if (elements == nullptr) return call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  std::memcpy(buffer.data, elements, buffer.size);
  call.jni->ReleasePrimitiveArrayCritical(array.c(), elements, JNI_ABORT);
  return buffer;
}

void ReleasePrimitiveArrayCritical(Call& call, const In<kinds::Array>& array,
                                   const In<Bytes>& bytes, const In<jint>& mode) {
  size_t width = element_size(call, array);
  if (width == 0) return;
  size_t size = static_cast<size_t>(call.jni->GetArrayLength(array.c())) * width;
  if (!written_back(call, static_cast<size_t>(bytes.size()), size, mode.c())) return;
  void* elements = call.jni->GetPrimitiveArrayCritical(array.c(), nullptr);
  if (elements != nullptr) {
    std::memcpy(elements, bytes.data(), size);
    call.jni->ReleasePrimitiveArrayCritical(array.c(), elements, 0);
  } else {
    call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  }
}

}  // namespace jvmti::overrides
