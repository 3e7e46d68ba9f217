#include "backends/python/calls/call_graph.h"

#include <gtest/gtest.h>

namespace atl::python {
namespace {

class CallGraphTest : public ::testing::Test {
 protected:
  std::shared_ptr<CallGraph::Node> executing(const std::string& model) {
    auto node = graph_.add(model);
    node->set_executing(true);
    return node;
  }
  CallGraph graph_;
};

TEST_F(CallGraphTest, AModelMayAskItselfWhereAnotherInstanceIsFree) {
  const auto one = executing("a");
  EXPECT_FALSE(graph_.begin_call(*one, "a"));
  const auto two = graph_.add("a");
  EXPECT_TRUE(graph_.begin_call(*one, "a"));
  two->set_executing(true);
  EXPECT_FALSE(graph_.begin_call(*two, "a")) << "it executes the first one's request, and there is no third";
  graph_.end_call(*one, "a");
  EXPECT_TRUE(graph_.begin_call(*two, "a")) << "the first one does not wait any more";
}

TEST_F(CallGraphTest, ACircleOfModelsIsSeen) {
  const auto a = executing("a"), b = executing("b"), c = executing("c");
  EXPECT_TRUE(graph_.begin_call(*a, "b"));
  EXPECT_TRUE(graph_.begin_call(*b, "c"));
  EXPECT_FALSE(graph_.begin_call(*c, "a"));
  EXPECT_TRUE(graph_.begin_call(*c, "another backend's"));
}

TEST_F(CallGraphTest, WhoDoesNotExecuteIsNotWaitedFor) {
  const auto a = executing("a");
  a->set_executing(false);
  EXPECT_TRUE(graph_.begin_call(*a, "a")) << "a thread of the model's asks, and the instance is free";
}

TEST_F(CallGraphTest, WhatIsRemovedIsForgotten) {
  const auto a = executing("a"), b = executing("b");
  EXPECT_TRUE(graph_.begin_call(*b, "a"));
  graph_.remove(b);
  EXPECT_TRUE(graph_.begin_call(*a, "b"));
}

}  // namespace
}  // namespace atl::python
