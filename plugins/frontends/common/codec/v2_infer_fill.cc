// The meaning of a ModelInferRequest: what its parameters, inputs and outputs ask for.
#include <algorithm>

#include "frontends/common/call/region_tensors.h"
#include "frontends/common/codec/typed_contents.h"
#include "frontends/common/codec/v2_infer_request.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {
namespace {

using Kind = V2Value::Kind;

Status refuse(std::string text) noexcept { return Status(Code::kInvalidArgument, std::move(text)); }

/// Whether the tensor names a shared memory region, and whether the parameters around that fit together.
Status check_region(std::string_view tensor, const V2TensorParameters& parameters,
                    bool* has_region) noexcept {
  *has_region = parameters.region.present;
  if (*has_region && parameters.region.kind != Kind::kString) {
    return refuse(messages::tensor_parameter_type("shared_memory_region", tensor, "string_param"));
  }
  if (parameters.offset.present) {
    if (!*has_region) return refuse(messages::needs_region("shared_memory_offset", tensor));
    if (parameters.offset.kind != Kind::kInt) {
      return refuse(messages::tensor_parameter_type("shared_memory_offset", tensor, "int64_param"));
    }
  }
  if (parameters.byte_size.present) {
    if (!*has_region) return refuse(messages::needs_region("shared_memory_byte_size", tensor));
    if (parameters.byte_size.kind != Kind::kInt) {
      return refuse(messages::tensor_parameter_type("shared_memory_byte_size", tensor, "int64_param"));
    }
  } else if (*has_region) {
    return refuse(messages::needs_byte_size(tensor));
  }
  return {};
}

Status not_negative(std::string_view key, std::string_view tensor, const V2Value& value,
                    uint64_t* number) noexcept {
  if (value.present && value.int_value < 0) {
    return invalid_argument("invalid value for '", key, "' parameter for tensor '", tensor,
                            "': ", value.int_value, ", expected >= 0");
  }
  *number = value.present ? value.uint_value : 0;
  return {};
}

/// Only after check_region() found a region.
Status read_part(std::string_view tensor, const V2TensorParameters& parameters, RegionPart* part) noexcept {
  part->region = parameters.region.text;
  ATOLL_RETURN_IF_ERROR(not_negative("shared_memory_offset", tensor, parameters.offset, &part->offset));
  return not_negative("shared_memory_byte_size", tensor, parameters.byte_size, &part->byte_size);
}

template <class List>
bool has_name(const List& list, std::string_view name) noexcept {
  return std::any_of(list.begin(), list.end(), [name](const auto& item) { return item.name == name; });
}

}  // namespace

Status V2InferRequest::fill(Request& request, RegionUses& regions, CopyLimit typed_limit) noexcept {
  request.id = id_;
  ATOLL_RETURN_IF_ERROR(fill_parameters(request));
  ATOLL_RETURN_IF_ERROR(fill_tensors(request));
  ATOLL_RETURN_IF_ERROR(fill_data(request, regions, typed_limit));
  return fill_outputs(request, regions);
}

Status V2InferRequest::fill_parameters(Request& request) noexcept {
  for (uint32_t i = 0; i < parameters_.size(); ++i) {
    const V2Parameter& parameter = parameters_[i];
    // A map: the last entry of a key counts.
    auto* later = std::find_if(parameters_.begin() + i + 1, parameters_.end(),
                               [&](const V2Parameter& other) { return other.key == parameter.key; });
    if (later != parameters_.end()) continue;
    bool known = false;
    ATOLL_RETURN_IF_ERROR(fill_reserved(parameter, request, &known));
    if (known) continue;
    const V2Value& value = parameter.value;
    if (value.kind == Kind::kNone || value.kind == Kind::kUint) {
      return refuse(messages::parameter_type(parameter.key, "int64_param, bool_param, or string_param"));
    }
    Parameter& added = request.add_parameter();
    added.key = parameter.key;
    if (value.kind == Kind::kBool) {
      added.type = ParameterType::kBool;
      added.bool_value = value.bool_value;
    } else if (value.kind == Kind::kInt) {
      added.type = ParameterType::kInt;
      added.int_value = value.int_value;
    } else if (value.kind == Kind::kDouble) {
      added.type = ParameterType::kDouble;
      added.double_value = value.double_value;
    } else {
      added.type = ParameterType::kString;
      added.text = value.text;
    }
  }
  return {};
}

Status V2InferRequest::fill_reserved(const V2Parameter& parameter, Request& request, bool* known) noexcept {
  const std::string_view key = parameter.key;
  const V2Value& value = parameter.value;
  *known = true;
  if (key == "sequence_id") return fill_sequence_id(value, request);
  if (key == "sequence_start" || key == "sequence_end") {
    if (value.kind != Kind::kBool) return refuse(messages::parameter_type(key, "bool_param"));
    if (value.bool_value) request.sequence_flags |= key == "sequence_start" ? kSequenceStart : kSequenceEnd;
    return {};
  }
  if (key == "priority") {
    if (value.kind != Kind::kInt && value.kind != Kind::kUint) {
      return refuse(messages::parameter_type(key, "int64_param or uint64_param"));
    }
    if (value.kind == Kind::kInt && value.int_value < 0) {
      return refuse(std::string(messages::kNegativePriority));
    }
    request.priority = value.uint_value;
    return {};
  }
  if (key == "timeout") {
    if (value.kind != Kind::kInt) return refuse(messages::parameter_type(key, "int64_param"));
    // A timeout below zero would never be the smaller one when read as unsigned, which is how clients know
    // it.
    request.timeout_us = value.int_value < 0 ? 0 : static_cast<uint64_t>(value.int_value);
    return {};
  }
  if (key == "triton_enable_empty_final_response") {
    if (value.kind != Kind::kBool) return refuse(messages::parameter_type(key, "bool_param"));
    empty_final_response_ = value.bool_value;
    return {};
  }
  if (key.starts_with("triton_")) return refuse(std::string(messages::kReservedParameter));
  *known = false;
  return {};
}

Status V2InferRequest::fill_sequence_id(const V2Value& value, Request& request) noexcept {
  if (value.kind == Kind::kInt) {
    request.sequence.number = static_cast<uint64_t>(value.int_value);
    return {};
  }
  if (value.kind != Kind::kString) {
    return refuse(messages::parameter_type("sequence_id", "int64_param or string_param"));
  }
  if (value.text.size() > kMaxSequenceIdBytes) {
    return Status(Code::kUnimplemented, std::string(messages::kSequenceIdTooLong));
  }
  request.sequence.text = value.text;
  return {};
}

Status V2InferRequest::fill_tensors(Request& request) noexcept {
  for (const V2Input& input : inputs_) {
    if (has_name(request.inputs, input.name)) return refuse(messages::input_exists(id_, input.name));
    InputTensor& tensor = request.add_input();
    tensor.name = input.name;
    tensor.datatype = input.datatype;
    tensor.shape = input.shape;
  }
  for (const V2Output& output : outputs_) {
    if (has_name(request.outputs, output.name)) return refuse(messages::output_exists(id_, output.name));
    request.add_output().name = output.name;
  }
  return {};
}

Status V2InferRequest::fill_data(Request& request, RegionUses& regions, CopyLimit typed_limit) noexcept {
  uint32_t next_raw = 0;
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    V2Input& input = inputs_[i];
    InputTensor& tensor = request.inputs[i];
    if (input.parameters != nullptr) {
      bool has_region = false;
      ATOLL_RETURN_IF_ERROR(check_region(input.name, *input.parameters, &has_region));
      if (has_region && input.has_contents) {
        return refuse(messages::content_and_region(input.name, model_name_));
      }
      if (has_region) {
        RegionPart part;
        ATOLL_RETURN_IF_ERROR(read_part(input.name, *input.parameters, &part));
        ATOLL_RETURN_IF_ERROR(use_region_input(part, *arena_, owned_, regions, tensor));
        continue;
      }
    }
    if (input.has_contents) {
      if (!raw_.empty()) return refuse(messages::raw_and_typed(input.name, model_name_));
      TypedContents contents{input.contents, input.behind_contents, input.name, model_name_, input.datatype};
      ATOLL_RETURN_IF_ERROR(contents.convert(*arena_, owned_, typed_limit, &tensor));
      typed_limit.bytes -= tensor.size_bytes;
    } else if (next_raw < raw_.size()) {
      WireReader& raw = raw_[next_raw++];
      tensor.size_bytes = raw.left();
      tensor.buffers = raw.borrow(*arena_);
    } else {
      return refuse(messages::no_data(input.name, model_name_));
    }
  }
  if (raw_.size() == next_raw) return {};
  return invalid_argument("raw_input_contents of the request for model '", model_name_, "' has more than ",
                          next_raw, " entries, expected one for each input without shared memory");
}

Status V2InferRequest::fill_outputs(Request& request, RegionUses& regions) noexcept {
  for (uint32_t i = 0; i < outputs_.size(); ++i) {
    const V2Output& output = outputs_[i];
    if (output.parameters == nullptr) continue;
    bool has_region = false;
    ATOLL_RETURN_IF_ERROR(check_region(output.name, *output.parameters, &has_region));
    const V2Value& classes = output.parameters->classification;
    if (classes.present) {
      if (classes.kind != Kind::kInt) return refuse(std::string(messages::kClassificationType));
      if (classes.int_value <= 0) return refuse(std::string(messages::kClassificationValue));
      if (has_region) return refuse(std::string(messages::kRegionAndClassification));
      request.outputs[i].classification =
          static_cast<uint32_t>(std::min<int64_t>(classes.int_value, UINT32_MAX));
    }
    if (!has_region) continue;
    RegionPart part;
    ATOLL_RETURN_IF_ERROR(read_part(output.name, *output.parameters, &part));
    ATOLL_RETURN_IF_ERROR(use_region_output(part, owned_, regions, request, i));
  }
  return {};
}

}  // namespace atl::frontends
