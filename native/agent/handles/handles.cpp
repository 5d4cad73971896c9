#include "agent/handles/handles.h"

#include <atomic>

#include "agent/core/agent.h"
#include "agent/core/vm_memory.h"
#include "agent/engines/threads/leave_frame.h"
#include "agent/handles/agent_references.h"

namespace jvmti {

namespace {

// The class that objects of each kind belong to, as global references, found on first use.
std::atomic<jclass> kind_classes[kinds::kLastObjectKind + 1];
std::atomic<jclass> cloneable_class;

jclass known_class(JNIEnv* jni, std::atomic<jclass>* known, const char* name) {
  jclass found = known->load(std::memory_order_acquire);
  if (found != nullptr || name == nullptr) return found;
  LocalRef<jclass> local = class_named(jni, name);
  if (local == nullptr) {
    jni->ExceptionClear();
    return nullptr;
  }
  jclass global = static_cast<jclass>(hold(jni, local));
  jclass expected = nullptr;
  if (known->compare_exchange_strong(expected, global)) return global;
  let_go(jni, global);
  return expected;
}

jclass class_of_kind(JNIEnv* jni, uint8_t kind) {
  return known_class(jni, &kind_classes[kind], kinds::kJavaClasses[kind]);
}

// Before the VM is live its threads still load the classes of kinds.  The lookup of one would wait
// for the thread that loads it, which may wait in an event for us; so it goes by name, upwards from
// the object's own class.  0 where the phase is too early for that, with a single thread.
uint8_t kind_by_name(JNIEnv* jni, jobject object) {
  uint8_t kind = kinds::Object::kind;
  LocalRef<jclass> klass(jni, jni->GetObjectClass(object));
  while (klass != nullptr && kind == kinds::Object::kind) {
    Deallocated<char> signature(agent.env);
    if (agent.env->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE) kind = 0;
    for (uint8_t candidate : kinds::kKindsByFrequency) {
      const char* name = kinds::kJavaClasses[candidate];
      if (kind == 0) break;
      bool array = signature[0] == '[' && std::strcmp(signature, name) == 0;
      bool object_array = name[0] == '[' && name[1] == 'L' && signature[0] == '[' &&
                          (signature[1] == 'L' || signature[1] == '[');
      size_t length = std::strlen(name);
      bool named = signature[0] == 'L' && std::strncmp(signature + 1, name, length) == 0 &&
                   signature[length + 1] == ';';
      if (array || object_array || named) {
        kind = candidate;
        break;
      }
    }
    klass = LocalRef<jclass>(jni, jni->GetSuperclass(klass));
  }
  return kind;
}

}  // namespace

uint8_t kind_of_object(JNIEnv* jni, jobject object) {
  // The lookup of a class may run Java code, too, which such a thread must not.
  uint8_t kind = agent.live && !is_leaving() ? 0 : kind_by_name(jni, object);
  if (kind != 0) return kind;
  // The commonest first.  All arrays are Cloneable, and most other objects are not.
  jclass cloneable = known_class(jni, &cloneable_class, "java/lang/Cloneable");
  bool maybe_array = cloneable == nullptr || jni->IsInstanceOf(object, cloneable);
  for (uint8_t candidate : kinds::kKindsByFrequency) {
    if (kinds::kJavaClasses[candidate][0] == '[' && !maybe_array) continue;
    jclass klass = class_of_kind(jni, candidate);
    if (klass != nullptr && jni->IsInstanceOf(object, klass)) return candidate;
  }
  return kinds::Object::kind;
}

uint64_t Objects::insert(jobject reference, uint8_t kind, bool weak, bool tagged) {
  Locked locked(mutex_);
  return entries_.insert(kind, Entry{reference, 1, 0, 0, weak, false, tagged});
}

Objects::Entry* Objects::find(uint64_t handle) {
  Entry* entry = entries_.find(handle);
  return entry != nullptr && entry->count > 0 ? entry : nullptr;
}

uint64_t Objects::issue(JNIEnv* jni, jvmtiEnv* tags, jobject object, uint8_t kind, bool identify) {
  if (object == nullptr) return 0;
  jlong tag = 0;
  identify = identify && tags != nullptr;
  if (identify && tags->GetTag(object, &tag) == JVMTI_ERROR_NONE && tag != 0) {
    Locked locked(mutex_);
    Entry* entry = find(static_cast<uint64_t>(tag));
    if (entry != nullptr) {
      ++entry->count;
      return static_cast<uint64_t>(tag);
    }
  }
  if (kind == 0) kind = kind_of_object(jni, object);
  jobject reference = hold(jni, object);
  if (reference == nullptr) return 0;
  uint64_t handle = insert(reference, kind, false, identify);
  if (handle == 0) {
    let_go(jni, reference);
    return 0;
  }
  if (identify) tags->SetTag(object, static_cast<jlong>(handle));
  return handle;
}

uint64_t Objects::issue_weak(JNIEnv* jni, jobject object) {
  jweak reference = jni->NewWeakGlobalRef(object);
  if (reference == nullptr) return 0;
  uint64_t handle = insert(reference, kinds::WeakReference::kind, true, false);
  if (handle == 0) jni->DeleteWeakGlobalRef(reference);
  return handle;
}

jobject Objects::pin(uint64_t handle, bool* weak) {
  Locked locked(mutex_);
  Entry* entry = find(handle);
  if (entry == nullptr) return nullptr;
  ++entry->pins;
  *weak = entry->weak;
  return entry->reference;
}

void Objects::unpin(JNIEnv* jni, jvmtiEnv* tags, uint64_t handle) {
  Entry gone;
  {
    Locked locked(mutex_);
    Entry* entry = entries_.find(handle);
    if (--entry->pins > 0 || entry->count > 0) return;
    gone = entries_.remove(handle);
  }
  free_reference(jni, tags, handle, gone);
}

void Objects::give_up(JNIEnv* jni, jvmtiEnv* tags, uint64_t handle, uint32_t count) {
  Entry gone;
  {
    Locked locked(mutex_);
    Entry* entry = find(handle);
    if (entry == nullptr) return;
    entry->count = count == 0 || count >= entry->count ? 0 : entry->count - count;
    if (entry->count > 0 || entry->pins > 0) return;
    gone = entries_.remove(handle);
  }
  free_reference(jni, tags, handle, gone);
}

size_t Objects::end_frame(JNIEnv* jni, jvmtiEnv* tags, uint64_t* issued, size_t count,
                          uint64_t kept) {
  {
    Locked locked(mutex_);
    for (size_t i = 0; i < count; ++i) {
      Entry* entry = find(issued[i]);
      if (entry != nullptr) ++entry->framed;
    }
  }
  size_t left = 0;
  for (size_t i = 0; i < count; ++i) {
    bool inside = false;
    {
      Locked locked(mutex_);
      Entry* entry = find(issued[i]);
      if (entry == nullptr) continue;
      inside = issued[i] != kept && entry->framed >= entry->count;
    }
    if (inside) {
      give_up(jni, tags, issued[i], 0);
    } else {
      issued[left++] = issued[i];
    }
  }
  Locked locked(mutex_);
  for (size_t i = 0; i < left; ++i) {
    Entry* entry = find(issued[i]);
    if (entry != nullptr) entry->framed = 0;
  }
  return left;
}

void Objects::note_global(uint64_t handle) {
  Locked locked(mutex_);
  Entry* entry = find(handle);
  if (entry != nullptr) entry->global = true;
}

bool Objects::is_global(uint64_t handle) {
  Locked locked(mutex_);
  Entry* entry = find(handle);
  return entry != nullptr && entry->global;
}

void Objects::free_reference(JNIEnv* jni, jvmtiEnv* tags, uint64_t handle, const Entry& entry) {
  if (entry.weak) {
    jni->DeleteWeakGlobalRef(entry.reference);
    return;
  }
  jlong tag = 0;
  if (entry.tagged && tags->GetTag(entry.reference, &tag) == JVMTI_ERROR_NONE &&
      static_cast<uint64_t>(tag) == handle) {
    tags->SetTag(entry.reference, 0);
  }
  let_go(jni, entry.reference);
}

void Objects::clear(JNIEnv* jni) {
  entries_.each([&](uint64_t handle, Entry& entry) {
    if (entry.weak) {
      jni->DeleteWeakGlobalRef(entry.reference);
    } else {
      let_go(jni, entry.reference);
    }
    entries_.remove(handle);
  });
}

uint32_t Methods::find_issued(jmethodID method) {
  Locked locked(mutex_);
  return index_.find(reinterpret_cast<uint64_t>(method));
}

uint64_t Methods::issue(jmethodID method, jvmtiEnv* env) {
  if (method == nullptr) return 0;
  uint32_t index = find_issued(method);
  if (index != 0) return handle_of(index);
  jboolean obsolete = JNI_FALSE;
  if (env != nullptr) env->IsMethodObsolete(method, &obsolete);
  Locked locked(mutex_);
  uint64_t key = reinterpret_cast<uint64_t>(method);
  index = index_.find(key);
  if (index == 0) {
    MethodRecord* record = records_.add();
    if (record == nullptr) return 0;
    record->id = method;
    record->obsolete = obsolete != JNI_FALSE;
    index = static_cast<uint32_t>(records_.size());
    if (!index_.insert(key, index)) return 0;
  }
  return handle_of(index);
}

void Methods::clear(JNIEnv* jni) {
  for (size_t i = 0; i < records_.size(); ++i) {
    MethodDetails* details = records_.at(i)->details;
    if (details == nullptr) continue;
    jni->DeleteWeakGlobalRef(details->declaring_class);
    for (uint32_t j = 0; j < details->argument_count; ++j) {
      if (details->argument_classes[j] != nullptr) {
        jni->DeleteWeakGlobalRef(details->argument_classes[j]);
      }
    }
  }
}

Methods::~Methods() {
  for (size_t i = 0; i < records_.size(); ++i) unmake(records_.at(i)->details);
}

uint64_t Fields::issue(JNIEnv* jni, jvmtiEnv* env, jclass klass, jfieldID field) {
  if (field == nullptr || klass == nullptr) return 0;
  // A jfieldID alone names a field of many classes, so the class's identity is part of the key.
  jint hash = 0;
  if (env->GetObjectHashCode(klass, &hash) != JVMTI_ERROR_NONE) return 0;
  uint64_t key = reinterpret_cast<uint64_t>(field) * 31 + static_cast<uint32_t>(hash);
  uint32_t candidate;
  {
    Locked locked(mutex_);
    candidate = index_.find(key);
  }
  uint32_t first = candidate;
  while (candidate != 0) {
    FieldRecord* record;
    {
      Locked locked(mutex_);
      record = records_.at(candidate - 1);
    }
    if (record->id == field && jni->IsSameObject(record->klass, klass)) {
      return handle_of(candidate);
    }
    candidate = record->next;
  }
  // A field of whose type nothing is known would be read as a reference, whatever it is.
  Deallocated<char> signature(env);
  jint modifiers = 0;
  if (env->GetFieldName(klass, field, nullptr, signature.out(), nullptr) != JVMTI_ERROR_NONE) {
    return 0;
  }
  char type = signature[0];
  if (type == '\0' || std::strchr("ZBCSIJFDL[", type) == nullptr ||
      env->GetFieldModifiers(klass, field, &modifiers) != JVMTI_ERROR_NONE) {
    return 0;
  }
  jweak weak = nullptr;
  {
    Locked locked(mutex_);
    if (records_.size() > 0) weak = records_.at(records_.size() - 1)->klass;
  }
  bool shared = weak != nullptr && jni->IsSameObject(weak, klass);
  if (!shared) weak = jni->NewWeakGlobalRef(klass);
  if (weak == nullptr) return 0;
  bool is_static = (modifiers & 0x0008) != 0;
  uint32_t index = keep(FieldRecord{field, weak, !shared, first, type, is_static}, key);
  if (index != 0) return handle_of(index);
  if (!shared) jni->DeleteWeakGlobalRef(weak);
  return 0;
}

// 0 without memory.
uint32_t Fields::keep(const FieldRecord& made, uint64_t key) {
  Locked locked(mutex_);
  FieldRecord* record = records_.add();
  uint32_t index = static_cast<uint32_t>(records_.size());
  if (record == nullptr) return 0;
  if (made.next != 0) {
    index_.replace(key, index);
  } else if (!index_.insert(key, index)) {
    return 0;  // the record stays empty, and its number was never given out
  }
  *record = made;
  return index;
}

void Fields::clear(JNIEnv* jni) {
  for (size_t i = 0; i < records_.size(); ++i) {
    if (records_.at(i)->owns_class) jni->DeleteWeakGlobalRef(records_.at(i)->klass);
  }
}

uint64_t Pointers::issue(void* pointer, uint8_t kind, int64_t size) {
  if (pointer == nullptr) return 0;
  Locked locked(mutex_);
  return entries_.insert(kind, Entry{pointer, size, false});
}

Pointers::Entry* Pointers::entry_of(uint64_t handle, uint8_t kind) {
  Entry* entry = kind_of(handle) == kind ? entries_.find(handle) : nullptr;
  return entry != nullptr && !entry->hidden ? entry : nullptr;
}

void* Pointers::find(uint64_t handle, uint8_t kind, int64_t* size) {
  Locked locked(mutex_);
  Entry* entry = entry_of(handle, kind);
  if (entry == nullptr) return nullptr;
  if (size != nullptr) *size = entry->size;
  return entry->pointer;
}

void* Pointers::remove(uint64_t handle, uint8_t kind) {
  Locked locked(mutex_);
  return entry_of(handle, kind) == nullptr ? nullptr : entries_.remove(handle).pointer;
}

bool Pointers::hide(uint64_t handle, uint8_t kind) {
  Locked locked(mutex_);
  Entry* entry = entry_of(handle, kind);
  if (entry != nullptr) entry->hidden = true;
  return entry != nullptr;
}

void Pointers::settle(uint64_t handle, bool gone) {
  Locked locked(mutex_);
  entries_.find(handle)->hidden = false;
  if (gone) entries_.remove(handle);
}

size_t Pointers::live(uint8_t kind) {
  Locked locked(mutex_);
  size_t count = 0;
  entries_.each([&](uint64_t handle, Entry&) { count += kind_of(handle) == kind; });
  return count;
}

}  // namespace jvmti
