/// Has the repository agents of a configuration prepare the model.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/registry.h"
#include "atoll/models/model_config.h"
#include "atoll/models/repository.h"
#include "atoll/models/repository_agents.h"
#include "models/catalog/serving/agent_run.h"
#include "models/catalog/serving/prepared_model.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// The agents that a configuration lists, for the model of that name.
std::vector<AgentOrder> agent_orders(const inference::ModelConfig& config, std::string_view model);

struct AgentContext {
  Registry& registry;
  Repository& repository;
  ModelConfigs& configs;
};

/// Between reading the directory and making sense of its configuration. Where agents lead elsewhere, `prepared` is what
/// is there. \returns null: the configuration asks for none [worker]
/// Errors: UNIMPLEMENTED "model '<m>' asks for repository agent '<a>'; repository agents are not served"; those of the
/// agents, of ModelConfigs::parse and of Repository::open_at.
Result<std::shared_ptr<AgentRun>> run_agents(const AgentContext& around, PreparedModel& prepared);

}  // namespace atl::models
