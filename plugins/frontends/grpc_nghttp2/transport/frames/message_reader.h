/// From the bytes of a call to its messages: each has a flag, four bytes of length, and so many bytes.
#pragma once

#include <cstdint>
#include <span>

#include "atoll/core/status.h"
#include "frontends/common/call/buffer_pool.h"
#include "frontends/grpc_nghttp2/transport/message.h"
#include "frontends/grpc_nghttp2/transport/message_room.h"

namespace atl::frontends::grpc_nghttp2 {

/// What bounds messages.
struct MessageLimits {
  uint64_t max_bytes = 0;
  bool has_encoding = false;                ///< the call says how messages are compressed
  const RequestBudgets* budgets = nullptr;  ///< null: nothing is counted
  /// A message that memory is refused for is read to its end all the same; only its first bytes are kept.
  bool reads_refused = false;
};

/// Frames may cut messages anywhere, and hold several. Not thread safe.
class MessageReader {
 public:
  static constexpr size_t kPrefixBytes = 5;
  /// Messages that are not whole where they lie are counted as memory of requests from this size on.
  static constexpr size_t kUncountedBytes = size_t{16} << 10;

  /// Reads on. \param bytes    what was read is taken from its beginning
  /// \param chunk    holds the bytes; null: they are to be copied
  /// \param message  filled if one is complete \returns whether one is; false: all bytes were read.
  /// Errors: RESOURCE_EXHAUSTED larger than the limit, or than there is memory; INTERNAL the flag is none that
  /// may be there. Nothing is to be read after one.
  Result<bool> read(std::span<const uint8_t>* bytes, const ChunkRef& chunk, const MessageLimits& limits,
                    BufferPool& buffers, Message* message) noexcept;

  /// Bytes that lie there already when read() is given them are not copied. Valid until read() or reset().
  MessageRoom room(const MessageLimits& limits, BufferPool& buffers) noexcept;

  /// Whether a message has begun and is not complete.
  bool is_inside() const noexcept { return prefix_bytes_ != 0; }
  /// Memory of a message that is not complete, if it does not count as memory of requests.
  size_t uncounted_bytes() const noexcept { return charge_.bytes() == 0 ? buffer_.capacity() : 0; }
  /// Ready for the next call.
  void reset(BufferPool& buffers) noexcept;

 private:
  /// The message's next bytes. Errors: as read().
  Status keep(std::span<const uint8_t>* bytes, const MessageLimits& limits, BufferPool& buffers) noexcept;
  Status judge_prefix(const MessageLimits& limits) noexcept;
  Status make_room(const MessageLimits& limits, BufferPool& buffers) noexcept;
  uint32_t length() const noexcept {
    return uint32_t{prefix_[1]} << 24 | uint32_t{prefix_[2]} << 16 | uint32_t{prefix_[3]} << 8 | prefix_[4];
  }

  uint8_t prefix_[kPrefixBytes] = {};
  size_t prefix_bytes_ = 0;
  BodyBuffer buffer_;
  Status refused_;              ///< memory for more than what is in the buffer
  uint64_t skipped_bytes_ = 0;  ///< of a message that was refused
  RequestCharge charge_;
};

}  // namespace atl::frontends::grpc_nghttp2
