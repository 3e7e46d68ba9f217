/// An answer as it lies outside of the server: a serialized inference.ModelInferResponse.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "caches/common/kept_answer.h"
#include "grpc_service.pb.h"

namespace atl::caches {

/// Of all outputs, without their frame.
uint64_t output_bytes(const Response& response) noexcept;

/// Nothing if an output is not there for the CPU, a parameter has no place in the message, or it would be larger
/// than bytes_max. Throws std::bad_alloc.
std::optional<std::string> write_answer(const Response& response, const ModelInfo& model, uint64_t bytes_max);

/// An answer that was read, whoever wrote it: only what this model may answer to this request is taken.
class ReadAnswer {
 public:
  /// Errors: INVALID_ARGUMENT what is wrong. Throws std::bad_alloc.
  static Result<ReadAnswer> read(std::string_view bytes, const ModelInfo& model, const Request& request);

  /// Answers the request and releases it.
  void answer(Request& request) const noexcept { answer_again(request, outputs_, parameters_); }

 private:
  ReadAnswer() = default;
  Status take_output(const ModelInfo& model, const Request& request, int index);
  Status take_parameter(const std::string& key, const inference::InferParameter& value);

  std::unique_ptr<inference::ModelInferResponse> message_;  ///< what the others point into
  std::vector<KeptOutput> outputs_;
  std::vector<Parameter> parameters_;
};

}  // namespace atl::caches
