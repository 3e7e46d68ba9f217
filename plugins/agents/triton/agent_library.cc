#include "agents/triton/agent_library.h"

#include <utility>

namespace atl::triton {

Result<AgentLibrary> AgentLibrary::open(const std::string& path) {
  Result<ForeignLibrary> file = ForeignLibrary::open(path);
  if (!file.ok()) return std::move(file).status();
  AgentLibrary library{std::move(file).value(), {}};
  AgentEntries& entries = library.entries;
  library.file.find("TRITONREPOAGENT_Initialize", entries.initialize);
  library.file.find("TRITONREPOAGENT_Finalize", entries.finalize);
  library.file.find("TRITONREPOAGENT_ModelInitialize", entries.model_initialize);
  library.file.find("TRITONREPOAGENT_ModelFinalize", entries.model_finalize);
  ATOLL_RETURN_IF_ERROR(library.file.require("TRITONREPOAGENT_ModelAction", entries.action));
  return library;
}

}  // namespace atl::triton
