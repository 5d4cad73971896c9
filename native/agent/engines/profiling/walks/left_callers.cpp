#include "agent/engines/profiling/walks/left_callers.h"

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "agent/core/vm_structures.h"
#include "agent/engines/profiling/walks/code_heaps.h"
#include "base/lock.h"

namespace jvmti {

namespace {

constexpr int kMostCallers = 128;

// Where the VM's structures have what is needed.
struct Places {
  size_t name;
  size_t frame_size;
  size_t original_pc;
  size_t handler;
  bool handler_is_offset;  // from the begin of the blob; before 25 it is an address
};

// Where the interpreter is.
struct Interpreter {
  uintptr_t begin;
  uintptr_t end;
};

Places places;
Interpreter interpreter;
std::atomic<bool> known{false};
Mutex looking{Guards::kLists};

bool find_places(const VmTables& tables) {
  auto place = [&tables](const char* structure, const char* name, size_t* found) {
    VmTables::Field field = tables.field(structure, name);
    *found = field.place;
    return field.known;
  };
  places.handler_is_offset = place("nmethod", "_deopt_handler_offset", &places.handler);
  return (places.handler_is_offset ||
          place("CompiledMethod", "_deopt_handler_begin", &places.handler)) &&
         place("CodeBlob", "_name", &places.name) &&
         place("CodeBlob", "_frame_size", &places.frame_size) &&
         place("nmethod", "_orig_pc_offset", &places.original_pc);
}

void find_interpreter(const VmTables& tables) {
  VmTables::Field queue = tables.field("AbstractInterpreter", "_code");
  VmTables::Field begin = tables.field("StubQueue", "_stub_buffer");
  VmTables::Field size = tables.field("StubQueue", "_buffer_limit");
  if (!queue.known || !begin.known || !size.known) return;
  uintptr_t stubs = in_vm<uintptr_t>(queue.global, 0);
  interpreter.begin = in_vm<uintptr_t>(stubs, begin.place);
  interpreter.end = interpreter.begin + static_cast<uintptr_t>(in_vm<int32_t>(stubs, size.place));
}

uintptr_t blob_at(uintptr_t pc) {
  return known.load(std::memory_order_acquire) ? CodeHeaps::blob_at(pc) : 0;
}

bool is_method(uintptr_t blob) {
  const char* name = in_vm<const char*>(blob, places.name);
  return name != nullptr && std::strcmp(name, "nmethod") == 0;
}

// The compiled method with this code, or 0.
uintptr_t method_at(uintptr_t pc) {
  uintptr_t blob = blob_at(pc);
  return blob != 0 && is_method(blob) ? blob : 0;
}

uintptr_t handler_of(uintptr_t method) {
  if (!places.handler_is_offset) return in_vm<uintptr_t>(method, places.handler);
  return method + static_cast<uintptr_t>(in_vm<int32_t>(method, places.handler));
}

}  // namespace

void LeftCallers::prepare() {
  Locked locked(looking);
  if (known) return;
  VmTables tables;
  CodeHeaps::prepare(tables);
  find_interpreter(tables);
  if (find_places(tables)) known.store(CodeHeaps::known(), std::memory_order_release);
}

void LeftCallers::leave_stub(uintptr_t* pc, uintptr_t* sp) {
  uintptr_t blob = blob_at(*pc);
  if (blob == 0 || is_method(blob)) return;
  int32_t words = in_vm<int32_t>(blob, places.frame_size);
  if (words <= 1) return;
  uintptr_t above = *sp + static_cast<uintptr_t>(words) * sizeof(uintptr_t);
  uintptr_t back = in_vm<uintptr_t>(above - sizeof(uintptr_t), 0);
  if (method_at(back) == 0) return;
  *pc = back;
  *sp = above;
}

bool LeftCallers::mend(uintptr_t pc, uintptr_t sp, uintptr_t fp) {
  constexpr uintptr_t kWord = sizeof(uintptr_t);
  count_ = 0;
  for (int i = 0; i < kMostCallers && count_ < kMost; ++i) {
    uintptr_t at = 0;  // where the return address is
    if (uintptr_t method = method_at(pc)) {
      int32_t words = in_vm<int32_t>(method, places.frame_size);
      if (words <= 1) break;
      sp += static_cast<uintptr_t>(words) * kWord;
      at = sp - kWord;
      fp = in_vm<uintptr_t>(at - kWord, 0);
    } else if (pc >= interpreter.begin && pc < interpreter.end && fp > sp) {
      at = fp + kWord;
      sp = in_vm<uintptr_t>(fp - kWord, 0);  // before the callee made room for its variables
      fp = in_vm<uintptr_t>(fp, 0);
    } else {
      break;
    }
    uintptr_t back = in_vm<uintptr_t>(at, 0);
    uintptr_t caller = method_at(back);
    if (caller != 0 && back == handler_of(caller)) {
      uintptr_t original =
          in_vm<uintptr_t>(sp, static_cast<size_t>(in_vm<int32_t>(caller, places.original_pc)));
      if (method_at(original) != caller) break;
      mended_[count_] = {at, back};
      count_ = count_ + 1;
      *reinterpret_cast<volatile uintptr_t*>(at) = original;
      back = original;
    }
    pc = back;
  }
  return count_ != 0;
}

void LeftCallers::restore() {
  for (int i = 0; i < count_; ++i) {
    *reinterpret_cast<volatile uintptr_t*>(mended_[i].at) = mended_[i].handler;
  }
  count_ = 0;
}

}  // namespace jvmti
