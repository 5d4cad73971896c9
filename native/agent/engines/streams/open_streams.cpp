#include "agent/engines/streams/open_streams.h"

#include "agent/engines/streams/streams.h"
#include "agent/sessions/session.h"

namespace jvmti {

bool OpenStreams::keep(Stream* stream) {
  Locked locked(session_.mutex());
  // Room for the day when it is closed, which must not fail.
  return !session_.ending() && open_.reserve(open_.size() + 1) &&
         closed_.reserve(open_.size() + closed_.size() + leaving_ + 1) && open_.push(stream);
}

Environment* OpenStreams::close(JNIEnv* jni, uint64_t number) {
  Stream* closed = nullptr;
  {
    Locked locked(session_.mutex());
    for (size_t i = 0; i < open_.size() && closed == nullptr; ++i) {
      if (open_[i]->serial != number) continue;
      closed = open_[i];
      open_.remove(i);
    }
    if (closed == nullptr) return nullptr;
  }
  Environment* environment = &closed->environment;
  closed->unlink();
  {
    Locked locked(session_.mutex());
    closed_.put(closed);
  }
  free_closed(jni, 1000);
  return environment;
}

bool OpenStreams::close_all(JNIEnv* jni, const Environment* environment) {
  while (true) {
    uint64_t number = 0;
    {
      Locked locked(session_.mutex());
      for (Stream* stream : open_) {
        if (environment == nullptr || &stream->environment == environment) number = stream->serial;
      }
    }
    if (number == 0) break;
    close(jni, number);
  }
  return free_closed(jni, 10);
}

bool OpenStreams::free_closed(JNIEnv* jni, int milliseconds) {
  while (true) {
    Stream* closed;
    {
      Locked locked(session_.mutex());
      if (closed_.empty()) return true;
      closed = closed_.pop();
      ++leaving_;
    }
    uint64_t streamed = 0;
    uint64_t dropped = 0;
    closed->count(&streamed, &dropped);
    bool freed = closed->free(jni, milliseconds);
    Locked locked(session_.mutex());
    --leaving_;
    if (freed) {
      streamed_ += streamed;
      dropped_ += dropped;
      continue;
    }
    closed_.put(closed);
    return false;
  }
}

void OpenStreams::count(Counts* counts) {
  Locked locked(session_.mutex());
  counts->streams = open_.size();
  counts->streamed = streamed_;
  counts->dropped = dropped_;
  for (Stream* stream : open_) stream->count(&counts->streamed, &counts->dropped);
  for (Stream* stream : closed_) stream->count(&counts->streamed, &counts->dropped);
}

namespace {

void leave(JNIEnv* jni, Session& session, Environment& environment) {
  session.streams.close_all(jni, &environment);
}

bool end(JNIEnv* jni, Session& session, Stage stage) {
  bool closing = stage == Stage::kMute || stage == Stage::kSettle;
  return !closing || session.streams.close_all(jni, nullptr) || stage == Stage::kMute;
}

void count(Session& session, Counts* counts) { session.streams.count(counts); }

}  // namespace

extern const Engine kStreamEngine{nullptr, leave, end, count};

}  // namespace jvmti
