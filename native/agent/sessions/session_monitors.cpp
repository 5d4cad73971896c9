// Raw monitors of a session: who has one or waits for it, in all its channels.

#include "agent/channels/channel.h"
#include "agent/sessions/session.h"

namespace jvmti {

template <class Matches>
bool Session::any_channel(Matches matches) {
  if (matches(*control_channel_)) return true;
  Vector<Channel*>* const both[] = {&channels_, &event_channels.all()};
  for (Vector<Channel*>* all : both) {
    for (Channel* channel : *all) {
      if (matches(*channel)) return true;
    }
  }
  return false;
}

namespace {

bool has_entered(const Channel& channel, jrawMonitorID monitor) {
  for (size_t i = 0; i < channel.monitors.size(); ++i) {
    if (channel.monitors[i].monitor == monitor) return true;
  }
  return false;
}

}  // namespace

bool Session::monitor_used(jrawMonitorID monitor, const Channel& except) {
  return any_channel([&](const Channel& channel) {
    return channel.monitor_in_use == monitor ||
           (&channel != &except && has_entered(channel, monitor));
  });
}

bool Session::monitor_held_outside(const Channel& walking, jrawMonitorID monitor) {
  Locked locked(mutex_);
  return any_channel([&](const Channel& channel) {
    return (&channel != &walking && channel.monitor_in_use == monitor) ||
           has_entered(channel, monitor);
  });
}

// A monitor with an owner is left to the next round: the owner may be suspended. No thread enters
// one once the session ends.
void Session::wake_waiters() {
  Vector<jrawMonitorID> waited;
  {
    Locked locked(mutex_);
    any_channel([&](const Channel& waiter) {
      jrawMonitorID monitor = waiter.waiting ? waiter.monitor_in_use : nullptr;
      bool owned = any_channel([&](const Channel& other) {
        return !other.waiting && (other.monitor_in_use == monitor || has_entered(other, monitor));
      });
      // Without memory this ends, and the next round finds it.
      return monitor != nullptr && !owned && !waited.push(monitor);
    });
  }
  for (jrawMonitorID monitor : waited) {
    if (agent.env->RawMonitorEnter(monitor) != JVMTI_ERROR_NONE) continue;
    agent.env->RawMonitorNotifyAll(monitor);
    agent.env->RawMonitorExit(monitor);
  }
}

}  // namespace jvmti
