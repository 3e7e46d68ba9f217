#include "caches/common/answer_message.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/core/utf8.h"
#include "atoll/memory/memory.h"

namespace atl::caches {
namespace {

constexpr size_t kMessageBytesMax = std::numeric_limits<int>::max();  // protobuf's own

bool write_parameter(const Parameter& parameter, inference::ModelInferResponse& message) {
  inference::InferParameter value;
  switch (parameter.type) {
    case ParameterType::kString:
      value.set_string_param(std::string(parameter.text));
      break;
    case ParameterType::kInt:
      value.set_int64_param(parameter.int_value);
      break;
    case ParameterType::kBool:
      value.set_bool_param(parameter.bool_value);
      break;
    case ParameterType::kDouble:
      value.set_double_param(parameter.double_value);
      break;
    default:
      return false;
  }
  if (!is_utf8(parameter.key) || !is_utf8(parameter.text)) return false;
  return message.mutable_parameters()->insert({std::string(parameter.key), value}).second;
}

/// Whether bytes are this many elements of BYTES, each with its length.
bool are_elements(std::string_view bytes, int64_t count) noexcept {
  for (; count > 0; --count) {
    uint32_t size = 0;
    if (bytes.size() < sizeof size) return false;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    if (bytes.size() < size) return false;
    bytes.remove_prefix(size);
  }
  return bytes.empty();
}

bool has_bytes_of(DataType datatype, std::span<const int64_t> shape, std::string_view bytes) noexcept {
  const std::optional<int64_t> count = element_count(shape);
  if (!count) return false;
  if (datatype == DataType::kBytes) return are_elements(bytes, *count);
  const uint64_t size = data_type_size_bytes(datatype);
  return bytes.size() % size == 0 && bytes.size() / size == static_cast<uint64_t>(*count);
}

}  // namespace

uint64_t output_bytes(const Response& response) noexcept {
  uint64_t size = 0;
  for (const OutputTensor& output : response.outputs) size += output.buffer.size_bytes;
  return size;
}

std::optional<std::string> write_answer(const Response& response, const ModelInfo& model,
                                        uint64_t bytes_max) {
  if (output_bytes(response) > bytes_max) return std::nullopt;
  for (const OutputTensor& output : response.outputs) {
    if (!is_host_ready(output.buffer) || !is_utf8(output.name)) return std::nullopt;
  }
  inference::ModelInferResponse message;
  message.set_model_name(model.name);
  message.set_model_version(model.version_text);
  for (const OutputTensor& output : response.outputs) {
    auto& written = *message.add_outputs();
    written.set_name(std::string(output.name));
    written.set_datatype(std::string(data_type_name(output.datatype)));
    written.mutable_shape()->Add(output.shape.begin(), output.shape.end());
    message.add_raw_output_contents()->assign(static_cast<const char*>(output.buffer.data),
                                              output.buffer.size_bytes);
  }
  for (const Parameter& parameter : response.parameters) {
    if (!write_parameter(parameter, message)) return std::nullopt;
  }
  if (message.ByteSizeLong() > bytes_max) return std::nullopt;
  return message.SerializeAsString();
}

Result<ReadAnswer> ReadAnswer::read(std::string_view bytes, const ModelInfo& model, const Request& request) {
  ReadAnswer answer;
  answer.message_ = std::make_unique<inference::ModelInferResponse>();
  const inference::ModelInferResponse& message = *answer.message_;
  if (bytes.size() > kMessageBytesMax ||
      !answer.message_->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return invalid_argument("no inference.ModelInferResponse");
  }
  if (message.model_name() != model.name || message.model_version() != model.version_text) {
    return invalid_argument("of model '", message.model_name(), "' version ", message.model_version());
  }
  if (message.outputs_size() != message.raw_output_contents_size()) {
    return invalid_argument(message.outputs_size(), " outputs, ", message.raw_output_contents_size(),
                            " contents");
  }
  for (int i = 0; i < message.outputs_size(); ++i) {
    ATOLL_RETURN_IF_ERROR(answer.take_output(model, request, i));
  }
  for (const auto& [key, value] : message.parameters()) {
    ATOLL_RETURN_IF_ERROR(answer.take_parameter(key, value));
  }
  return answer;
}

Status ReadAnswer::take_output(const ModelInfo& model, const Request& request, int index) {
  const auto& written = message_->outputs(index);
  const std::string& bytes = message_->raw_output_contents(index);
  KeptOutput output;
  output.name = written.name();
  output.datatype = data_type_from_name(written.datatype());
  output.shape = {written.shape().data(), static_cast<size_t>(written.shape_size())};
  output.data = bytes.data();
  output.size_bytes = bytes.size();
  const auto spec = std::find_if(model.outputs.begin(), model.outputs.end(),
                                 [&](const TensorSpec& one) { return one.name == written.name(); });
  if (spec == model.outputs.end() || spec->datatype != output.datatype) {
    return invalid_argument("output '", written.name(), "' of type ", written.datatype(),
                            ", which the model does not have");
  }
  if (!has_bytes_of(output.datatype, output.shape, bytes)) {
    return invalid_argument("output '", written.name(), "' has ", bytes.size(),
                            " bytes, which do not fit shape ", shape_text(output.shape));
  }
  if (!request.outputs.empty() && request.find_output(output.name) == nullptr) {
    return invalid_argument("output '", written.name(), "', which was not asked for");
  }
  const bool is_second = std::any_of(outputs_.begin(), outputs_.end(),
                                     [&](const KeptOutput& one) { return one.name == output.name; });
  if (is_second) return invalid_argument("output '", written.name(), "' twice");
  outputs_.push_back(output);
  return {};
}

Status ReadAnswer::take_parameter(const std::string& key, const inference::InferParameter& value) {
  Parameter parameter;
  parameter.key = key;
  switch (value.parameter_choice_case()) {
    case inference::InferParameter::kStringParam:
      parameter.type = ParameterType::kString;
      parameter.text = value.string_param();
      break;
    case inference::InferParameter::kInt64Param:
      parameter.type = ParameterType::kInt;
      parameter.int_value = value.int64_param();
      break;
    case inference::InferParameter::kBoolParam:
      parameter.type = ParameterType::kBool;
      parameter.bool_value = value.bool_param();
      break;
    case inference::InferParameter::kDoubleParam:
      parameter.type = ParameterType::kDouble;
      parameter.double_value = value.double_param();
      break;
    default:
      return invalid_argument("parameter '", key, "' without a value");
  }
  parameters_.push_back(parameter);
  return {};
}

}  // namespace atl::caches
