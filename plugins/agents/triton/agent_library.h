/// A shared object made for Triton, with what it exports as a repository agent.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "atoll/triton/foreign_library.h"
#include "triton/core/tritonrepoagent.h"

namespace atl::triton {

/// Null where it has none; action is always there.
struct AgentEntries {
  template <class... Parameters>
  using Function = TRITONSERVER_Error* (*)(Parameters...);

  Function<TRITONREPOAGENT_Agent*> initialize = nullptr;
  Function<TRITONREPOAGENT_Agent*> finalize = nullptr;
  Function<TRITONREPOAGENT_Agent*, TRITONREPOAGENT_AgentModel*> model_initialize = nullptr;
  Function<TRITONREPOAGENT_Agent*, TRITONREPOAGENT_AgentModel*> model_finalize = nullptr;
  Function<TRITONREPOAGENT_Agent*, TRITONREPOAGENT_AgentModel*, const TRITONREPOAGENT_ActionType> action =
      nullptr;
};

struct AgentLibrary {
  /// Errors: ForeignLibrary::open(); INVALID_ARGUMENT it has no TRITONREPOAGENT_ModelAction
  static Result<AgentLibrary> open(const std::string& path);

  ForeignLibrary file;
  AgentEntries entries;
};

}  // namespace atl::triton
