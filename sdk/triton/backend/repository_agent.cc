#include "atoll/triton/repository_agent.h"

#include <atomic>

#include "backend/cell_pool.h"
#include "message.h"
#include "objects.h"
#include "server/names.h"

using namespace atl::triton;

/// Null in either: it has ended.
struct TRITONREPOAGENT_Agent {
  std::atomic<ShownAgent*> shown{nullptr};
  TRITONREPOAGENT_Agent* next_free = nullptr;
  uint32_t shard = 0;
};
struct TRITONREPOAGENT_AgentModel {
  std::atomic<ShownAgentModel*> shown{nullptr};
  TRITONREPOAGENT_AgentModel* next_free = nullptr;
  uint32_t shard = 0;
};

namespace atl::triton {
namespace {

constinit CellPool<TRITONREPOAGENT_Agent> agents;
constinit CellPool<TRITONREPOAGENT_AgentModel> models;

ShownAgent* shown(const TRITONREPOAGENT_Agent* agent) noexcept {
  return agent == nullptr ? nullptr : agent->shown.load(std::memory_order_acquire);
}
ShownAgentModel* shown(const TRITONREPOAGENT_AgentModel* model) noexcept {
  return model == nullptr ? nullptr : model->shown.load(std::memory_order_acquire);
}

/// The model, for a call that gives its agent too.
struct Looked {
  ShownAgentModel* model;
  TRITONSERVER_Error* error;  ///< null: the call goes on
};
Looked look(const char* function, const TRITONREPOAGENT_Agent* agent, const TRITONREPOAGENT_AgentModel* model,
            bool has_null_argument) noexcept {
  if (agent == nullptr || model == nullptr || has_null_argument) return {nullptr, null_argument(function)};
  if (shown(agent) == nullptr) return {nullptr, refuse(function, "agent", agent, false)};
  ShownAgentModel* found = shown(model);
  if (found == nullptr) return {nullptr, refuse(function, "agent model", model, false)};
  if (found->agent != agent) {
    return {nullptr, invalid_argument(function, ": the agent model is another agent's")};
  }
  return {found, nullptr};
}

TRITONSERVER_Error* refuse_type(const char* function, TRITONREPOAGENT_ArtifactType type) noexcept {
  if (type == TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM) {
    return new_error(
        TRITONSERVER_ERROR_UNSUPPORTED,
        "TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM is not supported: models are read from local "
        "directories");
  }
  return invalid_argument(function, ": artifact type ", static_cast<int>(type), " is unknown");
}

}  // namespace

const char* action_name(TRITONREPOAGENT_ActionType action) noexcept {
  static constexpr const char* kNames[] = {
      "TRITONREPOAGENT_ACTION_LOAD", "TRITONREPOAGENT_ACTION_LOAD_COMPLETE",
      "TRITONREPOAGENT_ACTION_LOAD_FAIL", "TRITONREPOAGENT_ACTION_UNLOAD",
      "TRITONREPOAGENT_ACTION_UNLOAD_COMPLETE"};
  return name_of(kNames, action, "<invalid action>");
}

TRITONREPOAGENT_Agent* open_agent(ShownAgent& agent) noexcept {
  TRITONREPOAGENT_Agent& cell = agents.take();
  cell.shown.store(&agent, std::memory_order_release);
  return &cell;
}

void end_agent(TRITONREPOAGENT_Agent* agent) noexcept {
  agent->shown.store(nullptr, std::memory_order_release);
  agents.give_back(*agent);
}

TRITONREPOAGENT_AgentModel* open_agent_model(ShownAgentModel& model) noexcept {
  TRITONREPOAGENT_AgentModel& cell = models.take();
  cell.shown.store(&model, std::memory_order_release);
  return &cell;
}

void end_agent_model(TRITONREPOAGENT_AgentModel* model) noexcept {
  model->shown.store(nullptr, std::memory_order_release);
  models.give_back(*model);
}

}  // namespace atl::triton

TRITONSERVER_Error* TRITONREPOAGENT_ApiVersion(uint32_t* major, uint32_t* minor) {
  if (any_null(major, minor)) return null_argument(__func__);
  *major = TRITONREPOAGENT_API_VERSION_MAJOR;
  *minor = TRITONREPOAGENT_API_VERSION_MINOR;
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryLocation(TRITONREPOAGENT_Agent* agent,
                                                            TRITONREPOAGENT_AgentModel* model,
                                                            TRITONREPOAGENT_ArtifactType* artifact_type,
                                                            const char** location) {
  const auto [found, error] = look(__func__, agent, model, any_null(artifact_type, location));
  if (error != nullptr) return error;
  *artifact_type = TRITONREPOAGENT_ARTIFACT_FILESYSTEM;
  *location = found->locations.back().c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryLocationAcquire(
    TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model,
    const TRITONREPOAGENT_ArtifactType artifact_type, const char** location) {
  const auto [found, error] = look(__func__, agent, model, location == nullptr);
  if (error != nullptr) return error;
  if (artifact_type != TRITONREPOAGENT_ARTIFACT_FILESYSTEM) return refuse_type(__func__, artifact_type);
  const atl::Result<const char*> directory = found->host->acquire_directory();
  if (!directory.ok()) return new_error(directory.status());
  *location = directory.value();
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryLocationRelease(TRITONREPOAGENT_Agent* agent,
                                                                   TRITONREPOAGENT_AgentModel* model,
                                                                   const char* /*location*/) {
  const auto [found, error] = look(__func__, agent, model, false);
  if (error != nullptr) return error;
  const atl::Status status = found->host->release_directory();
  return status.ok() ? nullptr : new_error(status);
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryUpdate(TRITONREPOAGENT_Agent* agent,
                                                          TRITONREPOAGENT_AgentModel* model,
                                                          const TRITONREPOAGENT_ArtifactType artifact_type,
                                                          const char* location) {
  const auto [found, error] = look(__func__, agent, model, location == nullptr);
  if (error != nullptr) return error;
  if (artifact_type != TRITONREPOAGENT_ARTIFACT_FILESYSTEM) return refuse_type(__func__, artifact_type);
  if (found->action != TRITONREPOAGENT_ACTION_LOAD) {
    return invalid_argument(
        "location can only be updated during TRITONREPOAGENT_ACTION_LOAD, current action type is ",
        found->action ? action_name(*found->action) : "not set");
  }
  return guarded([&, &locations = found->locations]() -> TRITONSERVER_Error* {
    locations.emplace_back(location);
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelParameterCount(TRITONREPOAGENT_Agent* agent,
                                                        TRITONREPOAGENT_AgentModel* model, uint32_t* count) {
  const auto [found, error] = look(__func__, agent, model, count == nullptr);
  if (error != nullptr) return error;
  *count = static_cast<uint32_t>(found->parameters.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelParameter(TRITONREPOAGENT_Agent* agent,
                                                   TRITONREPOAGENT_AgentModel* model, const uint32_t index,
                                                   const char** parameter_name,
                                                   const char** parameter_value) {
  const auto [found, error] = look(__func__, agent, model, any_null(parameter_name, parameter_value));
  if (error != nullptr) return error;
  if (index >= found->parameters.size()) {
    return invalid_argument("parameter ", index, " is asked for, and the agent has ",
                            found->parameters.size());
  }
  *parameter_name = found->parameters[index].first.c_str();
  *parameter_value = found->parameters[index].second.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelConfig(TRITONREPOAGENT_Agent* agent,
                                                TRITONREPOAGENT_AgentModel* model,
                                                const uint32_t config_version,
                                                TRITONSERVER_Message** model_config) {
  const auto [found, error] = look(__func__, agent, model, model_config == nullptr);
  return error != nullptr ? error : give_config(found->config_json, config_version, model_config);
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelState(TRITONREPOAGENT_AgentModel* model, void** state) {
  const ShownAgentModel* found = shown(model);
  if (found == nullptr || state == nullptr) return refuse(__func__, "agent model", model, state == nullptr);
  *state = found->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelSetState(TRITONREPOAGENT_AgentModel* model, void* state) {
  ShownAgentModel* found = shown(model);
  if (found == nullptr) return refuse(__func__, "agent model", model, false);
  found->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_State(TRITONREPOAGENT_Agent* agent, void** state) {
  const ShownAgent* found = shown(agent);
  if (found == nullptr || state == nullptr) return refuse(__func__, "agent", agent, state == nullptr);
  *state = found->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_SetState(TRITONREPOAGENT_Agent* agent, void* state) {
  ShownAgent* found = shown(agent);
  if (found == nullptr) return refuse(__func__, "agent", agent, false);
  found->state = state;
  return nullptr;
}
