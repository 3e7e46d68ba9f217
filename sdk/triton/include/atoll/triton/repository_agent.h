/// What repository agents made for Triton are shown, and the handles by which they hold it. Handles are cells that are
/// never freed, each used again only after many others, so that one that has ended is found out.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "triton/core/tritonrepoagent.h"

namespace atl::triton {

/// Of one agent. It outlives its handle.
struct ShownAgent {
  void* state = nullptr;  ///< the foreign code's own
};

/// What an agent may have done for its model.
class AgentModelHost {
 public:
  /// TRITONREPOAGENT_ModelRepositoryLocationAcquire: an empty directory, made at the first call. The text stays where
  /// it is until the model's handle ends. Errors: UNAVAILABLE the system's reason.
  virtual Result<const char*> acquire_directory() noexcept = 0;
  /// Errors: UNAVAILABLE there is none, or the system's reason.
  virtual Status release_directory() noexcept = 0;

 protected:
  ~AgentModelHost() = default;
};

/// Of one model of an agent's. It outlives its handle, and is changed between the agent's calls only.
struct ShownAgentModel {
  TRITONREPOAGENT_Agent* agent = nullptr;
  std::deque<std::string> locations = {};  ///< the last one counts; agents may have borrowed those before
  std::vector<std::pair<std::string, std::string>> parameters = {};
  std::string config_json = {};
  std::optional<TRITONREPOAGENT_ActionType> action = {};  ///< that the agent is called for
  AgentModelHost* host = nullptr;
  void* state = nullptr;  ///< the foreign code's own
};

/// "TRITONREPOAGENT_ACTION_LOAD".
const char* action_name(TRITONREPOAGENT_ActionType action) noexcept;

// Handles, each to be ended once. [any]
TRITONREPOAGENT_Agent* open_agent(ShownAgent& agent) noexcept;
void end_agent(TRITONREPOAGENT_Agent* agent) noexcept;
TRITONREPOAGENT_AgentModel* open_agent_model(ShownAgentModel& model) noexcept;
void end_agent_model(TRITONREPOAGENT_AgentModel* model) noexcept;

}  // namespace atl::triton
