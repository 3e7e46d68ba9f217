/// Compressed messages, opened within the limit.
///
/// gRPC would open a message whole before it looks at its size: a few MiB become GiB. So the server takes
/// messages as they came (GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION is 0) and opens them here.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "atoll/core/status.h"
#include "frontends/common/call/request_charge.h"

namespace atl::frontends::grpc_frontend {

/// Replaces a compressed message (gzip or deflate, as its frame says) with its content; leaves others as they
/// are, also on failure. Takes at most max_bytes and a buffer beside what came.
/// \param is_larger  not null: set to whether the content is larger than max_bytes
/// \param charge     not null: bytes of the content are added to it before they are taken, beside those of
///                   what came
/// Errors: RESOURCE_EXHAUSTED the content is larger than max_bytes, or the charge was refused;
/// INVALID_ARGUMENT the data is not what it says; UNIMPLEMENTED another compression.
Status open_message(grpc::ByteBuffer* message, uint64_t max_bytes, bool* is_larger = nullptr,
                    RequestCharge* charge = nullptr) noexcept;

}  // namespace atl::frontends::grpc_frontend
