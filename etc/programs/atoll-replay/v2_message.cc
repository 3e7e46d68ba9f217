#include "v2_message.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace atl::replay {
namespace {

void fill_parameter(const recording::v1::Parameter& from, inference::InferParameter* parameter) {
  switch (from.value_case()) {
    case recording::v1::Parameter::kNumber:
      parameter->set_int64_param(from.number());
      break;
    case recording::v1::Parameter::kTruth:
      parameter->set_bool_param(from.truth());
      break;
    case recording::v1::Parameter::kReal:
      parameter->set_double_param(from.real());
      break;
    case recording::v1::Parameter::kRaw:
      parameter->set_string_param(from.raw());
      break;
    default:
      parameter->set_string_param(from.text());
  }
}

void fill_parameters(const recording::v1::Request& from, inference::ModelInferRequest* request) {
  auto& parameters = *request->mutable_parameters();
  for (const recording::v1::Parameter& parameter : from.parameters())
    fill_parameter(parameter, &parameters[parameter.name()]);
  if (from.has_sequence()) {
    const recording::v1::Sequence& sequence = from.sequence();
    if (sequence.text().empty()) {
      parameters["sequence_id"].set_int64_param(static_cast<int64_t>(sequence.number()));
    } else {
      parameters["sequence_id"].set_string_param(sequence.text());
    }
    parameters["sequence_start"].set_bool_param(sequence.start());
    parameters["sequence_end"].set_bool_param(sequence.end());
  }
  if (from.priority() != 0) parameters["priority"].set_uint64_param(from.priority());
  if (from.timeout_us() != 0) parameters["timeout"].set_int64_param(static_cast<int64_t>(from.timeout_us()));
}

template <class Stored, class List>
void append_numbers(const List& list, std::string* data) {
  for (const auto number : list) {
    const auto stored = static_cast<Stored>(number);
    data->append(reinterpret_cast<const char*>(&stored), sizeof stored);
  }
}

/// A typed list as the bytes that it would be in raw form.
void append_contents(const inference::InferTensorContents& contents, std::string_view type,
                     std::string* data) {
  if (type == "BOOL") append_numbers<uint8_t>(contents.bool_contents(), data);
  if (type == "INT8") append_numbers<int8_t>(contents.int_contents(), data);
  if (type == "INT16") append_numbers<int16_t>(contents.int_contents(), data);
  if (type == "INT32") append_numbers<int32_t>(contents.int_contents(), data);
  if (type == "INT64") append_numbers<int64_t>(contents.int64_contents(), data);
  if (type == "UINT8") append_numbers<uint8_t>(contents.uint_contents(), data);
  if (type == "UINT16") append_numbers<uint16_t>(contents.uint_contents(), data);
  if (type == "UINT32") append_numbers<uint32_t>(contents.uint_contents(), data);
  if (type == "UINT64") append_numbers<uint64_t>(contents.uint64_contents(), data);
  if (type == "FP32") append_numbers<float>(contents.fp32_contents(), data);
  if (type == "FP64") append_numbers<double>(contents.fp64_contents(), data);
  if (type != "BYTES") return;
  for (const std::string& text : contents.bytes_contents()) {
    const auto size = static_cast<uint32_t>(text.size());
    data->append(reinterpret_cast<const char*>(&size), sizeof size);
    data->append(text);
  }
}

}  // namespace

Status fill_v2_request(const recording::v1::Request& from, bool names_version,
                       inference::ModelInferRequest* request) {
  request->set_model_name(from.model());
  if (names_version) request->set_model_version(std::to_string(from.version()));
  request->set_id(from.id());
  fill_parameters(from, request);
  for (const recording::v1::Tensor& input : from.inputs()) {
    if (!input.has_data())
      return invalid_argument("input '", input.name(), "' was recorded without its bytes");
    auto& tensor = *request->add_inputs();
    tensor.set_name(input.name());
    tensor.set_datatype(input.datatype());
    *tensor.mutable_shape() = input.shape();
    request->add_raw_input_contents(input.data());
  }
  for (const recording::v1::RequestedOutput& output : from.outputs()) {
    auto& wanted = *request->add_outputs();
    wanted.set_name(output.name());
    if (output.classification() != 0)
      (*wanted.mutable_parameters())["classification"].set_int64_param(output.classification());
  }
  return {};
}

recording::v1::Response read_v2_response(const inference::ModelInferResponse& from) {
  recording::v1::Response response;
  for (int i = 0; i < from.outputs_size(); ++i) {
    const auto& output = from.outputs(i);
    recording::v1::Tensor& tensor = *response.add_outputs();
    tensor.set_name(output.name());
    tensor.set_datatype(output.datatype());
    *tensor.mutable_shape() = output.shape();
    if (i < from.raw_output_contents_size()) {
      tensor.set_data(from.raw_output_contents(i));
    } else {
      append_contents(output.contents(), output.datatype(), tensor.mutable_data());
    }
  }
  return response;
}

}  // namespace atl::replay
