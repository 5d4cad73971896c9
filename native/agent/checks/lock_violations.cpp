// Violations on purpose, for the test that the look after locks sees each kind of them.  Part of a
// build with JVMTI_CHECK_LOCKS; JVMTI_LOCK_VIOLATION says which is committed, at the VM's start or
// at attach.

#ifdef JVMTI_CHECK_LOCKS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/channels/channel.h"
#include "agent/checks/checked_calls.h"
#include "agent/checks/lock_check.h"
#include "agent/core/agent.h"
#include "agent/engines/interception/jni_interception.h"
#include "agent/sessions/session.h"

namespace jvmti::lock_check {

namespace {

Mutex outer{Guards::kSession};
Mutex inner{Guards::kLists};
Mutex beside{Guards::kLists};
Condition changed;

// Every function of a table, each in a process of its own, which the look is to end before anything
// of the VM's runs there.
void call_each(const void* table, const void* original, size_t slots) {
  auto functions = static_cast<void* const*>(table);
  for (size_t slot = 0; slot < slots; ++slot) {
    if (functions[slot] == nullptr) continue;
    if (functions[slot] == static_cast<void* const*>(original)[slot]) {
      fprintf(stderr, "jvmti: lock check: nothing looks at slot %d\n", static_cast<int>(slot));
      continue;
    }
    pid_t child = fork();
    if (child == 0) {
      rlimit none{};
      setrlimit(RLIMIT_CORE, &none);
      alarm(10);
      Locked locked(outer);
      reinterpret_cast<void (*)(void*)>(functions[slot])(nullptr);
      _exit(0);
    }
    if (child > 0) waitpid(child, nullptr, 0);
  }
}

void send() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return;
  Session* session = Session::make_session(sockets[0]);
  if (session == nullptr) return;
  Channel channel(*session, sockets[0]);
  Locked locked(outer);
  channel.send(Header{0, 0, 0, 0, 0, 0, 0}, nullptr, 0);
}

}  // namespace

void violate(const jvmtiInterface_1_& jvmti_calls, const JNINativeInterface_& jni_calls,
             jvmtiEnv* env, JNIEnv* jni) {
  const char* asked = getenv("JVMTI_LOCK_VIOLATION");
  auto is = [asked](const char* kind) { return asked != nullptr && strcmp(asked, kind) == 0; };
  if (is("each function")) {
    call_each(&jvmti_calls, jvmti_original, sizeof jvmti_calls / sizeof(void*));
    call_each(&jni_calls, jni_original, slots_of(jni));
  } else if (is("jvmti")) {
    Locked locked(outer);
    jvmtiPhase phase;
    env->GetPhase(&phase);
  } else if (is("jni")) {
    Locked locked(outer);
    jni->GetVersion();
  } else if (is("environment")) {
    Locked locked(outer);
    void* made = nullptr;
    agent.vm->GetEnv(&made, JVMTI_VERSION_1_2);
  } else if (is("send")) {
    send();
  } else if (is("order")) {
    Locked locked(inner);
    Locked wrong(outer);
  } else if (is("rank")) {
    Locked locked(inner);
    Locked wrong(beside);
  } else if (is("twice")) {
    Locked locked(outer);
    Locked wrong(outer);
  } else if (is("stranger")) {
    inner.unlock();
  } else if (is("wait")) {
    Locked locked(outer);
    Locked other(inner);
    changed.wait(inner, 1);
  }
}

}  // namespace jvmti::lock_check

#endif
