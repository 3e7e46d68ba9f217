#include "routing/weighted/route_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "routing/weighted/testing/test_support.h"

namespace atl::routing {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

TEST(RouteTable, ReadsLabelsWeightsAndShadows) {
  Result<RouteTable> table = read({{{"m.stable", "3"}, {"m.canary", "4"}, {"net.onnx.stable", "0"}},
                                   {{"m.stable", "10"}, {"m.canary", "90"}, {"m.1", "0"}},
                                   {{"m.canary", "0.25"}, {"m.2", "1"}, {"m.1", "0"}}});
  ASSERT_TRUE(table.ok()) << table.status().message();
  ASSERT_EQ(table->size(), 2U);
  const ModelRoute& route = table->at("m");
  EXPECT_EQ(route.labels.at("stable"), 3);
  EXPECT_EQ(table->at("net.onnx").labels.at("stable"), 0);
  ASSERT_EQ(route.weights.size(), 2U);
  EXPECT_EQ(route.weights[0].version, 4);
  EXPECT_EQ(route.weights[0].weight, 90U);
  EXPECT_EQ(route.weights[1].version, 3);
  ASSERT_EQ(route.shadows.size(), 2U);
  EXPECT_EQ(route.shadows.front().version, 2);
  EXPECT_EQ(route.shadows.front().threshold, kMost);
  EXPECT_EQ(route.shadows.back().version, 4);
  EXPECT_EQ(route.shadows.back().threshold, uint64_t{1} << 62);
}

TEST(RouteTable, SaysWhatIsWrong) {
  const struct {
    RouteOptions options;
    const char* text;
  } rows[] = {
      {{{{"stable", "1"}}, {}, {}}, R"(option 'labels': "stable" = "1": expected a key "<model>.<label>")"},
      {{{{".stable", "1"}}, {}, {}}, R"(option 'labels': ".stable" = "1": expected a key "<model>.<label>")"},
      {{{}, {{"m.", "1"}}, {}},
       R"(option 'weights': "m." = "1": expected a key "<model>.<label or version>")"},
      {{{{"m.1x", "1"}}, {}, {}},
       R"(option 'labels': "m.1x" = "1": a label has at most 128 letters, digits, '_' and '-' and begins with a letter or '_')"},
      {{{{"m.a/b", "1"}}, {}, {}},
       R"(option 'labels': "m.a/b" = "1": a label has at most 128 letters, digits, '_' and '-' and begins with a letter or '_')"},
      {{{{"m.a", "-1"}}, {}, {}},
       R"(option 'labels': "m.a" = "-1": expected a version, that is a number from 0)"},
      {{{{"m.a", "b"}}, {}, {}},
       R"(option 'labels': "m.a" = "b": expected a version, that is a number from 0)"},
      {{{{"m.a", "99999999999999999999"}}, {}, {}},
       R"(option 'labels': "m.a" = "99999999999999999999": expected a version, that is a number from 0)"},
      {{{}, {{"m.canary", "1"}}, {}},
       R"(option 'weights': "m.canary" = "1": 'canary' is neither a version nor a label of model 'm')"},
      {{{{"other.canary", "1"}}, {{"m.canary", "1"}}, {}},
       R"(option 'weights': "m.canary" = "1": 'canary' is neither a version nor a label of model 'm')"},
      {{{}, {{"m.1", "-1"}}, {}}, R"(option 'weights': "m.1" = "-1": expected a weight from 0 to 1000000)"},
      {{{}, {{"m.1", "1000001"}}, {}},
       R"(option 'weights': "m.1" = "1000001": expected a weight from 0 to 1000000)"},
      {{{{"m.a", "1"}}, {{"m.1", "1"}, {"m.a", "2"}}, {}},
       R"(option 'weights': "m.a" = "2": version 1 has a weight already)"},
      {{{}, {{"m.1", "0"}}, {}}, "option 'weights': every weight of model 'm' is 0"},
      {{{}, {}, {{"m.1", "1.5"}}}, R"(option 'shadows': "m.1" = "1.5": expected a share from 0 to 1)"},
      {{{}, {}, {{"m.1", "-0.1"}}}, R"(option 'shadows': "m.1" = "-0.1": expected a share from 0 to 1)"},
      {{{}, {}, {{"m.1", "nan"}}}, R"(option 'shadows': "m.1" = "nan": expected a share from 0 to 1)"},
      {{{}, {}, {{"m.1", "5%"}}}, R"(option 'shadows': "m.1" = "5%": expected a share from 0 to 1)"},
      {{{{"m.a", "1"}}, {}, {{"m.1", "1"}, {"m.a", "1"}}},
       R"(option 'shadows': "m.a" = "1": version 1 is a shadow already)"},
  };
  for (const auto& row : rows) {
    Result<RouteTable> table = read(row.options);
    ASSERT_FALSE(table.ok()) << row.text;
    EXPECT_EQ(table.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(table.status().message(), row.text);
  }
}

TEST(RouteTable, AModelHasOnlySoManyWeights) {
  RouteOptions options;
  for (int i = 1; i <= 64; ++i) options.weights["m." + std::to_string(i)] = "1";
  EXPECT_TRUE(read(options).ok());
  options.weights["m.65"] = "1";
  Result<RouteTable> table = read(options);
  ASSERT_FALSE(table.ok());
  EXPECT_NE(table.status().message().find("a model has at most 64 weights"), std::string_view::npos);
}

TEST(Pick, FollowsTheWeights) {
  const std::vector<WeightedVersion> weights = {{1, 2}, {2, 1}, {3, 1}};
  const uint64_t quarter = uint64_t{1} << 62;
  EXPECT_EQ(pick(weights, 0, 0), 0U);
  EXPECT_EQ(pick(weights, 0, 2 * quarter - 1), 0U);
  EXPECT_EQ(pick(weights, 0, 2 * quarter), 1U);
  EXPECT_EQ(pick(weights, 0, 3 * quarter), 2U);
  EXPECT_EQ(pick(weights, 0, kMost), 2U);
  EXPECT_EQ(pick(weights, 0b001, 0), 1U);
  EXPECT_EQ(pick(weights, 0b001, kMost), 2U);
  EXPECT_EQ(pick(weights, 0b110, kMost), 0U);
}

}  // namespace
}  // namespace atl::routing
