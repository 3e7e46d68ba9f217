/// Models of texts that tests script.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/testing/fake_catalog.h"

namespace atl::frontends::openai {

inline TensorSpec tensor(const char* name, DataType datatype, bool optional = false) {
  TensorSpec spec;
  spec.name = name;
  spec.datatype = datatype;
  spec.dims = {1};
  spec.optional = optional;
  return spec;
}

/// As Triton's vLLM backend has them, as far as this plugin uses them.
inline ModelInfo language_model(const std::string& name, bool decoupled) {
  ModelInfo info;
  info.name = name;
  info.version = 1;
  info.decoupled = decoupled;
  info.inputs = {tensor("text_input", DataType::kBytes), tensor("stream", DataType::kBool, true),
                 tensor("sampling_parameters", DataType::kBytes, true),
                 tensor("return_num_output_tokens", DataType::kBool, true)};
  info.outputs = {tensor("text_output", DataType::kBytes), tensor("finish_reason", DataType::kBytes),
                  tensor("num_input_tokens", DataType::kUint32),
                  tensor("num_output_tokens", DataType::kUint32)};
  return info;
}

/// That takes messages, tools and token ids, and says the chances of its tokens.
inline ModelInfo chat_model(const std::string& name) {
  ModelInfo info = language_model(name, /*decoupled=*/true);
  for (const char* input : {"messages", "chat_options"})
    info.inputs.push_back(tensor(input, DataType::kBytes, true));
  info.inputs.push_back(tensor("token_ids", DataType::kInt32, true));
  info.inputs.back().dims = {-1};
  info.outputs.push_back(tensor("logprobs", DataType::kBytes));
  info.outputs.push_back(tensor("prompt_token_ids", DataType::kInt32));
  info.outputs.push_back(tensor("prompt_text", DataType::kBytes));
  return info;
}

/// Only a text in and a text out.
inline ModelInfo plain_model(const std::string& name) {
  ModelInfo info;
  info.name = name;
  info.version = 1;
  info.inputs = {tensor("text_input", DataType::kBytes)};
  info.outputs = {tensor("text_output", DataType::kBytes)};
  return info;
}

inline ModelInfo embedding_model(const std::string& name) {
  ModelInfo info = plain_model(name);
  info.max_batch_size = 8;
  info.outputs = {tensor("embedding", DataType::kFp32)};
  info.outputs[0].dims = {-1};
  return info;
}

/// Scores documents, or labels texts.
inline ModelInfo rerank_model(const std::string& name) {
  ModelInfo info = plain_model(name);
  info.inputs = {tensor("query", DataType::kBytes), tensor("documents", DataType::kBytes)};
  info.inputs[1].dims = {-1};
  info.outputs = {tensor("scores", DataType::kFp32)};
  info.outputs[0].dims = {-1};
  return info;
}
inline ModelInfo classify_model(const std::string& name) {
  ModelInfo info = plain_model(name);
  info.outputs = {tensor("label", DataType::kBytes), tensor("score", DataType::kFp32)};
  for (TensorSpec& output : info.outputs) output.dims = {-1};
  return info;
}

/// The text of an input with one element. Empty: it is not there.
inline std::string text_in(const Request& request, std::string_view name) {
  const InputTensor* const input = request.find_input(name);
  if (input == nullptr) return {};
  std::string bytes;
  for (const Buffer& buffer : input->buffers)
    bytes.append(static_cast<const char*>(buffer.data), buffer.size_bytes);
  return bytes.substr(4);
}

inline void add_bytes(Response& response, std::string_view name, DataType datatype, std::string_view bytes,
                      int64_t elements = 1) {
  const int64_t shape[] = {elements};
  OutputTensor& output = response.add_output(name, datatype, shape);
  EXPECT_TRUE(response.allocate(output, bytes.size()).ok());
  std::memcpy(output.buffer.data, bytes.data(), bytes.size());
}

inline void add_text(Response& response, std::string_view name, std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  add_bytes(response, name, DataType::kBytes,
            std::string(reinterpret_cast<const char*>(&size), 4) + std::string(text));
}

/// A piece of text, and the tokens that it has.
inline void send_piece(Request& request, std::string_view text, uint32_t tokens, uint32_t flags) {
  Response* const response = request.sink->new_response();
  add_text(*response, "text_output", text);
  if (request.find_output("num_output_tokens") != nullptr) {
    const uint32_t input_tokens = 3;
    add_bytes(*response, "num_input_tokens", DataType::kUint32,
              {reinterpret_cast<const char*>(&input_tokens), 4});
    add_bytes(*response, "num_output_tokens", DataType::kUint32, {reinterpret_cast<const char*>(&tokens), 4});
  }
  response->send(flags);
}

inline void add_floats(Response& response, std::string_view name, const std::vector<float>& values) {
  add_bytes(response, name, DataType::kFp32,
            {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)},
            static_cast<int64_t>(values.size()));
}

inline void send_embedding(Request& request, const std::vector<float>& values) {
  Response* const response = request.sink->new_response();
  add_floats(*response, "embedding", values);
  response->send(kFinal);
}

}  // namespace atl::frontends::openai
