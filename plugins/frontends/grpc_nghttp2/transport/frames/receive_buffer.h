/// Where one thread's sockets are read into.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "frontends/grpc_nghttp2/transport/frames/frame_plan.h"

namespace atl::frontends::grpc_nghttp2 {

/// A piece of memory that messages may lie in. Of one thread.
class ReceiveChunk {
 public:
  static constexpr size_t kBytes = size_t{64} << 10;

  friend void intrusive_ptr_add_ref(ReceiveChunk* chunk) noexcept { ++chunk->holders_; }
  friend void intrusive_ptr_release(ReceiveChunk* chunk) noexcept {
    if (--chunk->holders_ == 0) delete chunk;
  }
  bool is_shared() const noexcept { return holders_ > 1; }
  uint8_t* data() noexcept { return bytes_; }

 private:
  alignas(64) uint8_t bytes_[kBytes];
  uint32_t holders_ = 0;
};
using ChunkRef = boost::intrusive_ptr<ReceiveChunk>;

/// Gives room to read into, and plans what is read to other places. What was read is used where it lies, so the room moves on as long as a message is
/// held, and starts again at warm memory when none is. Messages that are held for long keep no more of it than
/// about their own size: one chunk is filled before the next one is begun.
class ReceiveBuffer {
 public:
  /// Of one read at least.
  static constexpr size_t kLeastBytes = size_t{16} << 10;

  FramePlan& plan() noexcept { return plan_; }
  /// Throws std::bad_alloc.
  std::span<uint8_t> room() {
    if (chunk_ == nullptr || (chunk_->is_shared() && ReceiveChunk::kBytes - used_ < kLeastBytes)) {
      chunk_ = new ReceiveChunk;
      used_ = 0;
    }
    if (!chunk_->is_shared()) used_ = 0;
    return {chunk_->data() + used_, ReceiveChunk::kBytes - used_};
  }
  /// So much of the room was filled. \returns what holds it
  const ChunkRef& filled(size_t bytes) noexcept {
    used_ += bytes;
    return chunk_;
  }

 private:
  FramePlan plan_;
  ChunkRef chunk_;
  size_t used_ = 0;
};

}  // namespace atl::frontends::grpc_nghttp2
