#include "agent/engines/instrumentation/hits/probe_events.h"

#include "agent/handles/agent_references.h"
#include "generated/probe_helper.h"

namespace jvmti {

namespace {

Mutex halted_mutex{Guards::kLists};
Halted* all_halted = nullptr;

char letter_of_result(classfile::Text descriptor) {
  uint32_t at = descriptor.size;
  while (at > 0 && descriptor.data[at - 1] != ')') --at;
  char found = at < descriptor.size ? descriptor.data[at] : 'V';
  return found == '[' ? 'L' : found;
}

}  // namespace

// ---- threads that wait --------------------------------------------------------------------------

ListedHalt::ListedHalt(JNIEnv* jni, jthread thread, jobjectArray values, uint32_t set,
                       uint32_t site, jint depth)
    : jni_(jni), halted_{hold(jni, thread), hold(jni, values), set, site, depth, nullptr} {
  Locked locked(halted_mutex);
  halted_.next = all_halted;
  all_halted = &halted_;
}

ListedHalt::~ListedHalt() {
  {
    Locked locked(halted_mutex);
    Halted** at = &all_halted;
    while (*at != &halted_) at = &(*at)->next;
    *at = halted_.next;
  }
  let_go(jni_, halted_.thread);
  let_go(jni_, halted_.values);
}

bool find_halted(JNIEnv* jni, jthread thread, Halted* found, LocalRef<>* values) {
  // The innermost of a thread comes first.
  Locked locked(halted_mutex);
  for (Halted* one = all_halted; one != nullptr; one = one->next) {
    if (one->thread == nullptr || !jni->IsSameObject(one->thread, thread)) continue;
    *found = *one;
    *values = LocalRef<>(jni, jni->NewLocalRef(one->values));
    return true;
  }
  return false;
}

// ---- the plan -----------------------------------------------------------------------------------

const char* ProbeEvents::read(const uint8_t* data, uint64_t size, classfile::Plan** plan) const {
  *plan = make<classfile::Plan>();
  classfile::Status status =
      *plan == nullptr ? classfile::Status::kOutOfMemory : (*plan)->read(data, size);
  const char* why = nullptr;
  if (status == classfile::Status::kOutOfMemory) why = "no memory for the plan of the probes";
  if (why == nullptr && status != classfile::Status::kOk) {
    why = "the plan of the probes makes no sense";
  }
  for (size_t i = 0; why == nullptr && i < (*plan)->probes().size(); ++i) {
    if ((*plan)->probes()[i].event == 0) why = "a probe of the set reports no event";
  }
  if (why == nullptr && !(*plan)->bind(kProbeHelper, static_cast<int32_t>(set_))) {
    why = "a probe does not begin with the number of its set";
  }
  if (why == nullptr) {
    (*plan)->bind_first(JVMTI_EVENT_SINGLE_STEP, kProbeGate);
    return nullptr;
  }
  unmake(*plan);
  *plan = nullptr;
  return why;
}

ProbeEvents::Site ProbeEvents::site_of(const layouts::InsertedProbe& placed,
                                       const classfile::Instrumenter& woven) const {
  const classfile::Probe& probe = plan_->probes()[placed.probe];
  const classfile::MethodInfo* method = woven.method(placed.method);
  char type = method == nullptr ? 'V' : letter_of_result(method->descriptor);
  bool unwinds = probe.site == classfile::Site::kUnwind;
  bool is_end = unwinds || probe.site == classfile::Site::kReturn;
  return {static_cast<uint16_t>(probe.event),
          unwinds,
          is_end && probe.event == JVMTI_EVENT_SINGLE_STEP,
          type,
          placed.method,
          placed.index,
          probe.about};
}

bool ProbeEvents::is_as_before(uint32_t first_site, const classfile::Instrumenter& woven) const {
  size_t count = woven.inserted_probes().size();
  if (first_site + count > sites_.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    Site now = site_of(woven.inserted_probes()[i], woven);
    const Site& then = sites_[first_site + i];
    if (now.event != then.event || now.is_exceptional != then.is_exceptional ||
        now.is_end != then.is_end || now.method != then.method || now.location != then.location ||
        now.about != then.about) {
      return false;
    }
  }
  return true;
}

bool ProbeEvents::note(uint64_t klass, const classfile::Instrumenter& woven) {
  size_t before = sites_.size();
  uint32_t first = static_cast<uint32_t>(before) + 1;
  bool noted = true;
  if (first_sites_.find(klass) != 0) {
    first_sites_.replace(klass, first);
  } else {
    noted = first_sites_.insert(klass, first);
  }
  for (const layouts::InsertedProbe& one : woven.inserted_probes()) {
    noted = noted && sites_.push(site_of(one, woven));
  }
  if (!noted) sites_.shrink(before);
  return noted;
}

// ---- who gets what ------------------------------------------------------------------------------

jvmtiError ProbeEvents::enable(JNIEnv* jni, uint32_t environment, bool on, int event,
                               jthread thread) {
  for (size_t i = 0; i < enabled_.size(); ++i) {
    const Enabled& one = enabled_[i];
    if (one.environment != environment || one.event != event) continue;
    bool same = thread == nullptr ? one.thread == nullptr
                                  : one.thread != nullptr && jni->IsSameObject(one.thread, thread);
    if (!same) continue;
    if (!on) {
      if (one.thread != nullptr) jvmti::let_go(jni, one.thread);
      enabled_.remove(i);
    }
    return JVMTI_ERROR_NONE;
  }
  if (!on) return JVMTI_ERROR_NONE;
  jobject held = thread == nullptr ? nullptr : hold(jni, thread);
  if ((thread != nullptr && held == nullptr) || !enabled_.push({environment, event, held})) {
    if (held != nullptr) jvmti::let_go(jni, held);
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  return JVMTI_ERROR_NONE;
}

bool ProbeEvents::may_step() const {
  for (const classfile::Probe& probe : plan_->probes()) {
    if (probe.event == JVMTI_EVENT_SINGLE_STEP) return true;
  }
  return false;
}

bool ProbeEvents::receivers(JNIEnv* jni, int event, jthread thread, Vector<uint32_t>* found) const {
  for (const Enabled& one : enabled_) {
    if (one.event != event) continue;
    if (one.thread != nullptr && !jni->IsSameObject(one.thread, thread)) continue;
    size_t at = 0;
    while (at < found->size() && (*found)[at] < one.environment) ++at;
    if (at < found->size() && (*found)[at] == one.environment) continue;
    if (!found->push(one.environment)) return false;
    for (size_t i = found->size() - 1; i > at; --i) (*found)[i] = (*found)[i - 1];
    (*found)[at] = one.environment;
  }
  return true;
}

jvmtiError ProbeEvents::watch(JNIEnv* jni, jclass klass, jfieldID field, char type, jint* number) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].id != field || !jni->IsSameObject(fields_[i].klass, klass)) continue;
    *number = static_cast<jint>(i + 1);
    return JVMTI_ERROR_NONE;
  }
  jobject held = hold(jni, klass);
  if (held == nullptr || !fields_.push({held, field, type})) {
    if (held != nullptr) jvmti::let_go(jni, held);
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  *number = static_cast<jint>(fields_.size());
  return JVMTI_ERROR_NONE;
}

jvmtiError ProbeEvents::await_pop(JNIEnv* jni, const AwaitedPop& pop) {
  for (const AwaitedPop& one : pops_) {
    if (one.environment == pop.environment && one.from_bottom == pop.from_bottom &&
        jni->IsSameObject(one.thread, pop.thread)) {
      return JVMTI_ERROR_DUPLICATE;
    }
  }
  AwaitedPop held = pop;
  held.thread = hold(jni, pop.thread);
  if (held.thread == nullptr || !pops_.push(held)) {
    if (held.thread != nullptr) jvmti::let_go(jni, held.thread);
    return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  return JVMTI_ERROR_NONE;
}

bool ProbeEvents::take_pops(JNIEnv* jni, jthread thread, jint from_bottom,
                            Vector<uint32_t>* found) {
  for (size_t i = pops_.size(); i-- > 0;) {
    AwaitedPop one = pops_[i];
    // Those of frames above have gone unseen.
    if (one.from_bottom < from_bottom || !jni->IsSameObject(one.thread, thread)) continue;
    if (one.from_bottom == from_bottom && !found->push(one.environment)) return false;
    jvmti::let_go(jni, one.thread);
    pops_.remove(i);
  }
  return true;
}

void ProbeEvents::clear_pops(JNIEnv* jni, uint32_t environment, jthread thread) {
  for (size_t i = pops_.size(); i-- > 0;) {
    if (pops_[i].environment != environment || !jni->IsSameObject(pops_[i].thread, thread)) {
      continue;
    }
    jvmti::let_go(jni, pops_[i].thread);
    pops_.remove(i);
  }
}

void ProbeEvents::forget_environment(JNIEnv* jni, uint32_t environment) {
  for (size_t i = enabled_.size(); i-- > 0;) {
    if (enabled_[i].environment != environment) continue;
    if (enabled_[i].thread != nullptr) jvmti::let_go(jni, enabled_[i].thread);
    enabled_.remove(i);
  }
  for (size_t i = pops_.size(); i-- > 0;) {
    if (pops_[i].environment != environment) continue;
    jvmti::let_go(jni, pops_[i].thread);
    pops_.remove(i);
  }
}

void ProbeEvents::let_go(JNIEnv* jni) {
  for (const Enabled& one : enabled_) {
    if (one.thread != nullptr) jvmti::let_go(jni, one.thread);
  }
  for (const Field& one : fields_) jvmti::let_go(jni, one.klass);
  for (const AwaitedPop& one : pops_) jvmti::let_go(jni, one.thread);
  enabled_.clear();
  fields_.clear();
  pops_.clear();
}

}  // namespace jvmti
