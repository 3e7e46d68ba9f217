/// Which tokens the next step computes: one of each request that generates, and pieces of prompts within a budget.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace atl::llamacpp {

/// A request that has a place in the engine.
struct StepNeed {
  int32_t pending = 0;     ///< tokens that were not computed yet; at least 1
  bool generates = false;  ///< all but the last token were computed
  int64_t priority = 0;    ///< the lowest goes first
  uint64_t order = 0;      ///< of arrival
};

struct StepBudget {
  int32_t tokens_max = 512;     ///< of a step
  int32_t prompt_tokens = 512;  ///< of prompts, as long as others generate
};

/// How many tokens of each need the step computes; 0: none. All that generate are served, as far as tokens_max goes, by priority and
/// arrival. What is left for prompts goes by priority; among equals a quarter to the one that has waited longest, so that none starves,
/// and the rest to the shortest first, so that a short prompt does not wait for a long one.
std::vector<int32_t> plan_step(std::span<const StepNeed> needs, const StepBudget& budget);

}  // namespace atl::llamacpp
