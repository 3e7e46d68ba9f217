/// Requests and answers of the V2 protocol over HTTP, with binary tensors.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "recording.pb.h"

namespace atl::replay {

struct V2Body {
  std::string path;       ///< /v2/models/NAME[/versions/N]/infer
  std::string bytes;      ///< JSON, and the tensors behind it
  size_t json_bytes = 0;  ///< for the header Inference-Header-Content-Length
};

/// The request as a client would send it. Errors: INVALID_ARGUMENT a tensor was recorded without its bytes.
Result<V2Body> v2_body(const recording::v1::Request& request, bool names_version);
/// Reads an answer whose JSON has so many bytes; tensors may be binary or in the JSON. Nothing in it is trusted.
/// Errors: INTERNAL it is not an answer of the protocol.
Result<recording::v1::Response> read_v2_answer(std::string_view body, size_t json_bytes);
/// What a failure says.
std::string v2_error(int http_status, std::string_view body);

}  // namespace atl::replay
