// Memory for columns: pages straight from the kernel, zeroed, which cost nothing until they are
// written.  So a column can be reserved for the most items that the file has room for, and given
// back beyond what there were; and it goes back to the system when it is released.
#pragma once

#include <sys/mman.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

// With the address sanitizer nothing may touch what lies between the last item and the end of its
// page; so an index that is one too large shows here as it does with malloc.
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define JVMTI_HEAP_FORBID(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define JVMTI_HEAP_ALLOW(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#else
#define JVMTI_HEAP_FORBID(at, bytes) static_cast<void>(0)
#define JVMTI_HEAP_ALLOW(at, bytes) static_cast<void>(0)
#endif

namespace jvmti {
namespace heap {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = 2u << 20;

template <class T>
class Pages {
  static_assert(std::is_trivially_copyable<T>::value, "Pages holds plain data");

 public:
  Pages() = default;
  ~Pages() { release(); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  // Huge pages suit what is written from end to end, or read at random.
  bool reserve(uint64_t count, bool huge = true) {
    release();
    if (count > (UINT64_C(1) << 46) / sizeof(T)) return false;
    uint64_t bytes = count * sizeof(T);
    bytes = bytes == 0 ? kPage : (bytes + kPage - 1) / kPage * kPage;
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return false;
    if (huge && bytes >= 2 * kHugePage) madvise(mapped, bytes, MADV_HUGEPAGE);
    items_ = static_cast<T*>(mapped);
    bytes_ = bytes;
    size_ = count;
    JVMTI_HEAP_FORBID(items_ + count, bytes - count * sizeof(T));
    return true;
  }
  // Gives back the pages behind the first items.
  void shrink(uint64_t count) {
    if (count >= size_) return;
    uint64_t bytes = (count * sizeof(T) + kPage - 1) / kPage * kPage;
    if (bytes == 0) bytes = kPage;
    JVMTI_HEAP_ALLOW(items_, bytes_);
    JVMTI_HEAP_FORBID(items_ + count, bytes - count * sizeof(T));
    if (bytes < bytes_) {
      munmap(reinterpret_cast<char*>(items_) + bytes, bytes_ - bytes);
      bytes_ = bytes;
    }
    size_ = count;
  }
  void release() {
    if (items_ != nullptr) {
      JVMTI_HEAP_ALLOW(items_, bytes_);
      munmap(static_cast<void*>(items_), bytes_);
    }
    items_ = nullptr;
    bytes_ = size_ = 0;
  }
  T* data() { return items_; }
  const T* data() const { return items_; }
  uint64_t size() const { return size_; }
  T& operator[](uint64_t index) { return items_[index]; }
  const T& operator[](uint64_t index) const { return items_[index]; }

 private:
  T* items_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t size_ = 0;
};

// A growing array.  A failed allocation shows as a false return.
template <class T>
class List {
  static_assert(std::is_trivially_copyable<T>::value, "List moves its items with realloc");

 public:
  List() = default;
  ~List() { std::free(items_); }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  bool push(const T& item) {
    if (size_ == capacity_ && !reserve(capacity_ == 0 ? 64 : capacity_ + capacity_ / 2)) {
      return false;
    }
    items_[size_++] = item;
    return true;
  }
  bool reserve(uint64_t capacity) {
    if (capacity <= capacity_) return true;
    if (capacity > (UINT64_C(1) << 46) / sizeof(T)) return false;
    T* grown = static_cast<T*>(std::realloc(static_cast<void*>(items_), capacity * sizeof(T)));
    if (grown == nullptr) return false;
    items_ = grown;
    capacity_ = capacity;
    return true;
  }
  bool append(const List& other) {
    if (!reserve(size_ + other.size_)) return false;
    if (other.size_ != 0) std::memcpy(items_ + size_, other.items_, other.size_ * sizeof(T));
    size_ += other.size_;
    return true;
  }
  void clear() { size_ = 0; }
  void release() {
    std::free(items_);
    items_ = nullptr;
    size_ = capacity_ = 0;
  }
  void shrink(uint64_t size) { size_ = size; }
  uint64_t size() const { return size_; }
  T* data() { return items_; }
  const T* data() const { return items_; }
  T& operator[](uint64_t index) { return items_[index]; }
  const T& operator[](uint64_t index) const { return items_[index]; }

 private:
  T* items_ = nullptr;
  uint64_t size_ = 0;
  uint64_t capacity_ = 0;
};

// From 64-bit identifiers, zero among them, to numbers; the first one given for an identifier
// stays.
class Index {
 public:
  static constexpr uint32_t kAbsent = 0xFFFFFFFFu;

  Index() = default;
  ~Index() { std::free(slots_); }
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  uint32_t find(uint64_t key) const {
    if (capacity_ == 0) return kAbsent;
    for (uint64_t i = hash(key);; ++i) {
      const Slot& slot = slots_[i & (capacity_ - 1)];
      if (slot.value == 0) return kAbsent;
      if (slot.key == key) return slot.value - 1;
    }
  }
  // The value that the key has now.
  bool insert(uint64_t key, uint32_t value, uint32_t* has) {
    if ((size_ + 1) * 2 > capacity_ && !grow()) return false;
    for (uint64_t i = hash(key);; ++i) {
      Slot& slot = slots_[i & (capacity_ - 1)];
      if (slot.value == 0) {
        slot = Slot{key, value + 1};
        ++size_;
        *has = value;
        return true;
      }
      if (slot.key == key) {
        *has = slot.value - 1;
        return true;
      }
    }
  }

 private:
  struct Slot {
    uint64_t key;
    uint32_t value;
  };
  // The salt differs each time, so that no file can be made whose identifiers all collide.
  uint64_t hash(uint64_t key) const {
    key = (key ^ salt_) * UINT64_C(0xFF51AFD7ED558CCD);
    key = (key ^ key >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return key ^ key >> 33;
  }
  static uint64_t fresh_salt() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_nsec) * UINT64_C(0x9E3779B97F4A7C15);
  }
  bool grow() {
    uint64_t old_capacity = capacity_;
    Slot* old = slots_;
    uint64_t capacity = old_capacity == 0 ? 256 : old_capacity * 2;
    Slot* made = static_cast<Slot*>(std::calloc(capacity, sizeof(Slot)));
    if (made == nullptr) return false;
    slots_ = made;
    capacity_ = capacity;
    for (uint64_t i = 0; i < old_capacity; ++i) {
      if (old[i].value == 0) continue;
      uint64_t j = hash(old[i].key);
      while (slots_[j & (capacity_ - 1)].value != 0) ++j;
      slots_[j & (capacity_ - 1)] = old[i];
    }
    std::free(old);
    return true;
  }

  Slot* slots_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t size_ = 0;
  uint64_t salt_ = fresh_salt();
};

}  // namespace heap
}  // namespace jvmti
