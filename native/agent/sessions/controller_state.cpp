#include "agent/sessions/controller_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace jvmti {

namespace {

// The beginning of a small file, as text; false where it cannot be read.
bool read_text(const char* path, char* text, size_t capacity) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  ssize_t size = read(descriptor, text, capacity - 1);
  close(descriptor);
  text[size < 0 ? 0 : size] = '\0';
  return size > 0;
}

bool is_stopped(pid_t pid) {
  char path[40];
  char text[256];
  snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  if (!read_text(path, text, sizeof text)) return false;
  // Behind the program's name, which may contain anything.
  const char* state = strrchr(text, ')');
  return state != nullptr && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

// A line of /proc/PID/cgroup is `number:controllers:path`; version 2 has neither of the first two.
struct Freezer {
  const char* line;  // how the line of the hierarchy that freezes goes on behind its number
  const char* mount;
  const char* file;
  const char* frozen;
};
constexpr Freezer kFreezers[] = {
    {":freezer:", "/sys/fs/cgroup/freezer", "freezer.state", "FROZEN"},
    {"0::", "/sys/fs/cgroup", "cgroup.events", "frozen 1"},
    {"0::", "/sys/fs/cgroup/unified", "cgroup.events", "frozen 1"},
};

bool is_frozen(pid_t pid) {
  char path[4500];
  char groups[4096];
  snprintf(path, sizeof path, "/proc/%d/cgroup", static_cast<int>(pid));
  if (!read_text(path, groups, sizeof groups)) return false;
  for (const Freezer& one : kFreezers) {
    const char* found = strstr(groups, one.line);
    if (found == nullptr) continue;
    const char* group = found + strlen(one.line);
    int length = static_cast<int>(strcspn(group, "\n"));
    char state[256];
    snprintf(path, sizeof path, "%s%.*s/%s", one.mount, length, group, one.file);
    if (read_text(path, state, sizeof state) && strstr(state, one.frozen) != nullptr) return true;
  }
  return false;
}

}  // namespace

bool stands_still(pid_t pid) { return pid > 0 && (is_stopped(pid) || is_frozen(pid)); }

}  // namespace jvmti
