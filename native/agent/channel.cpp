#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "call.h"
#include "lock_check.h"
#include "log.h"
#include "own_references.h"
#include "producers.h"
#include "shared_memory.h"

namespace jvmti {

namespace {

constexpr size_t kInbox = 64 * 1024;

pthread_key_t serving_key;
pthread_once_t serving_once = PTHREAD_ONCE_INIT;
bool serving_ready = false;

}  // namespace

bool prepare_serving() {
  pthread_once(&serving_once,
               [] { serving_ready = pthread_key_create(&serving_key, nullptr) == 0; });
  return serving_ready;
}

Serving::Serving(Channel& channel, int event, jvmtiEnv* env)
    : channel(channel),
      event(event),
      env(env),
      handler(event != 0),
      outer_(static_cast<Serving*>(pthread_getspecific(serving_key))) {
  pthread_setspecific(serving_key, this);
  Producer::note_serving(1);
}

Serving::~Serving() {
  Producer::note_serving(-1);
  pthread_setspecific(serving_key, outer_);
}

Unserved::Unserved() : kept_(pthread_getspecific(serving_key)) {
  pthread_setspecific(serving_key, nullptr);
}

Unserved::~Unserved() { pthread_setspecific(serving_key, kept_); }

namespace {
char retirement;
}

void Serving::retire() { pthread_setspecific(serving_key, &retirement); }

bool Serving::retired() { return pthread_getspecific(serving_key) == &retirement; }

Serving* Serving::innermost() {
  return retired() ? nullptr : static_cast<Serving*>(pthread_getspecific(serving_key));
}

Serving* Serving::of(const Session* session) {
  Serving* one = innermost();
  while (one != nullptr && &one->channel.session != session) one = one->outer_;
  return one;
}

int Serving::depth(const Session* session) {
  int handlers = 0;
  auto* one = static_cast<const Serving*>(pthread_getspecific(serving_key));
  for (; one != nullptr; one = one->outer_) {
    handlers += one->handler && &one->channel.session == session;
  }
  return handlers;
}

Channel::~Channel() {
  if (passed_ >= 0) close(passed_);
  if (process >= 0) close(process);
  close(descriptor_);
  std::free(inbox_.data);
  std::free(answered_);
}

void Channel::shut_down() { shutdown(descriptor_, SHUT_RDWR); }

// Nobody is waited for beyond the deadline.  A channel on which a part of a frame has gone is of no
// use any more, and is shut.
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
  return true;
}

// Waits for the socket; false when the deadline has come or the controller has gone.  In a walk, which
// the VM stands still for, also when the controller does.
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
  log("the controller stands still in the middle of a heap walk");
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
    bool limited = unheard_ && deadline >= 0 && process < 0 && !walking();
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
  unheard_ = false;
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
  if (header->size > protocol::kMaximumRequest) {
    log("a frame of %u bytes is refused", header->size);
    return false;
  }
  while (!reserve(sizeof *header + header->size)) {
    if (!skip(*header)) return false;
    exhausted(*header);
    if (!fill(sizeof *header)) return false;
    std::memcpy(header, inbox_.data + inbox_.start, sizeof *header);
    if (header->size > protocol::kMaximumRequest) return false;
  }
  if (!fill(sizeof *header + header->size)) return false;
  payload_ = inbox_.data + inbox_.start + sizeof *header;
  inbox_.start += sizeof *header + header->size;
  return true;
}

// Reads over a call that there is no memory for, so that the next frame can be read; false for what
// has nobody that an answer would reach.
bool Channel::skip(const Header& header) {
  if (header.kind != protocol::kCall && header.kind != protocol::kBatch &&
      header.kind != protocol::kMap) {
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

void Channel::exhausted(const Header& header) {
  Header reply{0, protocol::kReturn, 0, JVMTI_ERROR_OUT_OF_MEMORY, header.sequence, 0, 0};
  send(reply, nullptr, 0);
}

void Channel::malformed(const Header& header, const char* why) {
  log("malformed frame: %s", why);
  Header reply{static_cast<uint32_t>(std::strlen(why)), protocol::kMalformed, 0, 0,
               header.sequence, 0, 0};
  send(reply, why, reply.size);
}

namespace {

// What a channel can be made of: a connected Unix stream socket.
bool is_socket(int descriptor) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof(int);
  return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

}  // namespace

int Channel::take_socket() {
  int descriptor = take_descriptor();
  if (descriptor >= 0 && !is_socket(descriptor)) {
    close(descriptor);
    descriptor = -1;
  }
  return descriptor;
}

void close_socket(int descriptor) { close(descriptor); }

void Channel::converse(JNIEnv* environment) {
  jni = environment;
  Header header;
  while (!session.ending() && receive(&header)) {
    deadline = session.held_until();
    Next next = serve(header);
    payload_ = nullptr;
    if (next == Next::kLeave) return;
    if (jni == nullptr && !session.held()) return;
  }
}

// What has come after the frame in progress is for the conversation within: it may abandon the call.
void Channel::suspend(Suspended* outer) {
  outer->jni = jni;
  outer->inbox = inbox_;
  outer->payload = payload_;
  outer->conversation = conversation_;
  outer->request = request_;
  outer->deadline = deadline;
  outer->calling = calling_since_ != 0;
  calling_since_ = 0;
  if (payload_ == nullptr) return;
  outer->outbox.swap(outbox_);
  size_t rest = inbox_.end - inbox_.start;
  inbox_ = Inbox{};
  if (rest == 0 || !fill_from(outer->inbox.data + outer->inbox.start, rest)) return;
  outer->inbox.end = outer->inbox.start;
}

void Channel::resume(Suspended* outer) {
  if (outer->payload != nullptr) {
    // The answer is read after its inbox has gone back to the frame in progress.
    std::free(answered_);
    answered_ = inbox_.data;
    size_t rest = inbox_.end - inbox_.start;
    const uint8_t* from = inbox_.data + inbox_.start;
    inbox_ = outer->inbox;
    if (rest > inbox_.size - inbox_.end) {
      log("too much came in the middle of a call");
      shut_down();
    } else if (rest > 0) {
      std::memcpy(inbox_.data + inbox_.end, from, rest);
      inbox_.end += rest;
    }
    outbox_.swap(outer->outbox);
  }
  payload_ = outer->payload;
  jni = outer->jni;
  conversation_ = outer->conversation;
  request_ = outer->request;
  deadline = outer->deadline;
  calling_since_ = outer->calling ? now_in_milliseconds() : 0;
}

Channel::Outcome Channel::converse_until_answer(const Header& opening, const Writer& payload,
                                                Reader* answer) {
  Outcome outcome = Outcome::kLost;
  overran_ = false;
  unheard_ = true;
  stopped_ = false;
  // What is answered in time each time must not make a walk last for ever.
  if (walking() && deadline >= 0 && now_in_milliseconds() >= deadline) return Outcome::kOverran;
  if (!payload.failed() && send(opening, payload.data(), payload.size())) {
    Header header;
    Next next = Next::kGoOn;
    while (next == Next::kGoOn && !session.ending() && receive(&header)) {
      next = serve(header);
      if (next == Next::kAnswered) {
        *answer = Reader(payload_, header.size);
        outcome = Outcome::kAnswered;
      }
    }
  }
  if (overran_) outcome = Outcome::kOverran;
  if (stopped_) outcome = Outcome::kStopped;
  overran_ = unheard_ = false;
  return outcome;
}

Channel::Outcome Channel::ask(JNIEnv* environment, Header opening, const Writer& payload,
                              int64_t limit, Reader* answer) {
  Suspended outer;
  suspend(&outer);
  jni = environment;
  conversation_ = opening.conversation = opening.sequence = ++conversations_;
  deadline = milliseconds_from_now(limit);
  opening.size = static_cast<uint32_t>(payload.size());
  Outcome outcome = converse_until_answer(opening, payload, answer);
  resume(&outer);
  return outcome;
}

// The thread that the VM makes callbacks on is not the one that JNI knows here.
void Channel::begin_walk(const Environment* environment) {
  suspend(&walk_);
  walk_environment_ = environment;
  jni = nullptr;
  conversation_ = ++conversations_;
  if (limit_ >= 0 && (deadline < 0 || limit_ < deadline)) deadline = limit_;
}

Channel::Outcome Channel::ask_in_walk(Header opening, const Writer& payload, Reader* answer) {
  opening.conversation = opening.sequence = conversation_;
  opening.size = static_cast<uint32_t>(payload.size());
  Outcome outcome = converse_until_answer(opening, payload, answer);
  // What a callback enters it has until it returns: nobody else could leave it.
  for (HeldMonitor& held : entered_in_walk_) {
    for (uint32_t i = 0; i < held.count; ++i) agent.env->RawMonitorExit(held.monitor);
  }
  entered_in_walk_.clear();
  return outcome;
}

void Channel::end_walk() {
  walk_environment_ = nullptr;
  resume(&walk_);
}

Channel::Next Channel::serve(const Header& header) {
  if (header.conversation != conversation_ && header.kind != protocol::kRelease &&
      header.kind != protocol::kAbandon) {
    // It comes from a handler whose thread has gone on without it.
    if (header.kind != protocol::kAnswer) {
      Header reply{0, protocol::kReturn, 0, protocol::kHandlerOverran, header.sequence, 0, 0};
      send(reply, nullptr, 0);
    }
    if (passed_ >= 0) close(take_descriptor());
    return Next::kGoOn;
  }
  switch (header.kind) {
      case protocol::kAnswer:
        if (conversation_ != 0) return Next::kAnswered;
        malformed(header, "an answer to nothing");
        break;
      case protocol::kAbandon:
        // Of a walk that is over, it says nothing.
        if (walking() && header.sequence == request_) return Next::kAbandoned;
        break;
      case protocol::kCall:
      case protocol::kBatch:
      case protocol::kMap:
        work(header);
        break;
      case protocol::kRelease: {
        Reader reader(payload_, header.size);
        while (jni != nullptr && reader.remaining() >= 12) {
          uint64_t handle = reader.number<uint64_t>();
          uint32_t count = reader.number<uint32_t>();
          session.objects.give_up(jni, session.tags(), handle, count);
        }
        // A descriptor that has come already belongs to the frame that it was sent ahead of.
        return Next::kGoOn;
      }
      case protocol::kOpen: {
        int descriptor = take_descriptor();
        bool opened = false;
        if (descriptor >= 0 && (!agent.live || jni == nullptr || !is_socket(descriptor))) {
          close(descriptor);
        } else if (descriptor >= 0 && (header.flags & protocol::kFlagEvents) != 0) {
          opened = session.event_channels.add(descriptor);
        } else if (descriptor >= 0) {
          opened = session.open_channel(jni, descriptor);
        }
        bool early = !agent.live || jni == nullptr;
        jvmtiError error = opened  ? JVMTI_ERROR_NONE
                           : early ? JVMTI_ERROR_WRONG_PHASE
                                   : JVMTI_ERROR_OUT_OF_MEMORY;
        Header reply{0, protocol::kReturn, 0, static_cast<uint16_t>(error), header.sequence, 0, 0};
        send(reply, nullptr, 0);
        break;
      }
      case protocol::kHello:
        hello(header);
        break;
      case protocol::kGoodbye:
        session.goodbye_ = true;
        session.goodbye_sequence_ = header.sequence;
        return Next::kLeave;
      default:
        malformed(header, "unknown kind of frame");
  }
  if (passed_ >= 0) close(take_descriptor());
  return Next::kGoOn;
}

void Channel::hello(const Header& header) {
  if (this != session.control_channel_) {
    return malformed(header, "only the first connection introduces a controller");
  }
  session.set_name(reinterpret_cast<const char*>(payload_), header.size);
  int descriptor = take_descriptor();
  if (descriptor >= 0) {
    if (process >= 0) close(process);
    process = descriptor;
  }
  Header reply{0, protocol::kReturn, 0, 0, header.sequence, 0, 0};
  send(reply, nullptr, 0);
}

namespace {

void prepare(Call& call, const Header& header) {
  call.environment_number = header.environment;
  call.environment = call.session.environments.enter(header.environment);
  if (call.environment == nullptr && header.function >> 12 != protocol::kTableJvmti &&
      call.session.environments.disposed(header.environment)) {
    // JNI and the agent's own operations outlive the environment that they are named with.
    call.env = agent.env;
    call.session.calls.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (call.environment == nullptr) {
    call.refuse(JVMTI_ERROR_INVALID_ENVIRONMENT, "environment %u is not one of this session",
                header.environment);
    return;
  }
  call.env = call.environment->env;
  call.session.calls.fetch_add(1, std::memory_order_relaxed);
}

// While the VM makes a walk's callbacks, everything but what is declared safe would wait for ever.
void check_in_walk(Call& call, const Header& header, const Function& function) {
  if (!function.callback_safe) {
    call.refuse(protocol::kInHeapCallback);
  } else if (header.environment != call.channel.walk_environment()->number) {
    call.refuse(protocol::kInHeapCallback, "only in the environment that walks");
  }
}

void finish(Call& call) {
  if (call.environment != nullptr) call.session.environments.leave(call.jni, call.environment);
}

// What a reply that could not be written says.
constexpr uint16_t trouble(bool exhausted) {
  return exhausted ? static_cast<uint16_t>(JVMTI_ERROR_OUT_OF_MEMORY)
                   : static_cast<uint16_t>(protocol::kReplyTooLarge);
}

// One call with its arguments in one stream and its results appended to `out`.
void single(Call& call, const Header& header, Reader& arguments, Writer& out) {
  call.readers = &arguments;
  call.reader_step = 0;
  call.writers = &out;
  call.writer_step = 0;
  call.identify = true;
  const Function* function = find_function(header.function);
  if (function == nullptr) {
    call.refuse(protocol::kUnknownFunction, "function %u is unknown to this agent",
                header.function);
  }
  if (!call.refused() && call.channel.walking()) check_in_walk(call, header, *function);
  if (!call.refused()) prepare(call, header);
  size_t start = out.size();
  if (!call.refused()) invoke(call, *function);
  // What had no memory for its arguments has not read them.
  if (arguments.failed() && call.status != JVMTI_ERROR_OUT_OF_MEMORY) {
    call.status = 0;
    call.refuse(protocol::kMalformedRequest, "the arguments end too early");
  }
  if (out.failed() && !call.refused()) call.refuse(trouble(out.exhausted()));
  finish(call);
  if (!call.refused()) return;
  out.truncate(start);
  if (call.exception != 0) {
    out.number(call.exception);
  } else if (call.detail[0] != '\0') {
    out.bytes(call.detail, std::strlen(call.detail));
  }
}

uint8_t flags_of(const Call& call) {
  if (call.exception != 0) return protocol::kFlagException;
  if (call.status != 0 && call.detail[0] != '\0') return protocol::kFlagDetail;
  return 0;
}

}  // namespace

// Its time counts for threads that wait for this channel only, which are those before the VM is live.
void Channel::work(const Header& header) {
  bool counts = !agent.live;
  if (counts) calling_since_ = now_in_milliseconds();
  if (header.kind == protocol::kCall) {
    call(header);
  } else if (header.kind == protocol::kBatch) {
    batch(header);
  } else {
    map(header);
  }
  if (counts) calling_since_ = 0;
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

void Channel::call(const Header& header) {
  outbox_.clear();
  request_ = header.sequence;
  Reader arguments(payload_, header.size);
  limit_ = -1;
  if ((header.flags & protocol::kFlagLimited) != 0) {
    int64_t limit = arguments.number<int64_t>();
    limit_ = milliseconds_from_now(limit < 0 ? 0 : limit);
  }
  Call made(*this, jni);
  single(made, header, arguments, outbox_);
  Header reply{static_cast<uint32_t>(outbox_.size()), protocol::kReturn, flags_of(made),
               static_cast<uint16_t>(made.status), header.sequence, 0, 0};
  send(reply, outbox_.data(), outbox_.size());
}

// Several calls in one frame: each a function, an environment and its arguments; each reply a
// status, flags and a payload.
void Channel::batch(const Header& header) {
  outbox_.clear();
  Reader reader(payload_, header.size);
  uint32_t count = reader.number<uint32_t>();
  if (count > header.size) return malformed(header, "a batch is shorter than it says");
  for (uint32_t i = 0; i < count && !outbox_.failed(); ++i) {
    if (session.ending()) return;  // nobody waits for the rest
    Header one = header;
    auto called = reader.number<layouts::Batched>();
    one.function = called.function;
    one.environment = called.environment;
    const uint8_t* from = reader.take(called.size);
    if (reader.failed()) return malformed(header, "a batch is shorter than it says");
    Reader arguments(from, called.size);
    size_t head = outbox_.leave(sizeof(layouts::BatchResult));
    size_t start = outbox_.size();
    Call made(*this, jni);
    single(made, one, arguments, outbox_);
    if (outbox_.failed()) break;
    outbox_.fill(head, layouts::BatchResult{static_cast<uint16_t>(made.status), flags_of(made),
                                            static_cast<uint32_t>(outbox_.size() - start)});
  }
  bool fits = !outbox_.failed();
  Header reply{fits ? static_cast<uint32_t>(outbox_.size()) : 0, protocol::kReturn, 0,
               static_cast<uint16_t>(fits ? 0 : trouble(outbox_.exhausted())), header.sequence, 0, 0};
  send(reply, outbox_.data(), reply.size);
}

// One function over columns of arguments.  The request: rows, then for each parameter whether it
// is a column and its encoded values.  The reply: a status for each row, then the leaves of the
// result as columns, each behind its length.  With shared memory the request lies there (its first
// eight bytes say how long it is) and the reply is written over it where it fits.
void Channel::map(const Header& header) {
  outbox_.clear();
  SharedMemory shared;
  Array<uint8_t> copy;
  const uint8_t* request = payload_;
  size_t request_size = header.size;
  if ((header.flags & protocol::kFlagShared) != 0) {
    int descriptor = take_descriptor();
    if (descriptor < 0) return malformed(header, "shared memory was announced but not passed");
    const char* why = shared.open(descriptor);
    if (why != nullptr) return malformed(header, why);
    uint64_t said = 0;
    if (shared.size() >= sizeof said) std::memcpy(&said, shared.data(), sizeof said);
    if (shared.size() < sizeof said || said > shared.size() - sizeof said) {
      return malformed(header, "shared memory is too short");
    }
    if (said > protocol::kMaximumReply) return malformed(header, "the request is too large");
    // Copied once, so that nothing changes between its check and its use.
    request_size = static_cast<size_t>(said);
    if (!copy.allocate(request_size)) return exhausted(header);
    std::memcpy(copy.get(), shared.data() + sizeof said, request_size);
    request = copy.get();
  }

  Reader reader(request, request_size);
  uint32_t rows = reader.number<uint32_t>();
  uint8_t parameters = reader.number<uint8_t>();
  const Function* function = find_function(header.function);
  const char* why = nullptr;
  Reader readers[kMaximumParameters];
  bool column[kMaximumParameters] = {};
  if (function == nullptr) {
    why = "unknown function";
  } else if (parameters != function->parameters || parameters > kMaximumParameters) {
    why = "a map request has the wrong number of parameters";
  } else if (rows > request_size && rows > 1) {
    why = "a map request has more rows than bytes";
  }
  for (int i = 0; why == nullptr && i < parameters; ++i) {
    column[i] = reader.number<uint8_t>() != 0;
    uint32_t size = reader.number<uint32_t>();
    const uint8_t* from = reader.take(size);
    readers[i] = Reader(from, from == nullptr ? 0 : size);
  }
  if (why == nullptr && reader.failed()) why = "a map request ends too early";
  if (why != nullptr) return malformed(header, why);

  Writer writers[kMaximumLeaves];
  Writer errors;
  Call made(*this, jni);
  made.identify = false;
  if (walking()) check_in_walk(made, header, *function);
  if (!made.refused()) prepare(made, header);
  made.readers = readers;
  made.reader_step = 1;
  made.writers = writers;
  made.writer_step = 1;
  bool whole = !made.refused();
  int status = made.status;
  size_t sizes[kMaximumLeaves];
  for (uint32_t row = 0; whole && row < rows; ++row) {
    for (int i = 0; i < parameters; ++i) {
      if (!column[i]) readers[i].rewind();
    }
    for (int leaf = 0; leaf < function->leaves; ++leaf) sizes[leaf] = writers[leaf].size();
    made.status = 0;
    made.detail[0] = '\0';
    invoke(made, *function);
    if (made.refused()) {
      for (int leaf = 0; leaf < function->leaves; ++leaf) writers[leaf].truncate(sizes[leaf]);
      function->blank(Sink{writers, 1});
    }
    errors.number(static_cast<uint16_t>(made.status));
    for (int i = 0; i < parameters; ++i) {
      if (readers[i].failed()) whole = false;
    }
    if (session.ending()) break;
  }
  finish(made);
  if (!whole && status == 0) return malformed(header, "a column ends too early");
  bool fits = !errors.failed();
  for (int leaf = 0; leaf < function->leaves; ++leaf) {
    if (writers[leaf].failed()) fits = false;
  }
  if (fits && status == 0) {
    outbox_.number(rows);
    outbox_.number(static_cast<uint8_t>(function->leaves));
    outbox_.number(static_cast<uint32_t>(errors.size()));
    outbox_.bytes(errors.data(), errors.size());
    for (int leaf = 0; leaf < function->leaves; ++leaf) {
      outbox_.number(static_cast<uint32_t>(writers[leaf].size()));
      outbox_.bytes(writers[leaf].data(), writers[leaf].size());
    }
    fits = !outbox_.failed();
  }
  if (!fits) {
    bool exhausted = errors.exhausted() || outbox_.exhausted();
    for (int leaf = 0; leaf < function->leaves; ++leaf) exhausted |= writers[leaf].exhausted();
    status = trouble(exhausted);
  }
  if (status != 0) outbox_.truncate(0);
  Header reply{static_cast<uint32_t>(outbox_.size()), protocol::kReturn, 0,
               static_cast<uint16_t>(status), header.sequence, 0, 0};
  if (shared.data() != nullptr && status == 0 && outbox_.size() + 8 <= shared.size()) {
    uint64_t size = outbox_.size();
    std::memcpy(shared.data(), &size, sizeof size);
    std::memcpy(shared.data() + sizeof size, outbox_.data(), outbox_.size());
    reply.size = 0;
    reply.flags = protocol::kFlagShared;
  }
  send(reply, outbox_.data(), reply.size);
}

void Channel::release_monitors(JNIEnv* environment) {
  while (!monitors.empty()) {
    // Out of the books first: who enters it next may destroy it at once.
    HeldMonitor held;
    {
      Locked locked(session.mutex());
      held = monitors.pop();
    }
    for (uint32_t i = 0; i < held.count; ++i) agent.env->RawMonitorExit(held.monitor);
  }
  for (const HeldObject& held : objects_held) {
    environment->MonitorExit(held.object);
    environment->ExceptionClear();
    let_go(environment, held.object);
  }
  objects_held.clear();
}

}  // namespace jvmti
