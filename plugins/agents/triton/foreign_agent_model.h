/// One load of one model, as an agent is told of it.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "agents/triton/agent_store.h"
#include "atoll/lib/scratch_folder.h"
#include "atoll/models/repository_agents.h"
#include "atoll/triton/repository_agent.h"

namespace atl::triton {

/// From ModelInitialize, which comes with load(), to ModelFinalize. Then the directory that it acquired is removed.
class ForeignAgentModel final : public ModelAgent, private AgentModelHost {
 public:
  /// \param directories  where temporary directories are made; empty: the system's place
  ForeignAgentModel(AgentStore::Use agent, const AgentOrder& order, const std::string& directories);
  ForeignAgentModel(const ForeignAgentModel&) = delete;
  ForeignAgentModel& operator=(const ForeignAgentModel&) = delete;
  ~ForeignAgentModel() override;

  Result<std::string> load(const std::string& location, const std::string& config) noexcept override;
  void loaded() noexcept override { notify(TRITONREPOAGENT_ACTION_LOAD_COMPLETE); }
  void unload() noexcept override { notify(TRITONREPOAGENT_ACTION_UNLOAD); }

  /// Errors: INTERNAL the action cannot follow the one before; what the agent says.
  Status act(TRITONREPOAGENT_ActionType action) noexcept;

 private:
  Result<std::string> begin(const std::string& location, const std::string& config);
  void notify(TRITONREPOAGENT_ActionType action) noexcept;
  Result<const char*> acquire_directory() noexcept override;
  Status release_directory() noexcept override;

  const AgentStore::Use agent_;
  const std::string model_;
  const std::string below_;
  ShownAgentModel shown_;
  TRITONREPOAGENT_AgentModel* const handle_;
  bool initialized_ = false;
  std::optional<TRITONREPOAGENT_ActionType> last_;
  ScratchFolder directory_;
  std::deque<std::string> paths_;  ///< of directories: the agent may have borrowed them
};

}  // namespace atl::triton
