/// Arena: memory for the many small parts of one request, given back all at once and reused by the next
/// request.
///
/// Request and Response have one arena each (Request::arena(), Response::arena()). Names, shapes, lists of
/// buffers and whatever else belongs to one request are put there instead of on the heap. A frontend that
/// uses its Request objects again therefore allocates nothing for a typical request once the first one has
/// made the block.
///
///     InputTensor& input = request.add_input();
///     input.name = request.arena().copy_text(name);  // valid until the request is reset
///     input.shape = request.arena().copy(std::span<const int64_t>(dims));
///
/// An arena saves the calls of the heap, and the time that threads would wait for each other there. What it
/// costs is that nothing can be given back before the request's end.
///
/// Arena and ArenaList are header-only and need nothing but the C++ standard library.
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

/// Bump allocator over a chain of blocks: an allocation moves a cursor, and nothing is freed singly. Memory
/// that an arena gave keeps its address until reset() or the arena's end, whatever is allocated afterwards.
///
/// Only trivially destructible objects may live in an arena, because no destructor is run. make() and
/// make_array() check this while they are compiled.
///
/// An arena has no limit of its own. Whoever places something here bounds it: a frontend has limited the size
/// of the request that all of it stems from. Nothing fails: if the system has no memory, operator new throws
/// inside a noexcept function, and the process ends.
///
/// Not thread safe. An arena is used by whoever holds its request, or builds its response, at the moment, and
/// goes from thread to thread with it.
class Arena {
 public:
  /// Takes no memory before the first allocation.
  /// \param first_block_bytes  size of the blocks, in bytes, and of the one block that reset() keeps. If a
  /// typical request fits into it, all requests after the first one allocate nothing. A single allocation
  /// that is larger gets a block of its own size.
  explicit Arena(size_t first_block_bytes = 4096) noexcept : first_block_bytes_(first_block_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  /// Frees every block. Pointers into the arena dangle afterwards; destructors of what lies there are not
  /// run.
  ~Arena() { free_blocks(nullptr); }

  /// Returns uninitialised bytes, never null, also for size 0. What does not fit into the rest of the newest
  /// block starts a new block; that rest stays unused until reset().
  /// \param size_bytes  together with `alignment` it must not overflow size_t
  /// \param alignment  a power of two; the default suits every fundamental type
  void* allocate(size_t size_bytes, size_t alignment = alignof(std::max_align_t)) noexcept {
    // The next address of this alignment.
    auto at = (cursor_ + alignment - 1) & ~(alignment - 1);
    if (head_ == nullptr || at + size_bytes > end_) {
      // With room for the padding that the alignment may need at the block's beginning.
      add_block(size_bytes + alignment);
      at = (cursor_ + alignment - 1) & ~(alignment - 1);
    }
    cursor_ = at + size_bytes;
    return reinterpret_cast<void*>(at);
  }
  /// Constructs one T from the arguments, in memory of the arena. Never null.
  template <class T, class... Args>
  T* make(Args&&... args) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }
  /// Constructs `count` value-initialised items (zeros, if T is a number or a plain struct) one after the
  /// other. Returns null for a count of 0.
  /// \param count  sizeof(T) * count must not overflow: check numbers that a client sent before they come
  /// here
  template <class T>
  T* make_array(size_t count) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return nullptr;
    T* items = static_cast<T*>(allocate(sizeof(T) * count, alignof(T)));
    for (size_t i = 0; i < count; ++i) new (items + i) T();
    return items;
  }
  /// Copies the items into the arena. The caller may write to the copy. For no items the result is empty and
  /// its data() is null.
  template <class T>
  std::span<T> copy(std::span<const T> items) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    auto* to = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
    std::memcpy(static_cast<void*>(to), items.data(), items.size_bytes());
    return {to, items.size()};
  }
  /// Copies the text and puts a NUL byte behind the copy, which is not counted in size(): the data() of the
  /// result is a C string, as names in requests have to be (Triton's C API hands them out as `const char*`).
  std::string_view copy_text(std::string_view text) noexcept {
    auto* to = static_cast<char*>(allocate(text.size() + 1, 1));
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    to[text.size()] = '\0';
    return {to, text.size()};
  }
  /// Forgets everything allocated: every pointer into the arena is dangling from here on. One block of
  /// first_block_bytes is kept for what comes next, the others are freed. A Request or Response calls this in
  /// its own reset(); nobody else does.
  void reset() noexcept {
    if (head_ == nullptr) return;
    Block* keep = nullptr;
    // Blocks of another size are freed, so that one large request does not keep its memory for good.
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
  /// The head of a block; its usable bytes lie directly behind it.
  struct Block {
    Block* next;
    /// Usable bytes, without this head.
    size_t size_bytes;
  };
  /// Makes a block for at least so many bytes the newest one.
  void add_block(size_t at_least) noexcept {
    size_t size = at_least > first_block_bytes_ ? at_least : first_block_bytes_;
    auto* block = new (::operator new(sizeof(Block) + size)) Block{head_, size};
    head_ = block;
    use(block);
  }
  /// Sets the cursor to the beginning of the block.
  void use(Block* block) noexcept {
    cursor_ = reinterpret_cast<uintptr_t>(block + 1);
    end_ = cursor_ + block->size_bytes;
  }
  /// Frees every block but `keep`, which may be null.
  void free_blocks(const Block* keep) noexcept {
    for (Block* block = head_; block != nullptr;) {
      Block* next = block->next;
      if (block != keep) ::operator delete(block);
      block = next;
    }
  }

  /// The newest block, which the cursor is in; the older ones follow by Block::next. Null: nothing was
  /// allocated.
  Block* head_ = nullptr;
  /// Address of the first byte of that block that is not given away.
  uintptr_t cursor_ = 0;
  /// Address behind the last byte of that block.
  uintptr_t end_ = 0;
  /// Bytes of every block that no larger allocation has asked for.
  size_t first_block_bytes_;
};

/// A growable list of trivial items inside an arena. Request::inputs, Request::outputs and Response::outputs
/// are such lists.
///
/// The list does not know its arena: add() is given it, and always has to be given the same one.
///
///     ArenaList<InputTensor> inputs;
///     inputs.add(arena).name = "INPUT0";
///     for (const InputTensor& input : inputs) use(input);
///
/// add() may move the items to a larger place. A reference from an earlier add() then still points to valid
/// memory, but what is written there is not seen in the list any more. Copying a list copies where the items
/// are, not the items: both lists refer to the same ones. Threads: as the arena.
template <class T>
class ArenaList {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  /// Appends a value-initialised item and returns it, to be filled in by the caller before the next add().
  /// The capacity begins at 4 items and is doubled when it is used up. Places that the items grew out of stay
  /// in the arena, so one list takes at most four times the memory of its items.
  T& add(Arena& arena) noexcept {
    if (size_ == capacity_) {
      capacity_ = capacity_ == 0 ? 4 : capacity_ * 2;
      // The old places stay in the arena: references to them remain valid, but are out of date.
      T* grown = arena.make_array<T>(capacity_);
      for (uint32_t i = 0; i < size_; ++i) grown[i] = items_[i];
      items_ = grown;
    }
    items_[size_] = T();
    return items_[size_++];
  }
  /// No function below checks an index or allocates.
  uint32_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](size_t i) noexcept { return items_[i]; }
  const T& operator[](size_t i) const noexcept { return items_[i]; }
  T* begin() noexcept { return items_; }
  T* end() noexcept { return items_ + size_; }
  const T* begin() const noexcept { return items_; }
  const T* end() const noexcept { return items_ + size_; }
  /// The items as a span, valid until the next add() or the arena's reset().
  std::span<const T> span() const noexcept { return {items_, size_}; }
  /// Whether this very item is in the list: addresses are compared, not values. Response::allocate() uses
  /// this to find references that an add() has made out of date.
  bool holds(const T& item) const noexcept {
    return !std::less<const T*>()(&item, items_) && std::less<const T*>()(&item, items_ + size_);
  }
  /// Drops items from the back until `size` are left; does nothing if there are not more than that. Their
  /// memory stays in the arena.
  void truncate(uint32_t size) noexcept { size_ = size < size_ ? size : size_; }
  /// Makes the list empty and forgets where its items were. Has to be called when the arena is reset: the
  /// items' memory is gone then.
  void clear() noexcept {
    items_ = nullptr;
    size_ = capacity_ = 0;
  }

 private:
  /// In the arena; null: the list has never had an item.
  T* items_ = nullptr;
  uint32_t size_ = 0;
  /// Items that fit in before the list moves.
  uint32_t capacity_ = 0;
};

}  // namespace atl
