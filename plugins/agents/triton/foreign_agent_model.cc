#include "agents/triton/foreign_agent_model.h"

#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/proto/model_config_json.h"
#include "atoll/triton/status.h"

namespace atl::triton {
namespace {

bool may_follow(TRITONREPOAGENT_ActionType before, TRITONREPOAGENT_ActionType action) {
  switch (action) {
    case TRITONREPOAGENT_ACTION_LOAD:
      return false;
    case TRITONREPOAGENT_ACTION_LOAD_COMPLETE:
    case TRITONREPOAGENT_ACTION_LOAD_FAIL:
      return before == TRITONREPOAGENT_ACTION_LOAD;
    case TRITONREPOAGENT_ACTION_UNLOAD:
      return before == TRITONREPOAGENT_ACTION_LOAD_COMPLETE;
    case TRITONREPOAGENT_ACTION_UNLOAD_COMPLETE:
      return before == TRITONREPOAGENT_ACTION_UNLOAD;
  }
  return false;
}

}  // namespace

ForeignAgentModel::ForeignAgentModel(AgentStore::Use agent, const AgentOrder& order,
                                     const std::string& directories)
    : agent_(std::move(agent)),
      model_(order.model),
      below_(directories),
      shown_{.agent = agent_->handle(), .parameters = order.parameters, .host = this},
      handle_(open_agent_model(shown_)) {}

ForeignAgentModel::~ForeignAgentModel() {
  if (last_ == TRITONREPOAGENT_ACTION_LOAD) notify(TRITONREPOAGENT_ACTION_LOAD_FAIL);
  if (last_ == TRITONREPOAGENT_ACTION_LOAD_COMPLETE) notify(TRITONREPOAGENT_ACTION_UNLOAD);
  if (last_ == TRITONREPOAGENT_ACTION_UNLOAD) notify(TRITONREPOAGENT_ACTION_UNLOAD_COMPLETE);
  const AgentEntries& entries = agent_->entries();
  // As with an agent that failed half-way.
  if (entries.model_finalize != nullptr && (initialized_ || shown_.state != nullptr)) {
    Status status = call(entries.model_finalize, agent_->handle(), handle_);
    if (!status.ok()) {
      agent_->log().error("model '", model_, "', repository agent '", agent_->name(),
                          "': failed finalizing: ", status.text());
    }
  }
  end_agent_model(handle_);
  if (Status status = directory_.remove(); !status.ok()) {
    agent_->log().warning("a directory of repository agent '", agent_->name(),
                          "' is left behind: ", status.text());
  }
}

Result<std::string> ForeignAgentModel::load(const std::string& location, const std::string& config) noexcept {
  return guarded("loading", [&] { return begin(location, config); });
}

Result<std::string> ForeignAgentModel::begin(const std::string& location, const std::string& config) {
  if (!initialized_) {
    Result<std::string> json = proto::model_config_json(config);
    if (!json.ok()) return std::move(json).status();
    shown_.config_json = json->empty() ? "{}" : std::move(json).value();
    shown_.locations = {location};
    const AgentEntries& entries = agent_->entries();
    if (entries.model_initialize != nullptr) {
      ATOLL_RETURN_IF_ERROR(call(entries.model_initialize, agent_->handle(), handle_));
    }
    initialized_ = true;
  }
  ATOLL_RETURN_IF_ERROR(act(TRITONREPOAGENT_ACTION_LOAD));
  return shown_.locations.back();
}

Status ForeignAgentModel::act(TRITONREPOAGENT_ActionType action) noexcept {
  if (!last_ && action != TRITONREPOAGENT_ACTION_LOAD) {
    return internal_error("Unexpected lifecycle start state ", action_name(action));
  }
  if (last_ && !may_follow(*last_, action)) {
    return internal_error("Unexpected lifecycle state transition from ", action_name(*last_), " to ",
                          action_name(action));
  }
  last_ = action;
  shown_.action = action;
  Status status = call(agent_->entries().action, agent_->handle(), handle_, action);
  shown_.action.reset();
  return status;
}

void ForeignAgentModel::notify(TRITONREPOAGENT_ActionType action) noexcept {
  if (Status status = act(action); !status.ok()) {
    agent_->log().error("model '", model_, "', repository agent '", agent_->name(), "', ",
                        action_name(action), ": ", status.text());
  }
}

Result<const char*> ForeignAgentModel::acquire_directory() noexcept {
  return guarded("making a directory", [&]() -> Result<const char*> {
    if (directory_.path().empty()) {
      Result<ScratchFolder> made = ScratchFolder::make("atoll-agent", below_);
      if (!made.ok()) return std::move(made).status();
      directory_ = std::move(made).value();
      paths_.push_back(directory_.path());
    }
    return paths_.back().c_str();
  });
}

Status ForeignAgentModel::release_directory() noexcept {
  if (directory_.path().empty()) return unavailable("no location was acquired");
  return directory_.remove();
}

}  // namespace atl::triton
