/// The bytes of a request, held while the request points into them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "frontends/common/call/buffer_pool.h"
#include "frontends/common/codec/v2_infer_request.h"
#include "frontends/common/management/management.h"
#include "frontends/grpc_nghttp2/transport/message.h"

namespace atl::frontends::grpc_nghttp2 {

/// Undoes the compression of a message, if it has any. Its first bytes stay until it is let go, as they may be of
/// a chunk, which belongs to a thread.
/// \param is_larger  not null: set to whether the content is larger than max_bytes; the message is left as it is
/// Errors: RESOURCE_EXHAUSTED, INVALID_ARGUMENT, as inflate_message().
Status open_message(Message* message, uint64_t max_bytes, bool* is_larger, RequestCharge* charge) noexcept;

/// As V2UnaryCall takes it.
class ReceivedBytes {
 public:
  /// What is read is counted as the charge's. Set once, before use; outlives this.
  void set_charge(RequestCharge& charge) noexcept {
    charge_ = &charge;
    request_.set_charge(charge);
  }
  /// [loop] Takes the message and, for its buffer, what was counted.
  void take(Message received) noexcept;
  uint64_t uncounted_bytes() const noexcept {
    const uint64_t size = message_.bytes.size();
    return size > charge_->bytes() ? size - charge_->bytes() : 0;
  }

  Status open(uint64_t max_bytes) noexcept { return open_message(&message_, max_bytes, nullptr, charge_); }
  /// \returns false: open() is to be called elsewhere
  Result<bool> open_small(uint64_t max_bytes) noexcept;
  /// Errors: as V2InferRequest::parse(); why memory was refused, of a message that was not kept.
  Status parse(Arena& arena) noexcept {
    span_ = message_.bytes;
    Status parsed = message_.compressed ? Status() : request_.parse({&span_, 1}, arena);
    return message_.refused.ok() ? std::move(parsed) : message_.refused.clone();
  }
  /// Of the model that the message names, by number or label, or ModelCatalog::kLatest. Only after parse().
  /// Errors: INVALID_ARGUMENT no number.
  Result<int64_t> version(const ServerAccess& server) const noexcept {
    return server.router->version_of(request_.model_name(), request_.model_version());
  }
  V2InferRequest& message() noexcept { return request_; }
  /// [loop] The bytes, without compression, for who sends them on, and what is counted for them; they are not this one's
  /// any more. After parse().
  Message take_opened() noexcept {
    message_.charge = std::move(*charge_);
    return std::move(message_);
  }

  /// Lets go of what was parsed; call before the arena is reset.
  void clear() noexcept { request_.reset(); }
  /// [loop] Lets go of the bytes.
  void give_back(BufferPool& buffers) noexcept;

 private:
  Message message_;
  ByteSpan span_;
  V2InferRequest request_;
  RequestCharge* charge_ = nullptr;
};

}  // namespace atl::frontends::grpc_nghttp2
