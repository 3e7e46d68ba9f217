#include "models/catalog/loading/run_agents.h"

#include <algorithm>
#include <utility>

#include "model_config.pb.h"
#include "models/catalog/loading/model_info.h"

namespace atl::models {
namespace {

Result<std::string> written_config(ModelConfigs& configs, const PreparedModel& prepared) {
  return prepared.config_override ? configs.parse_json(prepared.files, *prepared.config_override)
                                  : configs.parse(prepared.files);
}

/// Most models have no agents, and need not be parsed twice to know.
bool may_list_agents(const PreparedModel& prepared) {
  const std::string& text = prepared.config_override ? *prepared.config_override : prepared.files.config_text;
  return text.find("model_repository_agents") != std::string::npos ||
         (prepared.config_override && text.find("modelRepositoryAgents") != std::string::npos);
}

Result<std::shared_ptr<AgentRun>> find_provider(Registry& registry, const AgentOrder& first) {
  Result<Service<RepositoryAgents>> found = registry.find<RepositoryAgents>();
  if (!found.ok()) {
    if (found.status().code() != Code::kNotFound) return std::move(found).status();
    return unimplemented("model '", first.model, "' asks for repository agent '", first.agent,
                         "'; repository agents are not served");
  }
  // The registry says who is bound only by handing it out.
  std::string instance;
  for (const ServiceInfo& info : registry.list(RepositoryAgents::kInterfaceId)) {
    auto one = registry.find<RepositoryAgents>(info.instance);
    if (one.ok() && one->get() == found->get()) instance = info.instance;
  }
  return std::make_shared<AgentRun>(std::move(found).value(), std::move(instance));
}

/// From here on the model is what is there.
Status move_to(const AgentContext& around, const std::string& location, PreparedModel& prepared) {
  Result<RepositoryModel> moved = around.repository.open_at(prepared.files.entry.name, location);
  if (!moved.ok()) return std::move(moved).status();
  if (prepared.original == nullptr) {
    prepared.original = std::make_shared<const RepositoryModel>(std::move(prepared.files));
  }
  prepared.files = std::move(moved).value();
  return {};
}

Status run_one(const AgentContext& around, AgentRun& run, const AgentOrder& order, PreparedModel& prepared,
               std::string& config) {
  Result<ModelAgent*> agent = run.begin(order);
  if (!agent.ok()) return std::move(agent).status();
  const std::string& path = prepared.files.entry.path;
  Result<std::string> left = (*agent)->load(path, config);
  if (!left.ok()) return std::move(left).status();
  if (*left == path) return {};
  ATOLL_RETURN_IF_ERROR(move_to(around, *left, prepared));
  Result<std::string> written = written_config(around.configs, prepared);
  if (!written.ok()) return std::move(written).status();
  config = std::move(written).value();
  return {};
}

}  // namespace

std::vector<AgentOrder> agent_orders(const inference::ModelConfig& config, std::string_view model) {
  std::vector<AgentOrder> orders;
  for (const auto& agent : config.model_repository_agents().agents()) {
    AgentOrder& order = orders.emplace_back();
    order.agent = agent.name();
    order.model = model;
    order.parameters.assign(agent.parameters().begin(), agent.parameters().end());
    std::sort(order.parameters.begin(), order.parameters.end());
  }
  return orders;
}

Result<std::shared_ptr<AgentRun>> run_agents(const AgentContext& around, PreparedModel& prepared) {
  if (!may_list_agents(prepared)) return std::shared_ptr<AgentRun>();
  Result<std::string> config = written_config(around.configs, prepared);
  if (!config.ok()) return std::move(config).status();
  inference::ModelConfig message;
  ATOLL_RETURN_IF_ERROR(parse_config(*config, &message));
  const std::vector<AgentOrder> orders = agent_orders(message, prepared.files.entry.name);
  if (orders.empty()) return std::shared_ptr<AgentRun>();
  Result<std::shared_ptr<AgentRun>> run = find_provider(around.registry, orders.front());
  if (!run.ok()) return run;
  for (const AgentOrder& order : orders) {
    Status status = run_one(around, **run, order, prepared, *config);
    if (!status.ok()) return std::move(status).note(cat("repository agent '", order.agent, "'"));
  }
  prepared.agents = *run;
  return run;
}

}  // namespace atl::models
