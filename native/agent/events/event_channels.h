// The channels of a session that wait idle for a thread of the JVM that has an event to report.
#pragma once

#include <atomic>

#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

class Channel;
class Session;

class EventChannels {
 public:
  explicit EventChannels(Session& session) : session_(session) {}

  bool add(int descriptor);
  // Null when the session ends or the time (of the clock, -1 for none) has come.
  Channel* borrow(int64_t deadline);
  void give_back(Channel* channel, bool good);
  // No thread waits for one any more; hold the session's mutex.
  void wake() { changed_.notify_all(); }
  // Hold the session's mutex.
  Vector<Channel*>& all() { return all_; }

  std::atomic<uint32_t> waiting{0};  // threads that wait for one

 private:
  Session& session_;
  Condition changed_;
  Vector<Channel*> all_;
  Vector<Channel*> idle_;
};

}  // namespace jvmti
