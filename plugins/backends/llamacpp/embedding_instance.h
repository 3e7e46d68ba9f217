/// An instance of a model for embeddings or reranking.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/responder.h"
#include "backends/llamacpp/llama_model.h"

namespace atl::llamacpp {

/// execute() computes as many texts at once as a step has room for.
class EmbeddingInstance final : public BackendInstance {
 public:
  /// \param parts, reporter  outlive the instance; reporter may be null
  EmbeddingInstance(const LlamaModelParts& parts, std::unique_ptr<LlamaEngine> engine,
                    InferenceReporter* reporter);
  Status execute(const Batch& batch) noexcept override;

 private:
  /// A text of a request, and its vector.
  struct EmbeddedText {
    uint32_t request = 0;  ///< in the batch
    std::vector<Token> tokens;
    std::vector<float> vector;
  };

  void read(uint32_t index);
  Result<std::vector<std::vector<Token>>> tokens_of(Request& request) const;
  void compute();
  Status compute_step(std::span<EmbeddedText> texts);
  void answer(uint32_t index);
  void add_vectors(uint32_t index, const RequestedOutput& wanted, std::span<const EmbeddedText*> texts);

  const LlamaModelParts& parts_;
  std::unique_ptr<LlamaEngine> engine_;
  backends::BatchResponder responder_;
  std::vector<EmbeddedText> texts_;
};

}  // namespace atl::llamacpp
