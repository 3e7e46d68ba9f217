#include "backends/llamacpp/sampling/token_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "backends/llamacpp/testing/canned_engine.h"

namespace atl::llamacpp::test {
namespace {

class FirstLetters final : public TokenGrammar {
 public:
  bool allows(Token token) noexcept override { return token < limit; }
  void mask(std::span<float> logits) noexcept override {
    for (size_t i = 0; i < logits.size(); ++i) {
      if (!allows(static_cast<Token>(i))) logits[i] = -std::numeric_limits<float>::infinity();
    }
  }
  bool accept(Token) noexcept override { return true; }
  Token limit = 2;
};

std::vector<float> logits_of(std::vector<float> first) {
  first.resize(ByteVocabulary::kSize, -100.0f);
  return first;
}

class TokenSamplerTest : public ::testing::Test {
 protected:
  std::map<Token, int> draw(const SamplingOptions& options, const std::vector<float>& logits, int times) {
    TokenSampler sampler(options, vocabulary_, 1);
    std::map<Token, int> seen;
    for (int i = 0; i < times; ++i) ++seen[sampler.choose(logits, scratch_, nullptr).token];
    return seen;
  }
  ByteVocabulary vocabulary_;
  std::vector<float> scratch_;
};

TEST_F(TokenSamplerTest, GreedyTakesTheFirstOfTheLargest) {
  EXPECT_EQ(draw({.temperature = 0}, logits_of({1, 3, 3, 2}), 5), (std::map<Token, int>{{1, 5}}));
}

TEST_F(TokenSamplerTest, DrawsByProbability) {
  // 3/4 and 1/4.
  auto seen = draw({.seed = 5}, logits_of({std::log(3.0f), 0}), 4000);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_NEAR(seen[0], 3000, 120);
}

TEST_F(TokenSamplerTest, TemperatureFlattens) {
  auto seen = draw({.temperature = 2, .seed = 5}, logits_of({std::log(9.0f), 0}), 4000);
  // The square root of 9 to 1.
  EXPECT_NEAR(seen[0], 3000, 120);
}

TEST_F(TokenSamplerTest, EqualSeedsDrawEqually) {
  const std::vector<float> logits = logits_of({1, 1, 1, 1, 1, 1, 1, 1});
  const auto list = [&](uint64_t seed) {
    const SamplingOptions options{.seed = seed};
    TokenSampler sampler(options, vocabulary_, 99);
    std::vector<Token> tokens;
    for (int i = 0; i < 20; ++i) tokens.push_back(sampler.choose(logits, scratch_, nullptr).token);
    return tokens;
  };
  EXPECT_EQ(list(1), list(1));
  EXPECT_NE(list(1), list(2));
}

TEST_F(TokenSamplerTest, TopKTopPAndMinPLeaveOut) {
  const std::vector<float> logits =
      logits_of({std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)});
  EXPECT_EQ(draw({.top_k = 2}, logits, 500).size(), 2u);
  EXPECT_EQ(draw({.top_p = 0.75}, logits, 500).size(), 2u);
  EXPECT_EQ(draw({.top_p = 0.81}, logits, 500).size(), 3u);
  EXPECT_EQ(draw({.min_p = 0.25}, logits, 500).size(), 3u);
  EXPECT_EQ(draw({.top_k = 1}, logits, 50), (std::map<Token, int>{{0, 50}}));
}

TEST_F(TokenSamplerTest, TopPOfManyEqualTokens) {
  const std::vector<float> logits(ByteVocabulary::kSize, 1.0f);
  const auto seen = draw({.top_p = 0.5}, logits, 5000);
  EXPECT_EQ(seen.size(), static_cast<size_t>(ByteVocabulary::kSize) / 2);
  EXPECT_LT(seen.rbegin()->first, ByteVocabulary::kSize / 2) << "of equal ones the first are kept";
}

TEST_F(TokenSamplerTest, PenaltiesCountWhatWasGenerated) {
  const SamplingOptions presence{.temperature = 0, .presence_penalty = 1.5};
  TokenSampler sampler(presence, vocabulary_, 1);
  const std::vector<float> logits = logits_of({2, 1, 0.9f});
  EXPECT_EQ(sampler.choose(logits, scratch_, nullptr).token, 0);
  EXPECT_EQ(sampler.choose(logits, scratch_, nullptr).token, 1);
  EXPECT_EQ(sampler.choose(logits, scratch_, nullptr).token, 2);
  EXPECT_EQ(sampler.choose(logits, scratch_, nullptr).token, 0);
}

TEST_F(TokenSamplerTest, RepetitionPenaltyCountsThePromptToo) {
  const SamplingOptions options{.temperature = 0, .repetition_penalty = 2};
  TokenSampler sampler(options, vocabulary_, 1);
  const Token prompt[] = {0};
  sampler.note_prompt(prompt);
  EXPECT_EQ(sampler.choose(logits_of({2, 1.5f}), scratch_, nullptr).token, 1);
  EXPECT_EQ(sampler.choose(logits_of({2, 1.5f}), scratch_, nullptr).token, 0);
}

TEST_F(TokenSamplerTest, BiasesAndHeldBackEnds) {
  std::vector<float> logits = logits_of({1, 0});
  logits[ByteVocabulary::kEnd] = 50;
  EXPECT_EQ(draw({.temperature = 0}, logits, 1).begin()->first, ByteVocabulary::kEnd);
  EXPECT_EQ(draw({.temperature = 0, .logit_bias = {{1, 5.0f}}, .ignore_eos = true}, logits, 1).begin()->first,
            1);
  const auto seen = draw({.temperature = 0, .min_tokens = 2}, logits, 3);
  EXPECT_EQ(seen, (std::map<Token, int>{{0, 2}, {ByteVocabulary::kEnd, 1}}));
}

TEST_F(TokenSamplerTest, AGrammarDecides) {
  FirstLetters grammar;
  const SamplingOptions options{.temperature = 0};
  TokenSampler sampler(options, vocabulary_, 1);
  EXPECT_EQ(sampler.choose(logits_of({1, 2, 9}), scratch_, &grammar).token, 1);
  grammar.limit = 0;
  EXPECT_EQ(sampler.choose(logits_of({1, 2, 9}), scratch_, &grammar).token, -1) << "nothing may come";
}

TEST_F(TokenSamplerTest, WhatIsNoNumberIsNotChosen) {
  const std::vector<float> logits(ByteVocabulary::kSize, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(draw({.temperature = 0}, logits, 1).begin()->first, -1);
  EXPECT_EQ(draw({}, logits, 1).begin()->first, -1);
}

TEST_F(TokenSamplerTest, ProbabilitiesAreThoseOfTheModel) {
  const SamplingOptions options{.temperature = 0, .logit_bias = {{1, 50.0f}}, .logprobs = 2};
  TokenSampler sampler(options, vocabulary_, 1);
  const ChosenToken chosen = sampler.choose(logits_of({std::log(0.75f), std::log(0.25f)}), scratch_, nullptr);
  EXPECT_EQ(chosen.token, 1);
  EXPECT_NEAR(chosen.logprob, std::log(0.25), 1e-5) << "before the bias";
  ASSERT_EQ(chosen.top.size(), 2u);
  EXPECT_EQ(chosen.top[0].token, 0);
  EXPECT_NEAR(chosen.top[0].logprob, std::log(0.75), 1e-5);
}

}  // namespace
}  // namespace atl::llamacpp::test
