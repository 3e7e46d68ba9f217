/// Arena: memory for the many small parts of one request, given back all at once and reused by the next
/// request. Request and Response have one each: whatever they point to that nobody else keeps is put there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace atl {

/// Bump allocator over a chain of blocks. What it gives stays where it is until reset() or the arena's end,
/// whatever is allocated after it. Destructors are not run: only trivially destructible things may live here.
/// Growth is the caller's to bound: everything placed here stems from a request whose size a frontend has
/// limited. Nothing fails: when memory is gone the process ends, as by operator new in a noexcept function.
///
/// Not thread safe: it is used by whoever holds the request or builds the response at the moment, and goes
/// from thread to thread with it.
class Arena {
 public:
  /// Takes no memory before the first allocation.
  /// \param first_block_bytes  size of the block that is kept over reset(): with one that a typical request
  ///                           fits into, the requests after the first one allocate nothing
  explicit Arena(size_t first_block_bytes = 4096) noexcept : first_block_bytes_(first_block_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { free_blocks(nullptr); }

  /// Uninitialised bytes; never null. What does not fit into the rest of the block starts a new one.
  /// \param alignment  a power of two
  void* allocate(size_t size_bytes, size_t alignment = alignof(std::max_align_t)) noexcept {
    auto at = (cursor_ + alignment - 1) & ~(alignment - 1);
    if (head_ == nullptr || at + size_bytes > end_) {
      add_block(size_bytes + alignment);
      at = (cursor_ + alignment - 1) & ~(alignment - 1);
    }
    cursor_ = at + size_bytes;
    return reinterpret_cast<void*>(at);
  }
  /// One T, made of the arguments. Never null.
  template <class T, class... Args>
  T* make(Args&&... args) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }
  /// Value-initialised: zeros, if T is trivial. Null for count 0.
  /// \param count  sizeof(T) * count must not overflow: check numbers that a client sent before
  template <class T>
  T* make_array(size_t count) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return nullptr;
    T* items = static_cast<T*>(allocate(sizeof(T) * count, alignof(T)));
    for (size_t i = 0; i < count; ++i) new (items + i) T();
    return items;
  }
  /// A copy that may be written; empty, with null as data, for no items.
  template <class T>
  std::span<T> copy(std::span<const T> items) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    auto* to = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
    std::memcpy(static_cast<void*>(to), items.data(), items.size_bytes());
    return {to, items.size()};
  }
  /// A copy that is NUL-terminated one past its end.
  std::string_view copy_text(std::string_view text) noexcept {
    auto* to = static_cast<char*>(allocate(text.size() + 1, 1));
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    to[text.size()] = '\0';
    return {to, text.size()};
  }
  /// Forgets everything allocated: every pointer into the arena is dangling from here on. One block of the
  /// first size is kept for what comes next, the others are given back.
  void reset() noexcept {
    if (head_ == nullptr) return;
    Block* keep = nullptr;
    for (Block* block = head_; block != nullptr; block = block->next) {
      if (block->size_bytes == first_block_bytes_) keep = block;
    }
    free_blocks(keep);
    head_ = keep;
    if (keep != nullptr) {
      keep->next = nullptr;
      use(keep);
    } else {
      cursor_ = end_ = 0;
    }
  }

 private:
  struct Block {
    Block* next;
    size_t size_bytes;
  };
  void add_block(size_t at_least) noexcept {
    size_t size = at_least > first_block_bytes_ ? at_least : first_block_bytes_;
    auto* block = new (::operator new(sizeof(Block) + size)) Block{head_, size};
    head_ = block;
    use(block);
  }
  void use(Block* block) noexcept {
    cursor_ = reinterpret_cast<uintptr_t>(block + 1);
    end_ = cursor_ + block->size_bytes;
  }
  void free_blocks(const Block* keep) noexcept {
    for (Block* block = head_; block != nullptr;) {
      Block* next = block->next;
      if (block != keep) ::operator delete(block);
      block = next;
    }
  }

  Block* head_ = nullptr;
  uintptr_t cursor_ = 0;
  uintptr_t end_ = 0;
  size_t first_block_bytes_;
};

/// A growable list of trivial items inside an arena, which it is given by each add(): always the same one.
/// add() may move the items: a reference from an earlier add() then points to memory that is still valid but
/// no longer part of the list. Copying the list copies where the items are, not the items. Threads: as the
/// arena.
template <class T>
class ArenaList {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  /// A value-initialised item at the end. Places that the items grew out of stay in the arena: one list takes
  /// less than four times the memory of its items.
  T& add(Arena& arena) noexcept {
    if (size_ == capacity_) {
      capacity_ = capacity_ == 0 ? 4 : capacity_ * 2;
      T* grown = arena.make_array<T>(capacity_);
      for (uint32_t i = 0; i < size_; ++i) grown[i] = items_[i];
      items_ = grown;
    }
    items_[size_] = T();
    return items_[size_++];
  }
  /// Indices are not checked.
  uint32_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](size_t i) noexcept { return items_[i]; }
  const T& operator[](size_t i) const noexcept { return items_[i]; }
  T* begin() noexcept { return items_; }
  T* end() noexcept { return items_ + size_; }
  const T* begin() const noexcept { return items_; }
  const T* end() const noexcept { return items_ + size_; }
  std::span<const T> span() const noexcept { return {items_, size_}; }
  /// Whether the item itself, not one like it, is in the list.
  bool holds(const T& item) const noexcept {
    return !std::less<const T*>()(&item, items_) && std::less<const T*>()(&item, items_ + size_);
  }
  /// Drops items from the back; their memory stays in the arena.
  void truncate(uint32_t size) noexcept { size_ = size < size_ ? size : size_; }
  /// Forgets the items; call when the arena is reset.
  void clear() noexcept {
    items_ = nullptr;
    size_ = capacity_ = 0;
  }

 private:
  T* items_ = nullptr;
  uint32_t size_ = 0;
  uint32_t capacity_ = 0;
};

}  // namespace atl
