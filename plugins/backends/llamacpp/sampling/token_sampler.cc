#include "backends/llamacpp/sampling/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace atl::llamacpp {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
/// ln(2^-53 / 2^17): of a vocabulary of up to 131,072 tokens.
constexpr double kNegligible = -48.6;

/// With an order of those that are equally likely, so that equal logits give equal tokens.
template <class Candidate>
bool is_more_likely_of(const Candidate& a, const Candidate& b) noexcept {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

/// The first of the largest; -1: there is none, because all are minus infinity or no numbers.
Token most_likely(std::span<const float> logits) noexcept {
  Token best = -1;
  float highest = kNever;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > highest) {
      highest = logits[i];
      best = static_cast<Token>(i);
    }
  }
  return best;
}

}  // namespace

float logprobs_of(std::span<const float> logits, Token token, size_t count,
                  std::vector<TokenProbability>& top) {
  const Token best = most_likely(logits);
  if (best < 0) return kNever;
  const double highest = logits[static_cast<size_t>(best)];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - highest);
  const double norm = highest + std::log(sum);
  top.clear();
  if (count != 0) {
    std::vector<Token> order(logits.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Token>(i);
    count = std::min(count, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                      [&](Token a, Token b) {
                        const float left = logits[static_cast<size_t>(a)];
                        const float right = logits[static_cast<size_t>(b)];
                        return left != right ? left > right : a < b;
                      });
    for (size_t i = 0; i < count; ++i)
      top.push_back({order[i], static_cast<float>(logits[static_cast<size_t>(order[i])] - norm)});
  }
  return static_cast<float>(logits[static_cast<size_t>(token)] - norm);
}

TokenSampler::TokenSampler(const SamplingOptions& options, const TokenVocabulary& vocabulary,
                           uint64_t random_seed)
    : options_(options), vocabulary_(vocabulary), random_(options.seed.value_or(random_seed)) {}

void TokenSampler::note_prompt(std::span<const Token> prompt) {
  if (options_.repetition_penalty == 1) return;
  for (const Token token : prompt) in_prompt_[token] = true;
}

bool TokenSampler::has_penalties() const noexcept {
  return options_.presence_penalty != 0 || options_.frequency_penalty != 0 ||
         options_.repetition_penalty != 1;
}

bool TokenSampler::holds_back_ends() const noexcept {
  return options_.ignore_eos || chosen_ < static_cast<uint64_t>(options_.min_tokens);
}

void TokenSampler::change(std::span<float> logits) const {
  if (options_.repetition_penalty != 1) {
    const auto penalty = static_cast<float>(options_.repetition_penalty);
    const auto repeat = [&](Token token) {
      float& logit = logits[static_cast<size_t>(token)];
      logit = logit > 0 ? logit / penalty : logit * penalty;
    };
    for (const auto& [token, seen] : in_prompt_) repeat(token);
    for (const auto& [token, count] : generated_) {
      if (!in_prompt_.contains(token)) repeat(token);
    }
  }
  for (const auto& [token, count] : generated_) {
    logits[static_cast<size_t>(token)] -=
        static_cast<float>(options_.presence_penalty + options_.frequency_penalty * count);
  }
  for (const auto& [token, bias] : options_.logit_bias) logits[static_cast<size_t>(token)] += bias;
  if (!holds_back_ends()) return;
  for (const Token token : vocabulary_.ends()) logits[static_cast<size_t>(token)] = kNever;
  if (chosen_ >= static_cast<uint64_t>(options_.min_tokens)) return;
  for (const Token token : options_.stop_tokens) logits[static_cast<size_t>(token)] = kNever;
}

void TokenSampler::keep_top_p(double sum) {
  // Mostly a few tokens have nearly all of the probability: sort so many, and more only if they do not.
  size_t sorted = 0;
  double reached = 0;
  for (size_t step = 64; sorted < candidates_.size(); step *= 4) {
    const size_t until = std::min(candidates_.size(), sorted + step);
    const auto begin = candidates_.begin();
    std::partial_sort(begin + static_cast<std::ptrdiff_t>(sorted), begin + static_cast<std::ptrdiff_t>(until),
                      candidates_.end(), is_more_likely_of<Candidate>);
    for (; sorted < until; ++sorted) {
      reached += candidates_[sorted].weight;
      if (reached >= options_.top_p * sum) {
        candidates_.resize(sorted + 1);
        return;
      }
    }
  }
}

Token TokenSampler::draw(std::span<const float> logits) {
  const Token best = most_likely(logits);
  if (best < 0) return best;
  const double highest = logits[static_cast<size_t>(best)];
  // All tokens below this together are less likely than the smallest step of the random number; or min_p leaves them out.
  const double lowest = options_.min_p > 0 ? std::max(std::log(options_.min_p), kNegligible) : kNegligible;
  const auto least = static_cast<float>(highest + lowest * options_.temperature);
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] >= least) candidates_.push_back({static_cast<Token>(i), logits[i], 0});
  }
  if (options_.top_k > 0 && candidates_.size() > static_cast<size_t>(options_.top_k)) {
    std::nth_element(candidates_.begin(), candidates_.begin() + options_.top_k, candidates_.end(),
                     is_more_likely_of<Candidate>);
    candidates_.resize(static_cast<size_t>(options_.top_k));
  }
  for (Candidate& one : candidates_) one.weight = std::exp((one.logit - highest) / options_.temperature);
  double sum = 0;
  for (const Candidate& one : candidates_) sum += one.weight;
  if (options_.top_p < 1) {
    keep_top_p(sum);
    sum = 0;
    for (const Candidate& one : candidates_) sum += one.weight;
  }
  // 53 random bits: the same number with every standard library.
  const double at = static_cast<double>(random_() >> 11) * 0x1p-53 * sum;
  double reached = 0;
  for (const Candidate& one : candidates_) {
    reached += one.weight;
    if (at < reached) return one.token;
  }
  return candidates_.back().token;
}

Token TokenSampler::pick(std::span<const float> logits) {
  return options_.is_greedy() ? most_likely(logits) : draw(logits);
}

ChosenToken TokenSampler::choose(std::span<const float> logits, std::vector<float>& scratch,
                                 TokenGrammar* grammar) {
  const bool is_changed = has_penalties() || holds_back_ends() || !options_.logit_bias.empty();
  std::span<const float> used = logits;
  if (is_changed) {
    scratch.assign(logits.begin(), logits.end());
    change(scratch);
    used = scratch;
  }
  ChosenToken chosen{.token = pick(used), .logprob = 0, .top = {}};
  if (grammar != nullptr && chosen.token >= 0 && !grammar->allows(chosen.token)) {
    // Asking for one token is cheap and mostly enough; asking for all is not.
    if (!is_changed) scratch.assign(logits.begin(), logits.end());
    grammar->mask(scratch);
    chosen.token = pick(scratch);
  }
  if (chosen.token < 0) return chosen;
  if (has_penalties()) ++generated_[chosen.token];
  ++chosen_;
  if (options_.logprobs)
    chosen.logprob = logprobs_of(logits, chosen.token, static_cast<size_t>(*options_.logprobs), chosen.top);
  return chosen;
}

}  // namespace atl::llamacpp
