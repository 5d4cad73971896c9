#include "agent/engines/profiling/walks/code_heaps.h"

#include <atomic>
#include <initializer_list>

namespace jvmti {

namespace {

constexpr int kMostHeaps = 4;
constexpr uint8_t kFree = 0xFF;

// A part of the code cache: one byte for each segment says how far back its block begins.
struct Heap {
  uintptr_t begin;
  uintptr_t end;
  uintptr_t segments;
  int32_t shift;
};

Heap heaps[kMostHeaps];
size_t block_size;  // of what stands before each blob
std::atomic<int> heap_count{0};

const Heap* heap_of(uintptr_t pc) {
  int count = heap_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (pc >= heaps[i].begin && pc < heaps[i].end) return &heaps[i];
  }
  return nullptr;
}

}  // namespace

// The heaps are there from the VM's start; only how much of them is used changes.
void CodeHeaps::prepare(const VmTables& tables) {
  if (known()) return;
  VmTables::Field list = tables.field("CodeCache", "_heaps");
  VmTables::Field items = tables.field("GrowableArray<int>", "_data");
  VmTables::Field memory = tables.field("CodeHeap", "_memory");
  VmTables::Field segments = tables.field("CodeHeap", "_segmap");
  VmTables::Field shift = tables.field("CodeHeap", "_log2_segment_size");
  VmTables::Field low = tables.field("VirtualSpace", "_low_boundary");
  VmTables::Field high = tables.field("VirtualSpace", "_high_boundary");
  for (const VmTables::Field& one : {list, items, memory, segments, shift, low, high}) {
    if (!one.known) return;
  }
  block_size = tables.size_of("HeapBlock");
  uintptr_t array = in_vm<uintptr_t>(list.global, 0);
  int32_t length = in_vm<int32_t>(array, 0);
  if (block_size == 0 || length > kMostHeaps) return;
  uintptr_t data = in_vm<uintptr_t>(array, items.place);
  for (int i = 0; i < length; ++i) {
    uintptr_t heap = in_vm<uintptr_t>(data, static_cast<size_t>(i) * sizeof(uintptr_t));
    heaps[i] = {in_vm<uintptr_t>(heap, memory.place + low.place),
                in_vm<uintptr_t>(heap, memory.place + high.place),
                in_vm<uintptr_t>(heap, segments.place + low.place),
                in_vm<int32_t>(heap, shift.place)};
  }
  heap_count.store(length, std::memory_order_release);
}

bool CodeHeaps::known() { return heap_count.load(std::memory_order_acquire) != 0; }

bool CodeHeaps::lack(uintptr_t pc) { return pc != 0 && known() && heap_of(pc) == nullptr; }

uintptr_t CodeHeaps::blob_at(uintptr_t pc) {
  const Heap* heap = heap_of(pc);
  if (heap == nullptr) return 0;
  size_t segment = (pc - heap->begin) >> heap->shift;
  uint8_t back = in_vm<uint8_t>(heap->segments, segment);
  if (back == kFree) return 0;
  while (back != 0) {
    segment -= back;
    back = in_vm<uint8_t>(heap->segments, segment);
  }
  return heap->begin + (segment << heap->shift) + block_size;
}

}  // namespace jvmti
