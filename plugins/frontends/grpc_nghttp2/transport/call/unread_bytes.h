/// Bytes of a call that have come before its next message was asked for.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "frontends/common/call/buffer_pool.h"
#include "frontends/common/call/request_charge.h"

namespace atl::frontends::grpc_nghttp2 {

/// All of them count as memory of requests. Not thread safe.
class UnreadBytes {
 public:
  bool empty() const noexcept { return buffer_.size() == 0; }
  std::span<const uint8_t> bytes() const noexcept { return buffer_.bytes().subspan(read_); }
  /// So many at the front were read.
  void skip(size_t bytes) noexcept {
    read_ += bytes;
    if (read_ != buffer_.size()) return;
    buffer_.clear();
    read_ = 0;
    charge_.release();
  }
  /// \param budgets  null: nothing is counted
  /// Errors: RESOURCE_EXHAUSTED.
  Status add(std::span<const uint8_t> bytes, const RequestBudgets* budgets) noexcept {
    if (budgets != nullptr) charge_.set_source(*budgets);
    ATOLL_RETURN_IF_ERROR(charge_.cover(buffer_.size() + bytes.size()));
    if (buffer_.append(bytes.data(), bytes.size())) return {};
    return make_status(Code::kResourceExhausted, "no memory for what has come");
  }
  void clear(BufferPool& buffers) noexcept {
    if (buffer_.capacity() != 0) buffers.give(std::exchange(buffer_, BodyBuffer()));
    read_ = 0;
    charge_.release();
  }

 private:
  BodyBuffer buffer_;
  size_t read_ = 0;  ///< bytes at its front
  RequestCharge charge_;
};

}  // namespace atl::frontends::grpc_nghttp2
