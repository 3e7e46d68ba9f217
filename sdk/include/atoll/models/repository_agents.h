/// Agents that prepare or check a model's directory before it is read: they decrypt, fetch, verify. Service
/// "atoll.repository_agents/1", provided by agents/triton, which runs agents that were made for Triton. Where
/// there is no provider, models that ask for agents are not loaded.
///
/// A model's configuration lists its agents:
///
///     model_repository_agents { agents { name: "checksum" parameters { key: "..." value: "..." } } }
///
/// The model catalog asks the provider of the highest rank for each of them, in the order of the list. Each
/// agent looks at the directory that the one before it left; the first one at the model's own. The list that
/// counts is that of the model's own configuration; lists that are found where agents lead to do not count.
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
  /// The agent's name.
  std::string agent;
  /// The model's name.
  std::string model;
  /// Key and value, ordered by key.
  std::vector<std::pair<std::string, std::string>> parameters;
};

/// One agent at one load of one model, kept as long as a version lives that was built by that load.
///
/// Calls come one at a time, on any thread where a call may block [worker], in this order: load() once;
/// loaded() if the whole load went well; unload(); the destructor. The destructor makes up for calls that
/// were left out. After load() without loaded() (also if load() failed) it means that the load has failed;
/// after loaded() without unload() it means that the versions are out of service and gone. Failures after
/// load() are the provider's to log.
class ModelAgent {
 public:
  virtual ~ModelAgent() = default;

  /// Prepares or checks the model. Nothing of the model was read yet but its configuration's text.
  /// \param location  the directory. It is only to be read; what an agent changes goes into another directory
  /// \param config  the configuration found there, or given by a client instead: a serialized
  /// inference.ModelConfig, as it is written
  /// \returns the directory to read the model from, the same or another one, which has to exist as long as
  /// this object
  /// Errors: why the model is not to be loaded.
  virtual Result<std::string> load(const std::string& location, const std::string& config) noexcept = 0;
  /// The versions that were built of the directory are served, in place of earlier ones.
  virtual void loaded() noexcept = 0;
  /// None of the versions is given to new requests any more; requests that hold one go on.
  virtual void unload() noexcept = 0;
};

/// Service "atoll.repository_agents/1".
class RepositoryAgents {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.repository_agents/1";

  /// Begins one load; never null. The object holds what it needs of the provider, but not its service: the
  /// caller does as long as the object lives. [worker]
  /// Errors: INVALID_ARGUMENT there is no such agent; or what the agent says.
  virtual Result<std::unique_ptr<ModelAgent>> begin(const AgentOrder& order) noexcept = 0;

 protected:
  ~RepositoryAgents() = default;
};

}  // namespace atl
