// Shell patterns for the names of classes and methods: `*`, `?` and `[…]`.
#pragma once

#include <cstring>

namespace jvmti {

// Part of a text, which need not end with a zero.
struct Slice {
  const char* begin;
  const char* end;
};

// Whether a character is of the set that begins behind a `[`; `*end` is behind the set, or stays
// null where the set has no end.
inline bool in_set(const char* set, const char* pattern_end, char c, const char** end) {
  bool negated = set < pattern_end && (*set == '!' || *set == '^');
  if (negated) ++set;
  bool in = false;
  for (bool first = true; set < pattern_end && (*set != ']' || first); first = false) {
    char from = *set++;
    char to = from;
    if (pattern_end - set >= 2 && set[0] == '-' && set[1] != ']') {
      to = set[1];
      set += 2;
    }
    if (from <= c && c <= to) in = true;
  }
  *end = set < pattern_end ? set + 1 : nullptr;
  return in != negated;
}

// Whether the whole of a name matches a pattern. A class file writes names with slashes where
// patterns have dots: `kSlashes` reads them so.
template <bool kSlashes = false>
bool matches(Slice pattern, Slice name) {
  const char* at = pattern.begin;
  const char* star = nullptr;
  const char* resume = nullptr;
  while (name.begin < name.end) {
    char c = kSlashes && *name.begin == '/' ? '.' : *name.begin;
    char wanted = at < pattern.end ? *at : '\0';
    const char* end = nullptr;
    if (wanted == '*') {
      star = ++at;
      if (star == pattern.end) return true;  // whatever follows
      resume = name.begin;
    } else if (wanted == '[' && in_set(at + 1, pattern.end, c, &end) && end != nullptr) {
      at = end;
      ++name.begin;
    } else if (at < pattern.end && wanted != '[' && (wanted == '?' || wanted == c)) {
      ++at;
      ++name.begin;
    } else if (wanted == '[' && end == nullptr && c == '[') {
      ++at;  // a set without an end is the character itself
      ++name.begin;
    } else if (star != nullptr) {
      at = star;
      name.begin = ++resume;
    } else {
      return false;
    }
  }
  while (at < pattern.end && *at == '*') ++at;
  return at == pattern.end;
}

// The same for several patterns, one a line; none at all takes every name.
template <bool kSlashes = false>
bool matches_any(const char* patterns, Slice name) {
  if (patterns == nullptr) return true;
  while (true) {
    const char* end = patterns;
    while (*end != '\0' && *end != '\n') ++end;
    if (matches<kSlashes>({patterns, end}, name)) return true;
    if (*end == '\0') return false;
    patterns = end + 1;
  }
}

inline bool matches_any(const char* patterns, const char* name) {
  return matches_any(patterns, Slice{name, name + std::strlen(name)});
}

}  // namespace jvmti
