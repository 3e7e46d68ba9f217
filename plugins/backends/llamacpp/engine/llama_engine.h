/// llama.cpp's context as a TokenEngine.
#pragma once

#include <memory>
#include <vector>

#include "backends/llamacpp/engine/llama_model_file.h"
#include "backends/llamacpp/engine/lora_adapter.h"
#include "backends/llamacpp/engine/token_engine.h"

namespace atl::llamacpp {

struct EngineSize {
  int32_t sequences = 32;
  int32_t memory_tokens = 8192;  ///< of all sequences together
  int32_t step_tokens = 512;
  int32_t threads = 1;
  Pooling pooling = Pooling::kNone;  ///< other than kNone: for embeddings
};

/// The threads of the engine are made once, with it.
class LlamaEngine final : public TokenEngine {
 public:
  /// \param file, adapter  outlive the engine; adapter may be null
  /// Errors: RESOURCE_EXHAUSTED there is no memory, with how much it needs; INVALID_ARGUMENT llama.cpp refuses the size, or the adapter.
  static Result<std::unique_ptr<LlamaEngine>> create(const LlamaModelFile& file, const EngineSize& size,
                                                     const LoraAdapter* adapter = nullptr) noexcept;
  ~LlamaEngine() override;
  LlamaEngine(const LlamaEngine&) = delete;
  LlamaEngine& operator=(const LlamaEngine&) = delete;

  StepEnd decode(std::span<const StepToken> step) noexcept override;
  std::span<const float> logits(size_t index) noexcept override;
  bool forget(int32_t sequence, int32_t from) noexcept override;
  void share(int32_t from, int32_t to, int32_t tokens) noexcept override;
  bool can_share() const noexcept override { return can_share_; }
  int32_t sequences() const noexcept override { return size_.sequences; }
  int32_t step_tokens_max() const noexcept override { return size_.step_tokens; }
  int32_t memory_tokens() const noexcept override { return size_.memory_tokens; }

  /// Of a sequence of the last decode(), if the engine pools; empty: there is none.
  std::span<const float> embedding(int32_t sequence) noexcept;
  /// Forgets all sequences.
  void clear() noexcept;

 private:
  LlamaEngine(const LlamaModelFile& file, const EngineSize& size, llama_context* context);
  Status make_threads();
  Status use_adapter(const LoraAdapter& adapter);

  const LlamaModelFile& file_;
  const LlamaApi& api_;
  EngineSize size_;
  llama_context* context_;
  ggml_threadpool* threads_ = nullptr;
  void (*free_threads_)(ggml_threadpool*) = nullptr;
  bool can_share_ = false;
  // The step as llama.cpp wants it.
  std::vector<Token> tokens_;
  std::vector<int32_t> positions_, counts_, sequences_;
  std::vector<int32_t*> sequence_places_;
  std::vector<int8_t> wanted_;
};

}  // namespace atl::llamacpp
