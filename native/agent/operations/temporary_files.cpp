#include "agent/operations/temporary_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace jvmti {

namespace {

// In memory where there is such a directory: the parts are as large as the whole.
constexpr const char* kPlaces[] = {"/dev/shm", "/tmp"};
constexpr char kLink[] = "/heap.hprof";

bool has_space(const char* place, int64_t capacity) {
  struct statvfs about{};
  if (statvfs(place, &about) != 0) return false;
  bool enough = about.f_bavail * about.f_frsize >= static_cast<uint64_t>(capacity);
  if (!enough) errno = ENOSPC;
  return enough;
}

}  // namespace

bool TemporaryFiles::name_for(int descriptor, int64_t capacity, char* name) {
  File file{descriptor, "", capacity > 0};
  struct stat about{};
  if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(descriptor);
    errno = EINVAL;
    return false;
  }
  char real[kLongestName];
  snprintf(real, sizeof real, "/proc/self/fd/%d", descriptor);
  bool made = access(real, W_OK) == 0;
  if (made && file.linked) {
    made = false;
    for (const char* place : kPlaces) {
      if (!has_space(place, capacity)) continue;
      // With the process in it: nobody removes the directory of one that is killed meanwhile.
      snprintf(file.name, sizeof file.name, "%s/jvmti-%d-XXXXXX", place, getpid());
      if (mkdtemp(file.name) == nullptr) continue;
      std::strcat(file.name, kLink);
      made = symlink(real, file.name) == 0;
      if (made) break;
      *std::strrchr(file.name, '/') = '\0';
      rmdir(file.name);
    }
  } else if (made) {
    std::memcpy(file.name, real, sizeof real);
  }
  if (made) {
    Locked locked(mutex_);
    std::memcpy(name, file.name, sizeof file.name);
    if (files_.push(file)) return true;
    errno = ENOMEM;
    remove(file);
    return false;
  }
  int why = errno;
  close(descriptor);
  errno = why;
  return false;
}

bool TemporaryFiles::give_back(const char* name) {
  Locked locked(mutex_);
  for (size_t i = 0; i < files_.size(); ++i) {
    if (std::strcmp(files_[i].name, name) != 0) continue;
    remove(files_[i]);
    files_.remove(i);
    return true;
  }
  return false;
}

void TemporaryFiles::clear() {
  Locked locked(mutex_);
  for (File& file : files_) remove(file);
  files_.clear();
}

// What is in the directory is ours or a part that was left over: a dump still being written fails.
void TemporaryFiles::remove(const File& file) {
  if (file.linked) {
    char directory[kLongestName];
    std::memcpy(directory, file.name, sizeof directory);
    *std::strrchr(directory, '/') = '\0';
    DIR* opened = opendir(directory);
    if (opened != nullptr) {
      while (dirent* entry = readdir(opened)) {
        if (entry->d_name[0] != '.') unlinkat(dirfd(opened), entry->d_name, 0);
      }
      closedir(opened);
    }
    rmdir(directory);
  }
  close(file.descriptor);
}

}  // namespace jvmti
