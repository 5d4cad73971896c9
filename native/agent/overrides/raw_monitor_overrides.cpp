// Raw monitors, around which the agent keeps books of who has one or waits for it.

#include "generated/overrides.h"

namespace jvmti::overrides {

namespace {

// A raw monitor in use by this channel.  The VM frees a destroyed monitor even while threads wait
// for it, so the session counts its users, and looks up and counts a monitor in one step. When
// the session ends, no thread can enter one any more.
class MonitorUse : NoCopy {
 public:
  MonitorUse(Call& call, const In<kinds::RawMonitor>& monitor) : call_(call) {
    Locked locked(call.session.mutex());
    valid_ = !call.session.ending() &&
             call.session.pointers.find(monitor.handle(), kinds::RawMonitor::kind) != nullptr;
    if (valid_) call.channel.monitor_in_use = monitor.c();
  }
  ~MonitorUse() {
    Locked locked(call_.session.mutex());
    call_.channel.monitor_in_use = nullptr;
  }
  bool valid() const { return valid_; }

 private:
  Call& call_;
  bool valid_;
};

HeldMonitor* held_by(Channel& channel, jrawMonitorID monitor) {
  for (HeldMonitor& held : channel.entered()) {
    if (held.monitor == monitor) return &held;
  }
  return nullptr;
}

void forget_held(Channel& channel, const HeldMonitor* held) {
  channel.entered().remove(static_cast<size_t>(held - channel.entered().begin()));
}

}  // namespace

jvmtiError DestroyRawMonitor(Call& call, const In<kinds::RawMonitor>& monitor) {
  // Removed from the table only if the VM will not refuse: otherwise its owner could find no such
  // monitor meanwhile, and never exit it.
  {
    Locked locked(call.session.mutex());
    if (call.session.monitor_used(monitor.c(), call.channel)) {
      return call.refuse(JVMTI_ERROR_NOT_MONITOR_OWNER,
                         "other threads have the monitor or wait for it");
    }
    if (!call.session.pointers.hide(monitor.handle(), kinds::RawMonitor::kind)) {
      return JVMTI_ERROR_INVALID_MONITOR;
    }
  }
  HeldMonitor* held = held_by(call.channel, monitor.c());
  if (held != nullptr) {
    // The VM leaves the monitor once for its owner, however often it was entered.
    while (--held->count > 0) call.env->RawMonitorExit(monitor.c());
    Locked locked(call.session.mutex());
    forget_held(call.channel, held);
  }
  jvmtiError error = call.env->DestroyRawMonitor(monitor.c());
  call.session.pointers.settle(monitor.handle(), error == JVMTI_ERROR_NONE);
  return error;
}

jvmtiError RawMonitorEnter(Call& call, const In<kinds::RawMonitor>& monitor) {
  MonitorUse use(call, monitor);
  if (!use.valid()) return JVMTI_ERROR_INVALID_MONITOR;
  {
    // Room beforehand: what is not in the book is not let go at the end.
    Locked locked(call.session.mutex());
    Vector<HeldMonitor>& entered = call.channel.entered();
    if (!entered.reserve(entered.size() + 1)) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  if (call.channel.walking() && call.session.monitor_held_outside(call.channel, monitor.c())) {
    return call.refuse(layouts::Status::kInHeapCallback, "the monitor's owner cannot leave it");
  }
  jvmtiError error = call.env->RawMonitorEnter(monitor.c());
  if (error != JVMTI_ERROR_NONE) return error;
  Locked locked(call.session.mutex());
  HeldMonitor* held = held_by(call.channel, monitor.c());
  if (held != nullptr) {
    ++held->count;
  } else {
    call.channel.entered().put(HeldMonitor{monitor.c(), 1});
  }
  return error;
}

jvmtiError RawMonitorExit(Call& call, const In<kinds::RawMonitor>& monitor) {
  MonitorUse use(call, monitor);
  if (!use.valid()) return JVMTI_ERROR_INVALID_MONITOR;
  jvmtiError error = call.env->RawMonitorExit(monitor.c());
  if (error != JVMTI_ERROR_NONE) return error;
  Locked locked(call.session.mutex());
  HeldMonitor* held = held_by(call.channel, monitor.c());
  if (held != nullptr && --held->count == 0) forget_held(call.channel, held);
  return error;
}

jvmtiError RawMonitorWait(Call& call, const In<kinds::RawMonitor>& monitor,
                          const In<jlong>& milliseconds) {
  MonitorUse use(call, monitor);
  if (!use.valid()) return JVMTI_ERROR_INVALID_MONITOR;
  if (held_by(call.channel, monitor.c()) == nullptr) return JVMTI_ERROR_NOT_MONITOR_OWNER;
  if (call.channel.walking()) {
    return call.refuse(layouts::Status::kInHeapCallback, "no thread could notify");
  }
  // Noted before the wait, so that a session that ends meanwhile finds and wakes us.
  call.channel.waiting = true;
  jvmtiError error = call.session.ending()
                         ? JVMTI_ERROR_INTERRUPT
                         : call.env->RawMonitorWait(monitor.c(), milliseconds.c());
  call.channel.waiting = false;
  return error;
}

jvmtiError RawMonitorNotify(Call& call, const In<kinds::RawMonitor>& monitor) {
  MonitorUse use(call, monitor);
  return use.valid() ? call.env->RawMonitorNotify(monitor.c()) : JVMTI_ERROR_INVALID_MONITOR;
}

jvmtiError RawMonitorNotifyAll(Call& call, const In<kinds::RawMonitor>& monitor) {
  MonitorUse use(call, monitor);
  return use.valid() ? call.env->RawMonitorNotifyAll(monitor.c()) : JVMTI_ERROR_INVALID_MONITOR;
}

}  // namespace jvmti::overrides
