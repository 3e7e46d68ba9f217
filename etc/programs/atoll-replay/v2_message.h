/// Requests and answers of the V2 protocol over gRPC.
#pragma once

#include "atoll/core/status.h"
#include "grpc_service.pb.h"
#include "recording.pb.h"

namespace atl::replay {

/// The request as a client would send it, with raw tensors. Errors: INVALID_ARGUMENT a tensor was recorded without its bytes.
Status fill_v2_request(const recording::v1::Request& from, bool names_version,
                       inference::ModelInferRequest* request);
/// The outputs of an answer, whose tensors may be raw or typed lists.
recording::v1::Response read_v2_response(const inference::ModelInferResponse& from);

}  // namespace atl::replay
