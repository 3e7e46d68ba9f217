/// An engine whose next token is a function of the tokens so far, and that keeps books as llama.cpp does; its vocabulary are bytes.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/llamacpp/engine/token_engine.h"

namespace atl::llamacpp::test {

/// Token i is the byte i; 256 ends an answer, 257 is a control token that stands for "<c>".
class ByteVocabulary final : public TokenVocabulary {
 public:
  static constexpr Token kEnd = 256, kControl = 257;
  static constexpr int32_t kSize = 258;

  int32_t size() const noexcept override { return kSize; }
  Result<std::vector<Token>> tokenize(std::string_view text, bool, bool) const noexcept override {
    std::vector<Token> tokens;
    for (const char c : text) tokens.push_back(static_cast<uint8_t>(c));
    return tokens;
  }
  std::string piece(Token token, bool special) const noexcept override {
    if (token < 256) return std::string(1, static_cast<char>(token));
    return special && token == kControl ? "<c>" : "";
  }
  bool is_end(Token token) const noexcept override { return token == kEnd; }
  std::span<const Token> ends() const noexcept override { return kEnds; }

 private:
  static constexpr Token kEnds[] = {kEnd};
};

/// What the model says: the token that follows these.
using CannedModel = std::function<Token(const std::vector<Token>&)>;

class CannedEngine final : public TokenEngine {
 public:
  CannedEngine(CannedModel model, int32_t sequences, int32_t memory_tokens, int32_t step_tokens)
      : model_(std::move(model)),
        memory_tokens_(memory_tokens),
        step_tokens_(step_tokens),
        held_(static_cast<size_t>(sequences)) {}

  StepEnd decode(std::span<const StepToken> step) noexcept override {
    ++steps;
    largest_step = std::max(largest_step, step.size());
    if (fail_next) {
      fail_next = false;
      for (auto& tokens : held_) tokens.clear();
      return StepEnd::kFailed;
    }
    if (step.empty() || step.size() > static_cast<size_t>(step_tokens_))
      problems.push_back("a step of a wrong size");
    if (cells() + step.size() > static_cast<size_t>(memory_tokens_)) return StepEnd::kNoRoom;
    wanted_.clear();
    computed += step.size();
    for (size_t i = 0; i < step.size(); ++i) {
      auto& tokens = held_[static_cast<size_t>(step[i].sequence)];
      if (step[i].position != static_cast<int32_t>(tokens.size()))
        problems.push_back("a position that does not follow");
      tokens.push_back({step[i].token, ++last_cell_});
      if (step[i].wants_logits) wanted_[i] = tokens_of(step[i].sequence);
    }
    if (on_step) on_step();
    return StepEnd::kDone;
  }
  std::span<const float> logits(size_t index) noexcept override {
    if (!wanted_.contains(index)) problems.push_back("logits that were not wanted");
    logits_.assign(ByteVocabulary::kSize, -10.0f);
    const Token next = model_(wanted_[index]);
    if (next >= 0) logits_[static_cast<size_t>(next)] = 10.0f;
    if (next < 0) logits_.assign(ByteVocabulary::kSize, std::numeric_limits<float>::quiet_NaN());
    return logits_;
  }
  bool forget(int32_t sequence, int32_t from) noexcept override {
    auto& tokens = held_[static_cast<size_t>(sequence)];
    if (static_cast<size_t>(from) < tokens.size()) tokens.resize(static_cast<size_t>(from));
    return true;
  }
  void share(int32_t from, int32_t to, int32_t tokens) noexcept override {
    auto& target = held_[static_cast<size_t>(to)];
    const auto& source = held_[static_cast<size_t>(from)];
    if (!target.empty() || static_cast<size_t>(tokens) > source.size()) problems.push_back("a wrong share()");
    target.assign(source.begin(), source.begin() + tokens);
  }
  bool can_share() const noexcept override { return shares; }
  int32_t sequences() const noexcept override { return static_cast<int32_t>(held_.size()); }
  int32_t step_tokens_max() const noexcept override { return step_tokens_; }
  int32_t memory_tokens() const noexcept override { return memory_tokens_; }

  std::vector<std::string> problems;  ///< uses that llama.cpp would not forgive
  std::function<void()> on_step;
  size_t steps = 0, computed = 0, largest_step = 0;
  bool shares = true, fail_next = false;

 private:
  struct Held {
    Token token = 0;
    uint64_t cell = 0;  ///< one that is shared counts once
  };
  size_t cells() const {
    std::set<uint64_t> all;
    for (const auto& tokens : held_) {
      for (const Held& one : tokens) all.insert(one.cell);
    }
    return all.size();
  }
  std::vector<Token> tokens_of(int32_t sequence) const {
    std::vector<Token> tokens;
    for (const Held& one : held_[static_cast<size_t>(sequence)]) tokens.push_back(one.token);
    return tokens;
  }

  CannedModel model_;
  int32_t memory_tokens_, step_tokens_;
  std::vector<std::vector<Held>> held_;
  std::map<size_t, std::vector<Token>> wanted_;
  std::vector<float> logits_;
  uint64_t last_cell_ = 0;
};

}  // namespace atl::llamacpp::test
