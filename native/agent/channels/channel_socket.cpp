// The socket of a channel: frames go out and come in, within time limits, and descriptors with
// them.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/channels/channel.h"
#include "agent/channels/frame_trace.h"
#include "agent/checks/lock_check.h"
#include "base/log.h"

namespace jvmti {

namespace {

constexpr size_t kInbox = 64 * 1024;

}  // namespace

// Waits until the deadline at most. A channel that has sent only a part of a frame is useless, and
// is shut.
bool Channel::send(const Header& header, const void* payload, size_t size, int passed) {
  lock_check::hold_none("send");
  iovec parts[2] = {{const_cast<Header*>(&header), sizeof header},
                    {const_cast<void*>(payload), size}};
  constexpr size_t kShort = 256;
  uint8_t whole[sizeof header + kShort];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = size == 0 ? 1 : 2;
  if (size > 0 && size <= kShort) {
    // In one piece, which the kernel takes faster.
    std::memcpy(whole, &header, sizeof header);
    std::memcpy(whole + sizeof header, payload, size);
    parts[0] = {whole, sizeof header + size};
    message.msg_iovlen = 1;
  }
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &passed, sizeof passed);
  }
  const size_t all = sizeof header + size;
  size_t left = all;
  while (left > 0) {
    ssize_t sent = sendmsg(descriptor_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN && await(POLLOUT)) continue;
      if (left < all) {
        log("a frame of %zu bytes could not be sent in time", all);
        shut_down();
      }
      return false;
    }
    left -= static_cast<size_t>(sent);
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    size_t gone = static_cast<size_t>(sent);
    while (message.msg_iovlen > 0 && gone >= message.msg_iov->iov_len) {
      gone -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen > 0) {
      message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + gone;
      message.msg_iov->iov_len -= gone;
    }
  }
  if (tracing_frames) trace_frame('>', descriptor_, header);
  return true;
}

// Waits for the socket; false when the deadline has come or the controller has gone.  In a walk,
// during which the VM is stopped, also when the controller stops.
bool Channel::await(short events) {
  constexpr int64_t kLongest = 1 << 30;  // milliseconds
  constexpr int64_t kLook = 100;
  pollfd watched[2] = {{descriptor_, events, 0}, {process, POLLIN, 0}};
  for (int stopped = 0; stopped < 2;) {
    int64_t left = deadline < 0 ? kLongest : deadline - now_in_milliseconds();
    if (left < 0) left = 0;
    if (left > kLongest) left = kLongest;
    if (walking() && left > kLook) left = kLook;
    int ready = poll(watched, process >= 0 ? 2 : 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0 && watched[0].revents != 0) return true;
    if (ready > 0) {
      log("the controller's process has ended");
      return false;
    }
    overran_ = ready == 0 && deadline >= 0 && now_in_milliseconds() >= deadline;
    if (overran_) return false;
    if (ready == 0 && walking()) stopped = session.controller_stands_still() ? stopped + 1 : 0;
  }
  log("the controller has stopped in the middle of a heap walk");
  stopped_ = true;
  return false;
}

int Channel::take_descriptor() {
  int taken = passed_;
  passed_ = -1;
  return taken;
}

// Puts bytes that have come already into the empty inbox.
bool Channel::fill_from(const uint8_t* data, size_t size) {
  inbox_.size = size > kInbox ? size : kInbox;
  inbox_.data = static_cast<uint8_t*>(std::malloc(inbox_.size));
  if (inbox_.data == nullptr) {
    inbox_ = Inbox{};
    return false;
  }
  std::memcpy(inbox_.data, data, size);
  inbox_.end = size;
  return true;
}

// Makes `need` bytes available from inbox_.start; false at the end of the conversation.
bool Channel::fill(size_t need) {
  if (!reserve(need)) return false;
  while (inbox_.end - inbox_.start < need) {
    ssize_t received = 0;
    if (take_at_once(&received)) {
      if (received <= 0) return false;
      continue;
    }
    // The first answer is mostly the only one: the socket's own limit spares it a system call.
    bool limited = silent_ && deadline >= 0 && process < 0 && !walking();
    if (limited) {
      limit_receiving(deadline - now_in_milliseconds());
    } else if (received_limit_ != 0) {
      limit_receiving(0);
    }
    if ((process >= 0 || walking() || (deadline >= 0 && !limited)) && !await(POLLIN)) return false;
    received = take(0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN && limited) overran_ = true;
    if (received <= 0) return false;
  }
  return true;
}

// Makes room for `need` bytes from inbox_.start.
bool Channel::reserve(size_t need) {
  size_t capacity = need > kInbox ? need : kInbox;
  if (inbox_.start + need > inbox_.size || inbox_.data == nullptr) {
    if (inbox_.data != nullptr && inbox_.start > 0) {
      std::memmove(inbox_.data, inbox_.data + inbox_.start, inbox_.end - inbox_.start);
      inbox_.end -= inbox_.start;
      inbox_.start = 0;
    }
    if (capacity > inbox_.size) {
      uint8_t* grown = static_cast<uint8_t*>(std::realloc(inbox_.data, capacity));
      if (grown == nullptr) return false;
      inbox_.data = grown;
      inbox_.size = capacity;
    }
  }
  return true;
}

// Takes what comes before it is worth sleeping, the end of the conversation included.
bool Channel::take_at_once(ssize_t* received) {
  return spin_.until([&] {
    *received = take(MSG_DONTWAIT);
    return *received >= 0 || (errno != EAGAIN && errno != EINTR);
  });
}

// Appends what has come to the inbox, and takes the descriptor that came along.
ssize_t Channel::take(int flags) {
  iovec part{inbox_.data + inbox_.end, inbox_.size - inbox_.end};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t received = recvmsg(descriptor_, &message, MSG_CMSG_CLOEXEC | flags);
  if (received <= 0) return received;
  silent_ = false;
  inbox_.end += static_cast<size_t>(received);
  for (cmsghdr* head = message.msg_controllen == 0 ? nullptr : CMSG_FIRSTHDR(&message);
       head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int descriptor;
      std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof descriptor);
      if (passed_ >= 0) close(passed_);  // one at a time is all the protocol has
      passed_ = descriptor;
    }
  }
  return received;
}

// Set again only where it differs by more than the clock does between two events.
void Channel::limit_receiving(int64_t milliseconds) {
  constexpr int64_t kSlack = 5;
  if (milliseconds != 0 && milliseconds < 1) milliseconds = 1;
  bool near = milliseconds != 0 && received_limit_ != 0 &&
              received_limit_ - milliseconds < kSlack && milliseconds - received_limit_ < kSlack;
  if (near || milliseconds == received_limit_) return;
  timeval limit{static_cast<time_t>(milliseconds / 1000),
                static_cast<suseconds_t>(milliseconds % 1000 * 1000)};
  setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  received_limit_ = milliseconds;
}

bool Channel::receive(Header* header) {
  if (inbox_.start == inbox_.end) {
    inbox_.start = inbox_.end = 0;
    if (inbox_.size > 4 * kInbox) {
      uint8_t* small = static_cast<uint8_t*>(std::realloc(inbox_.data, kInbox));
      if (small != nullptr) {
        inbox_.data = small;
        inbox_.size = kInbox;
      }
    }
  }
  if (!fill(sizeof *header)) return false;
  std::memcpy(header, inbox_.data + inbox_.start, sizeof *header);
  if (header->size > layouts::FrameLimits::kRequest) {
    log("a frame of %u bytes is refused", header->size);
    return false;
  }
  while (!reserve(sizeof *header + header->size)) {
    if (!skip(*header)) return false;
    reply(*header, JVMTI_ERROR_OUT_OF_MEMORY);
    if (!fill(sizeof *header)) return false;
    std::memcpy(header, inbox_.data + inbox_.start, sizeof *header);
    if (header->size > layouts::FrameLimits::kRequest) return false;
  }
  if (!fill(sizeof *header + header->size)) return false;
  payload_ = inbox_.data + inbox_.start + sizeof *header;
  inbox_.start += sizeof *header + header->size;
  if (tracing_frames) trace_frame('<', descriptor_, *header);
  return true;
}

// Skips a call for which there is no memory, so that the next frame can be read; false if no thread
// waits for an answer.
bool Channel::skip(const Header& header) {
  if (header.kind != layouts::Kind::kCall && header.kind != layouts::Kind::kBatch &&
      header.kind != layouts::Kind::kMap) {
    return false;
  }
  size_t left = sizeof header + header.size;
  while (left > 0) {
    if (inbox_.start == inbox_.end) inbox_.start = inbox_.end = 0;
    if (!fill(1)) return false;
    size_t here = inbox_.end - inbox_.start;
    if (here > left) here = left;
    inbox_.start += here;
    left -= here;
  }
  if (passed_ >= 0) close(take_descriptor());
  return true;
}

void Channel::reply(const Header& to, int status, const Writer* results, uint8_t flags) {
  size_t size = results == nullptr ? 0 : results->size();
  Header header{static_cast<uint32_t>(size),
                layouts::Kind::kReturn,
                flags,
                static_cast<uint16_t>(status),
                to.sequence,
                0,
                0};
  send(header, size == 0 ? nullptr : results->data(), size);
}

void Channel::malformed(const Header& header, const char* why) {
  log("malformed frame: %s", why);
  Header answer{static_cast<uint32_t>(std::strlen(why)),
                layouts::Kind::kMalformed,
                0,
                0,
                header.sequence,
                0,
                0};
  send(answer, why, answer.size);
}

bool is_socket(int descriptor) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof(int);
  return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

int Channel::take_socket() {
  int descriptor = take_descriptor();
  if (descriptor >= 0 && !is_socket(descriptor)) {
    close(descriptor);
    descriptor = -1;
  }
  return descriptor;
}

// As this process sees it; what a pidfd is of says the system, too.
pid_t Channel::controller() const {
  char name[40];
  char text[512];
  snprintf(name, sizeof name, "/proc/self/fdinfo/%d", process);
  int descriptor = process >= 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor >= 0) {
    ssize_t size = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    text[size < 0 ? 0 : size] = '\0';
    const char* line = std::strstr(text, "\nPid:");
    if (line != nullptr) return static_cast<pid_t>(std::atoi(line + 5));
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(descriptor_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : -1;
}

bool Channel::deserted() const {
  pollfd watched[2] = {{descriptor_, POLLRDHUP, 0}, {process, POLLIN, 0}};
  return poll(watched, process >= 0 ? 2 : 1, 0) > 0;
}

}  // namespace jvmti
