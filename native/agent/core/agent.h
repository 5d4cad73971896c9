// The agent as a whole: one per JVM, however many controllers work on it.
#pragma once

#include <jvmti.h>

#include <atomic>

#include "agent/core/vm_memory.h"
#include "agent/handles/known_threads.h"
#include "base/containers.h"
#include "base/lock.h"

namespace jvmti {

class Session;
struct Environment;

struct Agent {
  JavaVM* vm;
  jvmtiEnv* env;           // our own: VMInit, VMDeath, RunAgentThread, and memory
  jvmtiEnv* plain_env;     // without capabilities, where a controller holds the VM in OnLoad
  jint version;            // of JVM TI, as the VM says
  std::atomic<bool> live;  // VMInit has been
  std::atomic<bool> dead;  // VMDeath has been

  Mutex mutex{Guards::kAgent};
  Vector<Session*> sessions;
  KnownThreads service_threads;
  Vector<Session*> waiting;  // met us in OnLoad; their service starts at VMInit
  Vector<Environment*> spare_environments;
  Vector<jvmtiEnv*> spare_tagging;  // for passes over the heap, with nothing tagged
};

// Never destroyed: threads of ours may still run while the process exits.
extern Agent& agent;

// Starts a daemon thread of the VM's own that runs `body`; hidden from Java code.
bool start_service_thread(JNIEnv* jni, const char* name, jvmtiStartFunction body, const void* what);
// The two halves of it: making the thread meets events of the calling thread, and running it none.
// The first returns null if no thread can be made; the second releases the reference.
jthread new_service_thread(JNIEnv* jni, const char* name);
bool run_service_thread(JNIEnv* jni, jthread thread, jvmtiStartFunction body, const void* what);
bool is_service_thread(JNIEnv* jni, jthread thread);
[[nodiscard]] bool enter_service(JNIEnv* jni, jthread thread);  // false without memory
void leave_service(JNIEnv* jni, jthread thread);

// The major version in a JVM TI version number.
constexpr jint major_version(jint version) { return (version >> 16) & 0xFFF; }

}  // namespace jvmti
