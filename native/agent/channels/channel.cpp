// The conversation on a channel: frames are served, and what is asked of the controller within.

#include "agent/channels/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include "agent/calls/call.h"
#include "agent/handles/agent_references.h"
#include "base/log.h"

namespace jvmti {

Channel::~Channel() {
  if (passed_ >= 0) close(passed_);
  if (process >= 0) close(process);
  close(descriptor_);
  std::free(inbox_.data);
  std::free(answered_);
}

void Channel::shut_down() { shutdown(descriptor_, SHUT_RDWR); }

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

// What has come after the frame in progress is for the conversation within: it may abandon the
// call.
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
  silent_ = true;
  stopped_ = false;
  // What is answered in time each time must not make a walk last for ever.
  if (walking() && deadline >= 0 && now_in_milliseconds() >= deadline) return Outcome::kOverran;
  if (!payload.failed() && send(opening, payload.data(), payload.size())) {
    Header header;
    Next next = Next::kGoOn;
    while (next == Next::kGoOn && !session.ending() && receive(&header)) {
      next = serve(header);
      if (next == Next::kAnswered || next == Next::kEnded) {
        *answer = Reader(payload_, next == Next::kEnded ? 0 : header.size);
        outcome = Outcome::kAnswered;
      }
    }
  }
  if (overran_) outcome = Outcome::kOverran;
  if (stopped_) outcome = Outcome::kStopped;
  overran_ = silent_ = false;
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
  // Exits what the callback has entered: no other thread could.
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
  if (header.conversation != conversation_ && header.kind != layouts::Kind::kRelease &&
      header.kind != layouts::Kind::kAbandon) {
    // It comes from a handler whose thread has gone on without it.
    if (header.kind != layouts::Kind::kAnswer) reply(header, layouts::Status::kHandlerOverran);
    if (passed_ >= 0) close(take_descriptor());
    return Next::kGoOn;
  }
  Next next = Next::kGoOn;
  switch (header.kind) {
    case layouts::Kind::kAnswer:
      if (conversation_ != 0) return Next::kAnswered;
      malformed(header, "an answer to nothing");
      break;
    case layouts::Kind::kAbandon:
      // Of a walk that is over, it says nothing.
      if (walking() && header.sequence == request_) return Next::kAbandoned;
      break;
    case layouts::Kind::kCall:
    case layouts::Kind::kBatch:
    case layouts::Kind::kMap:
      if (work(header)) next = Next::kEnded;
      break;
    case layouts::Kind::kRelease: {
      Reader reader(payload_, header.size);
      while (jni != nullptr && reader.remaining() >= sizeof(layouts::Released)) {
        auto one = reader.number<layouts::Released>();
        session.objects.give_up(jni, session.tags(), one.handle, one.count);
      }
      // A descriptor that has come already belongs to the frame that it was sent ahead of.
      return Next::kGoOn;
    }
    case layouts::Kind::kOpen: {
      int descriptor = take_descriptor();
      bool opened = false;
      if (descriptor >= 0 && (!agent.live || jni == nullptr || !is_socket(descriptor))) {
        close(descriptor);
      } else if (descriptor >= 0 && (header.flags & layouts::Flag::kEvents) != 0) {
        opened = session.event_channels.add(descriptor);
      } else if (descriptor >= 0) {
        opened = session.open_channel(jni, descriptor);
      }
      bool early = !agent.live || jni == nullptr;
      reply(header, opened  ? JVMTI_ERROR_NONE
                    : early ? JVMTI_ERROR_WRONG_PHASE
                            : JVMTI_ERROR_OUT_OF_MEMORY);
      break;
    }
    case layouts::Kind::kHello:
      hello(header);
      break;
    case layouts::Kind::kGoodbye:
      session.goodbye_ = true;
      session.goodbye_sequence_ = header.sequence;
      return Next::kLeave;
    default:
      malformed(header, "unknown kind of frame");
  }
  if (passed_ >= 0) close(take_descriptor());
  return next;
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
  reply(header, 0);
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
