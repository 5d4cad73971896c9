#include "base/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace jvmti {

namespace {
int log_descriptor = -1;
}

void log_to(const char* path) {
  if (path == nullptr || *path == '\0' || log_descriptor >= 0) return;
  if (strcmp(path, "stderr") == 0) {
    log_descriptor = 2;
    return;
  }
  log_descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void log(const char* format, ...) {
  if (log_descriptor < 0) return;
  char line[512];
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int head = snprintf(line, sizeof line, "[jvmti %lld.%03ld] ", static_cast<long long>(now.tv_sec),
                      now.tv_nsec / 1000000);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line + head, sizeof line - static_cast<size_t>(head) - 1, format, arguments);
  va_end(arguments);
  size_t length = strlen(line);
  line[length++] = '\n';
  ssize_t written = write(log_descriptor, line, length);
  (void)written;  // a log that cannot be written has nowhere to say so
}

}  // namespace jvmti
