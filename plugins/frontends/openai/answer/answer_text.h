/// One answer as it grows: from the pieces of a model to the parts that the client gets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/lib/stop_filter.h"
#include "frontends/openai/answer/token_logprobs.h"
#include "frontends/openai/answer/tool_parser.h"

namespace atl::frontends::openai {

class AnswerText {
 public:
  struct Options {
    std::vector<std::string> stops;
    bool includes_stop = false;
    std::optional<ToolParser::Options> tools;  ///< none: all is text
  };
  explicit AnswerText(Options options) : filter_(std::move(options.stops), options.includes_stop) {
    if (options.tools) tools_.emplace(std::move(*options.tools));
  }

  /// \param tokens  of the piece, if they are known
  void add(std::string_view piece, std::vector<TokenLogprob> tokens) {
    queue_.add(std::move(tokens));
    take(filter_.add(piece));
    keep(queue_.take(bytes_));
  }
  /// Nothing more comes.
  void finish() {
    take(filter_.finish());
    if (tools_) tools_->finish(parts_);
    // A token that has no text of its own belongs to an answer that ended by itself.
    keep(queue_.finish(filter_.is_stopped() ? bytes_ : UINT64_MAX));
  }

  /// What add() or finish() has made ready; the caller clears it.
  std::vector<AnswerPart>& parts() noexcept { return parts_; }
  std::vector<TokenLogprob> take_tokens() { return std::exchange(ready_, {}); }
  /// The client gets nothing of what may come.
  bool is_complete() const noexcept { return filter_.is_stopped() || (tools_ && tools_->is_done()); }
  const std::string& stop() const noexcept { return filter_.stop(); }
  uint32_t calls() const noexcept { return tools_ ? tools_->calls() : 0; }

 private:
  void take(std::string text) {
    bytes_ += text.size();
    if (text.empty()) return;
    if (tools_) return tools_->add(text, parts_);
    parts_.emplace_back().text = std::move(text);
  }

  void keep(std::vector<TokenLogprob> tokens) {
    if (ready_.empty()) {
      ready_ = std::move(tokens);
    } else {
      std::move(tokens.begin(), tokens.end(), std::back_inserter(ready_));
    }
  }

  StopFilter filter_;
  std::optional<ToolParser> tools_;
  TokenQueue queue_;
  uint64_t bytes_ = 0;  ///< of the text that is out
  std::vector<AnswerPart> parts_;
  std::vector<TokenLogprob> ready_;
};

}  // namespace atl::frontends::openai
