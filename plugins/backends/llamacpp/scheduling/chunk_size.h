/// How many tokens of prompts a step may have, so that those who read do not wait longer than they should for their next token.
#pragma once

#include <cstdint>

namespace atl::llamacpp {

/// Learns from the steps what a token of a prompt costs on this machine.
class ChunkSize {
 public:
  /// \param target_us  the longest step, in microseconds, while a request generates; 0: as large as a step can be
  /// \param most  tokens of a step
  ChunkSize(int64_t target_us, int32_t most) noexcept : target_us_(target_us), most_(most) {}

  /// One step that has taken so long.
  void observe(int32_t generating, int32_t prompt_tokens, int64_t took_us) noexcept;
  /// For a step with so many requests that generate. Never less than kLeast, so that prompts go on.
  int32_t tokens(int32_t generating) const noexcept;

  static constexpr int32_t kLeast = 16;

 private:
  double base_us(int32_t generating) const noexcept;

  int64_t target_us_;
  int32_t most_;
  double generating_us_ = 0;  ///< of a step without prompts, for each request; 0: not known
  double prompt_us_ = 0;      ///< of a token of a prompt; 0: not known
};

}  // namespace atl::llamacpp
