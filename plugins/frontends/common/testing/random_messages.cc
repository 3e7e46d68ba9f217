#include "frontends/common/testing/random_messages.h"

#include <iterator>
#include <utility>
#include <vector>

namespace atl::frontends {
namespace {

using inference::InferTensorContents;
using inference::ModelInferRequest;
using test::Random;
using Pieces = std::vector<std::string>;

std::string random_text(Random& random, size_t longest) {
  std::string text(random.below(longest + 1), '\0');
  for (char& c : text) c = static_cast<char>('a' + random.below(26));
  if (random.below(8) == 0) text += "\xC3\xA9\xE2\x82\xAC";
  return text;
}

void put_varint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

std::string length_field(uint32_t field, std::string_view bytes) {
  std::string out;
  put_varint(field << 3 | 2, &out);
  put_varint(bytes.size(), &out);
  return out.append(bytes);
}

std::string random_unknown_field(Random& random) {
  constexpr uint32_t kTypes[] = {0, 1, 2, 5};
  uint32_t type = kTypes[random.below(4)];
  std::string out;
  put_varint((100 + random.below(1000)) << 3 | type, &out);
  if (type == 0) {
    put_varint(random.next(), &out);
  } else if (type == 2) {
    std::string bytes = random_text(random, 40);
    put_varint(bytes.size(), &out);
    out += bytes;
  } else {
    out.append(type == 1 ? 8 : 4, 'x');
  }
  return out;
}

/// Joins the pieces, keeping the order of those that share a lane (they are entries of one repeated field).
std::string interleave(std::vector<Pieces> lanes, Random& random) {
  std::string out;
  std::vector<size_t> next(lanes.size(), 0);
  while (true) {
    std::vector<size_t> open;
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (next[i] < lanes[i].size()) open.push_back(i);
    }
    if (open.empty()) return out;
    size_t lane = open[random.below(open.size())];
    out += lanes[lane][next[lane]++];
    if (random.below(16) == 0) out += random_unknown_field(random);
  }
}

/// A repeated varint field, in one or several packed runs and single entries.
Pieces random_numbers(uint32_t field, const std::vector<uint64_t>& values, Random& random) {
  Pieces pieces;
  for (size_t i = 0; i < values.size();) {
    std::string piece;
    if (random.below(3) == 0) {
      put_varint(field << 3, &piece);
      put_varint(values[i++], &piece);
    } else {
      size_t count = 1 + random.below(values.size() - i);
      std::string run;
      for (size_t end = i + count; i < end; ++i) put_varint(values[i], &run);
      piece = length_field(field, run);
    }
    pieces.push_back(piece);
  }
  return pieces;
}

void set_random_value(Random& random, inference::InferParameter* value) {
  switch (random.below(4)) {
    case 0:
      value->set_bool_param(random.below(2) == 0);
      break;
    case 1:
      value->set_int64_param(static_cast<int64_t>(random.next()));
      break;
    case 2:
      value->set_string_param(random_text(random, 300));
      break;
    default:
      value->set_double_param(static_cast<double>(random.below(1000)) / 7);
  }
}

void add_contents(DataType type, Random& random, size_t count, InferTensorContents* contents) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t value = random.next() >> random.below(64);
    switch (type) {
      case DataType::kBool:
        contents->add_bool_contents((value & 1) != 0);
        break;
      case DataType::kInt8:
        contents->add_int_contents(static_cast<int8_t>(value));
        break;
      case DataType::kInt16:
        contents->add_int_contents(static_cast<int16_t>(value));
        break;
      case DataType::kInt32:
        contents->add_int_contents(static_cast<int32_t>(value));
        break;
      case DataType::kInt64:
        contents->add_int64_contents(static_cast<int64_t>(value));
        break;
      case DataType::kUint8:
        contents->add_uint_contents(static_cast<uint8_t>(value));
        break;
      case DataType::kUint16:
        contents->add_uint_contents(static_cast<uint16_t>(value));
        break;
      case DataType::kUint32:
        contents->add_uint_contents(static_cast<uint32_t>(value));
        break;
      case DataType::kUint64:
        contents->add_uint64_contents(value);
        break;
      case DataType::kFp32:
        contents->add_fp32_contents(static_cast<float>(value) / 3);
        break;
      case DataType::kFp64:
        contents->add_fp64_contents(static_cast<double>(value) / 3);
        break;
      default:
        contents->add_bytes_contents(random_text(random, 50));
    }
  }
}

std::string random_input(int index, bool typed, Random& random) {
  constexpr DataType kTyped[] = {DataType::kBool,   DataType::kInt8,  DataType::kInt16,  DataType::kInt32,
                                 DataType::kInt64,  DataType::kUint8, DataType::kUint16, DataType::kUint32,
                                 DataType::kUint64, DataType::kFp32,  DataType::kFp64,   DataType::kBytes};
  DataType type = kTyped[random.below(std::size(kTyped))];
  ModelInferRequest::InferInputTensor name;
  name.set_name(cat(random_text(random, 20), index));
  ModelInferRequest::InferInputTensor datatype;
  datatype.set_datatype(std::string(data_type_name(type)));
  std::vector<uint64_t> shape(random.below(5));
  for (uint64_t& dim : shape) dim = random.below(3) == 0 ? static_cast<uint64_t>(-1) : random.below(1000);
  std::vector<Pieces> lanes = {
      {name.SerializeAsString()}, {datatype.SerializeAsString()}, random_numbers(3, shape, random)};
  if (typed) {
    Pieces contents;
    for (size_t i = 0, pieces = 1 + random.below(3); i < pieces; ++i) {
      InferTensorContents part;
      add_contents(type, random, random.below(40), &part);
      std::string bytes = part.SerializeAsString();
      if (random.below(4) == 0) bytes += random_unknown_field(random);
      contents.push_back(length_field(5, bytes));
    }
    lanes.push_back(std::move(contents));
  }
  if (random.below(4) == 0) {
    ModelInferRequest::InferInputTensor parameter;
    set_random_value(random, &(*parameter.mutable_parameters())["unknown_key"]);
    lanes.push_back({parameter.SerializeAsString()});
  }
  return length_field(5, interleave(std::move(lanes), random));
}

template <class T, class List>
void append_numbers(const List& list, std::string* out) {
  for (auto value : list) {
    T narrow = static_cast<T>(value);
    out->append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  }
}

/// The bytes a model should see for typed contents, straight from protobuf's lists.
std::string expected_bytes(const ModelInferRequest::InferInputTensor& input) {
  const InferTensorContents& contents = input.contents();
  std::string out;
  switch (data_type_from_name(input.datatype())) {
    case DataType::kInt8:
      append_numbers<int8_t>(contents.int_contents(), &out);
      break;
    case DataType::kInt16:
      append_numbers<int16_t>(contents.int_contents(), &out);
      break;
    case DataType::kUint8:
      append_numbers<uint8_t>(contents.uint_contents(), &out);
      break;
    case DataType::kUint16:
      append_numbers<uint16_t>(contents.uint_contents(), &out);
      break;
    default:
      append_numbers<bool>(contents.bool_contents(), &out);
      append_numbers<int32_t>(contents.int_contents(), &out);
      append_numbers<int64_t>(contents.int64_contents(), &out);
      append_numbers<uint32_t>(contents.uint_contents(), &out);
      append_numbers<uint64_t>(contents.uint64_contents(), &out);
      append_numbers<float>(contents.fp32_contents(), &out);
      append_numbers<double>(contents.fp64_contents(), &out);
      for (const std::string& element : contents.bytes_contents()) {
        auto size = static_cast<uint32_t>(element.size());
        out.append(reinterpret_cast<const char*>(&size), sizeof size).append(element);
      }
  }
  return out;
}

std::string input_difference(const ModelInferRequest& expected, int index, int* next_raw,
                             const InputTensor& got) {
  const auto& input = expected.inputs(index);
  if (got.name != input.name()) return cat("input ", index, " name ", got.name);
  if (got.datatype != data_type_from_name(input.datatype())) return cat("input ", index, " datatype");
  if (std::vector<int64_t>(got.shape.begin(), got.shape.end()) !=
      std::vector<int64_t>(input.shape().begin(), input.shape().end())) {
    return cat("input ", index, " shape ", shape_text(got.shape));
  }
  const std::string want =
      input.has_contents() ? expected_bytes(input) : expected.raw_input_contents((*next_raw)++);
  if (got.size_bytes != want.size()) return cat("input ", index, " size ", got.size_bytes);
  return bytes_of(got) == want ? "" : cat("input ", index, " bytes");
}

bool same_value(const inference::InferParameter& want, const Parameter& got) {
  switch (want.parameter_choice_case()) {
    case inference::InferParameter::kBoolParam:
      return got.type == ParameterType::kBool && got.bool_value == want.bool_param();
    case inference::InferParameter::kInt64Param:
      return got.type == ParameterType::kInt && got.int_value == want.int64_param();
    case inference::InferParameter::kDoubleParam: {
      double value = want.double_param();
      return got.type == ParameterType::kDouble && std::memcmp(&value, &got.double_value, sizeof value) == 0;
    }
    default:
      return got.type == ParameterType::kString && got.text == want.string_param();
  }
}

bool is_reserved(const std::string& key) {
  return key.starts_with("triton_") || key == "sequence_id" || key == "sequence_start" ||
         key == "sequence_end" || key == "priority" || key == "timeout";
}

std::string parameters_difference(const ModelInferRequest& expected, const Request& request) {
  size_t custom = 0;
  for (const auto& [key, value] : expected.parameters()) {
    if (is_reserved(key)) continue;
    ++custom;
    const std::string& name = key;
    auto* found = std::find_if(request.parameters.begin(), request.parameters.end(),
                               [&](const Parameter& parameter) { return parameter.key == name; });
    if (found == request.parameters.end() || !same_value(value, *found)) return cat("parameter ", key);
  }
  return custom == request.parameters.size() ? "" : "number of parameters";
}

}  // namespace

std::string random_message(Random& random) {
  ModelInferRequest name;
  name.set_model_name(random_text(random, 30));
  ModelInferRequest version;
  if (random.below(2) == 0) version.set_model_version(std::to_string(random.below(10)));
  ModelInferRequest id;
  id.set_id(random_text(random, random.below(10) == 0 ? 5000 : 20));
  Pieces parameters;
  for (size_t i = 0, count = random.below(4); i < count; ++i) {
    ModelInferRequest one;
    set_random_value(random, &(*one.mutable_parameters())[cat("key", random.below(4))]);
    parameters.push_back(one.SerializeAsString());
  }
  if (random.below(3) == 0) {
    ModelInferRequest one;
    (*one.mutable_parameters())["sequence_id"].set_int64_param(static_cast<int64_t>(1 + random.below(99)));
    (*one.mutable_parameters())["priority"].set_uint64_param(random.below(99));
    parameters.push_back(one.SerializeAsString());
  }
  const bool typed = random.below(2) == 0;
  Pieces inputs;
  Pieces raw;
  Pieces outputs;
  for (int i = 0, count = static_cast<int>(random.below(5)); i < count; ++i) {
    inputs.push_back(random_input(i, typed, random));
    if (!typed) raw.push_back(length_field(7, random_text(random, random.below(8) == 0 ? 20000 : 100)));
  }
  for (int i = 0, count = static_cast<int>(random.below(4)); i < count; ++i) {
    ModelInferRequest one;
    auto* output = one.add_outputs();
    output->set_name(cat("out", i));
    if (random.below(4) == 0) (*output->mutable_parameters())["classification"].set_int64_param(i + 1);
    outputs.push_back(one.SerializeAsString());
  }
  return interleave({{name.SerializeAsString()},
                     {version.SerializeAsString()},
                     {id.SerializeAsString()},
                     std::move(parameters),
                     std::move(inputs),
                     std::move(outputs),
                     std::move(raw)},
                    random);
}

std::string difference(const ModelInferRequest& expected, const ReadMessage& read) {
  const Request& request = read.request;
  if (read.message.model_name() != expected.model_name()) return "model_name";
  if (read.message.model_version() != expected.model_version()) return "model_version";
  if (request.id != expected.id()) return "id";
  if (static_cast<int>(request.inputs.size()) != expected.inputs_size()) return "number of inputs";
  if (static_cast<int>(request.outputs.size()) != expected.outputs_size()) return "number of outputs";
  int next_raw = 0;
  for (int i = 0; i < expected.inputs_size(); ++i) {
    std::string found = input_difference(expected, i, &next_raw, request.inputs[static_cast<size_t>(i)]);
    if (!found.empty()) return found;
  }
  for (int i = 0; i < expected.outputs_size(); ++i) {
    const auto& want = expected.outputs(i);
    const RequestedOutput& got = request.outputs[static_cast<size_t>(i)];
    if (got.name != want.name()) return cat("output ", i, " name");
    auto classes = want.parameters().find("classification");
    int64_t count = classes == want.parameters().end() ? 0 : classes->second.int64_param();
    if (got.classification != static_cast<uint32_t>(std::min<int64_t>(count, UINT32_MAX))) {
      return cat("output ", i, " classification");
    }
  }
  if (auto found = expected.parameters().find("priority"); found != expected.parameters().end()) {
    const auto& value = found->second;
    uint64_t want =
        value.has_uint64_param() ? value.uint64_param() : static_cast<uint64_t>(value.int64_param());
    if (request.priority != want) return "priority";
  }
  return parameters_difference(expected, request);
}

}  // namespace atl::frontends
