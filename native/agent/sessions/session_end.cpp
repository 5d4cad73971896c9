// How a session ends, for whatever reason: the target first, our own memory last.

#include <unistd.h>

#include "agent/calls/call.h"
#include "agent/channels/channel.h"
#include "agent/core/engine.h"
#include "agent/handles/agent_references.h"
#include "agent/overrides/direct_buffers.h"
#include "agent/sessions/session.h"
#include "base/log.h"

namespace jvmti {

namespace {

// Threads that are suspended may have what the rest needs, so they come first; and the calls that
// come back while the session settles may have set or suspended something after the first round.
constexpr Stage kStages[] = {Stage::kResume, Stage::kMute,    Stage::kHangUp, Stage::kResume,
                             Stage::kUndo,   Stage::kSettle,  Stage::kResume, Stage::kUndo,
                             Stage::kUnlist, Stage::kDispose, Stage::kFree};

constexpr int kPatience = 200;  // a second

}  // namespace

void Session::end(JNIEnv* jni) {
  log("session of %s ends", name_);
  ending_ = true;
  for (Stage stage : kStages) {
    for (int attempt = 0; !end_stage(jni, stage); ++attempt) {
      // A call that was going on may have suspended the thread that another one waits for.
      end_stage(jni, Stage::kResume);
      wake_waiters();
      {
        Locked locked(mutex_);
        changed_.wait(mutex_, attempt < kPatience ? 5 : 100);
      }
      if (attempt != kPatience) continue;
      // A thread inside a Java method that never returns keeps this loop, and nothing else.
      log("a thread does not come back from a call");
      end_stage(jni, Stage::kUndo);
      environments.relinquish_solo();
    }
  }
  Channel* control = control_channel_;
  bool asked = goodbye_;
  Header reply{0, layouts::Kind::kReturn, 0, 0, goodbye_sequence_, 0, 0};
  leave(jni);
  if (asked) control->send(reply, nullptr, 0);
  unmake(control);
}

bool Session::end_stage(JNIEnv* jni, Stage stage) {
  for (int i = 0; i < kEngineCount; ++i) {
    if (kEngines[i]->end != nullptr && !kEngines[i]->end(jni, *this, stage)) return false;
  }
  return true;
}

namespace {

void reset_settings(Session& session) {
  Environment* oldest = session.environments.at(0);
  jvmtiEnv* first = oldest == nullptr ? nullptr : oldest->env.load();
  if (first == nullptr) first = agent.env;
  jint flags = session.verbose_flags.exchange(0);
  for (jint flag = 1; flag <= 4; flag *= 2) {
    if ((flags & flag) != 0) first->SetVerboseFlag(static_cast<jvmtiVerboseFlag>(flag), JNI_FALSE);
  }
  if (!session.sampling_changed.exchange(false)) return;
  constexpr jint kDefaultInterval = 512 * 1024;
  session.environments.any([](Environment& one) {
    jvmtiEnv* env = one.env;
    if (env != nullptr) env->SetHeapSamplingInterval(kDefaultInterval);
    return false;
  });
}

}  // namespace

// What no other engine has: channels, settings of the VM, loans and handles.
bool Session::end_own(JNIEnv* jni, Session& session, Stage stage) {
  switch (stage) {
    case Stage::kHangUp: {
      Locked locked(session.mutex_);
      session.shut_down_channels();
      break;
    }
    case Stage::kUndo:
      reset_settings(session);
      break;
    case Stage::kSettle:
      return session.channel_count() == 0;
    case Stage::kUnlist:
      // Who visits calls nothing of ours from here on.
      while (!session.take_off_list()) usleep(1000);
      break;
    case Stage::kFree:
      session.files.clear();
      session.pointers.each([jni](uint8_t kind, void* pointer) {
        if (kind == kinds::Memory::kind) {
          direct_buffers::give_back(jni, pointer);
        } else if (kind == kinds::RawMonitor::kind) {
          agent.env->DestroyRawMonitor(static_cast<jrawMonitorID>(pointer));
        }
      });
      if (session.control_channel_->pending != nullptr) {
        let_go(jni, session.control_channel_->pending);
      }
      for (Channel* channel : session.event_channels.all()) unmake(channel);
      break;
    case Stage::kForget:
      if (session.tags_ != nullptr) session.tags_->DisposeEnvironment();
      session.objects.clear(jni);
      session.methods.clear(jni);
      session.fields.clear(jni);
      break;
    default:
      break;
  }
  return true;
}

extern const Engine kSessionEngine{nullptr, nullptr, Session::end_own, nullptr};

bool Session::take_off_list() {
  Locked locked(agent.mutex);
  if (environments.in_flight() > 0) return false;
  off_list_ = true;
  agent.sessions.take_out(this);
  return true;
}

void Session::leave(JNIEnv* jni) {
  {
    Locked locked(agent.mutex);
    if (--uses_ > 0) return;
  }
  free_rest(jni);
}

// What somebody who visits may have been looking at.
void Session::free_rest(JNIEnv* jni) {
  end_stage(jni, Stage::kForget);
  unmake(this);
}

}  // namespace jvmti
