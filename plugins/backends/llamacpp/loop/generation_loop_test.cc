#include "backends/llamacpp/loop/generation_loop.h"

#include "atoll/testing/random.h"
#include "backends/llamacpp/testing/loop_fixture.h"

namespace atl::llamacpp::test {
namespace {

TEST_F(LoopTest, AnswersOneRequest) {
  make();
  const auto one = submit("hello|");
  run();
  EXPECT_EQ(one->text, "olleh");
  EXPECT_EQ(one->finish, FinishReason::kStop);
  EXPECT_EQ(one->tokens, 6u) << "the token that ends the answer counts";
  EXPECT_EQ(one->ends, 1);
  EXPECT_GT(one->pieces, 4u);
}

TEST_F(LoopTest, OnePieceWithoutStreaming) {
  make();
  const auto one = submit("hello|", {}, {}, false);
  run();
  EXPECT_EQ(one->text, "olleh");
  EXPECT_EQ(one->pieces, 1u);
}

TEST_F(LoopTest, RequestsJoinAndLeaveBetweenSteps) {
  make({.sequences = 3});
  const auto first = submit("abcdefghij|");
  for (int i = 0; i < 3; ++i) step();
  const auto second = submit("xy|");
  std::vector<std::shared_ptr<Received>> others;
  for (int i = 0; i < 20; ++i) others.push_back(submit(cat("number ", i, "|")));
  run();
  EXPECT_EQ(first->text, "jihgfedcba");
  EXPECT_EQ(second->text, "yx");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(others[static_cast<size_t>(i)]->text, backwards(cat("number ", i)));
}

TEST_F(LoopTest, EndsAtTheLimitOfTokens) {
  make();
  const auto one = submit("hello|", {.max_tokens = 3});
  run();
  EXPECT_EQ(one->text, "oll");
  EXPECT_EQ(one->finish, FinishReason::kLength);
  EXPECT_EQ(one->tokens, 3u);
}

TEST_F(LoopTest, EndsWhereTheContextIsFull) {
  make({.context_tokens = 10});
  const auto one = submit("hello|");
  run();
  EXPECT_EQ(one->text, "olle");
  EXPECT_EQ(one->finish, FinishReason::kLength);
}

TEST_F(LoopTest, StopStringsAcrossTokens) {
  make();
  const auto one = submit("the end of it|", {.stops = {"dne", "zzz"}});
  const auto with = submit("the end of it|", {.stops = {"dne"}, .include_stop = true});
  run();
  EXPECT_EQ(one->text, "ti fo ");
  EXPECT_EQ(one->finish, FinishReason::kStop);
  EXPECT_EQ(with->text, "ti fo dne");
}

TEST_F(LoopTest, StopTokensAndMinTokens) {
  make();
  const auto one = submit("hello|", {.stop_tokens = {'e'}});
  // The end may not come before, so the second most likely token does.
  const auto least = submit("ab|", {.max_tokens = 4, .min_tokens = 4});
  run();
  EXPECT_EQ(one->text, "oll");
  EXPECT_EQ(one->finish, FinishReason::kStop);
  EXPECT_EQ(least->tokens, 4u);
  EXPECT_EQ(least->text.substr(0, 2), "ba");
}

TEST_F(LoopTest, CharactersAreWhole) {
  make();
  // Backwards, so that they come out the right way round.
  const std::string text = "\xE2\x82\xAC\xF0\x9F\x99\x82\xC3\xA9z";
  const auto one = submit(backwards(text) + "|");
  run();
  EXPECT_EQ(one->text, text);
  EXPECT_LE(one->pieces, 5u) << "a part of a character was sent";
  const auto broken = submit(std::string("a\xE2") + "|");
  run();
  EXPECT_EQ(broken->text,
            "\xEF\xBF\xBD"
            "a");
}

TEST_F(LoopTest, APrefixIsNotComputedTwice) {
  make();
  const std::string prompt = std::string(500, 'p') + "abc|";
  const auto first = submit(prompt);
  run();
  const size_t computed = engine_->computed;
  const auto second = submit(prompt);
  run();
  EXPECT_EQ(second->text, first->text);
  EXPECT_EQ(first->cached, 0u);
  EXPECT_EQ(second->cached, prompt.size() - 1);
  EXPECT_LT(engine_->computed - computed, 510u);
  EXPECT_EQ(counts_.cached_prompt_tokens.load(), prompt.size() - 1);
}

TEST_F(LoopTest, APrefixIsSharedWhileItsOwnerGenerates) {
  make();
  const std::string prefix(300, 'p');
  const auto first = submit(prefix + "abc|");
  while (first->text.empty()) ASSERT_TRUE(step());
  const auto second = submit(prefix + "xyz|");
  run();
  EXPECT_EQ(first->text, backwards(prefix + "abc"));
  EXPECT_EQ(second->text, backwards(prefix + "xyz"));
  EXPECT_EQ(second->cached, prefix.size());
}

TEST_F(LoopTest, EqualPromptsThatComeAtOnceAreComputedOnce) {
  make({.sequences = 8, .step_tokens = 32});
  const std::string prompt = std::string(300, 'p') + "a|";
  std::vector<std::shared_ptr<Received>> all;
  for (int i = 0; i < 8; ++i) all.push_back(submit(prompt, {.max_tokens = 2}));
  run();
  for (const auto& one : all) EXPECT_EQ(one->text, "ap");
  EXPECT_LT(engine_->computed, 2 * prompt.size());
}

TEST_F(LoopTest, PrefixesAreNotSharedBetweenScopes) {
  make();
  const std::string prompt = std::string(300, 'p') + "abc|";
  (void)submit(prompt, {}, "tenant a");
  run();
  const auto other = submit(prompt, {}, "tenant b");
  run();
  EXPECT_EQ(other->cached, 0u);
  const auto same = submit(prompt, {}, "tenant a");
  run();
  EXPECT_EQ(same->cached, prompt.size() - 1);
}

TEST_F(LoopTest, NothingIsSharedWhereTheEngineCannot) {
  make();
  engine_->shares = false;
  const std::string prompt = std::string(100, 'p') + "abc|";
  (void)submit(prompt);
  run();
  const auto other = submit(prompt);
  run();
  EXPECT_EQ(other->cached, 0u);
  EXPECT_EQ(other->text, backwards(std::string(100, 'p') + "abc"));
}

TEST_F(LoopTest, NoRequestIsLostWhenTheMemoryIsFull) {
  // Each answer takes 201 tokens in the end; three of them do not fit.
  make({.sequences = 8, .memory_tokens = 500, .context_tokens = 300});
  std::vector<std::shared_ptr<Received>> all;
  std::vector<std::string> texts;
  for (char c = 'a'; c < 'a' + 8; ++c) {
    texts.push_back(std::string(50, c) + std::string(50, static_cast<char>(c - 32)));
    all.push_back(submit(texts.back() + "|"));
  }
  run();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->text, backwards(texts[i])) << all[i]->failure.text();
    EXPECT_EQ(all[i]->finish, FinishReason::kStop);
    EXPECT_EQ(all[i]->tokens, 101u);
  }
  EXPECT_GT(counts_.preemptions.load(), 0u) << "the test is meant to run out of memory";
}

TEST_F(LoopTest, TheOneThatFillsTheMemoryAloneIsTold) {
  make({.memory_tokens = 64, .context_tokens = 1000});
  const auto one = submit(std::string(60, 'a') + "|");
  run();
  EXPECT_EQ(one->failure.code(), Code::kResourceExhausted);
  EXPECT_NE(one->failure.message().find("memory of 64 tokens (parameter kv_cache_tokens)"), std::string::npos)
      << one->failure.text();
  const auto next = submit("abc|");
  run();
  EXPECT_EQ(next->text, "cba");
}

TEST_F(LoopTest, CancelledAtEveryPoint) {
  for (int steps = 0; steps < 30; ++steps) {
    make({.sequences = 2, .step_tokens = 16});
    const auto other = submit("another one|");
    const auto one = submit(std::string(100, 'a') + "bcd|");
    for (int i = 0; i < steps; ++i) step();
    one->cancelled = true;
    run();
    EXPECT_EQ(one->ends, 1);
    EXPECT_TRUE(one->failure.code() == Code::kCancelled || one->finish == FinishReason::kStop);
    EXPECT_EQ(other->text, "eno rehtona");
    EXPECT_EQ(counts_.running.load(), 0u);
  }
}

TEST_F(LoopTest, DeadlinesAreLookedAtInEachStep) {
  make({.sequences = 1});
  engine_->on_step = [this] { clock_.advance(kNsPerMs); };
  const auto running = submit(std::string(200, 'a') + "|");
  const auto waiting = submit("abc|");
  running->deadline_ns = clock_.now_ns() + 20 * kNsPerMs;
  waiting->deadline_ns = clock_.now_ns() + 5 * kNsPerMs;
  const auto last = submit("xyz|");
  run();
  EXPECT_EQ(running->failure.code(), Code::kDeadlineExceeded);
  EXPECT_GT(running->text.size(), 5u);
  EXPECT_EQ(waiting->failure.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(last->text, "zyx");
}

TEST_F(LoopTest, TheLowestPriorityNumberGoesFirst) {
  make({.sequences = 1});
  std::vector<std::string> order;
  const auto running = submit("first|");
  step();
  const auto low = submit("low|", {.priority = 5});
  const auto high = submit("high|", {.priority = -5});
  while (!high->done()) ASSERT_TRUE(step());
  EXPECT_TRUE(running->done());
  EXPECT_FALSE(low->done());
  run();
  EXPECT_EQ(low->text, "wol");
}

TEST_F(LoopTest, TheQueueIsBounded) {
  make({.sequences = 1, .queue_max = 3});
  std::vector<std::shared_ptr<Received>> all;
  for (int i = 0; i < 5; ++i) all.push_back(submit("abc|"));
  EXPECT_EQ(all[3]->failure.code(), Code::kUnavailable);
  EXPECT_EQ(all[4]->failure.code(), Code::kUnavailable);
  run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all[static_cast<size_t>(i)]->text, "cba");
  const auto later = submit("abc|");
  run();
  EXPECT_EQ(later->text, "cba");
}

TEST_F(LoopTest, AFailedStepFailsThoseThatRunAndNoOthers) {
  make({.sequences = 2});
  const auto first = submit("abcdef|"), second = submit("ghijkl|"), third = submit("mno|");
  step();
  engine_->fail_next = true;
  run();
  EXPECT_EQ(first->failure.code(), Code::kInternal);
  EXPECT_EQ(second->failure.code(), Code::kInternal);
  EXPECT_EQ(third->text, "onm");
}

TEST_F(LoopTest, LogitsThatAreNoNumbersFailOneRequest) {
  make(Sizes(),
       [](const std::vector<Token>& tokens) { return tokens[0] == 'x' ? -1 : say_the_rest(tokens); });
  const auto bad = submit("xy|"), good = submit("ab|");
  run();
  EXPECT_EQ(bad->failure.code(), Code::kInternal);
  EXPECT_EQ(good->text, "ba");
}

TEST_F(LoopTest, TheEndOfTheInstanceAnswersAll) {
  make({.sequences = 2});
  std::vector<std::shared_ptr<Received>> all;
  for (int i = 0; i < 5; ++i) all.push_back(submit("a long text to say|"));
  for (int i = 0; i < 4; ++i) step();
  all.push_back(submit("the last|"));
  loop_.reset();
  for (const auto& one : all) {
    EXPECT_EQ(one->ends, 1);
    EXPECT_EQ(one->failure.code(), Code::kUnavailable);
  }
  EXPECT_EQ(counts_.running.load() + counts_.waiting.load() + counts_.memory_tokens_used.load(), 0u);
}

TEST_F(LoopTest, ALongPromptIsComputedInPiecesBesideOthers) {
  make({.sequences = 2, .step_tokens = 32});
  const auto reader = submit("0123456789|");
  step();
  const auto big = submit(std::string(300, 'a') + "|");
  run();
  EXPECT_LE(engine_->largest_step, 32u);
  EXPECT_EQ(reader->text, "9876543210");
  EXPECT_EQ(big->text, std::string(300, 'a'));
}

TEST_F(LoopTest, CountsAreRight) {
  make();
  engine_->on_step = [this] { clock_.advance(kNsPerMs); };
  (void)submit("abc|");
  (void)submit("defg|");
  run();
  EXPECT_EQ(counts_.prompt_tokens.load(), 9u);
  EXPECT_EQ(counts_.generated_tokens.load(), 9u);
  uint64_t firsts = 0, others = 0;
  for (const uint64_t n : counts_.first_token.snapshot().counts) firsts += n;
  for (const uint64_t n : counts_.between_tokens.snapshot().counts) others += n;
  EXPECT_EQ(firsts, 2u);
  EXPECT_EQ(others, 7u);
}

/// Whatever comes in whatever order: each answer is that of its prompt alone.
TEST_F(LoopTest, RandomRequestsAreAnsweredAsIfTheyWereAlone) {
  atl::test::Random random(7);
  for (int round = 0; round < 20; ++round) {
    make({.sequences = static_cast<int32_t>(1 + random.below(6)),
          .memory_tokens = static_cast<int32_t>(300 + random.below(400)),
          .step_tokens = static_cast<int32_t>(8 + random.below(40)),
          .context_tokens = 290,
          .queue_max = 1000});
    struct Sent {
      std::string text;
      int32_t most;
      std::shared_ptr<Received> received;
    };
    std::vector<Sent> all;
    for (int i = 0; i < 60; ++i) {
      // Few letters, so that many have equal beginnings.
      std::string text;
      for (uint64_t n = random.below(100); n > 0; --n)
        text += static_cast<char>('a' + (random.below(20) == 0 ? 1 : 0));
      const auto most = static_cast<int32_t>(1 + random.below(120));
      auto received =
          submit(text + "|", {.max_tokens = most, .priority = static_cast<int64_t>(random.below(3))},
                 cat("scope ", random.below(2)));
      if (random.below(10) == 0) received->cancelled = true;
      all.push_back({text, most, received});
      for (uint64_t n = random.below(6); n > 0; --n) step();
    }
    run();
    for (const Sent& one : all) {
      ASSERT_EQ(one.received->ends, 1);
      if (one.received->cancelled) continue;
      const std::string whole = backwards(one.text);
      EXPECT_EQ(one.received->text, whole.substr(0, static_cast<size_t>(one.most)));
      const bool is_cut = one.most <= static_cast<int32_t>(whole.size());
      EXPECT_EQ(one.received->finish, is_cut ? FinishReason::kLength : FinishReason::kStop);
    }
  }
}

}  // namespace
}  // namespace atl::llamacpp::test
