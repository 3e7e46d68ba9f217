/// What an execution of a model needs, by its configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::frontends::console {

/// An entry of `rate_limiter.resources`.
struct NeededResource {
  std::string name;
  uint32_t count = 0;
  bool is_global = false;  ///< otherwise it is the device's
};

struct ModelNeeds {
  uint64_t instances = 0;  ///< that execute
  uint32_t max_batch_size = 0;
  bool is_dynamic = false;      ///< `dynamic_batching`
  uint64_t queue_delay_us = 0;  ///< `max_queue_delay_microseconds` of that
  uint64_t queue_size = 0;      ///< most requests that wait; 0: no limit
  std::vector<NeededResource> resources;
};

/// \param config  ModelInfo::config
/// \returns none: the text is no configuration
std::optional<ModelNeeds> model_needs(std::string_view config);

}  // namespace atl::frontends::console
