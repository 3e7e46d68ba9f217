// The structure of a ModelInferRequest: fields, whatever their order.
#include "frontends/common/codec/v2_infer_request.h"

namespace atl::frontends {
namespace {

Status malformed(std::string_view what) noexcept {
  return invalid_argument("the message is not a valid inference.ModelInferRequest: ", what,
                          " is cut short or not well formed");
}

Status too_many(std::string_view what, uint64_t limit) noexcept {
  return invalid_argument("ModelInferRequest has too many ", what, ": at most ", limit, " are allowed");
}

DataType parse_datatype(WireReader value) noexcept {
  char name[8];
  auto size = static_cast<size_t>(value.left());
  if (size > sizeof name || !value.copy(name, size)) return DataType::kInvalid;
  return data_type_from_name({name, size});
}

/// Where a tensor parameter of this key belongs; null: it means nothing here.
V2Value* tensor_parameter(V2TensorParameters& parameters, std::string_view key) noexcept {
  if (key == "shared_memory_region") return &parameters.region;
  if (key == "shared_memory_offset") return &parameters.offset;
  if (key == "shared_memory_byte_size") return &parameters.byte_size;
  if (key == "classification") return &parameters.classification;
  return nullptr;
}

}  // namespace

Status V2InferRequest::parse(std::span<const ByteSpan> slices, Arena& arena) noexcept {
  arena_ = &arena;
  WireReader message(slices);
  while (!message.at_end()) {
    uint32_t field = 0;
    WireType type{};
    if (!message.read_tag(&field, &type)) return malformed("a field");
    if (type == WireType::kLength && field >= 1 && field <= 7) {
      WireReader value;
      if (!message.open(&value)) return malformed(cat("field ", field));
      ATOLL_RETURN_IF_ERROR(parse_field(field, value));
    } else if (!message.skip_value(type)) {
      return malformed(cat("field ", field));
    }
  }
  return {};
}

Status V2InferRequest::parse_field(uint32_t field, WireReader value) noexcept {
  switch (field) {
    case 1:
      return parse_text(value, "model_name", kMaxNameBytes, &model_name_);
    case 2:
      return parse_text(value, "model_version", kMaxNameBytes, &model_version_);
    case 3:
      return parse_text(value, "id", kMaxIdBytes, &id_);
    case 4: {
      if (parameters_.size() == kMaxParameters) return too_many("parameters", kMaxParameters);
      V2Parameter& parameter = parameters_.add(*arena_);
      return parse_parameter(value, &parameter.key, &parameter.value);
    }
    case 5:
      if (inputs_.size() + outputs_.size() == kMaxTensors) return too_many("inputs and outputs", kMaxTensors);
      return parse_input(value);
    case 6:
      if (inputs_.size() + outputs_.size() == kMaxTensors) return too_many("inputs and outputs", kMaxTensors);
      return parse_output(value);
    default:
      // One more than inputs can be tells that there are too many; the others need not be remembered.
      if (raw_.size() <= kMaxTensors) raw_.add(*arena_) = value;
      return {};
  }
}

Status V2InferRequest::parse_input(WireReader message) noexcept {
  V2Input& input = inputs_.add(*arena_);
  int64_t dims[kMaxRank];
  uint32_t rank = 0;
  while (!message.at_end()) {
    uint32_t field = 0;
    WireType type{};
    if (!message.read_tag(&field, &type)) return malformed("an input");
    if (field == 3 && (type == WireType::kVarint || type == WireType::kLength)) {
      ATOLL_RETURN_IF_ERROR(parse_shape(message, type, dims, &rank));
      continue;
    }
    if (type != WireType::kLength || field > 5) {
      if (!message.skip_value(type)) return malformed("an input");
      continue;
    }
    WireReader value;
    if (!message.open(&value)) return malformed("an input");
    switch (field) {
      case 1:
        ATOLL_RETURN_IF_ERROR(parse_text(value, "the name of an input", kMaxNameBytes, &input.name));
        break;
      case 2:
        input.datatype = parse_datatype(value);
        break;
      case 4:
        ATOLL_RETURN_IF_ERROR(parse_tensor_parameter(value, &input.parameters));
        break;
      default:
        // Any number of pieces may come, of a few bytes each: only where they begin is remembered.
        if (!input.has_contents) {
          input.contents = value;
          input.behind_contents = message;
        }
        input.has_contents = true;
    }
  }
  input.shape = arena_->copy(std::span<const int64_t>(dims, rank));
  return {};
}

Status V2InferRequest::parse_shape(WireReader& message, WireType type, int64_t* dims,
                                   uint32_t* rank) noexcept {
  // Packed and unpacked forms may be mixed; they append.
  WireReader packed;
  if (type == WireType::kLength && !message.open(&packed)) return malformed("the shape of an input");
  WireReader& values = type == WireType::kLength ? packed : message;
  do {
    if (type == WireType::kLength && packed.at_end()) break;
    uint64_t dim = 0;
    if (!values.read_varint(&dim)) return malformed("the shape of an input");
    if (*rank == kMaxRank) return too_many("dimensions in the shape of an input", kMaxRank);
    dims[(*rank)++] = static_cast<int64_t>(dim);
  } while (type == WireType::kLength);
  return {};
}

Status V2InferRequest::parse_output(WireReader message) noexcept {
  V2Output& output = outputs_.add(*arena_);
  while (!message.at_end()) {
    uint32_t field = 0;
    WireType type{};
    if (!message.read_tag(&field, &type)) return malformed("an output");
    if (type != WireType::kLength || field > 2) {
      if (!message.skip_value(type)) return malformed("an output");
      continue;
    }
    WireReader value;
    if (!message.open(&value)) return malformed("an output");
    if (field == 1) {
      ATOLL_RETURN_IF_ERROR(parse_text(value, "the name of an output", kMaxNameBytes, &output.name));
    } else {
      ATOLL_RETURN_IF_ERROR(parse_tensor_parameter(value, &output.parameters));
    }
  }
  return {};
}

Status V2InferRequest::parse_tensor_parameter(WireReader entry, V2TensorParameters** parameters) noexcept {
  std::string_view key;
  V2Value value;
  ATOLL_RETURN_IF_ERROR(parse_parameter(entry, &key, &value));
  V2TensorParameters unused;
  if (tensor_parameter(unused, key) == nullptr) return {};
  if (*parameters == nullptr) *parameters = arena_->make<V2TensorParameters>();
  *tensor_parameter(**parameters, key) = value;
  return {};
}

Status V2InferRequest::parse_parameter(WireReader entry, std::string_view* key, V2Value* value) noexcept {
  value->present = true;
  while (!entry.at_end()) {
    uint32_t field = 0;
    WireType type{};
    WireReader part;
    if (!entry.read_tag(&field, &type)) return malformed("a parameter");
    if (type != WireType::kLength || field > 2) {
      if (!entry.skip_value(type)) return malformed("a parameter");
      continue;
    }
    if (!entry.open(&part)) return malformed("a parameter");
    if (field == 1) {
      ATOLL_RETURN_IF_ERROR(parse_text(part, "the key of a parameter", kMaxNameBytes, key));
    } else {
      ATOLL_RETURN_IF_ERROR(parse_value(part, value));
    }
  }
  return {};
}

Status V2InferRequest::parse_value(WireReader message, V2Value* value) noexcept {
  using Kind = V2Value::Kind;
  while (!message.at_end()) {
    uint32_t field = 0;
    WireType type{};
    uint64_t number = 0;
    WireReader text;
    if (!message.read_tag(&field, &type)) return malformed("a parameter's value");
    bool read = true;
    if (type == WireType::kVarint && (field == 1 || field == 2 || field == 5)) {
      read = message.read_varint(&number);
      value->kind = field == 1 ? Kind::kBool : field == 2 ? Kind::kInt : Kind::kUint;
      value->uint_value = number;
      if (field == 1) value->bool_value = number != 0;
    } else if (type == WireType::kFixed64 && field == 4) {
      read = message.read_fixed64(&number);
      value->kind = Kind::kDouble;
      std::memcpy(&value->double_value, &number, sizeof number);
    } else if (type == WireType::kLength && field == 3) {
      if (!message.open(&text)) return malformed("a parameter's value");
      value->kind = Kind::kString;
      ATOLL_RETURN_IF_ERROR(parse_text(text, "the text of a parameter", SIZE_MAX, &value->text));
    } else {
      read = message.skip_value(type);
    }
    if (!read) return malformed("a parameter's value");
  }
  return {};
}

Status V2InferRequest::parse_text(WireReader value, std::string_view what, size_t max_bytes,
                                  std::string_view* text) noexcept {
  if (value.left() > max_bytes) {
    return invalid_argument("ModelInferRequest: ", what, " has ", value.left(), " bytes, at most ", max_bytes,
                            " are allowed");
  }
  if (value.left() > kMaxIdBytes) {
    // May fail for want of memory, where the arena could only end the process.
    const auto size = static_cast<size_t>(value.left());
    auto* memory = static_cast<char*>(owned_.allocate(size + 1));
    if (memory == nullptr) {
      return make_status(Code::kResourceExhausted, "no memory for the ", size, " bytes of ", what);
    }
    value.copy(memory, size);
    memory[size] = '\0';
    *text = {memory, size};
  } else {
    *text = value.text(*arena_);
  }
  if (!is_utf8(*text)) {
    return invalid_argument("the message is not a valid inference.ModelInferRequest: ", what,
                            " is not valid UTF-8");
  }
  return {};
}

bool V2InferRequest::uses_shared_memory() const noexcept {
  const auto is_in_region = [](const auto& tensor) {
    return tensor.parameters != nullptr && tensor.parameters->region.present;
  };
  return std::any_of(inputs_.begin(), inputs_.end(), is_in_region) ||
         std::any_of(outputs_.begin(), outputs_.end(), is_in_region);
}

void V2InferRequest::reset() noexcept {
  arena_ = nullptr;
  model_name_ = model_version_ = id_ = {};
  parameters_.clear();
  inputs_.clear();
  outputs_.clear();
  raw_.clear();
  owned_.clear();
  empty_final_response_ = false;
}

}  // namespace atl::frontends
