#include "backends/llamacpp/scheduling/step_plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

namespace atl::llamacpp {
namespace {

constexpr int32_t kPartOfOldest = 4;

/// Prompts of equal priority, from `first` to `last` of `order`.
void share_among(std::span<const StepNeed> needs, std::span<const size_t> order, int32_t& left,
                 std::vector<int32_t>& given) {
  const auto give = [&](size_t index, int32_t most) {
    const int32_t part = std::min({needs[index].pending - given[index], most, left});
    given[index] += part;
    left -= part;
  };
  const size_t oldest = *std::min_element(
      order.begin(), order.end(), [&](size_t a, size_t b) { return needs[a].order < needs[b].order; });
  if (order.size() > 1) give(oldest, std::max(1, left / kPartOfOldest));
  std::vector<size_t> by_length(order.begin(), order.end());
  std::sort(by_length.begin(), by_length.end(), [&](size_t a, size_t b) {
    return std::tie(needs[a].pending, needs[a].order) < std::tie(needs[b].pending, needs[b].order);
  });
  for (const size_t index : by_length) give(index, left);
}

}  // namespace

std::vector<int32_t> plan_step(std::span<const StepNeed> needs, const StepBudget& budget) {
  std::vector<int32_t> given(needs.size(), 0);
  std::vector<size_t> order(needs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(needs[a].priority, needs[a].order) < std::tie(needs[b].priority, needs[b].order);
  });
  int32_t left = budget.tokens_max;
  bool any_generates = false;
  for (const size_t index : order) {
    if (!needs[index].generates || left == 0) continue;
    given[index] = 1;
    --left;
    any_generates = true;
  }
  if (any_generates) left = std::min(left, budget.prompt_tokens);
  std::erase_if(order, [&](size_t index) { return needs[index].generates; });
  for (auto begin = order.begin(); begin != order.end() && left > 0;) {
    const auto end = std::find_if(
        begin, order.end(), [&](size_t index) { return needs[index].priority != needs[*begin].priority; });
    share_among(needs, std::span(begin, end), left, given);
    begin = end;
  }
  return given;
}

}  // namespace atl::llamacpp
