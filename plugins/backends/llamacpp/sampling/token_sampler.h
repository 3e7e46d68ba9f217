/// Chooses one token after the other for one request.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/llamacpp/engine/token_engine.h"
#include "backends/llamacpp/sampling/sampling_options.h"

namespace atl::llamacpp {

struct TokenProbability {
  Token token = 0;
  float logprob =
      0;  ///< natural logarithm of the probability that the model gives it, before any option changes it
};

struct ChosenToken {
  Token token = -1;  ///< -1: there is none that may come
  float logprob = 0;
  std::vector<TokenProbability> top;  ///< the most likely ones, the first one first
};

/// Keeps a request's random numbers and what penalties need. Equal options, prompts, seeds and logits give equal tokens.
class TokenSampler {
 public:
  /// \param options, vocabulary  outlive the object
  /// \param random_seed  where the options have none
  TokenSampler(const SamplingOptions& options, const TokenVocabulary& vocabulary, uint64_t random_seed);

  /// The prompt, for the repetition penalty. Once, before the first choose().
  void note_prompt(std::span<const Token> prompt);
  /// \param logits  of the whole vocabulary
  /// \param scratch  memory that several samplers of one thread share
  /// \param grammar  null: none
  ChosenToken choose(std::span<const float> logits, std::vector<float>& scratch, TokenGrammar* grammar);

 private:
  bool has_penalties() const noexcept;
  bool holds_back_ends() const noexcept;
  void change(std::span<float> logits) const;
  Token pick(std::span<const float> logits);
  Token draw(std::span<const float> logits);

  struct Candidate {
    Token token;
    float logit;
    double weight;
  };
  void keep_top_p(double sum);

  const SamplingOptions& options_;
  const TokenVocabulary& vocabulary_;
  std::mt19937_64 random_;
  std::unordered_map<Token, uint32_t> generated_;  ///< how often
  std::unordered_map<Token, bool> in_prompt_;
  uint64_t chosen_ = 0;
  std::vector<Candidate> candidates_;
};

/// The natural logarithms of the probabilities of one token and of the `count` most likely ones.
/// \returns logprob of `token`
float logprobs_of(std::span<const float> logits, Token token, size_t count,
                  std::vector<TokenProbability>& top);

}  // namespace atl::llamacpp
