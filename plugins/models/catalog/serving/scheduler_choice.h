/// Which scheduler a configuration asks for, and who provides it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/registry.h"
#include "atoll/scheduler.h"
#include "atoll/status.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// What a configuration asks for.
struct SchedulerWish {
  std::string instance;  ///< named by the parameter "scheduler"; empty: none is
  std::string kind;      ///< what the rest of the configuration makes of it, as SchedulerProvider::kind()
};
SchedulerWish scheduler_wish(const inference::ModelConfig& config);

/// A published provider.
struct SchedulerOffer {
  std::string instance;
  std::string kind;
  int32_t rank = 0;
  const SchedulerProvider* provider =
      nullptr;  ///< tells it from an earlier one of the name; not to be called
};
/// Those there are now, by instance name. [any]
std::vector<SchedulerOffer> scheduler_offers(Registry& registry);
/// Whether models are served by a provider of this kind without naming it.
bool is_chosen_by_kind(std::string_view kind) noexcept;

/// Whether requests of such models are answered alike by "default" and "dynamic", one for itself.
bool is_stateless(std::string_view kind) noexcept;

/// The provider that is named; where none is, the one of the kind with the highest rank, the first by name of
/// several. Where nobody provides "dynamic", the default scheduler does: answers are the same, batches are
/// not formed. The other kinds change what is answered and have no substitute.
/// Errors: UNAVAILABLE the named one is not there; INVALID_ARGUMENT it is of another kind, which does not
/// serve such models; UNIMPLEMENTED nobody provides the kind.
Result<SchedulerOffer> choose_scheduler(const std::vector<SchedulerOffer>& offers, const SchedulerWish& wish,
                                        std::string_view model);

/// The chosen provider, held.
struct SchedulerChoice {
  Service<SchedulerProvider> provider;
  SchedulerOffer offer;
};
/// Errors: those of choose_scheduler().
Result<SchedulerChoice> find_scheduler(Registry& registry, const SchedulerWish& wish, std::string_view model);

}  // namespace atl::models
