// The two ways to ask for the same: random requests written as JSON and as protobuf give the same Request.
#include <gtest/gtest.h>

#include <algorithm>

#include "atoll/testing/random.h"
#include "frontends/common/json/json_writer.h"
#include "frontends/http/codec/testing/codec_test_support.h"
#include "grpc_service.pb.h"

namespace atl::frontends::http {
namespace {

using inference::InferTensorContents;
using inference::ModelInferRequest;
using test::Random;

constexpr int kRequests = 4000;

std::string text_json(std::string_view text) {
  JsonOutput out;
  JsonWriter writer(out);
  write_text(writer, text);
  return std::string(out.text());
}

/// One request in both forms; members of the JSON in random order.
class RandomRequest {
 public:
  explicit RandomRequest(Random& random) : random_(random) {
    message_.set_model_name("m");
    if (random_.below(2) == 0) {
      message_.set_id(text());
      members_.push_back(cat("\"id\":", text_json(message_.id())));
    }
    add_parameters();
    add_inputs();
    add_outputs();
  }
  std::string json() { return object(members_); }
  std::string protobuf() const { return message_.SerializeAsString(); }

 private:
  std::string text() {
    constexpr const char* kPieces[] = {"a", "Z", "\"", "\\", "\n", "\x01", "\xC3\xA9", "\xF0\x9F\x98\x80",
                                       "{", " "};
    std::string text;
    for (size_t i = 0, count = random_.below(12); i < count; ++i) text += kPieces[random_.below(10)];
    return text;
  }
  std::string space() { return std::string(random_.below(4) == 0 ? 1 + random_.below(3) : 0, ' '); }
  std::string join(const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) out += cat(out.empty() ? "" : ",", space(), part, space());
    return out;
  }
  std::string object(std::vector<std::string> members) {
    for (size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[random_.below(i)]);
    return cat("{", join(members), "}");
  }

  void add_parameters() {
    std::vector<std::string> parameters;
    auto add = [&](const std::string& key, std::string value) {
      parameters.push_back(cat(text_json(key), ":", value));
      return &(*message_.mutable_parameters())[key];
    };
    if (random_.below(2) == 0) {
      const auto id = static_cast<int64_t>(1 + random_.below(1000));
      add("sequence_id", cat(id))->set_int64_param(id);
      add("sequence_start", "true")->set_bool_param(true);
    } else if (random_.below(2) == 0) {
      const std::string id = cat("s", random_.below(10));
      add("sequence_id", text_json(id))->set_string_param(id);
      add("sequence_end", "true")->set_bool_param(true);
    }
    if (random_.below(2) == 0) add("priority", "7")->set_uint64_param(7);
    if (random_.below(2) == 0) add("timeout", "5000")->set_int64_param(5000);
    for (size_t i = 0, count = random_.below(4); i < count; ++i) {
      const std::string key = cat("k", i, text());
      const auto number = static_cast<int64_t>(random_.next());
      const std::string value = text();
      switch (random_.below(4)) {
        case 0:
          add(key, "false")->set_bool_param(false);
          break;
        case 1:
          add(key, cat(number))->set_int64_param(number);
          break;
        case 2:
          add(key, text_json(value))->set_string_param(value);
          break;
        default:
          add(key, cat(number % 1000, ".5e-2"))->set_double_param(std::stod(cat(number % 1000, ".5e-2")));
      }
    }
    if (!parameters.empty()) members_.push_back(cat("\"parameters\":", object(parameters)));
  }

  /// One element, added to the contents. \returns it as JSON
  std::string element(DataType type, InferTensorContents* contents) {
    const uint64_t bits = random_.next() >> random_.below(64);
    const auto signed_bits = static_cast<int64_t>(random_.next()) >> random_.below(64);
    const uint32_t size_bits = data_type_size_bytes(type) * 8;
    const auto number = static_cast<double>(signed_bits) / 1024;
    const std::string value = text();
    switch (type) {
      case DataType::kBool:
        contents->add_bool_contents((bits & 1) != 0);
        return (bits & 1) != 0 ? "true" : "false";
      case DataType::kInt8:
      case DataType::kInt16:
      case DataType::kInt32:
        contents->add_int_contents(static_cast<int32_t>(signed_bits >> (64 - size_bits)));
        return cat(signed_bits >> (64 - size_bits));
      case DataType::kInt64:
        contents->add_int64_contents(signed_bits);
        return cat(signed_bits);
      case DataType::kUint8:
      case DataType::kUint16:
      case DataType::kUint32:
        contents->add_uint_contents(static_cast<uint32_t>(bits >> (64 - size_bits)));
        return cat(bits >> (64 - size_bits));
      case DataType::kUint64:
        contents->add_uint64_contents(bits);
        return cat(bits);
      case DataType::kFp32:
        contents->add_fp32_contents(static_cast<float>(number));
        // Exactly the float's value, so that it is rounded once in both ways.
        return cat(static_cast<double>(static_cast<float>(number)));
      case DataType::kFp64:
        contents->add_fp64_contents(number);
        return cat(number);
      default:
        contents->add_bytes_contents(value);
        return text_json(value);
    }
  }

  /// \param shape  the outer dimensions that have arrays of their own
  std::string brackets(std::span<const std::string> elements, std::span<const int64_t> shape) {
    if (shape.empty() || elements.empty()) return cat("[", join({elements.begin(), elements.end()}), "]");
    std::vector<std::string> parts;
    const size_t count = elements.size() / static_cast<size_t>(shape[0]);
    for (size_t i = 0; i < elements.size(); i += count)
      parts.push_back(brackets(elements.subspan(i, count), shape.subspan(1)));
    return cat("[", join(parts), "]");
  }

  void add_inputs() {
    constexpr DataType kTypes[] = {DataType::kBool,   DataType::kInt8,  DataType::kInt16,  DataType::kInt32,
                                   DataType::kInt64,  DataType::kUint8, DataType::kUint16, DataType::kUint32,
                                   DataType::kUint64, DataType::kFp32,  DataType::kFp64,   DataType::kBytes};
    std::vector<std::string> inputs;
    for (size_t i = 0, count = random_.below(4); i < count; ++i) {
      auto* input = message_.add_inputs();
      const DataType type = kTypes[random_.below(std::size(kTypes))];
      input->set_name(cat(text(), i));
      input->set_datatype(std::string(data_type_name(type)));
      size_t elements = 1;
      std::vector<std::string> dims;
      for (size_t d = 0, rank = random_.below(4); d < rank; ++d) {
        const size_t dim = random_.below(5);
        input->add_shape(static_cast<int64_t>(dim));
        dims.push_back(cat(dim));
        elements *= dim;
      }
      std::vector<std::string> values;
      auto* contents = input->mutable_contents();
      for (size_t e = 0; e < elements; ++e) values.push_back(element(type, contents));
      const std::span<const int64_t> shape(input->shape().data(), static_cast<size_t>(input->shape_size()));
      const auto outer = shape.first(shape.empty() ? 0 : random_.below(shape.size()));
      inputs.push_back(object(
          {cat("\"name\":", text_json(input->name())), cat("\"datatype\":\"", data_type_name(type), "\""),
           cat("\"shape\":[", join(dims), "]"), cat("\"data\":", brackets(values, outer))}));
    }
    members_.push_back(cat("\"inputs\":[", join(inputs), "]"));
  }

  void add_outputs() {
    std::vector<std::string> outputs;
    for (size_t i = 0, count = random_.below(3); i < count; ++i) {
      auto* output = message_.add_outputs();
      output->set_name(cat(text(), i));
      std::vector<std::string> members = {cat("\"name\":", text_json(output->name()))};
      if (random_.below(2) == 0) {
        (*output->mutable_parameters())["classification"].set_int64_param(3);
        members.push_back(R"("parameters":{"classification":3})");
      }
      outputs.push_back(object(members));
    }
    if (!outputs.empty() || random_.below(2) == 0)
      members_.push_back(cat("\"outputs\":[", join(outputs), "]"));
  }

  Random& random_;
  ModelInferRequest message_;
  std::vector<std::string> members_;
};

bool same_parameter(const Parameter& a, const Parameter& b) {
  if (a.type != b.type) return false;
  if (a.type == ParameterType::kString) return a.text == b.text;
  if (a.type == ParameterType::kBool) return a.bool_value == b.bool_value;
  return a.type == ParameterType::kInt ? a.int_value == b.int_value : a.double_value == b.double_value;
}

std::string difference(const Request& a, const Request& b) {
  if (a.id != b.id) return "id";
  if (a.sequence.number != b.sequence.number || a.sequence.text != b.sequence.text) return "sequence id";
  if (a.sequence_flags != b.sequence_flags) return "sequence flags";
  if (a.priority != b.priority || a.timeout_us != b.timeout_us) return "priority or timeout";
  if (a.parameters.size() != b.parameters.size()) return "number of parameters";
  for (const Parameter& parameter : a.parameters) {
    const Parameter* other = find_parameter(b, parameter.key);
    if (other == nullptr || !same_parameter(parameter, *other)) return cat("parameter ", parameter.key);
  }
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return "number of tensors";
  for (uint32_t i = 0; i < a.inputs.size(); ++i) {
    const InputTensor& x = a.inputs[i];
    const InputTensor& y = b.inputs[i];
    if (x.name != y.name || x.datatype != y.datatype || x.flags != y.flags) return cat("input ", i);
    if (shape_text(x.shape) != shape_text(y.shape)) return cat("shape of input ", i);
    if (x.size_bytes != y.size_bytes || bytes_of(x) != bytes_of(y)) return cat("bytes of input ", i);
  }
  for (uint32_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].name != b.outputs[i].name) return cat("output ", i);
    if (a.outputs[i].classification != b.outputs[i].classification)
      return cat("classification of output ", i);
  }
  return "";
}

TEST(ProtobufDifferential, BothFormsGiveTheSameRequest) {
  Random random(4711);
  for (int i = 0; i < kRequests; ++i) {
    RandomRequest request(random);
    const std::string json = request.json();
    const ReadBody read(json);
    const ReadMessage expected(request.protobuf());
    ASSERT_TRUE(expected.ok()) << expected.status().text();
    ASSERT_TRUE(read.status.ok()) << read.status.text() << "\n" << json;
    ASSERT_EQ(difference(expected.request, read.request), "") << json;
  }
}

}  // namespace
}  // namespace atl::frontends::http
