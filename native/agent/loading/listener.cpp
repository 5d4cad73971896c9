#include "agent/loading/listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "agent/core/agent.h"
#include "base/log.h"

namespace jvmti {

namespace {

std::atomic<int> listening{-1};
sockaddr_un listening_address;
dev_t listening_device;
ino_t listening_inode;

// A directory of our own that no other user can enter or has planted.
bool private_directory(const char* path) {
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
  struct stat about;
  return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
         (about.st_mode & 077) == 0;
}

void JNICALL accept_connections(jvmtiEnv*, JNIEnv* jni, void*) {
  jthread thread = nullptr;
  agent.env->GetCurrentThread(&thread);
  while (true) {
    int descriptor = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor >= 0) {
      begin_session(jni, descriptor, "");
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      usleep(100 * 1000);  // the program is short of descriptors or memory, which passes
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;
    }
  }
  leave_service(jni, thread);
}

// Whether somebody takes connections there; a socket that its process left behind refuses them.
bool in_use(const sockaddr_un& address) {
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return true;
  bool used =
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno != ECONNREFUSED;
  close(descriptor);
  return used;
}

int listen_once(const char* path) {
  sockaddr_un& address = listening_address;
  std::memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  if (path[0] == '\0') {
    char directory[64];
    snprintf(directory, sizeof directory, "/tmp/.jvmti-%u", geteuid());
    if (!private_directory(directory)) {
      log("%s is not a private directory of ours", directory);
      return -1;
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%d.sock", directory, getpid());
  } else {
    if (strlen(path) >= sizeof address.sun_path) {
      log("the path to listen at is longer than the %zu bytes that a socket can have",
          sizeof address.sun_path - 1);
      return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
  }
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  struct stat about;
  if (lstat(address.sun_path, &about) == 0 && S_ISSOCK(about.st_mode) &&
      about.st_uid == geteuid() && !in_use(address)) {
    unlink(address.sun_path);  // of an earlier process
  }
  // The mode is set on the socket before it has a name, so there is no moment of openness.
  fchmod(descriptor, 0600);
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      chmod(address.sun_path, 0600) != 0 || listen(descriptor, 8) != 0) {
    log("cannot listen at %s: %s", address.sun_path, strerror(errno));
    close(descriptor);
    return -1;
  }
  if (lstat(address.sun_path, &about) == 0) {
    listening_device = about.st_dev;
    listening_inode = about.st_ino;
  }
  return descriptor;
}

}  // namespace

bool listen_at(JNIEnv* jni, const char* path) {
  if (listening >= 0) return true;
  int descriptor = listen_once(path);
  // Children inherit the options with the environment: the path is the parent's then, and a child
  // is found at the default place.
  if (descriptor < 0 && path[0] != '\0') descriptor = listen_once("");
  if (descriptor < 0) return false;
  listening = descriptor;
  return start_service_thread(jni, "jvmti listener", accept_connections, nullptr);
}

void stop_listening() {
  int descriptor = listening;
  if (descriptor < 0) return;
  struct stat about;
  // Somebody may have put another socket there.
  if (lstat(listening_address.sun_path, &about) == 0 && S_ISSOCK(about.st_mode) &&
      about.st_ino == listening_inode && about.st_dev == listening_device) {
    unlink(listening_address.sun_path);
  }
  shutdown(descriptor, SHUT_RDWR);
}

}  // namespace jvmti
