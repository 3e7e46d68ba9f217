/// What a request asks of a model that generates.
#pragma once

#include <string>
#include <vector>

#include "atoll/request/request.h"
#include "backends/llamacpp/engine/llama_model_file.h"
#include "backends/llamacpp/sampling/sampling_options.h"

namespace atl::llamacpp {

struct PromptRequest {
  enum class Asks { kAnswer, kTokens, kText };  ///< kTokens, kText: of the prompt alone

  Asks asks = Asks::kAnswer;
  std::string text;  ///< the prompt as it was sent, or as the template made it; empty: token ids were sent
  std::vector<Token> tokens;
  SamplingOptions options;
  bool streams = false;
  bool repeats_prompt = false;  ///< the answer begins with the text that was sent
  bool returns_finish_reason = false, returns_input_tokens = false, returns_output_tokens = false;
  bool returns_logprobs = false;
  bool names_outputs = false;  ///< the client has named some of the outputs: what it names is sent
};

/// Reads a request's inputs, makes the prompt of a chat, and makes the prompt into tokens.
class PromptReader {
 public:
  /// \param file  outlives the object
  /// \param outputs  how many the model has
  PromptReader(const LlamaModelFile& file, std::string model, int32_t context_tokens, size_t outputs)
      : file_(file), model_(std::move(model)), context_tokens_(context_tokens), outputs_(outputs) {}

  /// Errors: INVALID_ARGUMENT names the input, what was found and what was expected; of a prompt that does not fit its tokens and those
  /// of the context.
  Result<PromptRequest> read(Request& request) const;

 private:
  Status read_prompt(Request& request, PromptRequest& to) const;
  Status read_chat(const Request& request, PromptRequest& to) const;
  Status check_length(const PromptRequest& prompt) const;

  const LlamaModelFile& file_;
  std::string model_;
  int32_t context_tokens_;
  size_t outputs_;
};

}  // namespace atl::llamacpp
