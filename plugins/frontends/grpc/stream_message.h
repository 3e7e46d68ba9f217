/// ModelStreamInferResponse messages, written without protobuf objects.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string_view>

#include "atoll/request.h"

namespace atl::frontends::grpc_frontend {

/// \param error     error_message; empty: none
/// \param response  what infer_response is made of, besides the request's id; its large tensors are given
///                  away, also on failure nothing is left of them to free twice
/// Errors: INVALID_ARGUMENT larger than gRPC can send.
Status write_stream_message(std::string_view error, std::string_view model, std::string_view version,
                            const Request& request, Response& response, grpc::ByteBuffer* message) noexcept;

/// Adds the parameter that tells clients whether more responses to the request follow.
void add_final_flag(Response& response, bool last) noexcept;

}  // namespace atl::frontends::grpc_frontend
