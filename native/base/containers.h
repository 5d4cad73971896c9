// Growable arrays and an index over them, without any C++ runtime library: the agent lives in
// other people's processes, so it brings nothing and throws nothing.  A failed allocation shows as
// a false return, which callers turn into OUT_OF_MEMORY.  What must not fail, because something has
// been done that is to be undone, has its room reserved before, and is `put` there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "base/no_copy.h"

namespace jvmti {

// A new object in zeroed memory, or null without memory.
template <class T, class... Arguments>
[[nodiscard]] T* make(Arguments&&... arguments) {
  void* memory = std::calloc(1, sizeof(T));
  return memory == nullptr ? nullptr : new (memory) T{std::forward<Arguments>(arguments)...};
}

template <class T>
void unmake(T* object) {
  if (object == nullptr) return;
  object->~T();
  std::free(object);
}

// A copy to be freed; null of null, or without memory.
inline char* copy_of(const char* text) {
  size_t size = text == nullptr ? 0 : std::strlen(text) + 1;
  char* copy = size == 0 ? nullptr : static_cast<char*>(std::malloc(size));
  if (copy != nullptr) std::memcpy(copy, text, size);
  return copy;
}

// As many zeroed items as were asked for, and never more.  False without memory for them.
template <class T>
class Array : NoCopy {
 public:
  constexpr Array() = default;
  explicit Array(size_t size) { (void)allocate(size); }
  ~Array() {
    for (size_t i = 0; i < size_; ++i) items_[i].~T();
    std::free(items_);
  }
  [[nodiscard]] bool allocate(size_t size) {
    items_ = static_cast<T*>(std::calloc(size + 1, sizeof(T)));
    if (items_ == nullptr) return false;
    size_ = size;
    if (!std::is_trivially_default_constructible<T>::value) {
      for (size_t i = 0; i < size; ++i) new (items_ + i) T();
    }
    return true;
  }
  // The text with the zero behind it.
  [[nodiscard]] bool copy(const T* text) {
    static_assert(sizeof(T) == 1, "copies text");
    size_t length = std::strlen(text);
    if (!allocate(length)) return false;
    std::memcpy(items_, text, length);
    return true;
  }
  explicit operator bool() const { return items_ != nullptr; }
  T* get() const { return items_; }
  size_t size() const { return size_; }
  T& operator[](size_t index) const { return items_[index]; }

 private:
  T* items_ = nullptr;
  size_t size_ = 0;
};

template <class T>
class Vector : NoCopy {
  static_assert(std::is_trivially_copyable<T>::value, "Vector moves its items with realloc");

 public:
  using Item = T;
  constexpr Vector() = default;
  ~Vector() { std::free(items_); }

  [[nodiscard]] bool push(const T& item) {
    if (size_ == capacity_ && !reserve(capacity_ == 0 ? 8 : capacity_ * 2)) return false;
    put(item);
    return true;
  }
  // Within what was reserved.
  void put(const T& item) { items_[size_++] = item; }
  [[nodiscard]] bool reserve(size_t capacity) {
    if (capacity <= capacity_) return true;
    T* grown = static_cast<T*>(std::realloc(static_cast<void*>(items_), capacity * sizeof(T)));
    if (grown == nullptr) return false;
    items_ = grown;
    capacity_ = capacity;
    return true;
  }
  T pop() { return items_[--size_]; }
  // Order is not kept.
  void remove(size_t index) { items_[index] = items_[--size_]; }
  // False where it has no such item.
  bool take_out(const T& item) {
    size_t at = 0;
    while (at < size_ && !(items_[at] == item)) ++at;
    if (at == size_) return false;
    remove(at);
    return true;
  }
  void shrink(size_t size) { size_ = size; }
  void clear() { size_ = 0; }
  // Within what was reserved, over items that were written there.
  void grow(size_t size) { size_ = size; }
  size_t capacity() const { return capacity_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t index) { return items_[index]; }
  const T& operator[](size_t index) const { return items_[index]; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }

 private:
  T* items_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Items that never move, so that a pointer to one stays good without a lock.
template <class T>
class Stable {
 public:
  Stable() = default;
  ~Stable() {
    for (T* chunk : chunks_) std::free(chunk);
  }
  // A zeroed new item, or null without memory.
  [[nodiscard]] T* add() {
    if (size_ == chunks_.size() * kChunk) {
      T* chunk = static_cast<T*>(std::calloc(kChunk, sizeof(T)));
      if (chunk == nullptr) return nullptr;
      if (!chunks_.push(chunk)) {
        std::free(chunk);
        return nullptr;
      }
    }
    T* item = &chunks_[size_ / kChunk][size_ % kChunk];
    ++size_;
    return item;
  }
  T* at(size_t index) { return &chunks_[index / kChunk][index % kChunk]; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kChunk = 512;
  Vector<T*> chunks_;
  size_t size_ = 0;
};

// Open addressing from a 64-bit key to a 32-bit value; 0 stands for "absent" in both.
class Index : NoCopy {
 public:
  Index() = default;
  ~Index() { std::free(slots_); }

  uint32_t find(uint64_t key) const {
    if (capacity_ == 0) return 0;
    for (size_t i = hash(key);; ++i) {
      const Slot& slot = slots_[i & (capacity_ - 1)];
      if (slot.value == 0) return 0;
      if (slot.key == key) return slot.value;
    }
  }
  [[nodiscard]] bool insert(uint64_t key, uint32_t value) {
    if (size_ * 2 >= capacity_ && !grow()) return false;
    place(key, value);
    ++size_;
    return true;
  }
  void remove(uint64_t key) {
    if (find(key) == 0) return;
    size_t mask = capacity_ - 1;
    size_t hole = hash(key) & mask;
    while (slots_[hole].key != key || slots_[hole].value == 0) hole = (hole + 1) & mask;
    // What was pushed past the hole moves up, or its search would end there.
    for (size_t i = (hole + 1) & mask; slots_[i].value != 0; i = (i + 1) & mask) {
      size_t wanted = hash(slots_[i].key) & mask;
      if (((i - wanted) & mask) < ((i - hole) & mask)) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = Slot{};
    --size_;
  }
  void replace(uint64_t key, uint32_t value) {
    for (size_t i = hash(key);; ++i) {
      Slot& slot = slots_[i & (capacity_ - 1)];
      if (slot.key == key) {
        slot.value = value;
        return;
      }
    }
  }

 private:
  struct Slot {
    uint64_t key;
    uint32_t value;
  };
  static size_t hash(uint64_t key) {
    key *= 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(key ^ key >> 32);
  }
  void place(uint64_t key, uint32_t value) {
    size_t i = hash(key);
    while (slots_[i & (capacity_ - 1)].value != 0) ++i;
    slots_[i & (capacity_ - 1)] = Slot{key, value};
  }
  bool grow() {
    size_t old_capacity = capacity_;
    Slot* old = slots_;
    size_t capacity = old_capacity == 0 ? 64 : old_capacity * 2;
    Slot* made = static_cast<Slot*>(std::calloc(capacity, sizeof(Slot)));
    if (made == nullptr) return false;
    slots_ = made;
    capacity_ = capacity;
    for (size_t i = 0; i < old_capacity; ++i) {
      if (old[i].value != 0) place(old[i].key, old[i].value);
    }
    std::free(old);
    return true;
  }

  Slot* slots_ = nullptr;
  size_t capacity_ = 0;
  size_t size_ = 0;
};

}  // namespace jvmti
