/// Agents of foreign libraries: what they are called for, and what becomes of their failures.
#include "agents/triton/triton_agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "agents/triton/foreign_agent_model.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/temporary_directory.h"
#include "atoll/triton/host.h"
#include "model_config.pb.h"

namespace atl::triton {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TritonAgentsTest : public ::testing::Test {
 protected:
  using Parameters = std::vector<std::pair<std::string, std::string>>;
  using Agent = Result<std::unique_ptr<ModelAgent>>;

  Agent begin(const std::string& agent, Parameters parameters) {
    return agents.begin({agent, "m", std::move(parameters)});
  }
  std::unique_ptr<ModelAgent> scripted(Parameters parameters) {
    Agent begun = begin("scripted", std::move(parameters));
    EXPECT_TRUE(begun.ok()) << begun.status().text();
    return begun.ok() ? std::move(begun).value() : nullptr;
  }
  static std::string load(ModelAgent& agent, const std::string& location = "/models/m") {
    auto left = agent.load(location, "");
    return left.ok() ? *left : left.status().text();
  }
  /// What agents logged since the last call.
  std::vector<std::string> told() {
    std::vector<std::string> lines;
    const auto records = log.records();
    for (; seen_ < records.size(); ++seen_) {
      std::string line = records[seen_].message;
      if (line.find(ATOLL_FIXTURE_AGENTS) != std::string::npos) continue;
      if (line.starts_with("scripted.cc:")) line.erase(0, line.find(' ') + 1);
      lines.push_back(std::move(line));
    }
    return lines;
  }

  test::TemporaryDirectory disk;
  test::RecordingLog log;
  LogScope scope{log};
  TritonAgents agents{{{ATOLL_FIXTURE_AGENTS, ATOLL_EXAMPLE_AGENTS}, disk.path(), true}, log};

 private:
  size_t seen_ = 0;
};

TEST_F(TritonAgentsTest, AModelThatIsServedAndUnloaded) {
  auto agent = scripted({{"tag", "a"}});
  EXPECT_EQ(load(*agent), "/models/m");
  agent->loaded();
  agent->unload();
  EXPECT_THAT(told(), ElementsAre("initialize", "a LOAD /models/m", "a LOAD_COMPLETE /models/m",
                                  "a UNLOAD /models/m"));
  agent = nullptr;
  EXPECT_THAT(told(), ElementsAre("a UNLOAD_COMPLETE /models/m", "a finalize", "finalize after 4"));
}

TEST_F(TritonAgentsTest, WhatIsMissingIsMadeUpForAtTheEnd) {
  auto agent = scripted({{"tag", "a"}});
  EXPECT_EQ(load(*agent), "/models/m");
  agent = nullptr;
  EXPECT_THAT(told(), ElementsAre("initialize", "a LOAD /models/m", "a LOAD_FAIL /models/m", "a finalize",
                                  "finalize after 2"));
  agent = scripted({{"tag", "a"}});
  EXPECT_EQ(load(*agent), "/models/m");
  agent->loaded();
  agent = nullptr;
  EXPECT_THAT(told(),
              ElementsAre("initialize", "a LOAD /models/m", "a LOAD_COMPLETE /models/m", "a UNLOAD /models/m",
                          "a UNLOAD_COMPLETE /models/m", "a finalize", "finalize after 4"));
  agent = scripted({{"tag", "a"}});
  agent = nullptr;
  EXPECT_THAT(told(), ElementsAre("initialize", "finalize after 0")) << "it never began";
}

TEST_F(TritonAgentsTest, OneObjectForAllModelsWhileTheyLast) {
  auto a = scripted({{"tag", "a"}});
  auto b = scripted({{"tag", "b"}});
  EXPECT_EQ(load(*a), "/models/m");
  EXPECT_EQ(load(*b), "/models/m");
  a = nullptr;
  b = nullptr;
  EXPECT_EQ(told().back(), "finalize after 4");
}

TEST_F(TritonAgentsTest, AFailingLoadIsTheReason) {
  auto agent = scripted({{"fail", "LOAD"}, {"tag", "a"}});
  EXPECT_EQ(load(*agent), "LOAD is to fail");
  agent = scripted({{"tag", "a"}, {"throw", "LOAD"}});
  EXPECT_EQ(load(*agent), "it threw an exception: LOAD is to throw");
  agent = scripted({{"fail", "MODEL_INITIALIZE"}, {"tag", "a"}});
  told();
  EXPECT_EQ(load(*agent), "MODEL_INITIALIZE is to fail");
  agent = nullptr;
  EXPECT_THAT(told(), ElementsAre("a finalize", "finalize after 4")) << "it left its state";
}

TEST_F(TritonAgentsTest, LaterFailuresAreLogged) {
  auto agent = scripted({{"fail", "LOAD_COMPLETE"}, {"tag", "a"}, {"throw", "UNLOAD"}});
  EXPECT_EQ(load(*agent), "/models/m");
  agent->loaded();
  EXPECT_EQ(told().back(),
            "model 'm', repository agent 'scripted', TRITONREPOAGENT_ACTION_LOAD_COMPLETE: LOAD_COMPLETE is "
            "to fail");
  agent->unload();
  EXPECT_THAT(told().back(), HasSubstr("it threw an exception: UNLOAD is to throw"));
  agent = nullptr;
  EXPECT_THAT(told().front(), HasSubstr("UNLOAD_COMPLETE"));
}

TEST_F(TritonAgentsTest, ActionsThatCanNotFollowAreRefused) {
  AgentStore store({ATOLL_FIXTURE_AGENTS}, true, log);
  auto use = store.use("scripted");
  ASSERT_TRUE(use.ok());
  ForeignAgentModel model(std::move(use).value(), {"scripted", "m", {}}, {});
  EXPECT_EQ(model.act(TRITONREPOAGENT_ACTION_UNLOAD).text(),
            "Unexpected lifecycle start state TRITONREPOAGENT_ACTION_UNLOAD");
  EXPECT_EQ(load(model), "/models/m");
  EXPECT_EQ(load(model),
            "Unexpected lifecycle state transition from TRITONREPOAGENT_ACTION_LOAD to "
            "TRITONREPOAGENT_ACTION_LOAD");
  EXPECT_EQ(model.act(TRITONREPOAGENT_ACTION_UNLOAD).code(), Code::kInternal);
  EXPECT_TRUE(model.act(TRITONREPOAGENT_ACTION_LOAD_COMPLETE).ok());
  EXPECT_EQ(model.act(TRITONREPOAGENT_ACTION_LOAD_FAIL).code(), Code::kInternal);
  EXPECT_EQ(model.act(TRITONREPOAGENT_ACTION_UNLOAD_COMPLETE).code(), Code::kInternal);
  EXPECT_EQ(model.act(static_cast<TRITONREPOAGENT_ActionType>(9)).code(), Code::kInternal);
}

TEST_F(TritonAgentsTest, LeadsElsewhere) {
  auto agent = scripted({{"tag", "a"}, {"update", "/elsewhere"}});
  EXPECT_EQ(load(*agent), "/elsewhere");
  agent->loaded();
  EXPECT_EQ(told().back(), "a LOAD_COMPLETE /elsewhere");
}

TEST_F(TritonAgentsTest, AnAcquiredDirectoryGoesWithTheModel) {
  test::TemporaryDirectory model;
  fs::create_directories(model.path() / "1");
  auto agent = scripted({{"tag", "a"}, {"update", "acquired"}});
  const std::string left = load(*agent, model.path());
  EXPECT_THAT(left, HasSubstr(disk.path().string() + "/atoll-agent-"));
  EXPECT_TRUE(fs::is_directory(left + "/1"));
  agent->loaded();
  agent->unload();
  EXPECT_TRUE(fs::exists(left));
  agent = nullptr;
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(TritonAgentsTest, MisuseIsAnErrorToTheAgent) {
  auto agent = scripted({{"misuse", "LOAD_COMPLETE"}, {"tag", "a"}});
  EXPECT_EQ(load(*agent), "/models/m");
  told();
  agent->loaded();
  EXPECT_THAT(told(), ElementsAre("a LOAD_COMPLETE /models/m",
                                  "update: location can only be updated during TRITONREPOAGENT_ACTION_LOAD, "
                                  "current action type is TRITONREPOAGENT_ACTION_LOAD_COMPLETE",
                                  "release: no location was acquired",
                                  "null: TRITONREPOAGENT_ModelParameterCount: an argument that is needed is "
                                  "null"));
}

TEST_F(TritonAgentsTest, AgentsThatCanNotBeUsed) {
  EXPECT_EQ(begin("none", {}).status().text(),
            cat("unable to find 'libtritonrepoagent_none.so' for repo agent 'none', searched: ",
                ATOLL_FIXTURE_AGENTS, ", ", ATOLL_EXAMPLE_AGENTS));
  EXPECT_EQ(begin("../none", {}).status().code(), Code::kInvalidArgument);
  EXPECT_THAT(
      begin("no_action", {}).status().text(),
      HasSubstr("unable to find required entrypoint 'TRITONREPOAGENT_ModelAction' in shared library: "));
  EXPECT_EQ(begin("refusing", {}).status().text(), "no licence");
  EXPECT_EQ(begin("refusing", {}).status().text(), "no licence") << "it is tried again";
}

TEST_F(TritonAgentsTest, ModelsAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        Agent agent = begin("checksum", {});
        if (agent.ok() && load(**agent) == "/models/m") ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 100);
}

TEST_F(TritonAgentsTest, TheExamplesDoWhatTheySay) {
  test::TemporaryDirectory model;
  std::ofstream(model.path() / "config.pbtxt") << "plain";
  fs::create_directories(model.path() / "1");
  std::ofstream(model.path() / "1" / "a.xor") << "a";  // 'a' ^ 'k' is '\n'
  auto checksum = [&](const std::string& name, const std::string& value) {
    Agent agent = begin("checksum", {{name, value}});
    return agent.ok() ? load(**agent, model.path()) : agent.status().text();
  };
  EXPECT_EQ(checksum("FNV1A64:1/a.xor", "af63dc4c8601ec8c"), model.path());
  EXPECT_EQ(checksum("FNV1A64:1/a.xor", "0"), "the checksum does not match that of '1/a.xor'");
  EXPECT_EQ(checksum("FNV1A64:2/a.xor", "0"), "unable to read '2/a.xor'");
  EXPECT_EQ(checksum("FNV1A64:../a", "0"), "is outside of the model's folder: '../a'");
  EXPECT_EQ(checksum("MD5:a", "0"), "expected FNV1A64:<file>, got 'MD5:a'");

  Agent decode = begin("decode", {{"key", "k"}});
  ASSERT_TRUE(decode.ok());
  const std::string left = load(**decode, model.path());
  std::ifstream decoded(left + "/1/a");
  EXPECT_EQ(decoded.get(), '\n');
  EXPECT_TRUE(fs::exists(left + "/config.pbtxt"));
  decode = begin("decode", {});
  EXPECT_EQ(load(**decode, model.path()), "the parameter 'key' is missing");
}

}  // namespace
}  // namespace atl::triton
