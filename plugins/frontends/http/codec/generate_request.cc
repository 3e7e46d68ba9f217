#include <algorithm>
#include <limits>

#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/generate.h"
#include "frontends/http/codec/json_tensor.h"
#include "frontends/http/codec/json_values.h"
#include "frontends/http/codec/request_parameters.h"

namespace atl::frontends::http {
namespace {

/// One request being read.
struct Mapping {
  const JsonDocument& document;
  const ModelInfo& model;
  Request& request;
  InferParts& parts;
  uint64_t max_input_bytes;
  uint64_t used_bytes = 0;  ///< of the inputs so far

  /// \param nested  the object is the value of `parameters`
  Status read_members(JsonObject object, bool nested) noexcept;
  Status read_nested(JsonElement value) noexcept;
  Status read_input(const TensorSpec& spec, JsonElement value) noexcept;
  Status find_shape(const TensorSpec& spec, uint64_t elements, InputTensor& input) noexcept;
  const TensorSpec* find_spec(std::string_view name) const noexcept {
    auto found = std::find_if(model.inputs.begin(), model.inputs.end(),
                              [name](const TensorSpec& spec) { return spec.name == name; });
    return found == model.inputs.end() ? nullptr : &*found;
  }
};

Status Mapping::read_members(JsonObject object, bool nested) noexcept {
  JsonMember once[] = {{"id"}, {"parameters"}};
  ATOLL_RETURN_IF_ERROR(find_members(object, once));
  for (const simdjson::dom::key_value_pair& field : object) {
    const TensorSpec* spec = find_spec(field.key);
    if (!nested && field.key == "parameters") {
      if (spec != nullptr) return invalid_argument(messages::kNestedSchemaIsInput);
      ATOLL_RETURN_IF_ERROR(read_nested(field.value));
    } else if (spec != nullptr) {
      ATOLL_RETURN_IF_ERROR(read_input(*spec, field.value));
    } else {
      if (!nested && field.key == "id") ATOLL_RETURN_IF_ERROR(set_request_id(field.value, request));
      ATOLL_RETURN_IF_ERROR(add_request_parameter(field.key, field.value, document, request));
    }
  }
  return {};
}

Status Mapping::read_nested(JsonElement value) noexcept {
  JsonObject object;
  if (value.get_object().get(object) != simdjson::SUCCESS) {
    return invalid_argument(messages::kNestedSchemaType);
  }
  Status status = read_members(object, true);
  if (status.ok()) return status;
  return make_status(status.code(), "Converting keyword: 'parameters': ", status.message());
}

Status Mapping::read_input(const TensorSpec& spec, JsonElement value) noexcept {
  if (request.find_input(spec.name) != nullptr) {
    return invalid_argument(messages::input_exists(request.id, spec.name));
  }
  uint64_t elements = 1;
  JsonArray array;
  if (const LongArray* long_array = document.long_array(value); long_array != nullptr) {
    elements = long_array->items;
  } else if (value.get_array().get(array) == simdjson::SUCCESS) {
    // The size that an array knows by itself ends at 2^24 - 1.
    elements = static_cast<uint64_t>(std::distance(array.begin(), array.end()));
  }
  InputTensor& input = request.add_input();
  input.name = request.arena().copy_text(spec.name);
  input.datatype = spec.datatype;
  ATOLL_RETURN_IF_ERROR(find_shape(spec, elements, input));
  const JsonTensor tensor{document, input.name, input.datatype, input.shape};
  uint64_t size_bytes = 0;
  ATOLL_RETURN_IF_ERROR(tensor.size_bytes(value, &size_bytes));
  if (size_bytes > max_input_bytes - used_bytes) {
    return invalid_argument(
        messages::generate_input_too_large(used_bytes, input.name, size_bytes, max_input_bytes));
  }
  used_bytes += size_bytes;
  return tensor.convert(value, request.arena(), parts.owned, &input);
}

/// Fixed dimensions first; the innermost variable one takes what is left, the others are 1.
Status Mapping::find_shape(const TensorSpec& spec, uint64_t elements, InputTensor& input) noexcept {
  const size_t batch_dims = model.max_batch_size != 0 && !spec.shape_tensor ? 1 : 0;
  const std::span<int64_t> shape(request.arena().make_array<int64_t>(spec.dims.size() + batch_dims),
                                 spec.dims.size() + batch_dims);
  int64_t fixed = 1;
  int64_t* variable = nullptr;
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] = i < batch_dims ? -1 : spec.dims[i - batch_dims];
    if (shape[i] == -1) {
      shape[i] = 1;
      variable = &shape[i];
    } else if (__builtin_mul_overflow(fixed, shape[i], &fixed)) {
      fixed = std::numeric_limits<int64_t>::max();  // more elements than a request can have
    }
  }
  input.shape = shape;
  const auto count = static_cast<int64_t>(elements);
  if (variable == nullptr ? count == fixed : fixed > 0 && count % fixed == 0) {
    if (variable != nullptr) *variable = count / fixed;
    return {};
  }
  return invalid_argument(messages::schema_no_shape(spec.name));
}

}  // namespace

Status GenerateRequestReader::read(std::string_view body, const ModelInfo& model, Request& request,
                                   InferParts& parts) noexcept {
  if (body.size() > limits_.max_input_bytes) {
    return invalid_argument(messages::json_too_large(body.size(), limits_.max_input_bytes));
  }
  Status status = document_.parse(body);
  JsonObject object;
  if (status.ok() && document_.root().get_object().get(object) != simdjson::SUCCESS) {
    status = invalid_argument(messages::kJsonMalformed, wrong_kind_text(JsonKind::kObject));
  }
  if (status.ok()) {
    status = Mapping{document_, model, request, parts, limits_.max_input_bytes}.read_members(object, false);
  }
  document_.release();
  return status;
}

}  // namespace atl::frontends::http
