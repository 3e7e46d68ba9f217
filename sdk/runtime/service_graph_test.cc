#include "atoll/runtime/service_graph.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace atl::runtime {
namespace {

/// Builds nodes; the tables live as long as the builder.
class GraphTest : public testing::Test {
 protected:
  struct Provided {
    const char* id;
    uint32_t minor;
    int32_t rank;
    uint32_t flags = 0;
  };
  void node(std::string name, std::vector<Provided> provides, std::vector<atoll_need_v1> needs,
            std::map<std::string, std::string> named = {}, uint32_t flags = 0) {
    provided.emplace_back();
    for (const Provided& row : provides) provided.back().push_back({row.id, row.minor, row.rank, row.flags});
    needed.push_back(std::move(needs));
    nodes.push_back({name,
                     "test/" + name,
                     flags,
                     provided.back(),
                     needed.back(),
                     std::move(named),
                     {"m", static_cast<uint32_t>(nodes.size() + 1), 1}});
  }
  /// The names in their order, or what is wrong.
  std::string order() {
    Problems problems;
    ServiceGraph graph = resolve_graph(nodes, problems, [this](std::string_view) { return offers; });
    if (!problems.empty()) return std::string(problems.status().message());
    std::string names;
    for (size_t i : graph.order) names += (names.empty() ? "" : " ") + nodes[i].name;
    return names;
  }
  std::deque<std::vector<atoll_provided_v1>> provided;
  std::deque<std::vector<atoll_need_v1>> needed;
  std::vector<GraphNode> nodes;
  std::string offers;  ///< plugins that provide anything and are not enabled
};

TEST_F(GraphTest, OrderComesFromNeedsAndTiesFromNames) {
  node("z", {{"a/1", 0, 0}}, {});
  node("b", {}, {{"a/1", 0, 0}});
  node("a", {}, {{"a/1", 0, 0}});
  node("m", {}, {});
  EXPECT_EQ(order(), "m z a b");
}

TEST_F(GraphTest, ManyAndOptionalProvidersStartFirstWherePossible) {
  node("catalog", {{"catalog/1", 0, 0}},
       {{"scheduler/1", 0, ATOLL_NEED_MANY}, {"cache/1", 0, ATOLL_NEED_OPTIONAL}});
  node("dynamic", {{"scheduler/1", 0, 0}}, {});
  node("ensemble", {{"scheduler/1", 0, 0}}, {{"catalog/1", 0, 0}});
  node("local", {{"cache/1", 0, 0}}, {});
  EXPECT_EQ(order(), "dynamic local catalog ensemble");
}

TEST_F(GraphTest, TwoThatWishForEachOtherAreNoCycle) {
  node("a", {{"a/1", 0, 0}}, {{"b/1", 0, ATOLL_NEED_MANY}});
  node("b", {{"b/1", 0, 0}}, {{"a/1", 0, ATOLL_NEED_MANY}});
  EXPECT_EQ(order(), "b a");
}

TEST_F(GraphTest, CyclesArePrinted) {
  node("c", {{"c/1", 0, 0}}, {{"a/1", 0, 0}});
  node("a", {{"a/1", 0, 0}}, {{"b/1", 0, 0}});
  node("b", {{"b/1", 0, 0}}, {{"c/1", 0, 0}});
  node("outside", {}, {{"a/1", 0, 0}});
  EXPECT_EQ(order(), "m:2:1: plugin 'a' (test/a): cycle of needs: a -> b -> c -> a");
}

TEST_F(GraphTest, AProviderOfWhatItNeedsItselfNeedsAnother) {
  node("a", {{"cache/1", 0, 0}}, {{"cache/1", 0, 0}});
  EXPECT_EQ(order(), "m:1:1: plugin 'a' (test/a): needs cache/1, no enabled plugin provides it");
  node("b", {{"cache/1", 0, 0}}, {});
  EXPECT_EQ(order(), "b a");
}

TEST_F(GraphTest, RanksAndNamesBind) {
  node("high", {{"x/1", 0, 2}}, {});
  node("low", {{"x/1", 0, 1}}, {});
  node("user", {}, {{"x/1", 0, 0}});
  node("wilful", {}, {{"x/1", 0, 0}}, {{"x/1", "low"}});
  node("many", {}, {{"x/1", 0, ATOLL_NEED_MANY}});
  Problems problems;
  ServiceGraph graph = resolve_graph(nodes, problems);
  ASSERT_TRUE(problems.empty()) << problems.status().text();
  EXPECT_EQ(graph.bindings[2].at("x/1"), "high");
  EXPECT_EQ(graph.bindings[3].at("x/1"), "low");
  EXPECT_TRUE(graph.bindings[4].empty());
  EXPECT_EQ(graph.required[2], std::vector<size_t>{0});
  EXPECT_TRUE(graph.required[4].empty());
}

TEST_F(GraphTest, ATooOldProviderIsPassedOver) {
  node("new", {{"x/1", 3, 0}}, {});
  node("old", {{"x/1", 1, 9}}, {});
  node("user", {}, {{"x/1", 2, 0}});
  Problems problems;
  ServiceGraph graph = resolve_graph(nodes, problems);
  ASSERT_TRUE(problems.empty()) << problems.status().text();
  EXPECT_EQ(graph.bindings[2].at("x/1"), "new");
}

TEST_F(GraphTest, AllProblemsAreSaidAtOnce) {
  node("a", {}, {{"x/1", 0, 0}, {"y/1", 0, 0}}, {{"zebra/1", "b"}});
  node("b", {}, {{"x/1", 0, 0}}, {{"x/1", "a"}});
  nodes[0].flags = nodes[1].flags = ATOLL_PLUGIN_SINGLETON;
  nodes[1].use = nodes[0].use;
  offers = "p/q";
  EXPECT_EQ(
      order(),
      "m:1:1: plugin 'a' (test/a): the manifest binds zebra/1 to 'b', but the plugin does not need it; it needs x/1, "
      "y/1\n"
      "m:1:1: plugin 'a' (test/a): needs x/1, no enabled plugin provides it; these do: p/q\n"
      "m:1:1: plugin 'a' (test/a): needs y/1, no enabled plugin provides it; these do: p/q\n"
      "m:2:1: plugin 'b' (test/a): the server takes one instance of this plugin, and 'a' is one already\n"
      "m:2:1: plugin 'b' (test/a): needs x/1 from 'a', which does not provide it");
}

TEST_F(GraphTest, NamesOfNeedsThatAreNearAreSuggestedWhereTheyStand) {
  node("a", {{"atoll.catalog/1", 0, 0}}, {});
  node("b", {}, {{"atoll.catalog/1", 0, 0}}, {{"atoll.catalog/1.0", "a"}});
  nodes[1].named_where = {"m", 7, 9};
  EXPECT_EQ(
      order(),
      "m:7:9: plugin 'b' (test/b): the manifest binds atoll.catalog/1.0 to 'a', but the plugin does not need "
      "it, did you mean 'atoll.catalog/1'?");
}

TEST_F(GraphTest, OneTooManyIsToldOnce) {
  node("a", {{"x/1", 0, 0}}, {{"y/1", 0, 0}});
  node("b", {{"x/1", 0, 0}}, {{"y/1", 0, 0}});
  node("c", {{"y/1", 0, 0}}, {});
  node("user", {}, {{"x/1", 0, 0}});
  nodes[0].flags = nodes[1].flags = ATOLL_PLUGIN_SINGLETON;
  nodes[1].use = nodes[0].use;
  EXPECT_EQ(
      order(),
      "m:2:1: plugin 'b' (test/a): the server takes one instance of this plugin, and 'a' is one already");
}

TEST_F(GraphTest, WhereInstancesAreNotKnownOnlyWhatIsWrongInAnyCaseIsTold) {
  node("a", {{"control/1", 0, 0, ATOLL_PROVIDED_ALONE}}, {{"x/1", 0, 0}});
  node("b", {{"control/1", 0, 0, ATOLL_PROVIDED_ALONE}}, {{"x/1", 0, 0}}, {{"x/1", "c"}});
  Problems problems;
  resolve_graph(nodes, problems, {}, false);
  EXPECT_EQ(problems.status().message(),
            "m:2:1: plugin 'b' (test/b): the server takes one plugin that provides control/1, and plugin 'a' "
            "(test/a) is one already");
}

TEST_F(GraphTest, SomeInterfacesHaveOneProvider) {
  node("a", {{"control/1", 0, 0, ATOLL_PROVIDED_ALONE}}, {});
  node("b", {{"control/1", 0, 1, ATOLL_PROVIDED_ALONE}}, {});
  node("user", {}, {{"control/1", 0, ATOLL_NEED_OPTIONAL}});
  EXPECT_EQ(order(),
            "m:2:1: plugin 'b' (test/b): the server takes one plugin that provides control/1, and plugin 'a' "
            "(test/a) is one already");
  nodes[0].flags = nodes[1].flags = ATOLL_PLUGIN_SINGLETON;
  nodes[1].use = nodes[0].use;
  EXPECT_EQ(
      order(),
      "m:2:1: plugin 'b' (test/a): the server takes one instance of this plugin, and 'a' is one already");
}

TEST_F(GraphTest, AnOptionalNeedOfTwoThatAreAlikeIsAmbiguousToo) {
  node("a", {{"keys/1", 0, 0}}, {});
  node("b", {{"keys/1", 0, 0}}, {});
  node("user", {}, {{"keys/1", 0, ATOLL_NEED_OPTIONAL}});
  EXPECT_EQ(
      order(),
      "m:3:1: plugin 'user' (test/user): needs keys/1, 'a' and 'b' provide it with the same rank 0; name "
      "one: needs = { \"keys/1\" = \"a\" }");
  nodes[2].named = {{"keys/1", "b"}};
  EXPECT_EQ(order(), "a b user");
}

}  // namespace
}  // namespace atl::runtime
