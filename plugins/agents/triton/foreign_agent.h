/// One repository agent of a foreign library.
#pragma once

#include <memory>
#include <string>

#include "agents/triton/agent_library.h"
#include "atoll/core/log.h"
#include "atoll/triton/repository_agent.h"

namespace atl::triton {

/// From Initialize to Finalize, after which the library is closed. [worker]
class ForeignAgent {
 public:
  struct Identity {
    std::string name;
    std::string path;     ///< of the library
    bool unloads = true;  ///< the library is closed at the end; if not, it stays mapped
  };

  /// Errors: AgentLibrary::open(); what Initialize says; INTERNAL it threw.
  static Result<std::unique_ptr<ForeignAgent>> create(Identity identity, Log& log);
  ForeignAgent(const ForeignAgent&) = delete;
  ForeignAgent& operator=(const ForeignAgent&) = delete;
  ~ForeignAgent();

  const std::string& name() const noexcept { return identity_.name; }
  const AgentEntries& entries() const noexcept { return library_.entries; }
  TRITONREPOAGENT_Agent* handle() const noexcept { return handle_; }
  Log& log() const noexcept { return log_; }

 private:
  ForeignAgent(Identity identity, AgentLibrary library, Log& log);

  const Identity identity_;
  AgentLibrary library_;
  Log& log_;
  ShownAgent shown_;
  TRITONREPOAGENT_Agent* const handle_;
  bool initialized_ = false;
};

}  // namespace atl::triton
