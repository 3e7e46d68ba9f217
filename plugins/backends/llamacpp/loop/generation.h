/// One request while its answer is generated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/lib/stop_filter.h"
#include "backends/llamacpp/engine/token_engine.h"
#include "backends/llamacpp/sampling/sampling_options.h"
#include "backends/llamacpp/sampling/token_sampler.h"

namespace atl::llamacpp {

enum class FinishReason { kNone, kStop, kLength };

/// The probabilities of one token that was generated.
struct TokenLogprobs {
  Token token = 0;
  float logprob = 0;
  std::vector<TokenProbability> top;
};

/// What has come since the last piece.
struct AnswerPiece {
  std::string text;
  uint32_t tokens = 0;  ///< that were generated since the last piece, those that make no text too
  std::vector<TokenLogprobs> logprobs;
  FinishReason finish = FinishReason::kNone;  ///< other than kNone: the last piece
  uint32_t cached_tokens = 0;                 ///< of the prompt; not computed for this request
};

/// Where the answer goes. The loop's thread calls all functions.
class AnswerPort {
 public:
  virtual ~AnswerPort() = default;
  /// The client has gone, or does not wait any more. CANCELLED or DEADLINE_EXCEEDED; OK: it waits.
  virtual Status ended(int64_t now_ns) const noexcept = 0;
  /// Whether a piece is wanted as soon as there is text; else one piece at the end.
  virtual bool streams() const noexcept = 0;
  virtual void computing(
      int64_t now_ns) noexcept = 0;  ///< the first tokens of the request are about to be computed
  /// \param now_ns  for statistics
  virtual void send(AnswerPiece piece, int64_t now_ns) noexcept = 0;
  /// The end, instead of a last piece.
  /// \param tokens  that were generated since the last piece
  virtual void fail(Status failure, uint32_t tokens, int64_t now_ns) noexcept = 0;
};

/// Of one request: what it asks for, and how far it has come. The loop's.
struct Generation {
  // What it asks for.
  std::vector<Token> tokens;  ///< the prompt, then what was generated
  int32_t prompt_tokens = 0;
  SamplingOptions options;
  std::string scope;  ///< requests of one scope share what was computed
  std::unique_ptr<TokenGrammar> grammar;
  std::unique_ptr<AnswerPort> port;

  // How far it has come.
  uint64_t order = 0;  ///< of arrival
  int64_t arrived_ns = 0;
  int64_t last_token_ns = 0;  ///< 0: none has come
  int32_t computed = 0;       ///< tokens that the engine's memory holds, from the first one on
  int32_t cached_tokens = 0;  ///< of the prompt, when it began first
  bool has_begun = false;
  std::unique_ptr<TokenSampler> sampler;
  std::unique_ptr<StopFilter> text;
  AnswerPiece next;  ///< what was not sent yet

  void fail(Status failure, int64_t now_ns) noexcept { port->fail(std::move(failure), next.tokens, now_ns); }
  int32_t pending() const noexcept { return static_cast<int32_t>(tokens.size()) - computed; }
  int32_t generated() const noexcept { return static_cast<int32_t>(tokens.size()) - prompt_tokens; }
};

}  // namespace atl::llamacpp
