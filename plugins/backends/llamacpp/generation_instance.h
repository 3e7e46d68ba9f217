/// An instance of a model that generates.
#pragma once

#include <memory>

#include "atoll/backend/backend.h"
#include "backends/llamacpp/llama_model.h"
#include "backends/llamacpp/loop/generation_loop.h"
#include "backends/llamacpp/requests/prompt_reader.h"

namespace atl::llamacpp {

/// execute() reads requests and hands them to the engine's loop, which answers them.
class GenerationInstance final : public BackendInstance {
 public:
  /// \param parts, reporter  outlive the instance; reporter may be null
  GenerationInstance(const LlamaModelParts& parts, std::unique_ptr<LlamaEngine> engine,
                     InferenceReporter* reporter);

  /// Errors: RESOURCE_EXHAUSTED no thread.
  Status start(const InstanceSpec& spec);
  Status execute(const Batch& batch) noexcept override;

 private:
  void begin(Request& request) noexcept;
  Status submit(Request& request, const PromptRequest& prompt);
  Status add_grammar(Generation& generation) const;
  void answer_prompt(Request& request, const PromptRequest& prompt, int64_t start_ns) noexcept;
  void fail(Request& request, Status failure) noexcept;

  const LlamaModelParts& parts_;
  std::unique_ptr<LlamaEngine> engine_;
  InferenceReporter* reporter_;
  PromptReader reader_;
  GenerationLoop loop_;  // ends first
};

}  // namespace atl::llamacpp
