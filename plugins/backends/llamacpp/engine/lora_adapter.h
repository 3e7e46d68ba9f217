/// A LoRA adapter in memory: small matrices that change what a model's file computes.
#pragma once

#include <memory>
#include <string>

#include "backends/llamacpp/engine/llama_model_file.h"

namespace atl::llamacpp {

/// Of one file. Several engines may use one at once. [any]
class LoraAdapter {
 public:
  /// \param base  outlives the adapter
  /// Errors: INVALID_ARGUMENT llama.cpp does not read the file, or it is no adapter of this model, with its reason.
  static Result<std::unique_ptr<LoraAdapter>> load(const LlamaModelFile& base,
                                                   const std::string& path) noexcept;
  ~LoraAdapter();
  LoraAdapter(const LoraAdapter&) = delete;
  LoraAdapter& operator=(const LoraAdapter&) = delete;

  llama_adapter_lora* adapter() const noexcept { return adapter_; }

 private:
  LoraAdapter(const LlamaModelFile& base, llama_adapter_lora* adapter) : base_(base), adapter_(adapter) {}

  const LlamaModelFile& base_;
  llama_adapter_lora* adapter_;
};

}  // namespace atl::llamacpp
