/// What a connection has received and not used yet.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace atl::frontends::http {

/// Bytes in one piece, of which some that were consumed may be pinned: views into those hold. Not thread
/// safe.
class InputBuffer {
 public:
  std::string_view bytes() const noexcept { return {memory_.get() + begin_, end_ - begin_}; }
  bool empty() const noexcept { return begin_ == end_; }
  char* space() noexcept { return memory_.get() + end_; }
  size_t space_bytes() const noexcept { return capacity_ - end_; }
  void advance(size_t count) noexcept { end_ += count; }
  void consume(size_t count) noexcept {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = floor_;
  }

  /// Consumes the first bytes, but keeps them where they are until unpin(). Only when nothing is pinned.
  void pin(size_t count) noexcept { floor_ = begin_ += count; }
  void unpin() noexcept {
    floor_ = 0;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  /// Makes room for at least `bytes` more without moving what is pinned. False: there is none.
  bool make_room(size_t bytes) noexcept {
    if (space_bytes() >= bytes) return true;
    compact();
    return space_bytes() >= bytes;
  }
  /// The same, with more memory. Only when nothing is pinned.
  void grow(size_t bytes) {
    if (make_room(bytes)) return;
    const size_t held = end_ - begin_;
    size_t wanted = capacity_ * 2 > held + bytes ? capacity_ * 2 : held + bytes;
    std::unique_ptr<char[]> grown(new char[wanted]);
    if (held != 0) std::memcpy(grown.get(), memory_.get() + begin_, held);
    memory_ = std::move(grown);
    capacity_ = wanted;
    begin_ = 0;
    end_ = held;
  }
  /// Gives memory back if the buffer is empty and larger than this.
  void shrink(size_t kept_bytes) noexcept {
    if (!empty() || floor_ != 0 || capacity_ <= kept_bytes) return;
    memory_.reset();
    begin_ = end_ = capacity_ = 0;
  }

 private:
  void compact() noexcept {
    if (begin_ == floor_) return;
    if (begin_ != end_) std::memmove(memory_.get() + floor_, memory_.get() + begin_, end_ - begin_);
    end_ -= begin_ - floor_;
    begin_ = floor_;
  }

  std::unique_ptr<char[]> memory_;
  size_t capacity_ = 0;
  size_t floor_ = 0;  ///< end of what is pinned
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace atl::frontends::http
