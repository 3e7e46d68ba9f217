/// Which scheduler a configuration asks for, and who provides it.
#pragma once

#include <string>
#include <string_view>

#include "atoll/registry.h"
#include "atoll/scheduler.h"
#include "atoll/status.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// A kind as SchedulerProvider::kind() names it.
std::string_view wanted_scheduler_kind(const inference::ModelConfig& config);

struct SchedulerChoice {
  Service<SchedulerProvider> provider;
  std::string instance;
  std::string kind;  ///< what it is; "default" may stand in for "dynamic"
};

/// The provider of the kind with the highest rank. Where nobody provides "dynamic", the default scheduler
/// does: answers are the same, batches are not formed. Other kinds change what is answered and have no
/// substitute. Errors: UNIMPLEMENTED nobody provides it.
Result<SchedulerChoice> choose_scheduler(Registry& registry, std::string_view kind, std::string_view model);

}  // namespace atl::models
