// Annotations: how long they are.
#pragma once

#include "classfile/class_file.h"

namespace jvmti::classfile {

constexpr int kDeepestAnnotation = 64;

// Goes past the value of an annotation's element; false where it makes no sense.
inline bool skip_element(Bytes& bytes, int depth);

inline bool skip_annotation(Bytes& bytes, int depth) {
  bytes.u2();
  for (uint32_t left = bytes.u2(); left > 0 && !bytes.bad; --left) {
    bytes.u2();
    if (!skip_element(bytes, depth)) return false;
  }
  return !bytes.bad;
}

inline bool skip_element(Bytes& bytes, int depth) {
  if (depth > kDeepestAnnotation) return false;
  switch (bytes.u1()) {
    case 'e':
      bytes.u4();
      break;
    case '@':
      return skip_annotation(bytes, depth + 1);
    case '[':
      for (uint32_t left = bytes.u2(); left > 0 && !bytes.bad; --left) {
        if (!skip_element(bytes, depth + 1)) return false;
      }
      break;
    default:
      bytes.u2();
  }
  return !bytes.bad;
}

}  // namespace jvmti::classfile
