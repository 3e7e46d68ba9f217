#include "agents/triton/foreign_agent.h"

#include <utility>

#include "atoll/triton/status.h"

namespace atl::triton {

ForeignAgent::ForeignAgent(Identity identity, AgentLibrary library, Log& log)
    : identity_(std::move(identity)), library_(std::move(library)), log_(log), handle_(open_agent(shown_)) {}

Result<std::unique_ptr<ForeignAgent>> ForeignAgent::create(Identity identity, Log& log) {
  Result<AgentLibrary> library = AgentLibrary::open(identity.path);
  if (!library.ok()) return std::move(library).status();
  std::unique_ptr<ForeignAgent> agent(new ForeignAgent(std::move(identity), std::move(library).value(), log));
  const AgentEntries& entries = agent->entries();
  if (entries.initialize != nullptr) ATOLL_RETURN_IF_ERROR(call(entries.initialize, agent->handle_));
  agent->initialized_ = true;
  log.info("repository agent '", agent->name(), "' is ", agent->identity_.path);
  return agent;
}

ForeignAgent::~ForeignAgent() {
  // One that failed half-way has something to undo if it left its state here, and may not expect the call if not.
  if (entries().finalize != nullptr && (initialized_ || shown_.state != nullptr)) {
    Status status = call(entries().finalize, handle_);
    if (!status.ok()) log_.error("repository agent '", name(), "': failed finalizing: ", status.text());
  }
  end_agent(handle_);
  if (!identity_.unloads) {
    library_.file.leave_mapped();
  } else if (library_.file.close_and_look(reinterpret_cast<const void*>(entries().action))) {
    log_.debug(identity_.path, " stays mapped: it is open elsewhere, or cannot be unmapped");
  }
}

}  // namespace atl::triton
