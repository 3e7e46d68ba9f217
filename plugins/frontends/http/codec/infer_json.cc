#include "frontends/http/codec/infer_json.h"

#include <algorithm>
#include <limits>
#include <string>

#include "frontends/common/call/region_tensors.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/json_tensor.h"
#include "frontends/http/codec/json_values.h"
#include "frontends/http/codec/request_parameters.h"

namespace atl::frontends::http {
namespace {

enum RegionMember : uint32_t { kRegion, kRegionOffset, kRegionSize, kRegionMembers };
enum InputParameter : uint32_t { kBinarySize = kRegionMembers };
enum OutputParameter : uint32_t { kBinary = kRegionMembers, kClassification };

template <class List>
bool has_name(const List& list, std::string_view name) noexcept {
  return std::any_of(list.begin(), list.end(), [name](const auto& item) { return item.name == name; });
}

Status read_region(std::span<const JsonMember> members, RegionPart* part) {
  ATOLL_RETURN_IF_ERROR(read_string(members[kRegion].name, members[kRegion].value, &part->region));
  for (auto [member, number] : {std::pair{kRegionOffset, &part->offset}, {kRegionSize, &part->byte_size}}) {
    if (members[member].present) {
      ATOLL_RETURN_IF_ERROR(read_uint(members[member].name, members[member].value, number));
    }
  }
  return {};
}

/// Finds members of the member `parameters` of a tensor, if it is there.
Status find_parameters(const JsonMember& parameters, std::span<JsonMember> members) {
  if (!parameters.present) return {};
  JsonObject object;
  ATOLL_RETURN_IF_ERROR(read_object(parameters.name, parameters.value, &object));
  return find_members(object, members);
}

Status one_source(bool data, bool binary, bool region) {
  std::string text(messages::kOneDataSource);
  text += data || binary || region ? " set" : " no field is set";
  if (data) text += " 'data'";
  if (binary) text += " 'binary_data_size'";
  if (region) text += " 'shared_memory_region'";
  return Status(Code::kInvalidArgument, std::move(text));
}

/// Shape as the client wrote it, for dimensions that int64_t does not hold.
Status dimension_too_large(std::string_view input, JsonArray shape) {
  std::string text = "[";
  for (JsonElement value : shape) {
    uint64_t dim = 0;
    if (value.get_uint64().get(dim) != simdjson::SUCCESS) break;
    text += cat(text.size() > 1 ? "," : "", dim);
  }
  return Status(Code::kInvalidArgument, messages::too_many_elements(input, text + "]"));
}

}  // namespace

Status InferJson::read() {
  enum { kId, kParameters, kInputs, kOutputs };
  JsonMember members[] = {{"id"}, {"parameters"}, {"inputs"}, {"outputs"}};
  JsonObject object;
  if (document.root().get_object().get(object) != simdjson::SUCCESS) {
    return invalid_argument(messages::kJsonMalformed, wrong_kind_text(JsonKind::kObject));
  }
  ATOLL_RETURN_IF_ERROR(find_members(object, members));
  if (members[kId].present) ATOLL_RETURN_IF_ERROR(set_request_id(members[kId].value, request));
  if (members[kParameters].present) {
    JsonObject parameters;
    ATOLL_RETURN_IF_ERROR(read_object("parameters", members[kParameters].value, &parameters));
    ATOLL_RETURN_IF_ERROR(read_parameters(parameters));
  }
  if (!members[kInputs].present) return missing_member("inputs");
  JsonArray inputs;
  JsonArray outputs;
  ATOLL_RETURN_IF_ERROR(read_array("inputs", members[kInputs].value, &inputs));
  if (members[kOutputs].present) {
    ATOLL_RETURN_IF_ERROR(read_array("outputs", members[kOutputs].value, &outputs));
  }
  const size_t tensors = inputs.size() + (members[kOutputs].present ? outputs.size() : 0);
  if (tensors > kMaxTensors) {
    return invalid_argument("the request has ", tensors, " inputs and outputs, at most ", kMaxTensors,
                            " are allowed");
  }
  ATOLL_RETURN_IF_ERROR(read_inputs(inputs));
  return members[kOutputs].present ? read_outputs(outputs) : Status();
}

Status InferJson::read_parameters(JsonObject parameters) {
  // Refuses those that mean something to the server if they are there twice; add_request_parameter() does
  // that for the others.
  JsonMember known[] = {{"sequence_id"}, {"sequence_start"}, {"sequence_end"},
                        {"priority"},    {"timeout"},        {"binary_data_output"}};
  ATOLL_RETURN_IF_ERROR(find_members(parameters, known));
  for (const simdjson::dom::key_value_pair& field : parameters) {
    ATOLL_RETURN_IF_ERROR(read_parameter(field.key, field.value));
  }
  return {};
}

Status InferJson::read_parameter(std::string_view key, JsonElement value) {
  if (key == "sequence_id") return read_sequence_id(value);
  if (key == "sequence_start" || key == "sequence_end") {
    bool flag = false;
    ATOLL_RETURN_IF_ERROR(read_bool(key, value, &flag));
    if (flag) request.sequence_flags |= key == "sequence_start" ? kSequenceStart : kSequenceEnd;
    return {};
  }
  if (key == "priority") return read_uint(key, value, &request.priority);
  if (key == "timeout") return read_uint(key, value, &request.timeout_us);
  if (key == "binary_data_output") return read_bool(key, value, &parts.reply.binary_default);
  if (key.starts_with("triton_")) return invalid_argument(messages::kHttpReservedParameter);
  return add_request_parameter(key, value, document, request);
}

Status InferJson::read_sequence_id(JsonElement value) {
  if (value.get_uint64().get(request.sequence.number) == simdjson::SUCCESS) return {};
  std::string_view text;
  ATOLL_RETURN_IF_ERROR(read_string("sequence_id", value, &text));
  if (text.size() > kMaxSequenceIdBytes) return unimplemented(messages::kSequenceIdTooLong);
  return copy_name("sequence_id", text, kMaxSequenceIdBytes, request.arena(), &request.sequence.text);
}

Status InferJson::read_inputs(JsonArray inputs) {
  for (JsonElement element : inputs) ATOLL_RETURN_IF_ERROR(read_input(element));
  if (!binary.empty()) return invalid_argument(messages::binary_left_over(model.name));
  return {};
}

Status InferJson::read_input(JsonElement element) {
  enum { kName, kDatatype, kShape, kParameters, kData };
  JsonMember members[] = {{"name"}, {"datatype"}, {"shape"}, {"parameters"}, {"data"}};
  JsonObject object;
  ATOLL_RETURN_IF_ERROR(read_object("inputs", element, &object));
  ATOLL_RETURN_IF_ERROR(find_members(object, members));
  for (auto required : {kName, kDatatype, kShape}) {
    if (!members[required].present) return missing_member(members[required].name);
  }
  std::string_view name;
  std::string_view datatype;
  ATOLL_RETURN_IF_ERROR(read_string("name", members[kName].value, &name));
  ATOLL_RETURN_IF_ERROR(copy_name("the name of an input", name, kMaxNameBytes, request.arena(), &name));
  if (has_name(request.inputs, name)) return invalid_argument(messages::input_exists(request.id, name));
  ATOLL_RETURN_IF_ERROR(read_string("datatype", members[kDatatype].value, &datatype));
  InputTensor& input = request.add_input();
  input.name = name;
  input.datatype = data_type_from_name(datatype);
  if (input.datatype == DataType::kInvalid) return invalid_argument(messages::invalid_datatype(name));
  ATOLL_RETURN_IF_ERROR(read_shape(members[kShape].value, input));

  JsonMember parameters[] = {
      {"shared_memory_region"}, {"shared_memory_offset"}, {"shared_memory_byte_size"}, {"binary_data_size"}};
  ATOLL_RETURN_IF_ERROR(find_parameters(members[kParameters], parameters));
  return read_data(parameters, members[kData], input);
}

Status InferJson::read_shape(JsonElement value, InputTensor& input) {
  JsonArray shape;
  const LongArray* too_long = document.long_array(value);
  if (too_long == nullptr) ATOLL_RETURN_IF_ERROR(read_array("shape", value, &shape));
  if (const uint64_t rank = too_long != nullptr ? too_long->elements : shape.size(); rank > kMaxRank) {
    return invalid_argument("the shape of input '", input.name, "' has ", rank, " dimensions, at most ",
                            kMaxRank, " are allowed");
  }
  int64_t dims[kMaxRank];
  size_t rank = 0;
  for (JsonElement element : shape) {
    uint64_t dim = 0;
    ATOLL_RETURN_IF_ERROR(read_uint("shape", element, &dim));
    if (dim > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return dimension_too_large(input.name, shape);
    }
    dims[rank++] = static_cast<int64_t>(dim);
  }
  input.shape = request.arena().copy(std::span<const int64_t>(dims, rank));
  if (!element_count(input.shape)) {
    return invalid_argument(messages::too_many_elements(input.name, shape_text(input.shape)));
  }
  return {};
}

Status InferJson::read_data(std::span<const JsonMember> parameters, const JsonMember& data,
                            InputTensor& input) {
  const bool has_binary = parameters[kBinarySize].present;
  const bool has_region = parameters[kRegion].present;
  if (data.present + has_binary + has_region != 1) return one_source(data.present, has_binary, has_region);
  if (has_binary) return take_binary(parameters[kBinarySize].value, input);
  if (has_region) {
    RegionPart part;
    ATOLL_RETURN_IF_ERROR(read_region(parameters, &part));
    return use_region_input(part, request.arena(), parts.owned, regions, input);
  }
  JsonArray array;
  if (document.long_array(data.value) == nullptr) {
    ATOLL_RETURN_IF_ERROR(read_array("data", data.value, &array));
  }
  const JsonTensor tensor{document, input.name, input.datatype, input.shape, max_input_bytes};
  return tensor.convert(data.value, request.arena(), parts.owned, &input);
}

Status InferJson::take_binary(JsonElement size, InputTensor& input) {
  uint64_t size_bytes = 0;
  ATOLL_RETURN_IF_ERROR(read_uint("binary_data_size", size, &size_bytes));
  if (size_bytes > binary.size()) {
    return invalid_argument(messages::binary_missing(input.name, size_bytes - binary.size(), model.name));
  }
  input.size_bytes = size_bytes;
  if (size_bytes == 0) return {};
  auto* buffer = request.arena().make<Buffer>();
  buffer->data = const_cast<uint8_t*>(binary.data());
  buffer->size_bytes = size_bytes;
  input.buffers = {buffer, 1};
  binary = binary.subspan(size_bytes);
  return {};
}

Status InferJson::read_outputs(JsonArray outputs) {
  uint32_t index = 0;
  for (JsonElement element : outputs) ATOLL_RETURN_IF_ERROR(read_output(element, index++));
  parts.reply.lists_outputs = index != 0;
  return {};
}

Status InferJson::read_output(JsonElement element, uint32_t index) {
  enum { kName, kParameters };
  JsonMember members[] = {{"name"}, {"parameters"}};
  JsonObject object;
  ATOLL_RETURN_IF_ERROR(read_object("outputs", element, &object));
  ATOLL_RETURN_IF_ERROR(find_members(object, members));
  if (!members[kName].present) return missing_member("name");
  std::string_view name;
  ATOLL_RETURN_IF_ERROR(read_string("name", members[kName].value, &name));
  ATOLL_RETURN_IF_ERROR(copy_name("the name of an output", name, kMaxNameBytes, request.arena(), &name));
  if (has_name(request.outputs, name)) return invalid_argument(messages::output_exists(request.id, name));
  request.add_output().name = name;

  JsonMember parameters[] = {{"shared_memory_region"},
                             {"shared_memory_offset"},
                             {"shared_memory_byte_size"},
                             {"binary_data"},
                             {"classification"}};
  ATOLL_RETURN_IF_ERROR(find_parameters(members[kParameters], parameters));
  bool binary_data = false;
  uint64_t classification = 0;
  if (parameters[kBinary].present) {
    ATOLL_RETURN_IF_ERROR(read_bool("binary_data", parameters[kBinary].value, &binary_data));
  }
  if (parameters[kClassification].present) {
    ATOLL_RETURN_IF_ERROR(read_uint("classification", parameters[kClassification].value, &classification));
  }
  request.outputs[index].classification =
      static_cast<uint32_t>(std::min<uint64_t>(classification, std::numeric_limits<uint32_t>::max()));
  parts.reply.binary[index] = binary_data;
  if (!parameters[kRegion].present) return {};
  if (classification != 0) return invalid_argument(messages::kHttpRegionAndClassification);
  if (binary_data) return invalid_argument(messages::kHttpRegionAndBinary);
  RegionPart part;
  ATOLL_RETURN_IF_ERROR(read_region(parameters, &part));
  return use_region_output(part, parts.owned, regions, request, index);
}

}  // namespace atl::frontends::http
