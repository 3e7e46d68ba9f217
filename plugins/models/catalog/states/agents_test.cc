// Repository agents of models: what they are told and when, and what becomes of the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "models/catalog/loading/run_agents.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ServiceChanged::Kind;

/// Writes down what its agents are told: "a: load /fake/m".
class ScriptedAgents final : public RepositoryAgents {
 public:
  virtual ~ScriptedAgents() = default;
  Result<std::unique_ptr<ModelAgent>> begin(const AgentOrder& order) noexcept override {
    if (order.agent == "unknown") return invalid_argument("unable to find it");
    return std::make_unique<Agent>(*this, order.agent);
  }
  std::vector<std::string> take() { return std::exchange(told, {}); }

  std::vector<std::string> told;
  std::map<std::string, std::string> leads_to;  ///< by agent
  std::map<std::string, std::string> refuses;   ///< likewise
  std::string config_text;                      ///< that the last one saw

 private:
  struct Agent final : ModelAgent {
    Agent(ScriptedAgents& agents, std::string which) : all(agents), name(std::move(which)) {}
    ~Agent() override { notify("end"); }
    Result<std::string> load(const std::string& location, const std::string& config) noexcept override {
      notify(cat("load ", location));
      all.config_text = config;
      if (auto found = all.refuses.find(name); found != all.refuses.end())
        return invalid_argument(found->second);
      auto found = all.leads_to.find(name);
      return found == all.leads_to.end() ? location : found->second;
    }
    void loaded() noexcept override { notify("loaded"); }
    void unload() noexcept override { notify("unload"); }
    void notify(const std::string& what) { all.told.push_back(cat(name, ": ", what)); }
    ScriptedAgents& all;
    const std::string name;
  };
};

std::string with_agents(const std::vector<std::string>& agents, const std::string& more = {}) {
  std::string text = cat(kSimpleConfig, " model_repository_agents {");
  for (const std::string& agent : agents) text += " agents { name: '" + agent + "' }";
  return cat(text, " } ", more);
}

class AgentsTest : public ::testing::Test {
 protected:
  AgentsTest() {
    bench_.host.registry().publish<RepositoryAgents>("agents", agents_);
    bench_.put("there");
    put({"a", "b"});
  }
  ~AgentsTest() override { EXPECT_EQ(bench_.host.registry().holders(), 0U) << "ended"; }
  void TearDown() override { bench_.end(); }

  void put(const std::vector<std::string>& agents, const std::string& more = {}) {
    bench_.put("m", with_agents(agents, more));
    bench_.repository.touch("m", "1");
    bench_.repository.touch("m", "config.pbtxt");
  }
  std::string last_path() { return bench_.backend.loads().back().model_directory; }

  ScriptedAgents agents_;
  CatalogBench bench_;
};

TEST_F(AgentsTest, AreToldOfALoadAndItsEndInTheirOrder) {
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_THAT(agents_.take(), ElementsAre("a: load /fake/m", "b: load /fake/m", "a: loaded", "b: loaded"));
  bench_.unload({"m"});
  EXPECT_THAT(agents_.take(), ElementsAre("a: unload", "b: unload", "a: end", "b: end"));
}

TEST_F(AgentsTest, EachSeesWhereTheOneBeforeLed) {
  bench_.put("further", with_agents({"ignored"}));
  agents_.leads_to = {{"a", "/fake/there"}, {"b", "/fake/further"}};
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_THAT(agents_.take(),
              ElementsAre("a: load /fake/m", "b: load /fake/there", "a: loaded", "b: loaded"));
  EXPECT_EQ(last_path(), "/fake/further");
  EXPECT_THAT(bench_.index(true), ElementsAre("m/1 READY"));
  inference::ModelConfig config;
  EXPECT_TRUE(config.ParseFromString(agents_.config_text));
  EXPECT_FALSE(config.has_model_repository_agents()) << "it is that of the place where it was led";
}

TEST_F(AgentsTest, WhatIsUnchangedIsNotPreparedAgain) {
  agents_.leads_to = {{"a", "/fake/there"}};
  EXPECT_TRUE(bench_.load_one("m").ok());
  agents_.take();
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_THAT(agents_.take(), IsEmpty());
  EXPECT_EQ(bench_.backend.loads().size(), 1U);
}

TEST_F(AgentsTest, WhatWasLedElsewhereIsBuiltAnewWithEveryChange) {
  agents_.leads_to = {{"a", "/fake/there"}};
  put({"a"});
  EXPECT_TRUE(bench_.load_one("m").ok());
  agents_.take();
  bench_.repository.touch("m", "labels.txt");
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_THAT(agents_.take(), ElementsAre("a: load /fake/m", "a: loaded", "a: unload", "a: end"));
  EXPECT_EQ(bench_.backend.loads().size(), 2U);
  bench_.unload({"m"});
  EXPECT_THAT(agents_.take(), ElementsAre("a: unload", "a: end"));
}

TEST_F(AgentsTest, AnotherListIsAnotherModel) {
  EXPECT_TRUE(bench_.load_one("m").ok());
  put({"b"});
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_EQ(bench_.backend.loads().size(), 2U);
  put({"b"}, "version_policy { all { } }");
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_EQ(bench_.backend.loads().size(), 3U) << "version 1 was touched";
  EXPECT_EQ(agents_.told.back(), "b: end") << "of the load before";
}

TEST_F(AgentsTest, ARefusalIsTheModelsReason) {
  agents_.refuses = {{"b", "the sum is another one"}};
  EXPECT_EQ(bench_.load_one("m").text(), "repository agent 'b': the sum is another one");
  EXPECT_THAT(agents_.take(), ElementsAre("a: load /fake/m", "b: load /fake/m", "a: end", "b: end"));
  EXPECT_THAT(
      bench_.index(),
      ElementsAre("m UNAVAILABLE Invalid argument: repository agent 'b': the sum is another one", "there"));
  put({"a", "unknown"});
  EXPECT_EQ(bench_.load_one("m").text(), "repository agent 'unknown': unable to find it");
  EXPECT_THAT(agents_.take(), ElementsAre("a: load /fake/m", "a: end"));
}

TEST_F(AgentsTest, AFailedLoadLeavesWhatServes) {
  EXPECT_TRUE(bench_.load_one("m").ok());
  agents_.take();
  agents_.refuses = {{"a", "no"}};
  put({"a"});
  EXPECT_FALSE(bench_.load_one("m").ok());
  EXPECT_THAT(agents_.take(), ElementsAre("a: load /fake/m", "a: end"));
  agents_.refuses.clear();
  bench_.backend.behavior.fail_loads = 1;
  EXPECT_FALSE(bench_.load_one("m").ok());
  EXPECT_THAT(agents_.take(), ElementsAre("a: load /fake/m", "a: end"));
  agents_.leads_to = {{"a", "/fake/nowhere"}};
  EXPECT_EQ(bench_.load_one("m").code(), Code::kNotFound);
  EXPECT_THAT(agents_.take(), ElementsAre("a: load /fake/m", "a: end"));
  EXPECT_THAT(
      bench_.index(true),
      ElementsAre(HasSubstr("m/1 READY serves what was loaded before the last load failed: Not found: ")));
}

TEST_F(AgentsTest, AVersionThatIsHeldHoldsThem) {
  EXPECT_TRUE(bench_.load_one("m").ok());
  agents_.take();
  {
    auto held = bench_.catalog().acquire("m", ModelCatalog::kLatest);
    ASSERT_TRUE(held.ok());
    bench_.unload({"m"});
    EXPECT_THAT(agents_.take(), ElementsAre("a: unload", "b: unload"));
  }
  bench_.host.run_ready();
  EXPECT_THAT(agents_.take(), ElementsAre("a: end", "b: end"));
}

TEST_F(AgentsTest, VersionsThatStayStayWithTheirs) {
  put({"a"});
  EXPECT_TRUE(bench_.load_one("m").ok());
  bench_.put("m", with_agents({"a"}), {1, 2});
  bench_.repository.touch("m", "2");
  agents_.take();
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_THAT(agents_.take(), ElementsAre("a: load /fake/m", "a: loaded"));
  EXPECT_EQ(bench_.backend.loads().size(), 2U) << "version 1 stays";
  bench_.put("m", with_agents({"a"}), {2});
  bench_.repository.touch("m", "1");
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_EQ(bench_.backend.loads().size(), 2U) << "version 2 stays";
  bench_.unload({"m"});
  // The load that built nothing ends at once, that of version 1 with it, that of version 2 with the unload.
  EXPECT_THAT(agents_.take(),
              ElementsAre("a: load /fake/m", "a: loaded", "a: end", "a: end", "a: unload", "a: end"));
}

TEST_F(AgentsTest, OfAConfigurationThatAClientBrings) {
  put({});
  agents_.leads_to = {{"a", "/fake/there"}};
  EXPECT_TRUE(bench_.load_config("m", with_agents({"a"})).status.ok());
  EXPECT_EQ(last_path(), "/fake/there");
  inference::ModelConfig config;
  EXPECT_TRUE(config.ParseFromString(agents_.config_text));
  EXPECT_TRUE(config.has_model_repository_agents());
}

TEST_F(AgentsTest, OfFilesThatAClientBrings) {
  EXPECT_TRUE(bench_.load_files("m", {"1/x"}, with_agents({"a"})).status.ok());
  EXPECT_EQ(last_path(), "/private/3");
  bench_.publish_change(Backend::kInterfaceId, "fake", Kind::kReplaced);
  EXPECT_EQ(bench_.backend.loads().size(), 2U);
  EXPECT_THAT(agents_.take(), ElementsAre("a: load /private/3", "a: loaded", "a: load /private/3",
                                          "a: loaded", "a: unload", "a: end"));
  EXPECT_EQ(last_path(), "/private/3");
}

TEST_F(AgentsTest, WithoutThemTheModelIsRefusedUntilTheyCome) {
  bench_.host.registry().withdraw(std::string(RepositoryAgents::kInterfaceId), "agents");
  Status status = bench_.load_one("m");
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_EQ(status.text(), "model 'm' asks for repository agent 'a'; repository agents are not served");
  bench_.host.registry().publish<RepositoryAgents>("agents", agents_);
  bench_.publish_change(RepositoryAgents::kInterfaceId, "agents", Kind::kPublished);
  EXPECT_THAT(bench_.index(true), ElementsAre("m/1 READY"));
}

TEST_F(AgentsTest, ModelsGoWithThemAndAreBuiltAnewByOthers) {
  EXPECT_TRUE(bench_.load_one("m").ok());
  ScriptedAgents others;
  bench_.host.registry().publish<RepositoryAgents>("agents", others);
  bench_.publish_change(RepositoryAgents::kInterfaceId, "agents", Kind::kReplaced);
  EXPECT_EQ(agents_.told.back(), "b: end");
  EXPECT_EQ(others.told.back(), "b: loaded");
  bench_.host.registry().withdraw(std::string(RepositoryAgents::kInterfaceId), "agents");
  bench_.publish_change(RepositoryAgents::kInterfaceId, "agents", Kind::kWithdrawn);
  EXPECT_EQ(others.told.back(), "b: end");
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 UNAVAILABLE repository_agents 'agents' was removed", "there"));
  bench_.host.registry().publish<RepositoryAgents>("agents", agents_);
  bench_.publish_change(RepositoryAgents::kInterfaceId, "agents", Kind::kPublished);
  EXPECT_EQ(agents_.told.back(), "b: loaded");
}

TEST(AgentOrders, HaveTheirParametersByName) {
  inference::ModelConfig config;
  auto* agent = config.mutable_model_repository_agents()->add_agents();
  agent->set_name("checksum");
  (*agent->mutable_parameters())["MD5:b"] = "2";
  (*agent->mutable_parameters())["MD5:a"] = "1";
  const std::vector<AgentOrder> orders = agent_orders(config, "m");
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].agent, "checksum");
  EXPECT_EQ(orders[0].model, "m");
  EXPECT_THAT(orders[0].parameters, ElementsAre(std::pair("MD5:a", "1"), std::pair("MD5:b", "2")));
}

}  // namespace
}  // namespace atl::models
