/// One gRPC message that goes to a client.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "frontends/common/call/body_buffer.h"

namespace atl::frontends::grpc_nghttp2 {

/// Made once, perhaps on another thread than the connection's; from the moment that a call is given it until
/// on_sent() it belongs to the transport. Reused: its memory stays.
class OutgoingMessage {
 public:
  static constexpr size_t kPrefixBytes = 5;
  /// Messages up to this size are copied into frames; of larger ones the pieces themselves are written.
  static constexpr uint64_t kCopiedBytes = 8 * 1024;
  /// Pieces for which add() needs no memory after begin().
  static constexpr size_t kFewPieces = 4;

  /// Begins a message. \returns memory of so many bytes for what is not sent from elsewhere; null: there is none
  uint8_t* begin(size_t head_bytes) noexcept {
    head_.clear();
    pieces_.clear();
    total_bytes_ = 0;
    if (!head_.reserve(kPrefixBytes + head_bytes)) return nullptr;
    try {
      pieces_.reserve(kFewPieces);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    add({head_.data(), kPrefixBytes});
    return head_.data() + kPrefixBytes;
  }
  /// The next bytes: of the head, or of memory that holds still until on_sent().
  void add(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return;
    total_bytes_ += bytes.size();
    if (!pieces_.empty() && end_of(pieces_.back()) == bytes.data()) {
      pieces_.back().iov_len += bytes.size();
    } else {
      pieces_.push_back({const_cast<uint8_t*>(bytes.data()), bytes.size()});
    }
  }
  /// All bytes are there. At most 2^32 - 1.
  void end() noexcept { write_prefix(head_.data(), false); }
  /// Bytes in other memory take the place of all, prefix included, which is set here.
  void replace(std::span<uint8_t> bytes, bool compressed) noexcept {
    pieces_.assign(1, {bytes.data(), bytes.size()});
    total_bytes_ = bytes.size();
    write_prefix(bytes.data(), compressed);
  }

  /// With the prefix.
  uint64_t total_bytes() const noexcept { return total_bytes_; }
  std::span<const iovec> pieces() const noexcept { return pieces_; }
  bool is_copied() const noexcept { return total_bytes_ <= kCopiedBytes; }

  // --- the transport ---
  void hold() noexcept { ++holders_; }
  /// The last one tells that it was sent, after which this may be gone.
  void let_go() noexcept {
    if (--holders_ == 0) on_sent();
  }
  OutgoingMessage* next = nullptr;  ///< of the same call

 protected:
  ~OutgoingMessage() = default;
  /// The transport needs nothing of it any more: all was written, or the client will not get it.
  /// [the connection's thread] Of its stream it may call send() and finish(), if that is still its own.
  virtual void on_sent() noexcept = 0;

 private:
  void write_prefix(uint8_t* prefix, bool compressed) noexcept {
    const uint64_t bytes = total_bytes_ - kPrefixBytes;
    prefix[0] = compressed ? 1 : 0;
    for (int i = 1; i <= 4; ++i) prefix[i] = static_cast<uint8_t>(bytes >> (8 * (4 - i)) & 0xFF);
  }
  static const uint8_t* end_of(const iovec& piece) noexcept {
    return static_cast<const uint8_t*>(piece.iov_base) + piece.iov_len;
  }

  BodyBuffer head_;
  std::vector<iovec> pieces_;
  uint64_t total_bytes_ = 0;
  uint32_t holders_ = 0;
};

/// A place in a message's bytes.
class MessageCursor {
 public:
  void start(const OutgoingMessage& message) noexcept {
    pieces_ = message.pieces();
    at_ = 0;
    left_ = message.total_bytes();
  }
  uint64_t left() const noexcept { return left_; }
  /// Takes bytes that lie together: at most so many, at least one if any are left.
  std::span<const uint8_t> take(uint64_t most) noexcept {
    if (left_ == 0) return {};
    const iovec& piece = pieces_.front();
    const auto size = static_cast<size_t>(std::min<uint64_t>(piece.iov_len - at_, most));
    const std::span<const uint8_t> bytes(static_cast<const uint8_t*>(piece.iov_base) + at_, size);
    at_ += size;
    left_ -= size;
    if (at_ == piece.iov_len) {
      pieces_ = pieces_.subspan(1);
      at_ = 0;
    }
    return bytes;
  }

 private:
  std::span<const iovec> pieces_;
  size_t at_ = 0;  ///< in the first piece
  uint64_t left_ = 0;
};

}  // namespace atl::frontends::grpc_nghttp2
