#include "agent/engines/instrumentation/probe_set.h"

#include <sys/mman.h>
#include <time.h>

#include "agent/core/archived_classes.h"
#include "agent/core/class_changes.h"
#include "agent/core/redefined_classes.h"
#include "agent/engines/instrumentation/code_moves.h"
#include "agent/engines/instrumentation/distinct_versions.h"
#include "agent/engines/instrumentation/hits/step_gate.h"
#include "agent/sessions/environments.h"
#include "base/clock.h"
#include "base/patterns.h"
#include "generated/probe_helper.h"

namespace jvmti {

namespace {

using layouts::ProbeLanes;
using layouts::ProbeTallies;
using layouts::RecordedKind;

constexpr int32_t kSmallestRecord = 64;
constexpr int32_t kLargestRecord = layouts::Plans::kLargestRecord;
constexpr uint64_t kMostSites = 1 << 20;
constexpr int64_t kLoading = 100;  // milliseconds from a class's hook until the class is loaded
constexpr size_t kBatch = 256;     // of classes that are retransformed at once

struct Place {
  std::atomic<ProbeSet*> set{nullptr};
  std::atomic<uint32_t> users{0};
  bool taken = false;
  uint32_t rounds = 0;  // how often it was taken
};
Mutex places_mutex{Guards::kLists};
Place places[kProbeSets];

// Mapped once and never unmapped: threads may still write there.
Mutex spare_mutex{Guards::kLists};
void* spare_memory[kProbeSets];
size_t spare_count = 0;

void* take_address() {
  {
    Locked locked(spare_mutex);
    if (spare_count > 0) return spare_memory[--spare_count];
  }
  void* made = mmap(nullptr, layouts::ProbeMemory::kSize, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : made;
}

void give_back_address(void* address) {
  Locked locked(spare_mutex);
  spare_memory[spare_count++] = address;
}

// The set whose probes do anything, at a place.
std::atomic<int64_t>& number_served(uint32_t place) {
  uint8_t* line = reinterpret_cast<uint8_t*>(&probe_controls[place]);
  return *reinterpret_cast<std::atomic<int64_t>*>(line + offsetof(layouts::ProbeControl, number));
}

}  // namespace

UsedProbes::UsedProbes(uint32_t number) : number_(number % kProbeSets) {
  places[number_].users.fetch_add(1);
  set_ = places[number_].set.load();
  if (set_ != nullptr && set_->number() != number) set_ = nullptr;
}

UsedProbes::~UsedProbes() { places[number_].users.fetch_sub(1); }

ProbeSet* ProbeSet::open(Call& call, const ProbeRequest& request, int descriptor) {
  uint32_t number = kProbeSets;
  uint32_t round = 0;
  {
    Locked locked(places_mutex);
    for (uint32_t i = 0; i < kProbeSets && number == kProbeSets; ++i) {
      if (places[i].taken) continue;
      places[i].taken = true;
      number = i;
      // Positive as an int, and never the same again for long enough.
      round = places[i].rounds = (places[i].rounds + 1) & (0x7FFFFFFF / kProbeSets);
      if (round == 0) round = places[i].rounds = 1;
    }
  }
  void* memory = number == kProbeSets ? nullptr : std::calloc(1, sizeof(ProbeSet));
  if (memory == nullptr) {
    if (descriptor >= 0) SharedMemory().open(descriptor);  // closes it
    if (number != kProbeSets) {
      Locked locked(places_mutex);
      places[number].taken = false;
      call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
    } else {
      call.refuse(JVMTI_ERROR_OUT_OF_MEMORY, "this JVM has %u sets of probes already", kProbeSets);
    }
    return nullptr;
  }
  ProbeSet* set = new (memory) ProbeSet(round * kProbeSets + number);
  places[number].set = set;
  if (set->prepare(call, request, descriptor)) return set;
  set->mute();
  while (!set->free(call.jni)) {
  }
  if (!call.refused()) call.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  return nullptr;
}

bool ProbeSet::prepare(Call& call, const ProbeRequest& request, int descriptor) {
  bool records = request.stop == 0 && !request.events && request.profile == 0;
  const char* why = records ? share_memory(request, descriptor) : nullptr;
  if (records && why == nullptr && memory_.data() == nullptr) return false;
  if (request.events && (events_ = make<ProbeEvents>(number_)) == nullptr) return false;
  if (request.events) why = change(call.jni, request.plan, request.plan_size);
  instrumenter_.keeps_moves = true;
  classfile::Status status = classfile::Status::kOk;
  if (!request.events) {
    if (why == nullptr) status = plan_.read(request.plan, request.plan_size);
  }
  if (status == classfile::Status::kOutOfMemory) return false;
  if (status != classfile::Status::kOk) why = "the plan of the probes makes no sense";
  for (const classfile::Probe& probe : plan_.probes()) {
    if (why == nullptr && probe.outcome == layouts::Outcome::kRecord &&
        (static_cast<int32_t>(probe.record_size) > request.record_size ||
         static_cast<int32_t>(probe.text_size) != request.text_size)) {
      why = "a probe's record is larger than those of its set";
    }
    bool by_site = probe.name == classfile::Text("tally") && probe.operand_count == 3;
    if (by_site) most_sites_ = ProbeTallies::kCount;
    boxes_ = boxes_ || (probe.name == classfile::Text("tally") && !by_site) ||
             probe.hands_over(classfile::OperandKind::kHeld);
  }
  boxes_ = boxes_ || !records;
  if (why == nullptr && !takes_stops(call, request)) {
    why = "probes of a set either stop threads or do not";
  }
  if (why == nullptr && !plan_.bind(kProbeHelper, static_cast<int32_t>(number_))) {
    why = "a probe does not begin with the number of its set";
  }
  if (why == nullptr) why = load_probe_helper(call.jni);
  if (why != nullptr) {
    call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%s", why);
    return false;
  }
  if (most_sites_ == 0) most_sites_ = kMostSites;
  if (!make_paths(call.jni)) return false;
  for (int32_t i = 0; i < request.held; ++i) {
    if (!held_.push({nullptr, nullptr})) return false;
  }
  if (events_ == nullptr && !plan_.questions().empty()) {
    relations_ = make<ClassRelations>(plan_);
    if (relations_ == nullptr) return false;
  }
  if (request.loader != nullptr) {
    loader_ = call.jni->NewWeakGlobalRef(request.loader);
    if (loader_ == nullptr) return false;
  }
  profile_ = request.profile;
  record_size_ = static_cast<uint32_t>(request.record_size);
  text_size_ = static_cast<uint32_t>(request.text_size);

  jvmtiCapabilities wanted{};
  wanted.can_tag_objects = 1;
  wanted.can_retransform_classes = 1;
  env_ = environment_with(wanted);
  if (env_ == nullptr) {
    call.refuse(JVMTI_ERROR_MUST_POSSESS_CAPABILITY, "this JVM cannot retransform classes");
    return false;
  }
  // Of any class, where the VM gives it.
  jvmtiCapabilities any{};
  any.can_retransform_any_class = 1;
  any.can_get_line_numbers = 1;
  env_->AddCapabilities(&any);
  uint8_t* data = memory_.data();
  layouts::ProbeControl& control = probe_controls[number_ % kProbeSets];
  if (data == nullptr) control = layouts::ProbeControl{};
  control.shortest = request.shortest;
  control.size = request.record_size;
  WaitLine(&waits)[layouts::ProbeWaits::kLines] = wait_lines[number_ % kProbeSets];
  for (WaitLine& one : waits) one.left = 0;
  control.waits = reinterpret_cast<int64_t>(&waits);
  if (data != nullptr) {
    control.records = reinterpret_cast<int64_t>(data + ProbeLanes::kRecords);
    control.tallies = reinterpret_cast<int64_t>(data + ProbeTallies::kStart);
    control.lanes = reinterpret_cast<int64_t>(data);
  }
  if (events_ == nullptr) {
    number_served(number_ % kProbeSets).store(number_, std::memory_order_release);
  }
  active_ = true;
  return listen(call.jni);
}

bool ProbeSet::listen(JNIEnv* jni) {
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassFileLoadHook = class_file_load_hook;
  callbacks.ClassPrepare = class_prepare;
  auto enable = [&](jvmtiEvent event) {
    return env_->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) == JVMTI_ERROR_NONE;
  };
  env_->SetEnvironmentLocalStorage(reinterpret_cast<void*>(uintptr_t{number_}));
  if (env_->SetEventCallbacks(&callbacks, sizeof callbacks) != JVMTI_ERROR_NONE) return false;
  bool waits_for_supertypes = relations_ != nullptr && relations_->asks_for_supertypes();
  if (waits_for_supertypes) {
    late_ = LateWeaving::start(jni, number_);
    if (late_ == nullptr || !enable(JVMTI_EVENT_CLASS_PREPARE)) return false;
  }
  return enable(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK) &&
         (!waits_for_supertypes || relations_->note_loaded(env_, jni));
}

// The memory that the controller reads; null, or why not; mapped nowhere without address space.
const char* ProbeSet::share_memory(const ProbeRequest& request, int descriptor) {
  void* address = take_address();
  if (address == nullptr) {
    SharedMemory().open(descriptor);  // closes it
    return nullptr;
  }
  const char* why = memory_.open(descriptor, address);
  if (why != nullptr) return why;
  if (memory_.size() != layouts::ProbeMemory::kSize) return "the shared memory is of another size";
  constexpr int32_t kMostHeld = 1 << 16;
  if (request.held < 0 || request.held > kMostHeld)
    return "the number of calls whose objects to hold is too large";
  bool fits = request.record_size >= kSmallestRecord && request.record_size <= kLargestRecord &&
              (request.record_size & (request.record_size - 1)) == 0 && request.text_size >= 0 &&
              static_cast<uint64_t>(request.text_size) <= layouts::Plans::kLongestText &&
              request.text_size % 8 == 0;
  return fits ? nullptr : "a record of a probe cannot be of this size";
}

void ProbeSet::mute() {
  active_ = false;
  number_served(number_ % kProbeSets).store(0);
  if (late_ != nullptr) late_->end();
}

// Probes that report events cost next to nothing while nobody receives any; under the lock.
void ProbeSet::serve_receivers() {
  auto& served = number_served(number_ % kProbeSets);
  served.store(events_->has_receivers() ? number_ : 0);
  if (!active_) served.store(0);
}

// Classes that were loaded with probes in them are found by their names.
void ProbeSet::restore(JNIEnv* jni) {
  if (env_ == nullptr || jni == nullptr) return;
  let_go(jni);
  forget_paths(jni);
  need_gate(jni, false);
  if (events_ != nullptr) {
    Locked locked(mutex_);
    events_->let_go(jni);
  }
  // A class that has just got its probes as it loaded may not be among the loaded ones yet.
  int64_t since_last = now_in_milliseconds() - loading_last_;
  if (loading_last_ != 0 && since_last < kLoading) {
    timespec shortly{0, (kLoading - since_last) * 1000 * 1000};
    nanosleep(&shortly, nullptr);
  }
  LocalRefs<jclass> classes(env_, jni);
  if (env_->GetLoadedClasses(classes.count_out(), classes.out()) != JVMTI_ERROR_NONE) return;
  Vector<jclass> changed;
  for (jclass klass : classes) {
    Deallocated<char> signature(env_);
    jboolean modifiable = JNI_FALSE;
    if (env_->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE) continue;
    size_t length = std::strlen(signature);
    if (length < 3 || signature[0] != 'L') continue;
    uint64_t hash = hash_of_class(signature + 1, length - 2, 0);
    {
      Locked locked(mutex_);
      if (woven_.find(hash) == 0) continue;
    }
    if (env_->IsModifiableClass(klass, &modifiable) != JVMTI_ERROR_NONE || !modifiable) continue;
    if (!changed.push(klass)) break;
  }
  for (size_t at = 0; at < changed.size(); at += kBatch) {
    size_t count = changed.size() - at < kBatch ? changed.size() - at : kBatch;
    if (retransform(jni, changed.begin() + at, static_cast<jint>(count)) == JVMTI_ERROR_NONE)
      continue;
    // One of them is refused; the others must not stay as they are.
    for (size_t i = at; i < at + count; ++i) retransform(jni, &changed[i], 1);
  }
  env_->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
}

bool ProbeSet::free(JNIEnv* jni) {
  Place& place = places[number_ % kProbeSets];
  place.set = nullptr;
  for (int tries = 0; place.users != 0; ++tries) {
    if (tries == 100) return false;
    timespec shortly{0, 1000 * 1000};
    nanosleep(&shortly, nullptr);
  }
  if (env_ != nullptr) env_->DisposeEnvironment();
  if (late_ != nullptr) late_->release();
  if (loader_ != nullptr && jni != nullptr) jni->DeleteWeakGlobalRef(loader_);
  void* address = memory_.replace();
  if (address != nullptr) give_back_address(address);
  uint32_t number = number_;
  this->~ProbeSet();
  std::free(this);
  Locked locked(places_mutex);
  places[number % kProbeSets].taken = false;
  return true;
}

jvmtiError ProbeSet::retransform(JNIEnv* jni, const jclass* classes, jint count) {
  ClassChange change;
  DistinctVersions distinct;
  for (jint i = 0; i < count; ++i) leave_class_archive(env_, classes[i]);
  return retransform_classes(env_, jni, classes, count);
}

ProbeCounts ProbeSet::counts() {
  Locked locked(mutex_);
  return counts_;
}

jvmtiError ProbeSet::copy(const Vector<uint8_t>& from, uint64_t offset, jint* count,
                          unsigned char** bytes) {
  constexpr uint64_t kMost = 1 << 24;
  Vector<uint8_t> part;
  {
    Locked locked(mutex_);
    if (offset > from.size()) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
    uint64_t size = from.size() - offset < kMost ? from.size() - offset : kMost;
    if (!append(&part, from.begin() + offset, size)) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  jvmtiError error = agent.env->Allocate(static_cast<jlong>(part.size() + 1), bytes);
  if (error != JVMTI_ERROR_NONE) return error;
  if (!part.empty()) std::memcpy(*bytes, part.begin(), part.size());
  *count = static_cast<jint>(part.size());
  return JVMTI_ERROR_NONE;
}

jvmtiError ProbeSet::copy_sites(uint64_t offset, jint* count, unsigned char** bytes) {
  return copy(sites_, offset, count, bytes);
}

jvmtiError ProbeSet::copy_classes(uint64_t offset, jint* count, unsigned char** bytes) {
  return copy(names_, offset, count, bytes);
}

}  // namespace jvmti
