/// Repository agents: what their models' handles tell, and that they are found out when they have ended.
#include "atoll/triton/repository_agent.h"

#include "testing/executed_request.h"

namespace atl::triton {
namespace {

static_assert(sizeof(TRITONREPOAGENT_ArtifactType) == 4 && TRITONREPOAGENT_ARTIFACT_FILESYSTEM == 0 &&
              TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM == 1);
static_assert(sizeof(TRITONREPOAGENT_ActionType) == 4 && TRITONREPOAGENT_ACTION_LOAD == 0 &&
              TRITONREPOAGENT_ACTION_LOAD_COMPLETE == 1 && TRITONREPOAGENT_ACTION_LOAD_FAIL == 2 &&
              TRITONREPOAGENT_ACTION_UNLOAD == 3 && TRITONREPOAGENT_ACTION_UNLOAD_COMPLETE == 4);

class FolderOfAgent final : public AgentModelHost {
 public:
  virtual ~FolderOfAgent() = default;
  Result<const char*> acquire_directory() noexcept override {
    if (!has_disk) return unavailable("no space left");
    is_there = true;
    return "/tmp/own";
  }
  Status release_directory() noexcept override {
    return std::exchange(is_there, false) ? Status() : unavailable("no directory was acquired");
  }
  bool has_disk = true;
  bool is_there = false;
};

class CAgent : public testing::Test {
 protected:
  CAgent() {
    model.agent = agent_handle;
    model.locations = {"/models/m"};
    model.parameters = {{"MD5:a", "1"}, {"MD5:b", "2"}};
    model.config_json = R"({"name":"m"})";
    model.host = &folder;
  }
  ~CAgent() override { end(); }
  void end() {
    if (model_handle != nullptr) end_agent_model(std::exchange(model_handle, nullptr));
    if (agent_handle != nullptr) end_agent(std::exchange(agent_handle, nullptr));
  }
  std::string location() {
    auto type = static_cast<TRITONREPOAGENT_ArtifactType>(7);
    const char* location = nullptr;
    EXPECT_DONE(TRITONREPOAGENT_ModelRepositoryLocation(agent_handle, model_handle, &type, &location));
    EXPECT_EQ(type, TRITONREPOAGENT_ARTIFACT_FILESYSTEM);
    return location;
  }
  std::string update(const char* location,
                     TRITONREPOAGENT_ArtifactType type = TRITONREPOAGENT_ARTIFACT_FILESYSTEM) {
    return text_of(TRITONREPOAGENT_ModelRepositoryUpdate(agent_handle, model_handle, type, location));
  }

  FolderOfAgent folder;
  ShownAgent agent;
  TRITONREPOAGENT_Agent* agent_handle = open_agent(agent);
  ShownAgentModel model;
  TRITONREPOAGENT_AgentModel* model_handle = open_agent_model(model);
};

TEST_F(CAgent, TheVersionIsThatOfTheApi) {
  uint32_t major = 7, minor = 7;
  EXPECT_DONE(TRITONREPOAGENT_ApiVersion(&major, &minor));
  EXPECT_EQ(major, 0U);
  EXPECT_EQ(minor, 1U);
  EXPECT_REFUSED(TRITONREPOAGENT_ApiVersion(nullptr, &minor));
}

TEST_F(CAgent, TheLocationIsMovedDuringLoadOnly) {
  EXPECT_EQ(location(), "/models/m");
  EXPECT_EQ(
      update("/elsewhere"),
      "location can only be updated during TRITONREPOAGENT_ACTION_LOAD, current action type is not set");
  model.action = TRITONREPOAGENT_ACTION_UNLOAD;
  EXPECT_EQ(update("/elsewhere"),
            "location can only be updated during TRITONREPOAGENT_ACTION_LOAD, current action type is "
            "TRITONREPOAGENT_ACTION_UNLOAD");
  model.action = TRITONREPOAGENT_ACTION_LOAD;
  EXPECT_EQ(update("/elsewhere"), "OK");
  EXPECT_EQ(location(), "/elsewhere");
  EXPECT_EQ(model.locations.front(), "/models/m") << "what was borrowed stays";
  EXPECT_EQ(failure_of(TRITONREPOAGENT_ModelRepositoryUpdate(
                agent_handle, model_handle, TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM, "s3://m")),
            Code::kUnimplemented);
  EXPECT_NE(update("/m", static_cast<TRITONREPOAGENT_ArtifactType>(2)), "OK");
  EXPECT_NE(update(nullptr), "OK");
  EXPECT_EQ(location(), "/elsewhere");
}

TEST_F(CAgent, HasAFolderOfItsOwn) {
  const auto type = TRITONREPOAGENT_ARTIFACT_FILESYSTEM;
  const char* acquired = nullptr;
  EXPECT_EQ(failure_of(TRITONREPOAGENT_ModelRepositoryLocationRelease(agent_handle, model_handle, nullptr)),
            Code::kUnavailable);
  EXPECT_DONE(TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent_handle, model_handle, type, &acquired));
  EXPECT_STREQ(acquired, "/tmp/own");
  EXPECT_DONE(TRITONREPOAGENT_ModelRepositoryLocationRelease(agent_handle, model_handle, "/any"));
  EXPECT_FALSE(folder.is_there);
  folder.has_disk = false;
  EXPECT_EQ(
      text_of(TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent_handle, model_handle, type, &acquired)),
      "no space left");
  EXPECT_REFUSED(TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent_handle, model_handle, type, nullptr));
  EXPECT_EQ(failure_of(TRITONREPOAGENT_ModelRepositoryLocationAcquire(
                agent_handle, model_handle, TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM, &acquired)),
            Code::kUnimplemented);
}

TEST_F(CAgent, ParametersAreThoseOfTheConfiguration) {
  uint32_t count = 0;
  EXPECT_DONE(TRITONREPOAGENT_ModelParameterCount(agent_handle, model_handle, &count));
  EXPECT_EQ(count, 2U);
  const char *name = nullptr, *value = nullptr;
  EXPECT_DONE(TRITONREPOAGENT_ModelParameter(agent_handle, model_handle, 1, &name, &value));
  EXPECT_STREQ(name, "MD5:b");
  EXPECT_STREQ(value, "2");
  EXPECT_EQ(text_of(TRITONREPOAGENT_ModelParameter(agent_handle, model_handle, 2, &name, &value)),
            "parameter 2 is asked for, and the agent has 2");
  EXPECT_REFUSED(TRITONREPOAGENT_ModelParameter(agent_handle, model_handle, 0, nullptr, &value));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelParameterCount(agent_handle, model_handle, nullptr));
}

TEST_F(CAgent, TheConfigurationIsTheCallersMessage) {
  TRITONSERVER_Message* message = nullptr;
  ASSERT_EQ(TRITONREPOAGENT_ModelConfig(agent_handle, model_handle, 1, &message), nullptr);
  const char* base = nullptr;
  size_t size = 0;
  EXPECT_DONE(TRITONSERVER_MessageSerializeToJson(message, &base, &size));
  EXPECT_EQ(std::string(base, size), R"({"name":"m"})");
  EXPECT_DONE(TRITONSERVER_MessageDelete(message));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelConfig(agent_handle, model_handle, 2, &message));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelConfig(agent_handle, model_handle, 1, nullptr));
}

TEST_F(CAgent, KeepsTheCallersPointers) {
  void* state = &state;
  EXPECT_DONE(TRITONREPOAGENT_State(agent_handle, &state));
  EXPECT_EQ(state, nullptr);
  EXPECT_DONE(TRITONREPOAGENT_SetState(agent_handle, this));
  EXPECT_DONE(TRITONREPOAGENT_State(agent_handle, &state));
  EXPECT_EQ(state, this);
  EXPECT_DONE(TRITONREPOAGENT_ModelSetState(model_handle, &model));
  EXPECT_DONE(TRITONREPOAGENT_ModelState(model_handle, &state));
  EXPECT_EQ(state, &model);
  EXPECT_REFUSED(TRITONREPOAGENT_State(agent_handle, nullptr));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelState(model_handle, nullptr));
}

/// Every function with these handles.
void expect_refusals(TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model) {
  const auto type = TRITONREPOAGENT_ARTIFACT_FILESYSTEM;
  TRITONREPOAGENT_ArtifactType found;
  TRITONSERVER_Message* message = nullptr;
  const char *text = nullptr, *other = nullptr;
  uint32_t count = 0;
  EXPECT_REFUSED(TRITONREPOAGENT_ModelRepositoryLocation(agent, model, &found, &text));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent, model, type, &text));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelRepositoryLocationRelease(agent, model, "/"));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, type, "/"));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelParameterCount(agent, model, &count));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelParameter(agent, model, 0, &text, &other));
  EXPECT_REFUSED(TRITONREPOAGENT_ModelConfig(agent, model, 1, &message));
}

TEST_F(CAgent, HandlesThatAreNoneAreFoundOut) {
  expect_refusals(nullptr, model_handle);
  expect_refusals(agent_handle, nullptr);
  ShownAgent other;
  TRITONREPOAGENT_Agent* another = open_agent(other);
  expect_refusals(another, model_handle);
  end_agent(another);

  TRITONREPOAGENT_Agent* const ended = agent_handle;
  TRITONREPOAGENT_AgentModel* const ended_model = model_handle;
  end_agent_model(std::exchange(model_handle, nullptr));
  expect_refusals(agent_handle, ended_model);
  end();
  expect_refusals(ended, ended_model);
  void* state = nullptr;
  for (TRITONREPOAGENT_Agent* none : {ended, static_cast<TRITONREPOAGENT_Agent*>(nullptr)}) {
    EXPECT_REFUSED(TRITONREPOAGENT_State(none, &state));
    EXPECT_REFUSED(TRITONREPOAGENT_SetState(none, nullptr));
  }
  for (TRITONREPOAGENT_AgentModel* none : {ended_model, static_cast<TRITONREPOAGENT_AgentModel*>(nullptr)}) {
    EXPECT_REFUSED(TRITONREPOAGENT_ModelState(none, &state));
    EXPECT_REFUSED(TRITONREPOAGENT_ModelSetState(none, nullptr));
  }
}

}  // namespace
}  // namespace atl::triton
