#include "v2_body.h"

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/http_request.h"
#include "atoll/request/number_type.h"

namespace atl::replay {
namespace {

using nlohmann::json;

/// No exceptions, and no more than this is shown of what is not as it should be.
constexpr size_t kShownBytesMax = 200;

/// Text from the recording may have any bytes; JSON has no others than UTF-8.
std::string dumped(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json parameters_of(const recording::v1::Request& request) {
  json parameters = json::object();
  for (const recording::v1::Parameter& parameter : request.parameters()) {
    json& value = parameters[parameter.name()];
    switch (parameter.value_case()) {
      case recording::v1::Parameter::kNumber:
        value = parameter.number();
        break;
      case recording::v1::Parameter::kTruth:
        value = parameter.truth();
        break;
      case recording::v1::Parameter::kReal:
        value = parameter.real();
        break;
      case recording::v1::Parameter::kRaw:
        value = parameter.raw();
        break;
      default:
        value = parameter.text();
    }
  }
  if (request.has_sequence()) {
    const recording::v1::Sequence& sequence = request.sequence();
    parameters["sequence_id"] = sequence.text().empty() ? json(sequence.number()) : json(sequence.text());
    parameters["sequence_start"] = sequence.start();
    parameters["sequence_end"] = sequence.end();
  }
  if (request.priority() != 0) parameters["priority"] = request.priority();
  if (request.timeout_us() != 0) parameters["timeout"] = request.timeout_us();
  return parameters;
}

template <class T>
bool append_number(const json& value, std::string* bytes) {
  if (!value.is_number() && !value.is_boolean()) return false;
  T number{};
  if constexpr (std::is_same_v<T, bool>) {
    number = value.is_boolean() ? value.get<bool>() : value.get<double>() != 0;
  } else {
    number = value.is_boolean() ? static_cast<T>(value.get<bool>()) : value.get<T>();
  }
  bytes->append(reinterpret_cast<const char*>(&number), sizeof number);
  return true;
}

bool append_text(const json& value, std::string* bytes) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  const auto size = static_cast<uint32_t>(text.size());
  bytes->append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes->append(text);
  return true;
}

/// Values in JSON as the bytes that they would be; nested lists one after the other.
bool append_values(const json& value, DataType type, int depth, std::string* bytes) {
  constexpr int kDepthMax = 64;
  if (value.is_array()) {
    if (depth == kDepthMax) return false;
    for (const json& element : value) {
      if (!append_values(element, type, depth + 1, bytes)) return false;
    }
    return true;
  }
  return visit_number_type(
      type, [&]<class T>(std::type_identity<T>) { return append_number<T>(value, bytes); },
      [&] { return type == DataType::kBytes && append_text(value, bytes); });
}

Status not_an_answer(std::string_view why) {
  return make_status(Code::kInternal, "this is not an answer of the protocol: ", why);
}

/// Of an object; null if it has none.
const json* member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

Status read_output(const json& output, std::string_view& binary, recording::v1::Tensor* tensor) {
  if (!output.is_object()) return not_an_answer("an output is no object");
  const json* const name = member(output, "name");
  const json* const type = member(output, "datatype");
  const json* const shape = member(output, "shape");
  if (name == nullptr || !name->is_string() || type == nullptr || !type->is_string() || shape == nullptr ||
      !shape->is_array())
    return not_an_answer("an output lacks its name, datatype or shape");
  tensor->set_name(name->get<std::string>());
  tensor->set_datatype(type->get<std::string>());
  for (const json& dim : *shape) {
    if (!dim.is_number_integer()) return not_an_answer("a shape has something else than numbers");
    tensor->add_shape(dim.get<int64_t>());
  }
  const json* const parameters = member(output, "parameters");
  const json* const size =
      parameters != nullptr && parameters->is_object() ? member(*parameters, "binary_data_size") : nullptr;
  if (size != nullptr) {
    if (!size->is_number_unsigned() || size->get<uint64_t>() > binary.size())
      return not_an_answer("an output has more bytes than there are");
    tensor->set_data(std::string(binary.substr(0, size->get<uint64_t>())));
    binary.remove_prefix(size->get<uint64_t>());
  } else if (const json* const data = member(output, "data"); data != nullptr) {
    if (!append_values(*data, data_type_from_name(tensor->datatype()), 0, tensor->mutable_data()))
      return not_an_answer("an output's values are not of its type");
  }
  return {};
}

}  // namespace

Result<V2Body> v2_body(const recording::v1::Request& request, bool names_version) {
  json body = json::object();
  if (!request.id().empty()) body["id"] = request.id();
  json parameters = parameters_of(request);
  size_t bytes = 0;
  json& inputs = body["inputs"] = json::array();
  for (const recording::v1::Tensor& input : request.inputs()) {
    if (!input.has_data())
      return invalid_argument("input '", input.name(), "' was recorded without its bytes");
    json shape = json::array();
    for (int64_t dim : input.shape()) shape.push_back(dim);
    inputs.push_back({{"name", input.name()},
                      {"datatype", input.datatype()},
                      {"shape", std::move(shape)},
                      {"parameters", {{"binary_data_size", input.data().size()}}}});
    bytes += input.data().size();
  }
  if (request.outputs().empty()) {
    parameters["binary_data_output"] = true;
  } else {
    json& outputs = body["outputs"] = json::array();
    for (const recording::v1::RequestedOutput& output : request.outputs()) {
      json wanted = {{"binary_data", true}};
      if (output.classification() != 0) wanted["classification"] = output.classification();
      outputs.push_back({{"name", output.name()}, {"parameters", std::move(wanted)}});
    }
  }
  if (!parameters.empty()) body["parameters"] = std::move(parameters);
  V2Body made;
  made.path = cat("/v2/models/", percent_encode(request.model()),
                  names_version ? cat("/versions/", request.version()) : std::string(), "/infer");
  made.bytes = dumped(body);
  made.json_bytes = made.bytes.size();
  made.bytes.reserve(made.json_bytes + bytes);
  for (const recording::v1::Tensor& input : request.inputs()) made.bytes += input.data();
  return made;
}

Result<recording::v1::Response> read_v2_answer(std::string_view body, size_t json_bytes) {
  if (json_bytes > body.size()) return not_an_answer("its JSON is longer than all of it");
  const json answer = json::parse(body.substr(0, json_bytes), nullptr, false);
  if (!answer.is_object()) return not_an_answer("it has no JSON object");
  recording::v1::Response response;
  std::string_view binary = body.substr(json_bytes);
  if (const json* const outputs = member(answer, "outputs"); outputs != nullptr && outputs->is_array()) {
    for (const json& output : *outputs) {
      if (Status status = read_output(output, binary, response.add_outputs()); !status.ok()) return status;
    }
  }
  return response;
}

std::string v2_error(int http_status, std::string_view body) {
  const json answer = json::parse(body, nullptr, false);
  const json* const error = answer.is_object() ? member(answer, "error") : nullptr;
  const std::string text = error != nullptr && error->is_string()
                               ? error->get<std::string>()
                               : std::string(body.substr(0, kShownBytesMax));
  return cat("status ", http_status, ": ", text);
}

}  // namespace atl::replay
