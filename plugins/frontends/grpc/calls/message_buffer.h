/// Messages as gRPC sends them, with the tensors in the memory that the backend filled.
#pragma once

#include <grpc/slice.h>
#include <grpcpp/support/byte_buffer.h>

#include <span>

#include "frontends/common/codec/v2_infer_response.h"
#include "frontends/common/grpc/v2_unary_call.h"

namespace atl::frontends::grpc_frontend {

/// The message as slices: pieces of the head share its memory, tensors give theirs away.
/// \param head   taken over
/// \param parts  of V2InferResponse::write(), with what the head has before it already in the first one
grpc::ByteBuffer to_buffer(grpc_slice head, std::span<const V2ResponsePart> parts);

}  // namespace atl::frontends::grpc_frontend
