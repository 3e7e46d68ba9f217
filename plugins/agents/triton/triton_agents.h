/// Repository agents made for Triton, as a service.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agents/triton/agent_store.h"
#include "atoll/core/log.h"
#include "atoll/models/repository_agents.h"

namespace atl::triton {

struct AgentOptions {
  std::vector<std::string> directories;  ///< each with a folder for every agent
  std::string temporary_directory;       ///< where agents get directories; empty: the system's place
  bool unload = true;
};

class TritonAgents final : public RepositoryAgents {
 public:
  TritonAgents(AgentOptions options, Log& log)
      : store_(std::move(options.directories), options.unload, log),
        temporary_directory_(std::move(options.temporary_directory)) {}

  /// Errors: those of AgentStore::use().
  Result<std::unique_ptr<ModelAgent>> begin(const AgentOrder& order) noexcept override;

 private:
  AgentStore store_;
  const std::string temporary_directory_;
};

}  // namespace atl::triton
