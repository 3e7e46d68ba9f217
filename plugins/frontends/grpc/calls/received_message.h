/// The bytes of a ModelInferRequest, held while a request points into them.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <vector>

#include "atoll/models/model.h"
#include "frontends/common/call/large_work.h"
#include "frontends/common/codec/v2_infer_request.h"
#include "frontends/common/management/management.h"
#include "frontends/grpc/calls/decompress.h"

namespace atl::frontends::grpc_frontend {

class ReceivedMessage {
 public:
  /// For gRPC to read into, before open().
  grpc::ByteBuffer& bytes() noexcept { return bytes_; }
  /// Bytes that came, which nobody has counted.
  uint64_t uncounted_bytes() const noexcept { return bytes_.Length(); }

  /// What is read is counted as the charge's. Set once, before use; outlives this.
  void set_charge(RequestCharge& charge) noexcept {
    charge_ = &charge;
    message_.set_charge(charge);
  }
  /// Undoes compression. Errors: as open_message().
  Status open(uint64_t max_bytes) noexcept { return open_message(&bytes_, max_bytes, nullptr, charge_); }
  /// The same for a thread that has others to answer: what opens to more than kLargeBytes is left as it is.
  /// \returns false: open() is to be called elsewhere
  Result<bool> open_small(uint64_t max_bytes) noexcept;

  /// Errors: as V2InferRequest::parse().
  Status parse(Arena& arena) noexcept;

  /// Of the model that the message names, by number or label, or ModelCatalog::kLatest. Only after parse().
  /// Errors: INVALID_ARGUMENT no number.
  Result<int64_t> version(const ServerAccess& server) const noexcept;

  V2InferRequest& message() noexcept { return message_; }
  /// The bytes without compression, shared with this. Only after parse().
  grpc::ByteBuffer opened_bytes() const;

  /// Lets go of everything; call before the arena is reset.
  void clear() noexcept;

 private:
  Status read_slices() noexcept;

  grpc::ByteBuffer bytes_;
  std::vector<grpc::Slice> slices_;
  std::vector<ByteSpan> spans_;
  V2InferRequest message_;
  RequestCharge* charge_ = nullptr;
};

}  // namespace atl::frontends::grpc_frontend
