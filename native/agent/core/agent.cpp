// The agent's life: loaded at startup or into a running VM, notified of the VM's start and end.

#include "agent/core/agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/calls/answers.h"
#include "agent/channels/channel.h"
#include "agent/channels/frame_trace.h"
#include "agent/checks/failing_allocations.h"
#include "agent/checks/lock_check.h"
#include "agent/handles/agent_references.h"
#include "agent/loading/listener.h"
#include "agent/loading/options.h"
#include "agent/loading/script.h"
#include "agent/sessions/session.h"
#include "base/log.h"

namespace jvmti {

namespace {

union Immortal {
  constexpr Immortal() : it{} {}
  ~Immortal() {}
  Agent it;
};
Immortal immortal;

}  // namespace

Agent& agent = immortal.it;

namespace {

// Where to listen at VMInit.  A VM may load the agent several times, as when launch runs a script
// whose environment has a listening agent already: each time has its own options.
char listen_path[sizeof Options::listen];
bool listen_asked = false;

// The user at the other end must be ours or root.
bool trusted(int descriptor) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == geteuid();
}

int connect_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path, path, std::strlen(path));
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      !trusted(descriptor)) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

void JNICALL serve_session(jvmtiEnv*, JNIEnv* jni, void* what) {
  static_cast<Session*>(what)->serve(jni);
}

bool start_session(JNIEnv* jni, Session* session) {
  return start_service_thread(jni, "jvmti control", serve_session, session);
}

// Reported here as well, because a short program can end before its service threads run; and only
// when the thread can run. Making it triggers events, which use the first connection until the
// controller knows: then they wait for one that only this thread can open.
bool start_waiting_session(JNIEnv* jni, Session* session) {
  jthread thread = new_service_thread(jni, "jvmti control");
  session->report_live_now();
  return thread != nullptr && run_service_thread(jni, thread, serve_session, session);
}

void JNICALL vm_init(jvmtiEnv*, JNIEnv* jni, jthread) {
  lock_check::watch_jni(agent.env, jni);
  {
    Locked locked(agent.mutex);
    agent.live = true;
  }
  // Nothing is added any more: OnLoad is over.
  for (Session* waiting : agent.waiting) {
    if (!start_waiting_session(jni, waiting)) {
      log("no thread for a waiting session");
      waiting->abandon(jni);
    }
  }
  agent.waiting.clear();
  if (listen_asked && !listen_at(jni, listen_path)) {
    fprintf(stderr,
            "jvmti: the agent does not listen; its own log, by the option log=, says why\n");
  }
}

// The VM still has to notify other environments, whose handlers may call: the sessions end with
// `unload`, which the VM calls next.
void JNICALL vm_death(jvmtiEnv*, JNIEnv*) { stop_listening(); }

void unload() {
  Locked locked(agent.mutex);
  agent.dead = true;
  for (Session* session : agent.sessions) session->shut_down();
}

// Our own environment: it receives VMInit and VMDeath, and provides memory and threads.
const char* prepare(JavaVM* vm) {
  if (agent.env != nullptr) return nullptr;
  agent.vm = lock_check::watched(vm);
  if (!prepare_serving()) return "this process has no thread-local key left";
  if (agent.vm->GetEnv(reinterpret_cast<void**>(&agent.env), JVMTI_VERSION_1_2) != JNI_OK) {
    return "this VM offers no JVM TI 1.2";
  }
  check_answers(agent.env);
  fail_allocations(agent.env);
  agent.env->GetVersionNumber(&agent.version);
  jvmtiCapabilities wanted{};
  wanted.can_signal_thread = 1;
  wanted.can_get_bytecodes = 1;
  agent.env->AddCapabilities(&wanted);
  jvmtiEventCallbacks callbacks{};
  callbacks.VMInit = vm_init;
  callbacks.VMDeath = vm_death;
  agent.env->SetEventCallbacks(&callbacks, sizeof callbacks);
  agent.env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, nullptr);
  agent.env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, nullptr);
  return nullptr;
}

// The VM takes attach commands a little before it is live, and then gives no environment and starts
// no threads for an agent yet.
const char* prepare_live(JavaVM* vm) {
  constexpr int kLongestStart = 30000;  // milliseconds
  const char* wrong = nullptr;
  for (int waited = 0; waited < kLongestStart; ++waited) {
    jvmtiPhase phase = JVMTI_PHASE_START;
    wrong = prepare(vm);
    if (wrong == nullptr && agent.env->GetPhase(&phase) == JVMTI_ERROR_NONE &&
        phase == JVMTI_PHASE_LIVE) {
      return nullptr;
    }
    usleep(1000);
  }
  return wrong != nullptr ? wrong : "this VM has not become live";
}

// Capabilities that some environment once had in OnLoad stay available to later ones, so taking
// and leaving them is enough for a later attach to get them.
void reserve(const Options& options) {
  jvmtiEnv* env = nullptr;
  if (agent.vm->GetEnv(reinterpret_cast<void**>(&env), JVMTI_VERSION_1_2) != JNI_OK) return;
  check_answers(env);
  jvmtiCapabilities wanted{};
  env->GetPotentialCapabilities(&wanted);
  bool steps = wanted.can_generate_single_step_events;
  if (options.reserve[0] != '\0') select_capabilities(options.reserve, &wanted);
  // Whether a frame has been left is seen by a step.
  if (steps && (wanted.can_pop_frame || wanted.can_force_early_return)) {
    wanted.can_generate_single_step_events = 1;
  }
  jvmtiError error = env->AddCapabilities(&wanted);
  if (error != JVMTI_ERROR_NONE) log("reserving capabilities gives error %d", error);
  env->DisposeEnvironment();
}

// What the controller wants Agent_OnLoad to return.
jint refused(const Session& session) {
  log("Agent_OnLoad returns %d", session.refused());
  return session.refused();
}

// One that is served on this thread until its controller lets the VM start; null without memory.
Session* waiting_session(int descriptor, const char* token, pid_t script) {
  Session* session = Session::make_session(descriptor);
  if (session == nullptr) return nullptr;
  session->script = script;
  snprintf(session->token, sizeof session->token, "%s", token);
  if (session->enlist() && agent.waiting.reserve(agent.waiting.size() + 1) &&
      session->begin(true)) {
    return session;
  }
  session->abandon(nullptr);
  return nullptr;
}

// Who asks for a script gets a VM with it or none: it does not run without being watched.
jint load_script(Options& options, const char* text) {
  if (!script_is_for_us(options, text)) {
    log("the script %s is for the JVM that these options came from", options.script);
    return JNI_OK;
  }
  if (options.timeout == 0) options.timeout = kScriptStart;
  pid_t process = 0;
  int descriptor = start_script(options, &process);
  if (descriptor < 0) return JNI_ERR;
  Session* session = waiting_session(descriptor, options.token, process);
  if (session == nullptr) return JNI_ERR;
  Session::Hold hold = session->serve_onload(options.timeout, true);
  if (hold == Session::Hold::kLetGo) {
    agent.waiting.put(session);
    return JNI_OK;
  }
  if (hold == Session::Hold::kRefused) return refused(*session);
  report_script(options, process, hold == Session::Hold::kOverran);
  return JNI_ERR;
}

// Reads the options and prepares the agent; false, with a message, where either fails.
bool understand(const char* text, Options* options, const char* (*prepare)(JavaVM*), JavaVM* vm) {
  const char* wrong = parse_options(text, options);
  log_to(options->log[0] != '\0' ? options->log : getenv("JVMTI_LOG"));
  trace_frames_as(getenv("JVMTI_TRACE"));
  if (wrong == nullptr) wrong = prepare(vm);
  if (wrong != nullptr) fprintf(stderr, "jvmti: %s: %s\n", wrong, text == nullptr ? "" : text);
  return wrong == nullptr;
}

jint load(JavaVM* vm, const char* text) {
  Options options;
  if (!understand(text, &options, prepare, vm)) return JNI_ERR;
  if (options.reserving) reserve(options);
  if (options.listening) {
    listen_asked = true;
    std::memcpy(listen_path, options.listen, sizeof listen_path);
  }
  if (options.script[0] != '\0') return load_script(options, text);
  if (options.connect[0] == '\0') return JNI_OK;
  int descriptor = connect_to(options.connect);
  if (descriptor < 0) {
    // No controller listens: a child that inherited the options starts as usual.
    log("no controller at %s: %s", options.connect, strerror(errno));
    return JNI_OK;
  }
  Session* session = waiting_session(descriptor, options.token, 0);
  if (session == nullptr) return JNI_OK;
  int limit = options.timeout != 0 ? options.timeout : kFirstMessage;
  if (session->serve_onload(limit, false) == Session::Hold::kRefused) return refused(*session);
  agent.waiting.put(session);
  return JNI_OK;
}

jint attach(JavaVM* vm, const char* text) {
  Options asked;
  if (!understand(text, &asked, prepare_live, vm)) return JNI_ERR;
  agent.live = true;
  JNIEnv* jni = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  lock_check::watch_jni(agent.env, jni);
  if (asked.listening && !listen_at(jni, asked.listen)) return JNI_ERR;
  pid_t script = 0;
  int descriptor = -1;
  if (asked.script[0] != '\0') {
    descriptor = start_script(asked, &script);
  } else if (asked.connect[0] == '\0') {
    return JNI_OK;
  } else {
    descriptor = connect_to(asked.connect);
  }
  if (descriptor < 0) return JNI_ERR;
  return begin_session(jni, descriptor, asked.token, script) ? JNI_OK : JNI_ERR;
}

}  // namespace

bool begin_session(JNIEnv* jni, int descriptor, const char* token, pid_t script) {
  if (!trusted(descriptor)) {
    log("a connection from another user is refused");
    close(descriptor);
    return false;
  }
  Session* session = Session::make_session(descriptor);
  if (session == nullptr) {
    close(descriptor);
    return false;
  }
  snprintf(session->token, sizeof session->token, "%s", token);
  session->script = script;
  if (session->enlist() && session->begin(false) && start_session(jni, session)) return true;
  session->abandon(jni);
  return false;
}

// The group of the threads to come.  Up to JDK 18 the constructor of Thread locks the group, and a
// thread that is suspended while it holds the topmost one would keep the control thread, which
// alone sees that the controller has gone: so they have a group of their own there, made once.
jobject service_group(JNIEnv* jni) {
  static std::atomic<jobject> own{nullptr};
  static std::atomic<bool> unlocked{false};
  if (jobject made = own.load()) return made;
  jint groups = 0;
  Deallocated<jthreadGroup> top(agent.env);
  if (agent.env->GetTopThreadGroups(&groups, top.out()) != JVMTI_ERROR_NONE || groups == 0) {
    return nullptr;
  }
  if (unlocked.load()) return top[0];
  jclass type = jni->FindClass("java/lang/ThreadGroup");
  if (type == nullptr) return nullptr;
  if (jni->GetMethodID(type, "addUnstarted", "()V") == nullptr) {
    jni->ExceptionClear();
    unlocked = true;
    return top[0];
  }
  jmethodID constructor =
      jni->GetMethodID(type, "<init>", "(Ljava/lang/ThreadGroup;Ljava/lang/String;)V");
  if (constructor == nullptr) return nullptr;
  jvalue arguments[2];
  arguments[0].l = top[0];
  arguments[1].l = jni->NewStringUTF("jvmti");
  jobject made = jni->NewObjectA(type, constructor, arguments);
  jobject kept = made == nullptr ? nullptr : hold(jni, made);
  jobject none = nullptr;
  if (kept == nullptr || own.compare_exchange_strong(none, kept)) return kept;
  let_go(jni, kept);
  return none;
}

jthread new_service_thread(JNIEnv* jni, const char* name) {
  jobject thread = nullptr;
  if (jni->PushLocalFrame(16) != 0) {
    jni->ExceptionClear();
    return nullptr;
  }
  jclass type = jni->FindClass("java/lang/Thread");
  jmethodID constructor =
      type == nullptr
          ? nullptr
          : jni->GetMethodID(type, "<init>", "(Ljava/lang/ThreadGroup;Ljava/lang/String;)V");
  jobject group = constructor == nullptr ? nullptr : service_group(jni);
  if (group != nullptr) {
    jvalue arguments[2];
    arguments[0].l = group;
    arguments[1].l = jni->NewStringUTF(name);
    thread = jni->NewObjectA(type, constructor, arguments);
  }
  if (jni->ExceptionCheck()) {
    jni->ExceptionClear();
    thread = nullptr;
  }
  return jni->PopLocalFrame(thread);
}

bool run_service_thread(JNIEnv* jni, jthread made, jvmtiStartFunction body, const void* what) {
  LocalRef<jthread> thread(jni, made);
  // Registered as ours before it is visible, so that it is never suspended, even in its first
  // moment.
  bool started = enter_service(jni, thread);
  bool known = started;
  started = started && agent.env->RunAgentThread(thread, body, what, JVMTI_THREAD_NORM_PRIORITY) ==
                           JVMTI_ERROR_NONE;
  if (known && !started) leave_service(jni, thread);
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  return started;
}

bool start_service_thread(JNIEnv* jni, const char* name, jvmtiStartFunction body,
                          const void* what) {
  jthread thread = new_service_thread(jni, name);
  return thread != nullptr && run_service_thread(jni, thread, body, what);
}

bool enter_service(JNIEnv* jni, jthread thread) { return agent.service_threads.add(jni, thread); }

void leave_service(JNIEnv* jni, jthread thread) { agent.service_threads.remove(jni, thread); }

bool is_service_thread(JNIEnv* jni, jthread thread) {
  return agent.service_threads.has(jni, thread);
}

}  // namespace jvmti

#define AGENT_EXPORT extern "C" JNIEXPORT __attribute__((visibility("default")))

AGENT_EXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* text, void*) {
  return jvmti::load(vm, text);
}
AGENT_EXPORT jint JNICALL Agent_OnAttach(JavaVM* vm, char* text, void*) {
  return jvmti::attach(vm, text);
}
AGENT_EXPORT void JNICALL Agent_OnUnload(JavaVM*) { jvmti::unload(); }

// The same under the names of a library that is linked into the launcher.
AGENT_EXPORT jint JNICALL Agent_OnLoad_jvmti(JavaVM* vm, char* text, void*) {
  return jvmti::load(vm, text);
}
AGENT_EXPORT jint JNICALL Agent_OnAttach_jvmti(JavaVM* vm, char* text, void*) {
  return jvmti::attach(vm, text);
}
AGENT_EXPORT void JNICALL Agent_OnUnload_jvmti(JavaVM*) { jvmti::unload(); }
