// An agent that logs what it is called for and otherwise does what its parameters say:
//   tag      in front of its lines
//   fail     action that fails, "LOAD"
//   throw    action that throws
//   update   location that LOAD leads to; "acquired": the folder that it gets, filled with what is in the model's
//   misuse   action in which it does what it must not; the answers are logged
#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "triton/core/tritonrepoagent.h"

namespace {

std::string text_of(TRITONSERVER_Error* error) {
  std::string text = error == nullptr ? "OK" : TRITONSERVER_ErrorMessage(error);
  TRITONSERVER_ErrorDelete(error);
  return text;
}

void check(TRITONSERVER_Error* error) {
  if (error != nullptr) throw std::runtime_error(text_of(error));
}

void log(const std::string& text) {
  check(TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, __FILE__, __LINE__, text.c_str()));
}

TRITONSERVER_Error* failure(const std::string& text) {
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, text.c_str());
}

struct Call {
  TRITONREPOAGENT_Agent* agent;
  TRITONREPOAGENT_AgentModel* model;

  std::string parameter(const std::string& wanted) const {
    uint32_t count = 0;
    check(TRITONREPOAGENT_ModelParameterCount(agent, model, &count));
    for (uint32_t i = 0; i < count; ++i) {
      const char *name = nullptr, *value = nullptr;
      check(TRITONREPOAGENT_ModelParameter(agent, model, i, &name, &value));
      if (name == wanted) return value;
    }
    return {};
  }
  std::string location() const {
    TRITONREPOAGENT_ArtifactType type;
    const char* location = nullptr;
    check(TRITONREPOAGENT_ModelRepositoryLocation(agent, model, &type, &location));
    return location;
  }
  void lead_to(std::string location) const {
    const auto type = TRITONREPOAGENT_ARTIFACT_FILESYSTEM;
    if (location == "acquired") {
      const char* acquired = nullptr;
      check(TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent, model, type, &acquired));
      std::filesystem::copy(this->location(), acquired, std::filesystem::copy_options::recursive);
      location = acquired;
    }
    check(TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, type, location.c_str()));
  }
  void misuse() const {
    const auto type = TRITONREPOAGENT_ARTIFACT_FILESYSTEM;
    log("update: " + text_of(TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, type, "/")));
    log("release: " + text_of(TRITONREPOAGENT_ModelRepositoryLocationRelease(agent, model, "/")));
    log("null: " + text_of(TRITONREPOAGENT_ModelParameterCount(agent, nullptr, nullptr)));
  }
};

const char* const kActions[] = {"LOAD", "LOAD_COMPLETE", "LOAD_FAIL", "UNLOAD", "UNLOAD_COMPLETE"};

}  // namespace

extern "C" {

TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_Initialize(TRITONREPOAGENT_Agent* agent) {
#ifdef SCRIPTED_FAIL_INITIALIZE
  (void)agent;
  return failure("no licence");
#else
  check(TRITONREPOAGENT_SetState(agent, new std::atomic<int>(0)));
  log("initialize");
  return nullptr;
#endif
}

TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_Finalize(TRITONREPOAGENT_Agent* agent) {
  void* state = nullptr;
  check(TRITONREPOAGENT_State(agent, &state));
  log("finalize after " + std::to_string(static_cast<std::atomic<int>*>(state)->load()));
  delete static_cast<std::atomic<int>*>(state);
  return nullptr;
}

TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelInitialize(TRITONREPOAGENT_Agent* agent,
                                                                          TRITONREPOAGENT_AgentModel* model) {
  const Call call{agent, model};
  check(TRITONREPOAGENT_ModelSetState(model, new std::string(call.parameter("tag"))));
  if (call.parameter("fail") == "MODEL_INITIALIZE") return failure("MODEL_INITIALIZE is to fail");
  return nullptr;
}

TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelFinalize(TRITONREPOAGENT_Agent* /*agent*/,
                                                                        TRITONREPOAGENT_AgentModel* model) {
  void* state = nullptr;
  check(TRITONREPOAGENT_ModelState(model, &state));
  log(*static_cast<std::string*>(state) + " finalize");
  delete static_cast<std::string*>(state);
  return nullptr;
}

#ifndef SCRIPTED_NO_ACTION
TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelAction(
    TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model,
    const TRITONREPOAGENT_ActionType action_type) {
  const Call call{agent, model};
  const std::string action = kActions[action_type];
  void* state = nullptr;
  check(TRITONREPOAGENT_State(agent, &state));
  ++*static_cast<std::atomic<int>*>(state);
  log(call.parameter("tag") + " " + action + " " + call.location());
  if (call.parameter("fail") == action) return failure(action + " is to fail");
  if (call.parameter("throw") == action) throw std::runtime_error(action + " is to throw");
  if (call.parameter("misuse") == action) call.misuse();
  const std::string update = call.parameter("update");
  if (action_type == TRITONREPOAGENT_ACTION_LOAD && !update.empty()) call.lead_to(update);
  return nullptr;
}
#endif

}  // extern "C"
