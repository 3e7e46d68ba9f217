#include "frontends/http/codec/testing/codec_oracle.h"

#include "frontends/http/codec/error_json.h"
#include "frontends/http/codec/infer_response.h"
#include "frontends/http/codec/json_tensor.h"
#include "frontends/http/codec/json_values.h"

namespace atl::frontends::http {
namespace {

/// A refusal is one of the codes that clients know, has a text, and the text can be sent.
std::string check_refusal(const Status& status) {
  const Code code = status.code();
  if (code != Code::kInvalidArgument && code != Code::kNotFound && code != Code::kUnimplemented &&
      code != Code::kResourceExhausted) {
    return cat("code ", code_name(code));
  }
  if (status.message().empty()) return "no text";
  JsonDocument document;
  return document.parse_unpadded(error_json(status.message())).ok() ? "" : "the error is not JSON";
}

/// Buffers that point into the body point into its binary part; every byte can be read.
std::string check_buffers(const InputTensor& input, std::span<const uint8_t> body, size_t json_bytes) {
  uint64_t total = 0;
  for (const Buffer& buffer : input.buffers) {
    const auto* begin = static_cast<const uint8_t*>(buffer.data);
    const bool inside = begin >= body.data() && begin < body.data() + body.size() + kJsonPaddingBytes;
    if (inside &&
        (begin < body.data() + json_bytes || begin + buffer.size_bytes > body.data() + body.size())) {
      return cat("input '", input.name, "' points outside of the binary part");
    }
    total += buffer.size_bytes;
  }
  if (total != input.size_bytes) return cat("input '", input.name, "' has another size than its buffers");
  return bytes_of(input).size() == total ? "" : "unreadable";
}

/// The input's bytes written as JSON and read again.
std::string round_trip(const InputTensor& input) {
  std::string bytes = bytes_of(input);
  Response response;
  OutputTensor& output = response.add_output(input.name, input.datatype, input.shape);
  output.buffer.data = bytes.data();
  output.buffer.size_bytes = bytes.size();
  JsonOutput head;
  Result<InferReply> reply = write_infer_response(model_info(), Request(), {}, response, head);
  if (!reply.ok()) return cat("input '", input.name, "' cannot be written: ", reply.status().message());
  JsonDocument document;
  if (!document.parse_unpadded(head.text()).ok()) return cat("not JSON: ", head.text());
  JsonElement data;
  if (document.root().at_pointer("/outputs/0/data").get(data) != simdjson::SUCCESS) return "no data";
  Arena arena;
  OwnedBytes owned;
  InputTensor again;
  const JsonTensor conversion{document, "again", input.datatype, input.shape};
  if (Status status = conversion.convert(data, arena, owned, &again); !status.ok()) {
    return cat("written and not read: ", status.message());
  }
  return bytes_of(again) == bytes ? "" : cat("input '", input.name, "' changed: ", head.text());
}

std::string check_texts(const Request& request) {
  if (request.inputs.size() + request.outputs.size() > kMaxTensors) return "too many tensors";
  if (request.parameters.size() > kMaxParameters) return "too many parameters";
  for (const InputTensor& input : request.inputs) {
    if (input.name.size() > kMaxNameBytes || input.shape.size() > kMaxRank)
      return "a name or shape is too long";
    if (input.name.find('\0') != std::string_view::npos) return "a name holds NUL";
  }
  for (const Parameter& parameter : request.parameters) {
    if (parameter.key.data()[parameter.key.size()] != '\0') return "a key is not terminated";
  }
  return request.id.size() <= kMaxIdBytes ? "" : "the id is too long";
}

}  // namespace

std::string check_infer(const ReadBody& read, size_t json_bytes) {
  if (!read.status.ok()) return check_refusal(read.status);
  if (std::string wrong = check_texts(read.request); !wrong.empty()) return wrong;
  const auto body = read.body.bytes();
  for (const InputTensor& input : read.request.inputs) {
    if (std::string wrong = check_buffers(input, body, json_bytes); !wrong.empty()) return wrong;
    const auto* begin = input.buffers.empty() ? nullptr : static_cast<const uint8_t*>(input.buffers[0].data);
    const bool in_body = begin >= body.data() && begin <= body.data() + body.size();
    // Only JSON was checked against the shape; other tensors are the model catalog's to check.
    if (begin == nullptr || in_body || !read.regions.empty()) continue;
    if (std::string wrong = round_trip(input); !wrong.empty()) return wrong;
  }
  return "";
}

std::string check_generate(const ReadGenerate& read, const ModelInfo& model) {
  if (!read.status.ok()) return check_refusal(read.status);
  if (std::string wrong = check_texts(read.request); !wrong.empty()) return wrong;
  if (read.request.inputs.size() > model.inputs.size()) return "more inputs than the model has";
  for (const InputTensor& input : read.request.inputs) {
    if (std::string wrong = check_buffers(input, read.body.bytes(), read.body.bytes().size());
        !wrong.empty()) {
      return wrong;
    }
    if (std::string wrong = round_trip(input); !wrong.empty()) return wrong;
  }
  return "";
}

ModelInfo every_type_model() {
  std::vector<TensorSpec> inputs = {spec("I", DataType::kInt32, {-1}), spec("TEXT", DataType::kBytes, {1}),
                                    spec("PAIR", DataType::kFp32, {2, -1}),
                                    spec("NONE", DataType::kFp64, {0})};
  for (uint32_t type = 1; type < kDataTypeCount; ++type) {
    const auto datatype = static_cast<DataType>(type);
    inputs.push_back(spec(std::string(data_type_name(datatype)), datatype, {-1}));
  }
  return model_info(std::move(inputs));
}

}  // namespace atl::frontends::http
