#include "agent/engines/profiling/profile_names.h"

#include <cstdio>
#include <cstring>

#include "agent/core/agent.h"
#include "agent/core/vm_memory.h"
#include "agent/core/vm_structures.h"
#include "agent/engines/profiling/living_classes.h"
#include "base/hashes.h"
#include "base/intern_table.h"

namespace jvmti {

namespace {

using layouts::CodeKind;

constexpr size_t kMostNoted = 1 << 16;
constexpr uint32_t kMostTypes = 1 << 16;

bool append_text(Vector<uint8_t>* to, const char* text) {
  return append_bytes(to, text, std::strlen(text) + 1);
}

jfieldID id_field;

}  // namespace

void prepare_threads(jvmtiEnv* env, JNIEnv* jni) {
  LocalFrame frame(jni, 8);
  jclass type = jni->FindClass("java/lang/Thread");
  if (type != nullptr) {
    id_field = jni->GetFieldID(type, "tid", "J");
    if (id_field == nullptr) jni->ExceptionClear();
  }
  jni->ExceptionClear();
  prepare_vm_threads(env, jni);
}

int64_t thread_id(JNIEnv* jni, jthread thread) {
  return id_field == nullptr || thread == nullptr ? 0 : jni->GetLongField(thread, id_field);
}

bool describe_thread_of(jvmtiEnv* env, JNIEnv* jni, const JNIEnv* of, ProfiledThread* found) {
  uintptr_t wanted = vm_thread(of);
  if (wanted == 0) return false;
  LocalRefs<jthread> threads(env, jni);
  if (env->GetAllThreads(threads.count_out(), threads.out()) != JVMTI_ERROR_NONE) return false;
  for (jthread thread : threads) {
    if (vm_thread(jni, thread) != wanted) continue;
    describe_thread(env, jni, thread, found);
    return true;
  }
  return false;
}

bool append_bytes(Vector<uint8_t>* to, const void* from, size_t size) {
  size_t needed = to->size() + size;
  if (needed > to->capacity() && !to->reserve(needed * 2 + 1024)) return false;
  std::memcpy(to->end(), from, size);
  to->grow(needed);
  return true;
}

void describe_thread(jvmtiEnv* env, JNIEnv* jni, jthread thread, ProfiledThread* found) {
  LocalFrame frame(jni, 16);
  if (thread == nullptr && env->GetCurrentThread(&thread) != JVMTI_ERROR_NONE) return;
  if (thread == nullptr) return;
  jvmtiThreadInfo info{};
  if (env->GetThreadInfo(thread, &info) != JVMTI_ERROR_NONE) return;
  if (info.name != nullptr) snprintf(found->name, sizeof found->name, "%s", info.name);
  env->Deallocate(reinterpret_cast<unsigned char*>(info.name));
  jvmtiThreadGroupInfo group{};
  if (info.thread_group != nullptr &&
      env->GetThreadGroupInfo(info.thread_group, &group) == JVMTI_ERROR_NONE) {
    if (group.name != nullptr) snprintf(found->group, sizeof found->group, "%s", group.name);
    env->Deallocate(reinterpret_cast<unsigned char*>(group.name));
  }
  // The slot is beyond the table of older VMs.
  found->is_virtual = major_version(agent.version) >= 21 && jni->IsVirtualThread(thread);
  found->id = thread_id(jni, thread);
  if (found->is_virtual && found->name[0] == '\0') {
    snprintf(found->name, sizeof found->name, "(unnamed virtual thread)");
  }
}

ProfileNames::~ProfileNames() {
  for (size_t i = 0; i < method_list_.size(); ++i) {
    agent.env->Deallocate(reinterpret_cast<unsigned char*>(method_list_.at(i)->lines));
  }
  for (Noted* one : noted_) unmake(one);
  for (char* name : type_names_) std::free(name);
}

void ProfileNames::taken() {
  new_threads.clear();
  new_frames.clear();
  new_depths.clear();
  new_stack_frames.clear();
  new_thread_texts.clear();
  new_method_texts.clear();
  new_methods = 0;
}

// ---- threads and types ---------------------------------------------------------------------

void ProfileNames::note_thread(uint32_t thread, const ProfiledThread& known) {
  Noted* made = make<Noted>();
  if (made == nullptr) return;
  made->thread = thread;
  made->known = known;
  {
    Locked locked(mutex_);
    if (noted_.size() < kMostNoted && noted_.push(made)) return;
  }
  unmake(made);
}

bool ProfileNames::add_noted(uint32_t thread) {
  while (true) {
    Noted* one = nullptr;
    {
      Locked locked(mutex_);
      if (noted_.empty()) break;
      one = noted_.pop();
    }
    if (threads_.find(one->thread + 1) == 0) add_thread(one->thread, one->known);
    unmake(one);
  }
  return threads_.find(thread + 1) != 0;
}

bool ProfileNames::add_thread(uint32_t thread, const ProfiledThread& known) {
  size_t before = new_thread_texts.size();
  layouts::ProfileThread row{known.id, known.is_virtual, 0};
  if (append_text(&new_thread_texts, known.name) && append_text(&new_thread_texts, known.group) &&
      new_threads.push(row)) {
    if (threads_.insert(thread + 1, thread_count_ + 1)) {
      ++thread_count_;
      return true;
    }
    new_threads.pop();
  }
  new_thread_texts.shrink(before);
  return false;
}

uint32_t ProfileNames::note_type(const char* signature) {
  uint64_t key = hash_of(signature) | 1;
  Locked locked(mutex_);
  uint32_t number = types_.find(key);
  if (number != 0 || type_names_.size() == kMostTypes) return number;
  char* kept = copy_of(signature);
  if (kept == nullptr || !type_names_.reserve(type_names_.size() + 1)) {
    std::free(kept);
    return 0;
  }
  number = static_cast<uint32_t>(type_names_.size()) + 1;
  if (!types_.insert(key, number)) {
    std::free(kept);
    return 0;
  }
  type_names_.put(kept);
  return number;
}

// ---- stacks ------------------------------------------------------------------------------------

uint32_t ProfileNames::stack(jvmtiEnv* env, JNIEnv* jni, const TraceTable& traces, uint32_t trace) {
  uint32_t known = stacks_.find(trace + 1);
  if (known != 0) return known;
  const StackFrame* frames = nullptr;
  uint32_t count = 0;
  if (!traces.read(trace, &frames, &count)) return 0;
  size_t before = new_stack_frames.size();
  size_t needed = before + count;
  if (needed > new_stack_frames.capacity() && !new_stack_frames.reserve(needed * 2)) return 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t number = frame(env, jni, frames[i]);
    if (number != 0) new_stack_frames.put(number - 1);
  }
  if (new_depths.push(static_cast<uint32_t>(new_stack_frames.size() - before))) {
    if (stacks_.insert(trace + 1, stack_count_ + 1)) return ++stack_count_;
    new_depths.pop();
  }
  new_stack_frames.shrink(before);
  return 0;
}

uint32_t ProfileNames::frame(jvmtiEnv* env, JNIEnv* jni, const StackFrame& frame) {
  uint64_t key = InternTable::mix(reinterpret_cast<uint64_t>(frame.method)) * 31 +
                 static_cast<uint32_t>(frame.location);
  if (key == 0) key = 1;
  uint32_t number = frames_.find(key);
  if (number != 0) return number;
  Method* of = method(env, jni, frame);
  if (of == nullptr) return 0;
  jint line = -1;
  jlocation begins = -1;
  // The entries need not be in order.
  for (jint i = 0; i < of->line_count && frame.location >= 0; ++i) {
    const jvmtiLineNumberEntry& entry = of->lines[i];
    if (entry.start_location > frame.location || entry.start_location < begins) continue;
    begins = entry.start_location;
    line = entry.line_number;
  }
  uint32_t code = frame.location == StackFrame::kNativeMethod ? +CodeKind::kNative : of->code;
  if (!new_frames.push(layouts::ProfileFrame{of->number, line, code})) return 0;
  if (!frames_.insert(key, frame_count_ + 1)) {
    new_frames.pop();
    return 0;
  }
  return ++frame_count_;
}

ProfileNames::Method* ProfileNames::method(jvmtiEnv* env, JNIEnv* jni, const StackFrame& frame) {
  bool is_code = frame.location == StackFrame::kNoMethod;
  uint64_t key = reinterpret_cast<uint64_t>(frame.method) * 2 + is_code;
  if (key == 0) key = ~uint64_t{0};
  met_nameless_ |= !is_code && frame.method == nullptr;
  uint32_t place = methods_.find(key);
  if (place != 0) return method_list_.at(place - 1);
  Method* made = method_list_.add();
  if (made == nullptr) return nullptr;
  size_t before = new_method_texts.size();
  made->number = static_cast<uint32_t>(method_list_.size()) - 1;
  made->code = CodeKind::kUnknown;
  bool named =
      is_code ? name_code(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(frame.method)), made)
              : name_method(env, jni, frame.method, made);
  if (!named) {
    // Each has its texts, whatever they are: they count by position.
    new_method_texts.shrink(before);
    if (!add_method_texts("", "(unloaded)", "")) return nullptr;
    ++unresolved_;
  }
  ++new_methods;
  if (!methods_.insert(key, static_cast<uint32_t>(method_list_.size()))) return made;
  return made;
}

bool ProfileNames::add_method_texts(const char* klass, const char* name, const char* descriptor) {
  return append_text(&new_method_texts, klass) && append_text(&new_method_texts, name) &&
         append_text(&new_method_texts, descriptor);
}

bool ProfileNames::name_code(uint32_t number, Method* made) {
  if (number >= CodeNames::kTypes) {
    const char* name = nullptr;
    {
      Locked locked(mutex_);
      uint32_t type = number - CodeNames::kTypes;
      if (type > 0 && type <= type_names_.size()) name = type_names_[type - 1];
    }
    made->code = CodeKind::kType;
    return name != nullptr && add_method_texts(name, "", "");
  }
  switch (number) {
    case CodeNames::kCollector:
      made->code = CodeKind::kCollector;
      return add_method_texts("", "(garbage collector)", "");
    case CodeNames::kCompiler:
      made->code = CodeKind::kCompiler;
      return add_method_texts("", "(compiler)", "");
    case CodeNames::kVm:
      made->code = CodeKind::kVm;
      return add_method_texts("", "(VM)", "");
    case CodeNames::kKernel:
      made->code = CodeKind::kKernel;
      return add_method_texts("", "(kernel)", "");
    case CodeNames::kNative:
      made->code = CodeKind::kNative;
      return add_method_texts("", "(native code)", "");
    default:
      break;
  }
  uint32_t library = number - CodeNames::kLibraries;
  made->code = ranges_.is_vm(library) ? +CodeKind::kVm : +CodeKind::kNative;
  return add_method_texts("", ranges_.name(library), "");
}

bool ProfileNames::name_method(jvmtiEnv* env, JNIEnv* jni, jmethodID id, Method* made) {
  auto living = [&] { return is_living(jni, id, ranges_); };
  // While there is a reference to its class it is not unloaded, but it may be redefined.
  LocalRef<jclass> klass(jni);
  if (!living() || env->GetMethodDeclaringClass(id, klass.out()) != JVMTI_ERROR_NONE) return false;
  if (!is_living(jni, klass)) return false;
  Deallocated<char> type(env);
  Deallocated<char> name(env);
  Deallocated<char> descriptor(env);
  if (env->GetClassSignature(klass, type.out(), nullptr) != JVMTI_ERROR_NONE || !living() ||
      env->GetMethodName(id, name.out(), descriptor.out(), nullptr) != JVMTI_ERROR_NONE) {
    return false;
  }
  if (!living() ||
      env->GetLineNumberTable(id, &made->line_count, &made->lines) != JVMTI_ERROR_NONE) {
    made->line_count = 0;
    made->lines = nullptr;
  }
  return add_method_texts(type.get(), name.get(), descriptor.get());
}

}  // namespace jvmti
