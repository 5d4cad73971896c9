// The hook for class files of a set: puts its probes into those that it is about.

#include "agent/core/environments.h"
#include "agent/engines/instrumentation/code_moves.h"
#include "agent/engines/instrumentation/hits/step_gate.h"
#include "agent/engines/instrumentation/probe_set.h"
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
  if (is_read_before_probes(jni, redefined, data, size)) return;
  Vector<char> own;
  if (name == nullptr && name_itself(data, size, &own)) name = own.begin();
  if (!set->active_) {
    // Its probes go.
    MovedCode earlier;
    uint64_t klass =
        name == nullptr ? 0 : hash_of_class(name, std::strlen(name), hash_of_loader(env, loader));
    if (redefined != nullptr && name != nullptr)
      (void)begin_code_moves(klass, data, size, &earlier);
    return;
  }
  if (name != nullptr) set->hook(env, loader, name, data, size, new_size, new_data);
  // The VM appends constants that it has not, and a NaN equals none. Unless some agent changes the
  // class file, which makes the VM keep the first one, it is made from all constants each time, and
  // those of java.lang.Double double.
  unsigned char* copy = nullptr;
  if (redefined != nullptr && *new_data == nullptr &&
      classfile::has_nan(data, static_cast<uint64_t>(size)) &&
      env->Allocate(size, &copy) == JVMTI_ERROR_NONE) {
    std::memcpy(copy, data, static_cast<size_t>(size));
    *new_data = copy;
    *new_size = size;
  }
}

void ProbeSet::hook(jvmtiEnv* env, jobject loader, const char* name, const uint8_t* data, jint size,
                    jint* new_size, unsigned char** new_data) {
  if (serves_probes(name) || (boxes_ && is_box(name))) return;
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
  uint64_t klass = hash_of_class(name, std::strlen(name), hash_of_loader(env, loader));
  MovedCode earlier;
  unsigned char* copy = nullptr;
  bool knows = begin_code_moves(klass, data, size, &earlier);
  {
    Locked locked(mutex_);
    // The plan of events changes under the lock.
    if (events_ != nullptr && !is_wanted()) return;
    // Code that differs only in the numbers of its sites would make the VM's pool of constants
    // grow each time, and the next change of the class slow.
    uint32_t fresh = static_cast<uint32_t>(counts_.sites);
    uint32_t first = fresh;
    if (events_ != nullptr) {
      first = events_->first_site(klass, fresh);
    }
    instrumenter_.earlier = &earlier;
    classfile::Status status =
        knows ? instrumenter_.instrument(plan(), data, static_cast<uint64_t>(size), first)
              : classfile::Status::kOutOfMemory;
    if (first != fresh && status == classfile::Status::kOk &&
        !events_->is_as_before(first, instrumenter_)) {
      first = fresh;
      status = instrumenter_.instrument(plan(), data, static_cast<uint64_t>(size), first);
    }
    bool is_new = first == fresh;
    counts_.omitted += instrumenter_.omitted().size();
    bool is_changed = status == classfile::Status::kOk && instrumenter_.is_changed;
    // Noted last: what is noted is in the class.
    bool fits = counts_.sites + instrumenter_.inserted_probes().size() <= most_sites_;
    if (is_changed && !fits) {
      status = classfile::Status::kTooMany;
    } else if (is_changed &&
               (!append(&woven, instrumenter_.result().data(), instrumenter_.result().size()) ||
                !note(klass, name, is_new))) {
      status = classfile::Status::kOutOfMemory;
    }
    if (status != classfile::Status::kOk) {
      ++counts_.failed;
      counts_.reason = static_cast<uint64_t>(status);
    }
    if (!is_changed || status != classfile::Status::kOk) return;
    ++counts_.classes;
    woven_last_ = now_in_milliseconds();
    if (is_new) counts_.sites += instrumenter_.inserted_probes().size();
    // What has no memory for that is woven all the same; a later set finds its places shifted.
    (void)note_code_moves(klass, instrumenter_, earlier);
  }
  if (env->Allocate(static_cast<jlong>(woven.size()), &copy) != JVMTI_ERROR_NONE) {
    Locked locked(mutex_);
    ++counts_.failed;
    counts_.reason = static_cast<uint64_t>(classfile::Status::kOutOfMemory);
    return;
  }
  std::memcpy(copy, woven.begin(), woven.size());
  hand_on_code_moves(klass, copy, static_cast<jint>(woven.size()));
  *new_data = copy;
  *new_size = static_cast<jint>(woven.size());
}

// Notes where the probes of a class are; false without memory, with nothing noted.
bool ProbeSet::note(uint64_t klass, const char* name, bool is_new) {
  size_t before = sites_.size();
  size_t length = std::strlen(name);
  uint64_t hash = hash_of_class(name, length, 0);  // of whatever loader
  bool noted = woven_.find(hash) != 0 || woven_.insert(hash, 1);
  for (const layouts::InsertedProbe& one : instrumenter_.inserted_probes()) {
    if (!is_new) break;
    const classfile::MethodInfo* method = instrumenter_.method(one.method);
    if (method == nullptr) noted = false;
    if (!noted) break;
    classfile::Text shape =
        reinterpret_cast<const char*>(instrumenter_.shapes().data() + one.shape);
    const char zero = '\0';
    classfile::Text texts[] = {name, method->name, method->descriptor, shape};
    uint32_t size = 0;
    for (const classfile::Text& text : texts) size += text.size + 1;
    layouts::ProbeSite site{one.probe, one.index, one.line, size};
    noted = append(&sites_, &site, 1);
    for (const classfile::Text& text : texts) {
      noted = noted && append(&sites_, text.data, text.size) && append(&sites_, &zero, 1);
    }
  }
  noted = noted && (events_ == nullptr || events_->note(klass, is_new, instrumenter_));
  if (!noted) sites_.shrink(before);
  return noted;
}

}  // namespace jvmti
