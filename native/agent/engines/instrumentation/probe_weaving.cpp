// The hook for class files of a set: puts its probes into those that it is about.

#include "agent/core/class_changes.h"
#include "agent/engines/instrumentation/code_moves.h"
#include "agent/engines/instrumentation/hits/step_gate.h"
#include "agent/engines/instrumentation/probe_set.h"
#include "agent/sessions/environments.h"
#include "base/clock.h"
#include "base/patterns.h"
#include "generated/probe_helper.h"

namespace jvmti {

namespace {

// What the helper's own methods call in Java.
bool serves_probes(const char* name) {
  return std::strcmp(name, "jdk/internal/misc/Unsafe") == 0 ||
         std::strncmp(name, kProbeHelper, std::strlen("java/lang/JvmtiProbes")) == 0;
}

// What probes call that put numbers into boxes.
bool is_box(const char* name) {
  for (const char* box : kBoxClasses) {
    size_t length = std::strlen(box);
    if (std::strncmp(name, box, length) == 0 && (name[length] == '\0' || name[length] == '$')) {
      return true;
    }
  }
  return false;
}

// The superclasses of boxes, whose constructors run as one is made.
bool is_above_boxes(const char* name) {
  return std::strcmp(name, "java/lang/Object") == 0 || std::strcmp(name, "java/lang/Number") == 0;
}

// What a class file calls itself: a loader need not say it.
bool name_itself(const uint8_t* data, jint size, Vector<char>* name) {
  classfile::Bytes bytes(data, static_cast<uint64_t>(size));
  classfile::ConstantPool pool;
  bytes.take(8);  // magic number and version
  if (bytes.bad || pool.read(bytes) != classfile::Status::kOk) return false;
  bytes.u2();  // access flags
  classfile::Text found = pool.class_name(bytes.u2());
  if (bytes.bad || found.size == 0 || !name->reserve(found.size + 1)) return false;
  for (uint32_t i = 0; i < found.size; ++i) name->put(static_cast<char>(found.data[i]));
  name->put('\0');
  return true;
}

}  // namespace

void JNICALL ProbeSet::class_file_load_hook(jvmtiEnv* env, JNIEnv* jni, jclass redefined,
                                            jobject loader, const char* name, jobject, jint size,
                                            const unsigned char* data, jint* new_size,
                                            unsigned char** new_data) {
  void* number = nullptr;
  if (env->GetEnvironmentLocalStorage(&number) != JVMTI_ERROR_NONE) return;
  UsedProbes used(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(number)));
  ProbeSet* set = used.get();
  if (hook_step_gate(env, name, new_size, new_data) || set == nullptr) return;
  if (is_read_before_probes(redefined, name, data, size)) return;
  bool is_read = is_read_with_probes(redefined, name);
  if (redefined != nullptr && !is_read) note_code_change();
  Vector<char> own;
  if (name == nullptr && name_itself(data, size, &own)) name = own.begin();
  if (!set->active_) {
    if (is_read) return;
    // Its probes go.
    MovedCode earlier;
    uint64_t klass =
        name == nullptr ? 0 : hash_of_class(name, std::strlen(name), hash_of_loader(env, loader));
    if (redefined != nullptr && name != nullptr)
      (void)begin_code_moves(klass, data, size, &earlier);
    return;
  }
  if (name != nullptr) {
    set->hook(env, jni, {redefined, loader, name, data, size}, is_read, new_size, new_data);
  }
  // Unless some agent changes the class file, which makes the VM keep the first one, it is made
  // from what the VM has of the class each time. The VM appends constants that it has not, and a
  // NaN equals none, so those of java.lang.Double double. Of classes of its own loader, which it
  // does not verify, HotSpot 17 keeps no frames when it reads them again.
  unsigned char* copy = nullptr;
  if (redefined != nullptr && *new_data == nullptr &&
      (loader == nullptr || classfile::has_nan(data, static_cast<uint64_t>(size))) &&
      env->Allocate(size, &copy) == JVMTI_ERROR_NONE) {
    std::memcpy(copy, data, static_cast<size_t>(size));
    *new_data = copy;
    *new_size = size;
  }
}

// What a thread retransforms it prepares first: the hook, which comes then, asks the VM.
void JNICALL ProbeSet::class_prepare(jvmtiEnv* env, JNIEnv* jni, jthread, jclass klass) {
  void* number = nullptr;
  if (env->GetEnvironmentLocalStorage(&number) != JVMTI_ERROR_NONE) return;
  UsedProbes used(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(number)));
  ProbeSet* set = used.get();
  if (set == nullptr || !set->active_ || set->late_ == nullptr) return;
  bool otherwise = set->relations_->is_otherwise(env, jni, klass);
  jboolean modifiable = JNI_FALSE;  // a hidden class is not
  if (!otherwise || class_changer.load() == pthread_self()) return;
  if (env->IsModifiableClass(klass, &modifiable) != JVMTI_ERROR_NONE || !modifiable) return;
  set->late_->weave(jni, klass);
}

void ProbeSet::hook(jvmtiEnv* env, JNIEnv* jni, const ShownClass& shown, bool is_read,
                    jint* new_size, unsigned char** new_data) {
  const char* name = shown.name;
  const uint8_t* data = shown.data;
  jint size = shown.size;
  if (serves_probes(name) || (boxes_ && is_box(name))) return;
  // Of other classes, too, those below which are wanted.
  Vector<uint8_t> answers;
  bool answered = relations_ == nullptr || relations_->answer(env, jni, shown, &answers);
  if (loader_ != nullptr && (shown.loader == nullptr || !jni->IsSameObject(shown.loader, loader_)))
    return;
  if ((stop_ != 0 || events_ != nullptr) && is_above_boxes(name)) return;
  Slice text{name, name + std::strlen(name)};
  auto is_wanted = [&] {
    for (const classfile::Probe& probe : plan().probes()) {
      if (matches_any<true>(probe.classes, text)) return true;
    }
    return false;
  };
  if (events_ == nullptr && !is_wanted()) return;
  Vector<uint8_t> woven;
  uint64_t klass = hash_of_class(name, std::strlen(name), hash_of_loader(env, shown.loader));
  MovedCode earlier;
  unsigned char* copy = nullptr;
  bool knows = begin_code_moves(klass, data, size, &earlier) && answered;
  {
    Locked locked(mutex_);
    // The plan of events changes under the lock.
    if (events_ != nullptr && !is_wanted()) return;
    bool is_known = knows && relations_ == nullptr && shown.klass != nullptr && !is_read &&
                    last_.is_of(klass, data, static_cast<size_t>(size), earlier);
    if (!is_known) {
      last_.forget();
      instrumenter_.earlier = &earlier;
      instrumenter_.answers = relations_ == nullptr ? nullptr : answers.begin();
      if (!weave(shown, klass, is_read, knows, &woven)) return;
      if (shown.klass != nullptr && !is_read) {
        last_.keep(klass, data, static_cast<size_t>(size), earlier, woven);
      }
      knows = last_.moves.take(klass, instrumenter_);
      if (!knows) last_.forget();
    } else if (!append(&woven, last_.made().begin(), last_.made().size())) {
      note_failure(classfile::Status::kOutOfMemory);
      return;
    }
    if (!is_read) ++counts_.classes;
    // What has no memory for that is woven all the same; a later set finds its places shifted.
    if (knows) (void)note_code_moves(klass, last_.moves, earlier);
  }
  if (env->Allocate(static_cast<jlong>(woven.size()), &copy) != JVMTI_ERROR_NONE) {
    Locked locked(mutex_);
    note_failure(classfile::Status::kOutOfMemory);
    return;
  }
  std::memcpy(copy, woven.begin(), woven.size());
  hand_on_code_moves(klass, copy, static_cast<jint>(woven.size()));
  *new_data = copy;
  *new_size = static_cast<jint>(woven.size());
}

void ProbeSet::note_failure(classfile::Status why) {
  ++counts_.failed;
  counts_.reason = static_cast<uint64_t>(why);
}

// Under the lock; false where the class stays as it is.
bool ProbeSet::weave(const ShownClass& shown, uint64_t klass, bool is_read, bool knows,
                     Vector<uint8_t>* woven) {
  // A change by any agent has the class woven anew. New numbers for the same sites would use up
  // those that a set has. Code that differs in them would make the VM's pool of constants grow
  // each time, and the next change of the class slow.
  uint64_t size = static_cast<uint64_t>(shown.size);
  uint32_t fresh = static_cast<uint32_t>(counts_.sites);
  uint32_t first = first_site(klass, fresh);
  // What the set has not put there is not there, and what is only read is not to be noted.
  if (is_read && first == fresh) return false;
  classfile::Status status = knows ? instrumenter_.instrument(plan(), shown.data, size, first)
                                   : classfile::Status::kOutOfMemory;
  if (first != fresh && status == classfile::Status::kOk &&
      !is_as_before(klass, shown.name, first)) {
    if (is_read) return false;
    first = fresh;
    status = instrumenter_.instrument(plan(), shown.data, size, first);
  }
  constexpr uint32_t kTooLarge = static_cast<uint32_t>(layouts::LeftOut::kTooLarge);
  for (const layouts::OmittedProbe& one : instrumenter_.omitted()) {
    if (counts_.left_out != kTooLarge) counts_.left_out = one.why;
  }
  bool is_new = first == fresh;
  bool is_changed = status == classfile::Status::kOk && instrumenter_.is_changed;
  // Noted last: what is noted is in the class.
  bool fits = !is_new || fresh + instrumenter_.inserted_probes().size() <= most_sites_;
  if (is_changed && !fits) {
    status = classfile::Status::kTooMany;
  } else if (is_changed &&
             (!append(woven, instrumenter_.result().data(), instrumenter_.result().size()) ||
              !note(klass, shown.name, is_new))) {
    status = classfile::Status::kOutOfMemory;
  }
  if (status != classfile::Status::kOk) note_failure(status);
  if (!is_changed || status != classfile::Status::kOk) return false;
  if (shown.klass == nullptr) loading_last_ = now_in_milliseconds();
  if (is_new) counts_.sites += instrumenter_.inserted_probes().size();
  return true;
}

// The number of the first site that a class had when it was woven last; else `fresh`.
uint32_t ProbeSet::first_site(uint64_t klass, uint32_t fresh) const {
  if (events_ != nullptr) return events_->first_site(klass, fresh);
  uint32_t known = noted_numbers_.find(klass);
  return known == 0 ? fresh : noted_[known - 1].first;
}

// Whether a class has been woven just as before; what is not known for lack of memory is not.
bool ProbeSet::is_as_before(uint64_t klass, const char* name, uint32_t first) const {
  if (events_ != nullptr) return events_->is_as_before(first, instrumenter_);
  const Noted& before = noted_[noted_numbers_.find(klass) - 1];
  Vector<uint8_t> now;
  return describe_sites(name, &now) && now.size() == before.size &&
         std::memcmp(now.begin(), sites_.begin() + before.at, now.size()) == 0;
}

// Appends where the probes of the class woven last are; false without memory.
bool ProbeSet::describe_sites(const char* name, Vector<uint8_t>* to) const {
  bool described = true;
  for (const layouts::InsertedProbe& one : instrumenter_.inserted_probes()) {
    const classfile::MethodInfo* method = instrumenter_.method(one.method);
    if (method == nullptr || !described) return false;
    classfile::Text shape =
        reinterpret_cast<const char*>(instrumenter_.shapes().data() + one.shape);
    const char zero = '\0';
    classfile::Text texts[] = {classfile::Text(name), method->name, method->descriptor, shape};
    uint32_t size = 0;
    for (const classfile::Text& text : texts) size += text.size + 1;
    layouts::ProbeSite site{one.probe, one.index, one.line, size};
    described = append(to, &site, 1);
    for (const classfile::Text& text : texts) {
      described = described && append(to, text.data, text.size) && append(to, &zero, 1);
    }
  }
  return described;
}

// Notes where the probes of a class are; false without memory, with nothing noted.
bool ProbeSet::note(uint64_t klass, const char* name, bool is_new) {
  size_t before = sites_.size();
  uint64_t hash = hash_of_class(name, std::strlen(name), 0);  // of whatever loader
  if (woven_.find(hash) == 0 && !woven_.insert(hash, 1)) return false;
  if (!is_new) return true;
  bool noted = describe_sites(name, &sites_) && note_first(klass, before);
  if (!noted) sites_.shrink(before);
  return noted;
}

bool ProbeSet::note_first(uint64_t klass, size_t at) {
  if (events_ != nullptr) return events_->note(klass, instrumenter_);
  Noted noted{static_cast<uint32_t>(counts_.sites), at, sites_.size() - at};
  uint32_t known = noted_numbers_.find(klass);
  if (known != 0) {
    noted_[known - 1] = noted;
    return true;
  }
  if (!noted_.push(noted)) return false;
  if (noted_numbers_.insert(klass, static_cast<uint32_t>(noted_.size()))) return true;
  noted_.pop();
  return false;
}

}  // namespace jvmti
