/// The repository agents of one load, as long as a version lives that was built of it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/registry.h"
#include "atoll/models/repository_agents.h"

namespace atl::models {

/// Held by the load, and then by the versions that are built of it. With the last of them it ends, and so do
/// the agents, which are told then what they were not told before. [worker], with no lock held: it calls agents.
class AgentRun {
 public:
  /// \param instance  that provides the service
  AgentRun(Service<RepositoryAgents> service, std::string instance)
      : service_(std::move(service)), instance_(std::move(instance)) {}
  AgentRun(const AgentRun&) = delete;
  AgentRun& operator=(const AgentRun&) = delete;
  ~AgentRun() { drop(); }

  const std::string& instance() const noexcept { return instance_; }
  /// While it is made: begins another agent. Errors: RepositoryAgents::begin()
  Result<ModelAgent*> begin(const AgentOrder& order);

  /// All versions were built, and serve.
  void loaded() noexcept;
  /// Unless it is loaded(): the load has failed, and this is the agents' end.
  void fail() noexcept;
  /// No version of it is given to new requests any more.
  void unload() noexcept;
  /// Versions of it may be given to requests. [any]
  bool is_loaded() const noexcept;

  // --- guarded by the lock of the states ---
  void add_version() noexcept { ++versions_; }
  /// \returns true: it was the last one, and unload() is to be called.
  bool remove_version() noexcept { return --versions_ == 0; }

 private:
  enum class State : uint32_t { kBegun, kLoaded, kUnloaded };
  void drop() noexcept;

  const Service<RepositoryAgents> service_;
  const std::string instance_;
  mutable std::mutex mutex_;  ///< held while agents are called: one call at a time
  State state_ = State::kBegun;
  std::vector<std::unique_ptr<ModelAgent>> agents_;
  uint64_t versions_ = 0;
};

}  // namespace atl::models
