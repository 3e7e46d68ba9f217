#include "backends/llamacpp/scheduling/chunk_size.h"

#include <algorithm>

namespace atl::llamacpp {
namespace {

/// The newest observation's part: steps differ by the length of their contexts, and machines by what else they do.
constexpr double kNewest = 0.2;
/// Of a machine that nothing is known of yet.
constexpr int32_t kFirstChunk = 64;

void learn(double& known, double seen) noexcept {
  known = known == 0 ? seen : known + kNewest * (seen - known);
}

}  // namespace

double ChunkSize::base_us(int32_t generating) const noexcept { return generating_us_ * generating; }

void ChunkSize::observe(int32_t generating, int32_t prompt_tokens, int64_t took_us) noexcept {
  if (took_us <= 0) return;
  if (prompt_tokens == 0) {
    if (generating > 0) learn(generating_us_, static_cast<double>(took_us) / generating);
    return;
  }
  const double for_prompts = static_cast<double>(took_us) - base_us(generating);
  learn(prompt_us_, std::max(for_prompts / prompt_tokens, 0.1));
}

int32_t ChunkSize::tokens(int32_t generating) const noexcept {
  if (target_us_ == 0) return most_;
  if (prompt_us_ == 0) return std::min(kFirstChunk, most_);
  const double left = static_cast<double>(target_us_) - base_us(generating);
  const double tokens = std::clamp(left / prompt_us_, 0.0, static_cast<double>(most_));
  return std::clamp(static_cast<int32_t>(tokens), std::min(kLeast, most_), most_);
}

}  // namespace atl::llamacpp
