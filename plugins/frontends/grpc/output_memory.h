/// Memory for output tensors, given so that gRPC can send it as it is.
#pragma once

#include <grpc/slice.h>
#include <grpcpp/support/byte_buffer.h>

#include <limits>
#include <span>

#include "atoll/request.h"
#include "common/v2_infer_response.h"

namespace atl::frontends::grpc_frontend {

/// Tensors up to this size are copied into the head of the response: cheaper than a slice of their own.
inline constexpr uint64_t kInlineBytes = 4096;
/// gRPC's own limit.
inline constexpr uint64_t kMaxResponseBytes = std::numeric_limits<int32_t>::max();

/// Gives the output a buffer: of the response's arena if it will be copied, else one that to_buffer() gives
/// away. Errors: INVALID_ARGUMENT larger than gRPC can send; RESOURCE_EXHAUSTED.
Status give_output_memory(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept;

/// Frees what give_output_memory() gave and to_buffer() did not take.
void free_output_memory(OutputTensor& output) noexcept;

/// The message as slices: pieces of the head share its memory, tensors give theirs away.
/// \param head   taken over
/// \param parts  of V2InferResponse::write(), with what the head has before it already in the first one
grpc::ByteBuffer to_buffer(grpc_slice head, std::span<const V2ResponsePart> parts);

}  // namespace atl::frontends::grpc_frontend
