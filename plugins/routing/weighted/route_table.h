/// Which labels, weights and shadows the manifest gives to which model.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"

namespace atl::routing {

/// A version and its part of the requests that name none.
struct WeightedVersion {
  int64_t version = 0;
  uint32_t weight = 0;
};

/// A version that gets copies of requests, and how they ended.
struct ShadowTarget {
  std::string model;
  int64_t version = 0;
  uint64_t threshold = 0;  ///< a request is copied whose draw is at most this
  std::atomic<uint32_t> in_flight{0};
  std::atomic<uint64_t> requests{0};  ///< copies that were made, however they ended
  std::atomic<uint64_t> failures{0};  ///< of those: refused, or answered with an error
  std::atomic<uint64_t> dropped{0};   ///< copies that a limit kept from being made, or from being run
};

/// What is said about one model.
struct ModelRoute {
  std::map<std::string, int64_t, std::less<>> labels;
  std::vector<WeightedVersion> weights;  ///< heaviest first, at most kMaxWeights; none of weight 0
  std::list<ShadowTarget> shadows;       ///< stay where they are

  static constexpr size_t kMaxWeights = 64;
};

using RouteTable = std::map<std::string, ModelRoute, std::less<>>;

/// From the options `labels`, `weights` and `shadows`, whose keys are "<model>.<label or version>".
/// Errors: INVALID_ARGUMENT with option and key.
void check_routes(OptionCheck& check);
Result<RouteTable> read_routes(const Options& options);

/// The position that a draw falls on, by weight, among those whose bit is not set in `without`.
/// At least one of them is not.
size_t pick(const std::vector<WeightedVersion>& weights, uint64_t without, uint64_t draw) noexcept;

}  // namespace atl::routing
