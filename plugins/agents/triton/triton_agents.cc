#include "agents/triton/triton_agents.h"

#include "agents/triton/foreign_agent_model.h"
#include "atoll/core/guarded.h"

namespace atl::triton {

Result<std::unique_ptr<ModelAgent>> TritonAgents::begin(const AgentOrder& order) noexcept {
  return guarded("loading", [&]() -> Result<std::unique_ptr<ModelAgent>> {
    Result<AgentStore::Use> agent = store_.use(order.agent);
    if (!agent.ok()) return std::move(agent).status();
    return std::make_unique<ForeignAgentModel>(std::move(agent).value(), order, temporary_directory_);
  });
}

}  // namespace atl::triton
