/// Agents that prepare or check a model's directory before it is read: that decrypt, fetch, verify. Service
/// "atoll.repository_agents/1"; where there is none, models that ask for agents are not loaded.
///
/// A model's configuration lists its agents (`model_repository_agents`). The model catalog asks the provider of the
/// highest rank for each of them, in the order of the list, and has it look at the directory that the one before
/// left: first the model's own. The list that counts is that of the model's own configuration, not of those that
/// are found where agents lead to.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// One agent of a model, as the configuration has it.
struct AgentOrder {
  std::string agent;                                            ///< its name
  std::string model;                                            ///< the model's
  std::vector<std::pair<std::string, std::string>> parameters;  ///< ordered by name
};

/// One agent at one load of one model, and for as long as a version lives that was built of it. Calls come one at a
/// time, on any thread where a call may block: load() once, loaded() if all went well, unload(), destruction. Whatever
/// was left out of these the destructor makes up for: after load(), also one that failed, without loaded() the load has
/// failed; after loaded() without unload() the versions are released and gone. Failures of what follows load() are the
/// provider's to log. [worker]
class ModelAgent {
 public:
  virtual ~ModelAgent() = default;

  /// Prepares or checks the model. Nothing of it was read yet but its configuration's text.
  /// \param location  the directory. It is to be read only; what is changed goes into another one
  /// \param config  found there, or what a client gave instead: a serialized inference.ModelConfig, as it is written
  /// \returns the directory to read the model from, the same or another one, which has to last as long as this object
  /// Errors: why the model is not to be loaded.
  virtual Result<std::string> load(const std::string& location, const std::string& config) noexcept = 0;
  /// The versions that were built of it are served, in place of earlier ones.
  virtual void loaded() noexcept = 0;
  /// None of them is given to new requests any more; requests that hold one go on.
  virtual void unload() noexcept = 0;
};

class RepositoryAgents {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.repository_agents/1";

  /// For one load. The object holds what it needs of the provider, but not its service: the caller does. [worker]
  /// Errors: INVALID_ARGUMENT there is no such agent; what the agent says.
  virtual Result<std::unique_ptr<ModelAgent>> begin(const AgentOrder& order) noexcept = 0;

 protected:
  ~RepositoryAgents() = default;
};

}  // namespace atl
