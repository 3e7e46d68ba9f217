/// A loop over the canned engine, in virtual time and on the test's own thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_clock.h"
#include "backends/llamacpp/loop/generation_loop.h"
#include "backends/llamacpp/testing/canned_engine.h"

namespace atl::llamacpp::test {

/// What one request got; outlives the loop.
struct Received {
  std::string text;
  uint32_t tokens = 0, cached = 0;
  size_t pieces = 0;
  FinishReason finish = FinishReason::kNone;
  Status failure;
  int ends = 0;
  bool cancelled = false, streams = true;
  int64_t deadline_ns = 0;
  std::vector<TokenLogprobs> logprobs;

  bool done() const { return ends != 0; }
};

class RecordingPort final : public AnswerPort {
 public:
  explicit RecordingPort(std::shared_ptr<Received> received) : received_(std::move(received)) {}
  Status ended(int64_t now_ns) const noexcept override {
    if (received_->cancelled) return Status(Code::kCancelled, {});
    if (received_->deadline_ns != 0 && now_ns > received_->deadline_ns)
      return Status(Code::kDeadlineExceeded, {});
    return {};
  }
  bool streams() const noexcept override { return received_->streams; }
  void computing(int64_t) noexcept override {}
  void send(AnswerPiece piece, int64_t) noexcept override {
    EXPECT_EQ(received_->ends, 0) << "a piece after the end";
    received_->text += piece.text;
    received_->tokens += piece.tokens;
    received_->cached = piece.cached_tokens;
    ++received_->pieces;
    received_->finish = piece.finish;
    for (auto& one : piece.logprobs) received_->logprobs.push_back(std::move(one));
    if (piece.finish != FinishReason::kNone) ++received_->ends;
  }
  void fail(Status failure, uint32_t, int64_t) noexcept override {
    ++received_->ends;
    received_->failure = std::move(failure);
  }

 private:
  std::shared_ptr<Received> received_;
};

class LoopTest : public ::testing::Test {
 protected:
  struct Sizes {
    int32_t sequences = 4, memory_tokens = 4096, step_tokens = 64, context_tokens = 1024;
    uint32_t queue_max = 100;
  };

  /// The answer of a prompt "x|y" are the bytes of y, then the end: what the model says depends on all that it is given.
  static Token say_the_rest(const std::vector<Token>& tokens) {
    const auto bar = std::find(tokens.begin(), tokens.end(), static_cast<Token>('|'));
    if (bar == tokens.end()) return ByteVocabulary::kEnd;
    const auto before = static_cast<size_t>(bar - tokens.begin());
    // The answer is the text before the bar, backwards.
    const size_t said = tokens.size() - before - 1;
    return said < before ? tokens[before - 1 - said] : ByteVocabulary::kEnd;
  }

  void make() { make(Sizes()); }
  void make(const Sizes& sizes, CannedModel model = say_the_rest) {
    loop_.reset();
    engine_ = std::make_unique<CannedEngine>(std::move(model), sizes.sequences, sizes.memory_tokens,
                                             sizes.step_tokens);
    loop_ = std::make_unique<GenerationLoop>(*engine_, vocabulary_, clock_,
                                             LoopSettings{.model = "m",
                                                          .context_tokens = sizes.context_tokens,
                                                          .queue_max = sizes.queue_max,
                                                          .inter_token_target_us = 0},
                                             counts_);
    ASSERT_TRUE(loop_->start(executors_, "loop", {}).ok());
  }
  std::shared_ptr<Received> submit(const std::string& prompt, SamplingOptions options = {},
                                   const std::string& scope = {}, bool streams = true) {
    auto received = std::make_shared<Received>();
    received->streams = streams;
    (void)submit_to(received, prompt, std::move(options), scope).ok();
    return received;
  }
  Status submit_to(const std::shared_ptr<Received>& received, const std::string& prompt,
                   SamplingOptions options = {}, const std::string& scope = {}) {
    options.temperature = 0;
    auto generation = std::make_unique<Generation>();
    generation->tokens = vocabulary_.tokenize(prompt, true, true).value();
    generation->prompt_tokens = static_cast<int32_t>(generation->tokens.size());
    generation->options = std::move(options);
    generation->scope = scope;
    generation->port = std::make_unique<RecordingPort>(received);
    Status status = loop_->submit(generation);
    if (!status.ok()) generation->fail(status.clone(), 0);
    return status;
  }
  /// One step of the loop. \returns false: it has nothing to do
  bool step() { return executors_.run_ready(1) == 1; }
  void run() {
    executors_.run_until_idle(1'000'000);
    EXPECT_EQ(engine_->problems, std::vector<std::string>());
  }
  void TearDown() override {
    loop_.reset();
    if (engine_ == nullptr) return;
    EXPECT_EQ(engine_->problems, std::vector<std::string>());
  }

  atl::test::FakeClock clock_;
  atl::test::DeterministicExecutors executors_{clock_, 1};
  ByteVocabulary vocabulary_;
  LlamaCounts counts_;
  std::unique_ptr<CannedEngine> engine_;
  std::unique_ptr<GenerationLoop> loop_;
};

/// What say_the_rest() answers.
inline std::string backwards(const std::string& text) { return {text.rbegin(), text.rend()}; }

}  // namespace atl::llamacpp::test
