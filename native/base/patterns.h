// Shell patterns for the names of classes and methods: `*`, `?` and `[…]`.
#pragma once

namespace jvmti {

// Whether a character is of the set that begins behind a `[`; `*end` is behind the set, or stays
// null where the set has no end.
inline bool in_set(const char* set, char c, const char** end) {
  bool negated = *set == '!' || *set == '^';
  if (negated) ++set;
  bool in = false;
  for (bool first = true; *set != '\0' && (*set != ']' || first); first = false) {
    char from = *set++;
    char to = from;
    if (set[0] == '-' && set[1] != '\0' && set[1] != ']') {
      to = set[1];
      set += 2;
    }
    if (from <= c && c <= to) in = true;
  }
  *end = *set == ']' ? set + 1 : nullptr;
  return in != negated;
}

// Whether the whole of a name matches a pattern, which ends with a line or with the text.
inline bool matches(const char* pattern, const char* name) {
  const char* star = nullptr;
  const char* resume = nullptr;
  while (*name != '\0') {
    const char* end = nullptr;
    if (*pattern == '*') {
      star = ++pattern;
      resume = name;
    } else if (*pattern == '[' && in_set(pattern + 1, *name, &end) && end != nullptr) {
      pattern = end;
      ++name;
    } else if (*pattern == '[' ? end == nullptr && *name == '['  // a set without an end is itself
                               : *pattern != '\0' && *pattern != '\n' &&
                                     (*pattern == '?' || *pattern == *name)) {
      ++pattern;
      ++name;
    } else if (star != nullptr) {
      pattern = star;
      name = ++resume;
    } else {
      return false;
    }
  }
  while (*pattern == '*') ++pattern;
  return *pattern == '\0' || *pattern == '\n';
}

// The same for several patterns, one a line; none at all takes every name.
inline bool matches_any(const char* patterns, const char* name) {
  if (patterns == nullptr) return true;
  while (true) {
    if (matches(patterns, name)) return true;
    while (*patterns != '\0' && *patterns != '\n') ++patterns;
    if (*patterns == '\0') return false;
    ++patterns;
  }
}

}  // namespace jvmti
