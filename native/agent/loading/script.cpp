#include "agent/loading/script.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hashes.h"
#include "base/log.h"

extern char** environ;

namespace jvmti {

namespace {

// The number under which the script's process finds its socket, beside standard input, output and
// error.
constexpr int kSocket = 3;

// The directory of the JVM must not be where Python looks for modules, and the package that the
// library belongs to is known where it is not installed for that Python. The terminal's Ctrl-C is
// for the program, from the start; the end of its JVM ends this process.
constexpr const char* kProgram =
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = [*filter(None, sys.path), *filter(None, sys.argv[1:2])]; "
    "from jvmti.agents.process import main; main()";

// The directory that holds the package `jvmti`, if the library is where the package has it.
bool package_root(char* path, size_t capacity) {
  Dl_info about{};
  if (dladdr(reinterpret_cast<void*>(&start_script), &about) == 0 || about.dli_fname == nullptr) {
    return false;
  }
  char* real = realpath(about.dli_fname, nullptr);
  if (real == nullptr) return false;
  // ROOT/jvmti/_native/VARIANT/libjvmti.so
  char* end = strstr(real, "/jvmti/_native/");
  bool found = end != nullptr && static_cast<size_t>(end - real) < capacity;
  if (found) {
    memcpy(path, real, static_cast<size_t>(end - real));
    path[end - real] = '\0';
  }
  free(real);
  return found;
}

// The interpreter that the package was installed by (`make install` notes it beside the library),
// that of the environment whose site-packages hold it, or else the first on PATH.
void find_python(const char* root, char* path, size_t capacity) {
  char noted[4200];
  snprintf(noted, sizeof noted, "%s/jvmti/_native/python", root);
  FILE* note = root[0] == '\0' ? nullptr : fopen(noted, "re");
  if (note != nullptr) {
    bool read = fgets(path, static_cast<int>(capacity), note) != nullptr;
    fclose(note);
    if (read) path[strcspn(path, "\n")] = '\0';
    if (read && access(path, X_OK) == 0) return;
  }
  if (root[0] != '\0' && strstr(root, "/lib") != nullptr) {
    // PREFIX/lib/python3.11/site-packages
    snprintf(path, capacity, "%s/../../../bin/python3", root);
    if (access(path, X_OK) == 0) return;
  }
  snprintf(path, capacity, "python3");
}

// Every descriptor above our own is closed in the process that is started.
void close_others(posix_spawn_file_actions_t* actions) {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return;
  while (dirent* entry = readdir(directory)) {
    int descriptor = atoi(entry->d_name);
    if (descriptor > kSocket) posix_spawn_file_actions_addclose(actions, descriptor);
  }
  closedir(directory);
}

}  // namespace

bool script_is_for_us(const Options& options, const char* text) {
  // The whole text, because a program may run under several scripts, each with its own options.
  char name[64];
  snprintf(name, sizeof name, "JVMTI_SCRIPT_%016llX",
           static_cast<unsigned long long>(hash_of(text)));
  char own[32];
  snprintf(own, sizeof own, "%d", getpid());
  const char* taken = getenv(name);
  if (taken != nullptr && strcmp(taken, own) != 0 && !options.following) return false;
  setenv(name, own, 1);
  return true;
}

int start_script(const Options& options, pid_t* process) {
  char root[4096] = "";
  char python[4200];
  if (!package_root(root, sizeof root)) root[0] = '\0';
  if (options.python[0] != '\0') {
    snprintf(python, sizeof python, "%s", options.python);
  } else {
    find_python(root, python, sizeof python);
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fprintf(stderr, "jvmti: no socket for the script %s: %s\n", options.script, strerror(errno));
    return -1;
  }
  // Not one of the numbers that the new process gives a meaning to.
  int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, kSocket + 1);
  close(ends[1]);

  char descriptor[16];
  char unload[16];
  snprintf(descriptor, sizeof descriptor, "%d", kSocket);
  snprintf(unload, sizeof unload, "%d", options.unload != 0 ? options.unload : kScriptEnd);
  const char* arguments[] = {python,         "-c",   kProgram,        root,   descriptor,
                             options.script, unload, options.options, nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs, kSocket);
  close_others(&actions);
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  int wrong = posix_spawnp(process, python, &actions, &attributes,
                           const_cast<char* const*>(arguments), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(theirs);
  if (wrong != 0) {
    close(ends[0]);
    fprintf(stderr,
            "jvmti: Python cannot be started for the script %s: %s: %s; the option python= names "
            "another\n",
            options.script, python, strerror(wrong));
    return -1;
  }
  log("script %s runs in process %d by %s", options.script, *process, python);
  return ends[0];
}

void report_script(const Options& options, pid_t process, bool overran) {
  if (overran) {
    fprintf(stderr,
            "jvmti: the script %s has not let the VM start within %d s (option timeout=); the VM "
            "does not start\n",
            options.script, options.timeout);
    return;
  }
  int status = 0;
  for (int waited = 0; waited < 200; ++waited) {
    if (waitpid(process, &status, WNOHANG) == process) {
      fprintf(stderr, "jvmti: the script %s ended with %s %d; the VM does not start\n",
              options.script, WIFSIGNALED(status) ? "signal" : "status",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      return;
    }
    usleep(10 * 1000);
  }
  fprintf(stderr, "jvmti: the script %s has left the VM; the VM does not start\n", options.script);
}

void reap_script(pid_t process) {
  constexpr int kStep = 20;  // milliseconds
  for (int waited = 0; waited < 30 * 1000; waited += kStep) {
    if (waitpid(process, nullptr, WNOHANG) != 0) return;
    usleep(kStep * 1000);
  }
  log("the script's process %d goes on after it has left", process);
}

}  // namespace jvmti
