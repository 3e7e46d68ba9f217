/// What one connection's socket has not taken yet.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <vector>

#include "frontends/common/call/buffer_pool.h"
#include "frontends/grpc_nghttp2/transport/outgoing_message.h"

namespace atl::frontends::grpc_nghttp2 {

/// Bytes in the order in which they go out: frames as they were made, and pieces of messages, which are not
/// copied and are held until they have been written. Not thread safe.
class OutQueue {
 public:
  /// \param buffers  where frames are copied to, as long as some are there; outlives this
  explicit OutQueue(BufferPool& buffers) noexcept : buffers_(buffers) {}
  OutQueue(const OutQueue&) = delete;
  OutQueue& operator=(const OutQueue&) = delete;
  ~OutQueue() { clear(); }

  /// Copies. False: there is no memory.
  bool append(std::span<const uint8_t> bytes) noexcept;
  /// Holds the message.
  void append(OutgoingMessage& message, std::span<const uint8_t> bytes);

  bool empty() const noexcept { return bytes_ == 0; }
  /// No more frames are to be made before the socket has taken something.
  bool is_full() const noexcept { return bytes_ >= kMostBytes; }
  uint64_t bytes() const noexcept { return bytes_; }
  /// What is to be written next. \returns how many entries it takes
  size_t gather(std::span<iovec> to) noexcept;
  /// Gives a socket, which does not block, what is next. \returns bytes that it took, which are out; 0: it takes
  /// none now; -1: it is broken, see errno
  ssize_t send(int fd) noexcept;
  /// So many bytes have been written.
  void written(uint64_t bytes) noexcept;
  void clear() noexcept { written(bytes_); }

 private:
  static constexpr uint64_t kMostBytes = uint64_t{512} << 10;
  struct Piece {
    const uint8_t* data;  ///< null: in copied_, in the order of the pieces
    size_t size;
    OutgoingMessage* message;  ///< null: copied
  };
  void add_piece(Piece piece);
  void drop_front() noexcept;
  /// Idle connections keep no memory.
  void rest() noexcept;

  BufferPool& buffers_;
  std::vector<Piece> pieces_;
  size_t front_ = 0;  ///< of pieces_
  BodyBuffer copied_;
  size_t copied_front_ = 0;  ///< bytes of copied_ that were written
  uint64_t bytes_ = 0;
};

}  // namespace atl::frontends::grpc_nghttp2
