#include "agent/loading/options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "generated/protocol.h"

namespace jvmti {

namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c != '\0' && strchr("/._:@+-", c) != nullptr);
}

const char* decode(const char* from, size_t length, char* to, size_t capacity) {
  size_t at = 0;
  for (size_t i = 0; i < length; ++i) {
    char c = from[i];
    if (c == '%') {
      if (i + 2 >= length || digit(from[i + 1]) < 0 || digit(from[i + 2]) < 0) {
        return "a value is wrongly percent-encoded";
      }
      c = static_cast<char>(digit(from[i + 1]) * 16 + digit(from[i + 2]));
      i += 2;
      if (c == '\0') return "a value contains %00, which none can";
    } else if (!plain(c)) {
      return "a value has a character that must be percent-encoded";
    }
    if (at + 1 >= capacity) return "a value is too long";
    to[at++] = c;
  }
  to[at] = '\0';
  return nullptr;
}

// Calls `visit` with the bit of each capability that is named, -1 where there is no such.
template <class Visit>
void each_capability(const char* names, Visit visit) {
  for (const char* name = names;; ++name) {
    size_t length = strcspn(name, "+");
    int found = -1;
    for (unsigned bit = 0; bit < protocol::kCapabilityCount; ++bit) {
      const char* one = protocol::kCapabilityNames[bit];
      if (strlen(one) == length && strncmp(one, name, length) == 0) found = static_cast<int>(bit);
    }
    visit(found);
    name += length;
    if (*name == '\0') return;
  }
}

const char* read_seconds(const char* text, int* seconds) {
  size_t digits = strspn(text, "0123456789");
  if (digits == 0 || digits > 6 || text[digits] != '\0' || atoi(text) == 0) {
    return "timeout= and unload= need a positive whole number of seconds, of at most six digits";
  }
  *seconds = atoi(text);
  return nullptr;
}

const char* check_token(const char* text) {
  size_t digits = strspn(text, "0123456789abcdef");
  if (text[digits] != '\0' || digits % 2 != 0) {
    return "token= needs an even number of lower-case hexadecimal digits";
  }
  return nullptr;
}

const char* check_capabilities(const char* names) {
  bool known = true;
  each_capability(names, [&](int bit) { known = known && bit >= 0; });
  return known ? nullptr
               : "reserve= needs names of capabilities, such as can_pop_frame, joined by +";
}

const char* check_script(const Options& options) {
  if (options.script[0] != '\0') {
    return options.connect[0] == '\0' ? nullptr : "script= and connect= exclude each other";
  }
  if (options.options[0] != '\0' || options.python[0] != '\0' || options.following ||
      options.unload != 0) {
    return "options=, python=, follow and unload= are for a script, and there is no script=";
  }
  return nullptr;
}

}  // namespace

const char* parse_options(const char* text, Options* options) {
  if (text == nullptr || *text == '\0') return nullptr;
  char timeout[16];
  char unload[16];
  struct {
    const char* name;
    char* to;
    size_t capacity;
    bool* flag;  // of a key that needs no value; without room there must be none
    bool given;
  } keys[] = {
      {"connect", options->connect, sizeof options->connect, nullptr, false},
      {"listen", options->listen, sizeof options->listen, &options->listening, false},
      {"reserve", options->reserve, sizeof options->reserve, &options->reserving, false},
      {"token", options->token, sizeof options->token, nullptr, false},
      {"log", options->log, sizeof options->log, nullptr, false},
      {"script", options->script, sizeof options->script, nullptr, false},
      {"options", options->options, sizeof options->options, nullptr, false},
      {"python", options->python, sizeof options->python, nullptr, false},
      {"follow", nullptr, 0, &options->following, false},
      {"unload", unload, sizeof unload, nullptr, false},
      {"timeout", timeout, sizeof timeout, nullptr, false},
  };
  while (true) {
    size_t length = strcspn(text, ",");
    size_t key = strcspn(text, "=,");
    bool has_value = key < length;
    bool known = false;
    for (auto& one : keys) {
      if (strlen(one.name) != key || strncmp(text, one.name, key) != 0) continue;
      known = true;
      if (one.given) return "an option is given twice";
      one.given = true;
      if (!has_value) {
        if (one.flag == nullptr) return "an option needs a value";
      } else if (key + 1 == length) {
        return "an option has an empty value";
      } else if (one.capacity == 0) {
        return "an option has a value that takes none";
      } else if (const char* wrong =
                     decode(text + key + 1, length - key - 1, one.to, one.capacity)) {
        return wrong;
      }
      if (one.flag != nullptr) *one.flag = true;
      const char* wrong = nullptr;
      if (one.to == timeout) wrong = read_seconds(timeout, &options->timeout);
      if (one.to == unload) wrong = read_seconds(unload, &options->unload);
      if (one.to == options->token) wrong = check_token(one.to);
      if (one.to == options->reserve && has_value) wrong = check_capabilities(one.to);
      if (wrong != nullptr) return wrong;
    }
    if (!known) {
      return "unknown option; known are connect=, listen, reserve, script=, options=, python=, "
             "follow, unload=, token=, timeout= and log=";
    }
    text += length;
    if (*text == '\0') return check_script(*options);
    ++text;
  }
}

void select_capabilities(const char* names, jvmtiCapabilities* wanted) {
  uint64_t all;
  uint64_t selected = 0;
  memcpy(&all, wanted, sizeof all);
  each_capability(names, [&](int bit) { selected |= bit < 0 ? 0 : all & uint64_t{1} << bit; });
  *wanted = jvmtiCapabilities{};
  memcpy(wanted, &selected, sizeof selected);
}

}  // namespace jvmti
