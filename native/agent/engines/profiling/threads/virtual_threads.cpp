#include "agent/engines/profiling/threads/virtual_threads.h"

#include <cstring>

#include "agent/core/agent.h"
#include "agent/handles/agent_references.h"

namespace jvmti {

namespace {

constexpr int kMostContainers = 1 << 16;

jmethodID method_of(JNIEnv* jni, jclass klass, const char* name, const char* descriptor) {
  if (klass == nullptr) return nullptr;
  jmethodID found = jni->GetMethodID(klass, name, descriptor);
  if (found == nullptr) jni->ExceptionClear();
  return found;
}

jvmtiExtensionFunction extension(jvmtiEnv* env, const char* id) {
  jint count = 0;
  Deallocated<jvmtiExtensionFunctionInfo> functions(env);
  if (env->GetExtensionFunctions(&count, functions.out()) != JVMTI_ERROR_NONE) return nullptr;
  jvmtiExtensionFunction found = nullptr;
  for (jint i = 0; functions != nullptr && i < count; ++i) {
    const jvmtiExtensionFunctionInfo& one = functions.get()[i];
    if (one.id != nullptr && std::strcmp(one.id, id) == 0) found = one.func;
    for (jint k = 0; one.params != nullptr && k < one.param_count; ++k)
      deallocate(env, one.params[k].name);
    deallocate(env, one.id);
    deallocate(env, one.short_description);
    deallocate(env, one.params);
    deallocate(env, one.errors);
  }
  return found;
}

}  // namespace

void VirtualThreads::prepare(jvmtiEnv* env, JNIEnv* jni) {
  if (major_version(agent.version) < kFirstWithVirtualThreads) return;
  jvmtiCapabilities wanted{};
  wanted.can_support_virtual_threads = 1;
  if (env->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) return;
  get_virtual_thread_ = extension(env, "com.sun.hotspot.functions.GetVirtualThread");
  prepare_lists(jni);
}

void VirtualThreads::prepare_lists(JNIEnv* jni) {
  if (major_version(agent.version) < kFirstWithVirtualThreads) return;
  LocalFrame frame(jni, 16);
  if (!frame) return jni->ExceptionClear();
  jclass containers = jni->FindClass("jdk/internal/vm/ThreadContainers");
  jni->ExceptionClear();
  jclass container = jni->FindClass("jdk/internal/vm/ThreadContainer");
  jni->ExceptionClear();
  jclass stream = jni->FindClass("java/util/stream/Stream");
  jni->ExceptionClear();
  threads_ = method_of(jni, container, "threads", "()Ljava/util/stream/Stream;");
  children_ = method_of(jni, container, "children", "()Ljava/util/stream/Stream;");
  to_array_ = method_of(jni, stream, "toArray", "()[Ljava/lang/Object;");
  if (containers == nullptr || threads_ == nullptr || children_ == nullptr ||
      to_array_ == nullptr) {
    return;
  }
  containers_ = static_cast<jclass>(hold(jni, containers));
  if (containers_ == nullptr) return;
  root_ = jni->GetStaticMethodID(containers_, "root", "()Ljdk/internal/vm/ThreadContainer;");
  if (root_ == nullptr) jni->ExceptionClear();
}

void VirtualThreads::drop_lists(JNIEnv* jni) {
  for (const Listed& one : lists_) let_go(jni, one.threads);
  lists_.clear();
  count_ = 0;
}

void VirtualThreads::forget(JNIEnv* jni) {
  drop_lists(jni);
  if (containers_ != nullptr) let_go(jni, containers_);
  containers_ = nullptr;
  root_ = nullptr;
}

jthread VirtualThreads::mounted_on(jvmtiEnv* env, jthread carrier) const {
  jthread found = nullptr;
  if (get_virtual_thread_ == nullptr ||
      get_virtual_thread_(env, carrier, &found) != JVMTI_ERROR_NONE) {
    return nullptr;
  }
  return found;
}

jobjectArray VirtualThreads::items(JNIEnv* jni, jobject container, jmethodID of) const {
  LocalRef<> stream(jni, jni->CallObjectMethod(container, of));
  if (jni->ExceptionCheck() || stream == nullptr) {
    jni->ExceptionClear();
    return nullptr;
  }
  jobject found = jni->CallObjectMethod(stream, to_array_);
  if (jni->ExceptionCheck()) {
    jni->ExceptionClear();
    return nullptr;
  }
  return static_cast<jobjectArray>(found);
}

void VirtualThreads::list(JNIEnv* jni) {
  if (!known()) return;
  drop_lists(jni);
  Vector<jobject> waiting;  // containers, as local references
  jobject root = jni->CallStaticObjectMethod(containers_, root_);
  if (jni->ExceptionCheck()) jni->ExceptionClear();
  if (root == nullptr || !waiting.push(root)) return;
  for (int seen = 0; !waiting.empty() && seen < kMostContainers; ++seen) {
    LocalRef<> container(jni, waiting.pop());
    LocalRef<jobjectArray> threads(jni, items(jni, container, threads_));
    uint32_t count = threads == nullptr ? 0 : static_cast<uint32_t>(jni->GetArrayLength(threads));
    if (count > 0 && lists_.reserve(lists_.size() + 1)) {
      jobject held = hold(jni, threads);
      if (held != nullptr) {
        lists_.put(Listed{static_cast<jobjectArray>(held), count});
        count_ += count;
      }
    }
    LocalRef<jobjectArray> children(jni, items(jni, container, children_));
    jint more = children == nullptr ? 0 : jni->GetArrayLength(children);
    for (jint i = 0; i < more; ++i) {
      jobject child = jni->GetObjectArrayElement(children, i);
      if (child != nullptr && !waiting.push(child)) delete_local(jni, child);
    }
  }
  while (!waiting.empty()) delete_local(jni, waiting.pop());
}

jthread VirtualThreads::at(JNIEnv* jni, uint32_t number) const {
  for (const Listed& one : lists_) {
    if (number >= one.count) {
      number -= one.count;
      continue;
    }
    LocalRef<jthread> found(jni,
                            jni->GetObjectArrayElement(one.threads, static_cast<jsize>(number)));
    return found != nullptr && jni->IsVirtualThread(found) ? found.release() : nullptr;
  }
  return nullptr;
}

}  // namespace jvmti
