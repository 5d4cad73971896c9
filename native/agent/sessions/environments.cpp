#include "agent/sessions/environments.h"

#include <cstring>

#include "agent/calls/answers.h"
#include "agent/core/agent.h"
#include "agent/core/engine.h"
#include "agent/events/freed_objects.h"
#include "agent/sessions/session.h"
#include "base/log.h"

namespace jvmti {

namespace {

// Versions of the interface to ask for, the newest first: behaviour follows what was asked for.
constexpr jint kVersions[] = {0x30190000, 0x30150000, 0x30110000,
                              0x300B0000, 0x30090000, JVMTI_VERSION_1_2};

jvmtiEnv* environment_of(jint version) {
  jvmtiEnv* env = nullptr;
  if (agent.vm->GetEnv(reinterpret_cast<void**>(&env), version) != JNI_OK) return nullptr;
  if (env != nullptr) check_answers(env);
  return env;
}

void keep_spare(Environment* environment) {
  environment->env = nullptr;
  Locked locked(agent.mutex);
  // Without memory for it this is never used again; the VM may still look into it.
  if (!agent.spare_environments.push(environment)) log("no memory to keep an environment's");
}

// The memory of an environment that has gone, or new memory.
Environment* spare_environment() {
  Environment* environment = nullptr;
  {
    Locked locked(agent.mutex);
    if (!agent.spare_environments.empty()) environment = agent.spare_environments.pop();
  }
  if (environment == nullptr) return make<Environment>();
  environment->active = 0;
  environment->disposed = environment->leaving = false;
  environment->storage = 0;
  environment->extension_events = 0;
  for (EventTaps& taps : environment->taps) taps.clear();
  environment->muted = false;
  environment->capabilities = 0;
  environment->frees_kept = environment->frees_wanted = false;
  environment->frees = 0;
  return environment;
}

// From now on nothing of the environment's events reaches the controller.
void mute_one(Environment& environment) {
  environment.muted = true;
  each_engine([&](const Engine& engine) {
    if (engine.mute != nullptr) engine.mute(environment);
  });
  jvmtiEnv* env = environment.env;
  if (env != nullptr && !environment.frees_kept) env->SetEventCallbacks(nullptr, 0);
}

}  // namespace

jvmtiEnv* new_jvmti_environment(jint version) {
  if (version != 0) return environment_of(version);
  jvmtiEnv* env = nullptr;
  for (jint candidate : kVersions) {
    if (env == nullptr) env = environment_of(candidate);
  }
  return env;
}

void enable_early(jvmtiEnv* env) {
  jvmtiCapabilities early{};
  early.can_generate_early_vmstart = 1;
  env->AddCapabilities(&early);
}

jvmtiEnv* environment_with(const jvmtiCapabilities& wanted) {
  jvmtiEnv* env = new_jvmti_environment();
  if (env == nullptr || env->AddCapabilities(&wanted) == JVMTI_ERROR_NONE) return env;
  env->DisposeEnvironment();
  return nullptr;
}

jvmtiEnv* new_tagging_environment() {
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  return environment_with(wanted);
}

jvmtiEnv* new_stepping_environment(bool* sees_steps) {
  jvmtiCapabilities wanted{};
  wanted.can_support_virtual_threads = major_version(agent.version) >= 21;
  wanted.can_generate_single_step_events = 1;
  jvmtiEnv* env = environment_with(wanted);
  *sees_steps = env != nullptr;
  if (env != nullptr) return env;
  wanted.can_generate_single_step_events = 0;
  return environment_with(wanted);
}

jvmtiEnv* new_lookup_environment(bool virtual_threads) {
  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  wanted.can_get_line_numbers = 1;
  wanted.can_get_source_file_name = 1;
  wanted.can_support_virtual_threads = virtual_threads;
  return environment_with(wanted);
}

jvmtiError Environments::add(jint version, uint32_t* number) {
  jvmtiEnv* env = new_jvmti_environment(version);
  if (env == nullptr) return JVMTI_ERROR_UNSUPPORTED_VERSION;
  Environment* environment = spare_environment();
  bool good = environment != nullptr;
  if (good) {
    environment->session = &session_;
    environment->env = env;
    Locked locked(session_.mutex());
    good = all_.push(environment);
    environment->number = static_cast<uint32_t>(all_.size());
  }
  if (!good) {
    if (environment != nullptr) keep_spare(environment);
    env->DisposeEnvironment();
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  env->SetEnvironmentLocalStorage(environment);
  *number = environment->number;
  return JVMTI_ERROR_NONE;
}

Environment* Environments::at(size_t place) {
  Locked locked(session_.mutex());
  return place < all_.size() ? all_[place] : nullptr;
}

Environment* Environments::enter(uint32_t number) {
  Locked locked(session_.mutex());
  if (number == 0 || number > all_.size()) return nullptr;
  Environment* environment = all_[number - 1];
  if (environment->disposed || environment->env == nullptr) return nullptr;
  ++environment->active;
  return environment;
}

// A disposed environment goes with the last call in it.  Until then engines can use it to take back
// what they have set in it.
void Environments::leave(JNIEnv* jni, Environment* environment) {
  {
    Locked locked(session_.mutex());
    if (--environment->active > 0 || !environment->disposed || environment->leaving) return;
    environment->leaving = true;
  }
  mute_one(*environment);
  each_engine([&](const Engine& engine) {
    if (engine.leave != nullptr) engine.leave(jni, session_, *environment);
  });
  jvmtiEnv* gone;
  {
    Locked locked(session_.mutex());
    gone = environment->env;
    environment->env = nullptr;
  }
  if (gone != nullptr) jvmti::dispose(gone, *environment);
}

bool Environments::disposed(uint32_t number) {
  Locked locked(session_.mutex());
  return number != 0 && number <= all_.size() && all_[number - 1]->disposed;
}

void Environments::dispose(uint32_t number) {
  Locked locked(session_.mutex());
  all_[number - 1]->disposed = true;
}

size_t Environments::count() {
  Locked locked(session_.mutex());
  size_t count = 0;
  for (Environment* environment : all_) count += environment->env != nullptr;
  return count;
}

uint64_t Environments::capabilities() {
  uint64_t all = 0;
  Locked locked(session_.mutex());
  for (Environment* environment : all_) {
    if (environment->env != nullptr && !environment->disposed) all |= environment->capabilities;
  }
  return all;
}

uint32_t Environments::in_flight() {
  uint32_t count = 0;
  Locked locked(session_.mutex());
  for (Environment* environment : all_) count += environment->in_flight;
  return count;
}

void Environments::mute() {
  Environment* environment;
  for (size_t i = 0; (environment = at(i)) != nullptr; ++i) {
    if (environment->env != nullptr) mute_one(*environment);
  }
}

void Environments::relinquish_solo() {
  jvmtiCapabilities solo{};
  std::memcpy(&solo, &protocol::kSoloCapabilities, sizeof protocol::kSoloCapabilities);
  Environment* environment;
  for (size_t i = 0; (environment = at(i)) != nullptr; ++i) {
    jvmtiEnv* env = environment->env;
    if (env != nullptr && env->RelinquishCapabilities(&solo) == JVMTI_ERROR_NONE) {
      environment->capabilities &= ~protocol::kSoloCapabilities;
    }
  }
}

void Environments::dispose_all() {
  for (Environment* environment : all_) {
    jvmtiEnv* gone = environment->env.exchange(nullptr);
    if (gone != nullptr) jvmti::dispose(gone, *environment);
    keep_spare(environment);
  }
  Locked locked(session_.mutex());
  all_.clear();
}

namespace {

bool end_environments(JNIEnv*, Session& session, Stage stage) {
  // A call that has come back since may have made one.
  if (stage == Stage::kMute || stage == Stage::kSettle) session.environments.mute();
  if (stage == Stage::kDispose) session.environments.dispose_all();
  return stage != Stage::kSettle || session.environments.in_flight() == 0;
}

}  // namespace

extern const Engine kEnvironmentEngine{nullptr, nullptr, end_environments, nullptr};

}  // namespace jvmti
