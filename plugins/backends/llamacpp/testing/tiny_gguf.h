/// A model that is small enough to be written by a test: one layer, 259 tokens (each byte is one), weights drawn at random.
#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/random.h"

namespace atl::llamacpp::test {

/// Writes GGUF files of version 3 (little endian), with F32 tensors.
class GgufWriter {
 public:
  void text(const std::string& key, const std::string& value) {
    begin(key, 8);
    put_text(value);
  }
  void u32(const std::string& key, uint32_t value) {
    begin(key, 4);
    put(value);
  }
  void f32(const std::string& key, float value) {
    begin(key, 6);
    put(value);
  }
  void texts(const std::string& key, const std::vector<std::string>& values) {
    begin_array(key, 8, values.size());
    for (const std::string& value : values) put_text(value);
  }
  template <class T>
  void numbers(const std::string& key, uint32_t type, const std::vector<T>& values) {
    begin_array(key, type, values.size());
    for (const T value : values) put(value);
  }
  /// With values from -1 to 1 times the scale, plus one where `around_one`.
  void tensor(const std::string& name, const std::vector<uint64_t>& dims, float scale,
              bool around_one = false) {
    std::vector<float> values(1);
    for (const uint64_t dim : dims) values.resize(values.size() * dim);
    for (float& value : values) {
      const float drawn = static_cast<float>(random_.below(20001)) / 10000.0f - 1.0f;
      value = (around_one ? 1.0f : 0.0f) + scale * drawn;
    }
    tensors_.push_back({name, dims, std::move(values)});
  }
  void write(const std::filesystem::path& path) {
    std::string out = "GGUF";
    std::swap(out, bytes_);
    put(uint32_t{3});
    put(static_cast<uint64_t>(tensors_.size()));
    put(keys_);
    bytes_ += out;
    uint64_t offset = 0;
    for (const Tensor& one : tensors_) {
      put_text(one.name);
      put(static_cast<uint32_t>(one.dims.size()));
      for (const uint64_t dim : one.dims) put(dim);
      put(uint32_t{0});
      put(offset);
      offset += padded(one.values.size() * sizeof(float));
    }
    bytes_.resize(padded(bytes_.size()));
    for (const Tensor& one : tensors_) {
      bytes_.append(reinterpret_cast<const char*>(one.values.data()), one.values.size() * sizeof(float));
      bytes_.resize(padded(bytes_.size()));
    }
    std::ofstream(path, std::ios::binary) << bytes_;
  }

 private:
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;
    std::vector<float> values;
  };

  static uint64_t padded(uint64_t size) { return (size + 31) / 32 * 32; }
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(const std::string& text) {
    put(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  void begin(const std::string& key, uint32_t type) {
    ++keys_;
    put_text(key);
    put(type);
  }
  void begin_array(const std::string& key, uint32_t type, size_t size) {
    begin(key, 9);
    put(type);
    put(static_cast<uint64_t>(size));
  }

  std::string bytes_;
  uint64_t keys_ = 0;
  std::vector<Tensor> tensors_;
  atl::test::Random random_{11};
};

inline constexpr uint64_t kTinyWidth = 32;
inline constexpr uint64_t kTinyTokens = 259;

/// \param chat_template  empty: the file has none
inline void write_tiny_gguf(const std::filesystem::path& path, const std::string& chat_template = {}) {
  GgufWriter file;
  file.text("general.architecture", "llama");
  file.text("general.name", "tiny");
  file.u32("llama.context_length", 256);
  file.u32("llama.embedding_length", kTinyWidth);
  file.u32("llama.block_count", 1);
  file.u32("llama.feed_forward_length", 64);
  file.u32("llama.attention.head_count", 2);
  file.u32("llama.attention.head_count_kv", 2);
  file.u32("llama.rope.dimension_count", 16);
  file.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  file.text("tokenizer.ggml.model", "llama");
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {2, 3, 3};
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
    types.push_back(6);
  }
  file.texts("tokenizer.ggml.tokens", tokens);
  file.numbers<float>("tokenizer.ggml.scores", 6, std::vector<float>(tokens.size(), 0.0f));
  file.numbers<int32_t>("tokenizer.ggml.token_type", 5, types);
  file.u32("tokenizer.ggml.bos_token_id", 1);
  file.u32("tokenizer.ggml.eos_token_id", 2);
  if (!chat_template.empty()) file.text("tokenizer.chat_template", chat_template);
  file.tensor("token_embd.weight", {kTinyWidth, kTinyTokens}, 1);
  file.tensor("output_norm.weight", {kTinyWidth}, 0.1f, true);
  file.tensor("output.weight", {kTinyWidth, kTinyTokens}, 1);
  file.tensor("blk.0.attn_norm.weight", {kTinyWidth}, 0.1f, true);
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"})
    file.tensor(std::string("blk.0.") + name + ".weight", {kTinyWidth, kTinyWidth}, 0.5f);
  file.tensor("blk.0.ffn_norm.weight", {kTinyWidth}, 0.1f, true);
  file.tensor("blk.0.ffn_gate.weight", {kTinyWidth, 64}, 0.5f);
  file.tensor("blk.0.ffn_up.weight", {kTinyWidth, 64}, 0.5f);
  file.tensor("blk.0.ffn_down.weight", {64, kTinyWidth}, 0.5f);
  file.write(path);
}

}  // namespace atl::llamacpp::test
