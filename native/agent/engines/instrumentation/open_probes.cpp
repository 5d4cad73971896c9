#include "agent/engines/instrumentation/open_probes.h"

#include "agent/engines/instrumentation/code_moves.h"
#include "agent/engines/instrumentation/probe_set.h"
#include "agent/sessions/session.h"
#include "generated/overrides.h"

namespace jvmti {

OpenProbes::~OpenProbes() {
  if (holds_moves_) release_code_moves();
}

bool OpenProbes::keep(ProbeSet* set) {
  Locked locked(session_.mutex());
  // Room for the day when it is closed, which must not fail.
  if (session_.ending() || !closed_.reserve(kProbeSets) || !open_.push(set)) return false;
  if (!holds_moves_) hold_code_moves();
  holds_moves_ = true;
  return true;
}

bool OpenProbes::has(const ProbeSet* set) {
  Locked locked(session_.mutex());
  for (const ProbeSet* one : open_) {
    if (one == set) return true;
  }
  return false;
}

bool OpenProbes::close(JNIEnv* jni, uint32_t number) {
  ProbeSet* closed = nullptr;
  {
    Locked locked(session_.mutex());
    for (size_t i = 0; i < open_.size() && closed == nullptr; ++i) {
      if (open_[i]->number() != number) continue;
      closed = open_[i];
      open_.remove(i);
    }
  }
  if (closed == nullptr) return false;
  closed->mute();
  closed->restore(jni);
  {
    Locked locked(session_.mutex());
    closed_.put(closed);
  }
  free_closed(jni);
  return true;
}

void OpenProbes::mute_all() {
  Locked locked(session_.mutex());
  for (ProbeSet* set : open_) set->mute();
}

bool OpenProbes::find_reporting(Vector<uint32_t>* numbers) {
  Locked locked(session_.mutex());
  for (const ProbeSet* set : open_) {
    if (set->reports_events() && !numbers->push(set->number())) return false;
  }
  return true;
}

void OpenProbes::close_all(JNIEnv* jni) {
  while (true) {
    uint32_t number;
    {
      Locked locked(session_.mutex());
      if (open_.empty()) return;
      number = open_[0]->number();
    }
    close(jni, number);
  }
}

bool OpenProbes::free_closed(JNIEnv* jni) {
  while (true) {
    ProbeSet* closed;
    {
      Locked locked(session_.mutex());
      if (closed_.empty()) return true;
      closed = closed_.pop();
    }
    if (closed->free(jni)) continue;
    Locked locked(session_.mutex());
    closed_.put(closed);
    return false;
  }
}

namespace {

// Classes are put back when no call of the session can give them probes any more.
bool end(JNIEnv* jni, Session& session, Stage stage) {
  if (stage == Stage::kMute) session.probes.mute_all();
  if (stage == Stage::kUnlist) session.probes.close_all(jni);
  return stage != Stage::kUnlist || session.probes.free_closed(jni);
}

}  // namespace

extern const Engine kProbeEngine{nullptr, nullptr, end, nullptr};

namespace operations {

namespace {

jvmtiError open(Call& call, const ProbeRequest& request, int descriptor, jint* number) {
  ProbeSet* set = ProbeSet::open(call, request, descriptor);
  if (set == nullptr) return static_cast<jvmtiError>(call.status);
  if (!call.session.probes.keep(set)) {
    set->mute();
    set->restore(call.jni);
    while (!set->free(call.jni)) {
    }
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  *number = static_cast<jint>(set->number());
  return JVMTI_ERROR_NONE;
}

}  // namespace

jvmtiError OpenProbes(Call& call, const In<Bytes>& plan, const In<jlong>& shortest,
                      const In<jint>& record_size, const In<jint>& text_size, const In<jint>& held,
                      const In<Nullable<kinds::ClassLoader>>& loader, jint* number) {
  int descriptor = call.channel.take_descriptor();
  if (call.jni == nullptr || !agent.live) {
    if (descriptor >= 0) SharedMemory().open(descriptor);  // closes it
    call.refuse(JVMTI_ERROR_WRONG_PHASE, "probes need a VM that is live");
    return JVMTI_ERROR_WRONG_PHASE;
  }
  ProbeRequest request{plan.data(),   static_cast<uint64_t>(plan.size()),
                       shortest.c(),  record_size.c(),
                       text_size.c(), held.c()};
  request.loader = loader.c();
  return open(call, request, descriptor, number);
}

jvmtiError OpenStopProbes(Call& call, const In<Bytes>& plan, const In<jint>& stop, jint* number) {
  if (call.jni == nullptr || !agent.live) {
    call.refuse(JVMTI_ERROR_WRONG_PHASE, "probes need a VM that is live");
    return JVMTI_ERROR_WRONG_PHASE;
  }
  if (call.environment == nullptr) return JVMTI_ERROR_INVALID_ENVIRONMENT;
  if (stop.c() <= 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  ProbeRequest request{plan.data(), static_cast<uint64_t>(plan.size()), 0, 0, 0,
                       0,           static_cast<uint32_t>(stop.c())};
  return open(call, request, -1, number);
}

jvmtiError OpenEventProbes(Call& call, const In<Bytes>& plan, jint* number) {
  if (call.jni == nullptr || !agent.live) {
    call.refuse(JVMTI_ERROR_WRONG_PHASE, "probes need a VM that is live");
    return JVMTI_ERROR_WRONG_PHASE;
  }
  ProbeRequest request{plan.data(), static_cast<uint64_t>(plan.size()), 0, 0, 0, 0, 0, true};
  return open(call, request, -1, number);
}

jvmtiError OpenParkProbes(Call& call, const In<Bytes>& plan, const In<jint>& profile,
                          const In<jlong>& shortest, jint* number) {
  if (call.jni == nullptr || !agent.live) {
    call.refuse(JVMTI_ERROR_WRONG_PHASE, "probes need a VM that is live");
    return JVMTI_ERROR_WRONG_PHASE;
  }
  if (profile.c() <= 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  ProbeRequest request{plan.data(), static_cast<uint64_t>(plan.size()), shortest.c(), 0, 0, 0};
  request.profile = static_cast<uint32_t>(profile.c());
  return open(call, request, -1, number);
}

jvmtiError PlaceProbes(Call& call, const In<jint>& number, const In<List<kinds::Class>>& classes) {
  FoundProbes set(call, number.c());
  if (set == nullptr) return FoundProbes::refuse(call, number.c());
  return set->retransform(call.jni, classes.items(), classes.count());
}

jvmtiError CountProbes(Call& call, const In<jint>& number, jlong* classes, jlong* sites,
                       jlong* failed, jlong* reason, jint* left_out) {
  FoundProbes set(call, number.c());
  if (set == nullptr) return FoundProbes::refuse(call, number.c());
  ProbeCounts counts = set->counts();
  *classes = static_cast<jlong>(counts.classes);
  *sites = static_cast<jlong>(counts.sites);
  *failed = static_cast<jlong>(counts.failed);
  *reason = static_cast<jlong>(counts.reason);
  *left_out = static_cast<jint>(counts.left_out);
  return JVMTI_ERROR_NONE;
}

jvmtiError ReadProbeSites(Call& call, const In<jint>& number, const In<jlong>& offset, jint* count,
                          unsigned char** bytes) {
  FoundProbes set(call, number.c());
  if (set == nullptr) return FoundProbes::refuse(call, number.c());
  return set->copy_sites(static_cast<uint64_t>(offset.c()), count, bytes);
}

jvmtiError ReadRecordedClasses(Call& call, const In<jint>& number, const In<jlong>& offset,
                               jint* count, unsigned char** bytes) {
  FoundProbes set(call, number.c());
  if (set == nullptr) return FoundProbes::refuse(call, number.c());
  return set->copy_classes(static_cast<uint64_t>(offset.c()), count, bytes);
}

jvmtiError ReadTallyKeys(Call& call, const In<jint>& number, const In<jlong>& offset, jint* count,
                         unsigned char** bytes) {
  FoundProbes set(call, number.c());
  if (set == nullptr) return FoundProbes::refuse(call, number.c());
  return set->copy_keys(static_cast<uint64_t>(offset.c()), count, bytes);
}

jvmtiError TakeHeldCall(Call& call, const In<jint>& number, const In<jlong>& sequence,
                        jmethodID* method, jobjectArray* objects) {
  FoundProbes set(call, number.c());
  if (set == nullptr) return FoundProbes::refuse(call, number.c());
  LocalRef<jobjectArray> found(call.jni);
  if (!set->take_held(call.jni, sequence.c(), method, &found)) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "the objects of this call are not held any more");
    return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  }
  *objects = found.release();
  return JVMTI_ERROR_NONE;
}

jvmtiError CloseProbes(Call& call, const In<jint>& number) {
  if (call.session.probes.close(call.jni, static_cast<uint32_t>(number.c()))) {
    return JVMTI_ERROR_NONE;
  }
  return FoundProbes::refuse(call, number.c());
}

}  // namespace operations
}  // namespace jvmti
