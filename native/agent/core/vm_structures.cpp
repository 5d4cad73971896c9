#include "agent/core/vm_structures.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "agent/core/agent.h"
#include "agent/core/vm_memory.h"

namespace jvmti {

namespace {

std::atomic<jfieldID> vm_thread_field{};
std::atomic<ptrdiff_t> jni_offset{0};  // from a JavaThread of the VM to its JNIEnv; 0 if unknown

}  // namespace

VmTables::VmTables() {
  Dl_info vm;
  void* of_vm = reinterpret_cast<void*>(agent.vm->functions->GetEnv);
  library_ = dladdr(of_vm, &vm) == 0 ? nullptr : dlopen(vm.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  // A function of ours stands for the VM's where locks are checked; the launcher loads the VM for
  // all.
  if (library_ == nullptr || dlsym(library_, "gHotSpotVMStructs") == nullptr) {
    library_ = RTLD_DEFAULT;
  }
}

size_t VmTables::of_entry(const char* entry, const char* part) const {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "%s%s", entry, part);
  void* found = dlsym(library_, symbol);
  return found == nullptr ? 0 : static_cast<size_t>(*static_cast<const uint64_t*>(found));
}

VmTables::Table VmTables::table(const char* name, const char* entry) const {
  void* found = dlsym(library_, name);
  size_t stride = of_entry(entry, "ArrayStride");
  if (found == nullptr || stride == 0) return {};
  return {*static_cast<const uintptr_t*>(found), stride};
}

VmTables::Field VmTables::field(const char* structure, const char* name) const {
  constexpr const char* kEntry = "gHotSpotVMStructEntry";
  Table fields = table("gHotSpotVMStructs", kEntry);
  size_t of = of_entry(kEntry, "TypeNameOffset");
  size_t called = of_entry(kEntry, "FieldNameOffset");
  for (uintptr_t one = fields.first; one != 0; one += fields.stride) {
    const char* found = in_vm<const char*>(one, of);
    const char* its_name = in_vm<const char*>(one, called);
    if (found == nullptr || its_name == nullptr) break;
    if (std::strcmp(its_name, name) != 0) continue;
    if (structure != nullptr && std::strcmp(found, structure) != 0) continue;
    return Field{true, static_cast<size_t>(in_vm<uint64_t>(one, of_entry(kEntry, "OffsetOffset"))),
                 in_vm<uintptr_t>(one, of_entry(kEntry, "AddressOffset")),
                 in_vm<const char*>(one, of_entry(kEntry, "TypeStringOffset"))};
  }
  return Field{false, 0, 0, nullptr};
}

size_t VmTables::size_of(const char* structure) const {
  constexpr const char* kEntry = "gHotSpotVMTypeEntry";
  Table types = table("gHotSpotVMTypes", kEntry);
  size_t called = of_entry(kEntry, "TypeNameOffset");
  for (uintptr_t one = types.first; one != 0; one += types.stride) {
    const char* name = in_vm<const char*>(one, called);
    if (name == nullptr) break;
    if (std::strcmp(name, structure) != 0) continue;
    return static_cast<size_t>(in_vm<uint64_t>(one, of_entry(kEntry, "SizeOffset")));
  }
  return 0;
}

bool VmTables::constant(const char* name, int32_t* value) const {
  constexpr const char* kEntry = "gHotSpotVMIntConstantEntry";
  Table constants = table("gHotSpotVMIntConstants", kEntry);
  size_t called = of_entry(kEntry, "NameOffset");
  for (uintptr_t one = constants.first; one != 0; one += constants.stride) {
    const char* found = in_vm<const char*>(one, called);
    if (found == nullptr) break;
    if (std::strcmp(found, name) != 0) continue;
    *value = in_vm<int32_t>(one, of_entry(kEntry, "ValueOffset"));
    return true;
  }
  return false;
}

bool read_vm(uintptr_t address, void* to, size_t size) {
  iovec into{to, size};
  iovec from{reinterpret_cast<void*>(address), size};
  return process_vm_readv(getpid(), &into, 1, &from, 1, 0) == static_cast<ssize_t>(size);
}

void prepare_vm_threads(jvmtiEnv* env, JNIEnv* jni) {
  if (jni_offset != 0) return;
  LocalRef<jclass> type = class_named(jni, "java/lang/Thread");
  if (type != nullptr) vm_thread_field = jni->GetFieldID(type, "eetop", "J");
  jni->ExceptionClear();
  uintptr_t found = vm_thread(jni, current_thread(env, jni));
  if (found != 0) jni_offset = static_cast<ptrdiff_t>(reinterpret_cast<uintptr_t>(jni) - found);
}

uintptr_t vm_thread(JNIEnv* jni, jthread thread) {
  jfieldID field = vm_thread_field;
  if (field == nullptr || thread == nullptr) return 0;
  return static_cast<uintptr_t>(jni->GetLongField(thread, field));
}

uintptr_t vm_thread(const JNIEnv* of) {
  ptrdiff_t offset = jni_offset;
  return offset == 0 ? 0 : reinterpret_cast<uintptr_t>(of) - static_cast<uintptr_t>(offset);
}

}  // namespace jvmti
