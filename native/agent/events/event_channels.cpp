#include "agent/events/event_channels.h"

#include <unistd.h>

#include "agent/channels/channel.h"
#include "base/log.h"

namespace jvmti {

namespace {

constexpr int kLongestWait = 500;  // milliseconds, before looking again

}  // namespace

bool EventChannels::add(int descriptor) {
  Channel* channel = make<Channel>(session_, descriptor);
  if (channel == nullptr) {
    close(descriptor);
    return false;
  }
  Locked locked(session_.mutex());
  if (session_.ending() || !all_.reserve(all_.size() + 1) || !idle_.reserve(all_.size() + 1)) {
    unmake(channel);
    return false;
  }
  all_.put(channel);
  idle_.put(channel);
  changed_.notify_one();
  return true;
}

// A new service thread takes a few lines of Java: up to JDK 18 they lock the thread group.  A
// thread that waits here may hold that lock, while the control thread, which alone can bring a
// channel or see that the controller has gone, waits for it.  So the event goes on without its
// handler then.
Channel* EventChannels::borrow(int64_t deadline) {
  Locked locked(session_.mutex());
  constexpr int64_t kPatience = 10000;  // milliseconds, with the start of a thread
  bool counted = false;
  Channel* taken = nullptr;
  while (!session_.ending()) {
    if (!idle_.empty()) {
      taken = idle_.pop();
      break;
    }
    // Until the session has its service thread, only this thread can notice that the controller has
    // gone.
    if (session_.unwatched() && session_.lost()) break;
    if (!counted) waiting.fetch_add(1);
    counted = true;
    int64_t left = deadline < 0 ? kLongestWait : deadline - now_in_milliseconds();
    if (left <= 0) break;
    int64_t since = session_.starting_since();
    if (since != 0 && now_in_milliseconds() - since >= kPatience) {
      session_.events_overran.fetch_add(1);
      log("an event goes on without its handler: a service thread does not start");
      break;
    }
    changed_.wait(session_.mutex(), static_cast<int>(left < kLongestWait ? left : kLongestWait));
  }
  if (counted) waiting.fetch_sub(1);
  return taken;
}

void EventChannels::give_back(Channel* channel, bool good) {
  Locked locked(session_.mutex());
  if (good && !session_.ending()) {
    idle_.put(channel);
    changed_.notify_one();
    return;
  }
  all_.take_out(channel);
  unmake(channel);
}

}  // namespace jvmti
