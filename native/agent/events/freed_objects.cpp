#include "agent/events/freed_objects.h"

#include <unistd.h>

#include "agent/core/agent.h"
#include "agent/events/events.h"
#include "agent/sessions/environments.h"
#include "base/log.h"
#include "generated/recorders.h"

namespace jvmti {

namespace {

constexpr jint kFirstThatWaits = 16;
constexpr useconds_t kMoment = 10000;  // microseconds
constexpr int kQuietMoments = 10;
constexpr int kMostMoments = 1000;

void JNICALL object_free(jvmtiEnv* env, jlong tag) {
  Environment* environment = EventScope::environment_of(env);
  if (environment == nullptr) return;
  environment->frees.fetch_add(1, std::memory_order_relaxed);
  if (environment->frees_wanted) record_ObjectFree(env, tag);
}

jint JNICALL clear_tag(jlong, jlong, jlong* tag, jint, void*) {
  *tag = 0;
  return 0;
}

void clear_tags(jvmtiEnv* env) {
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  jvmtiHeapCallbacks callbacks{};
  callbacks.heap_iteration_callback = clear_tag;
  jvmtiError error = env->AddCapabilities(&wanted);
  if (error == JVMTI_ERROR_NONE) {
    error = env->IterateThroughHeap(JVMTI_HEAP_FILTER_UNTAGGED, nullptr, &callbacks, nullptr);
  }
  if (error != JVMTI_ERROR_NONE) log("clearing an environment's tags gives error %d", error);
}

// Whether no report has come for some time.
bool await_reports(Environment& environment) {
  int quiet = 0;
  for (int i = 0; i < kMostMoments && quiet < kQuietMoments; ++i) {
    uint64_t before = environment.frees;
    usleep(kMoment);
    quiet = environment.frees == before ? quiet + 1 : 0;
  }
  return quiet == kQuietMoments;
}

}  // namespace

jvmtiError set_object_free(Environment& environment, jvmtiEventMode mode) {
  jvmtiEnv* env = environment.env;
  if (major_version(agent.version) < kFirstThatWaits) {
    return env->SetEventNotificationMode(mode, JVMTI_EVENT_OBJECT_FREE, nullptr);
  }
  if (mode == JVMTI_DISABLE) {
    environment.frees_wanted = false;
    return JVMTI_ERROR_NONE;
  }
  jvmtiCapabilities has{};
  if (jvmtiError error = env->GetCapabilities(&has)) return error;
  if (has.can_generate_object_free_events == 0) return JVMTI_ERROR_MUST_POSSESS_CAPABILITY;
  if (!environment.frees_kept.exchange(true)) {
    jvmtiEventCallbacks callbacks{};
    fill_callbacks(&callbacks, nullptr);
    callbacks.ObjectFree = object_free;
    jvmtiError error = env->SetEventCallbacks(&callbacks, sizeof callbacks);
    if (error == JVMTI_ERROR_NONE) {
      error = env->SetEventNotificationMode(mode, JVMTI_EVENT_OBJECT_FREE, nullptr);
    }
    if (error != JVMTI_ERROR_NONE) {
      environment.frees_kept = false;
      set_callbacks(environment);
      return error;
    }
  }
  environment.frees_wanted = true;
  return JVMTI_ERROR_NONE;
}

void dispose(jvmtiEnv* env, Environment& environment) {
  environment.frees_wanted = false;
  if (environment.frees_kept && !agent.dead) {
    clear_tags(env);
    if (!await_reports(environment)) {
      log("an environment stays: the VM still reports objects that it has freed");
      env->SetEnvironmentLocalStorage(nullptr);
      return;
    }
  }
  env->DisposeEnvironment();
}

}  // namespace jvmti
