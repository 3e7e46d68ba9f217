/// Which scheduler a configuration asks for, and who provides it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/registry.h"
#include "atoll/core/status.h"
#include "atoll/request/scheduler.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// What a configuration asks for. Borrows its bytes.
struct WantedScheduler {
  std::string instance;     ///< named by the parameter "scheduler"; empty: none is
  SchedulingDemand demand;  ///< what providers are asked about
  /// Requests are answered one for itself, by whatever scheduler and on any instance.
  bool is_stateless = true;
};
/// \param bytes  what config was parsed from
WantedScheduler wanted_scheduler(const inference::ModelConfig& config, std::string_view bytes);

/// A published provider, held.
struct SchedulerOffer {
  std::string instance;
  int32_t rank = 0;
  Service<SchedulerProvider> provider;
};
/// Those there are now, by instance name. [any]
std::vector<SchedulerOffer> scheduler_offers(Registry& registry);

/// The provider that is named; where none is, the one that fits best, of equals the one with the highest rank,
/// the first by name of several.
/// Errors: UNAVAILABLE the named one is not there; INVALID_ARGUMENT it does not serve such models;
/// UNIMPLEMENTED nobody does.
Result<SchedulerOffer*> choose_scheduler(std::span<SchedulerOffer> offers, const WantedScheduler& wanted,
                                         std::string_view model);

}  // namespace atl::models
