#include "backends/tensorflow/graph/meta_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/temporary_directory.h"
#include "backends/tensorflow/testing/model_writer.h"

namespace atl::tensorflow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t kFloat = 1, kText = 7, kComplex64 = 8;

std::string signature_with(const std::string& name, const std::string& input) {
  return signature(name, tensor(1, input, input + ":0", kFloat, {-1, 2}));
}

TEST(MetaGraphs, NamesTypesAndShapesAreRead) {
  auto graphs = parse_meta_graphs(saved_model(meta_graph(
      {"serve"}, std::string(1000, '\x07'),
      signature("s", tensor(1, "b", "scope/b:12", kText, {}) + tensor(1, "a", "a", kFloat, kUnknownRank) +
                         tensor(2, "y", "y:0", kFloat, {-1, 224, 3})))));
  ASSERT_TRUE(graphs.ok()) << graphs.status().text();
  ASSERT_EQ(graphs->size(), 1u);
  const MetaGraph& graph = graphs->front();
  EXPECT_THAT(graph.tags, ElementsAre("serve"));
  ASSERT_EQ(graph.signatures.size(), 1u);
  const TfSignature& signature = graph.signatures[0];
  ASSERT_EQ(signature.inputs.size(), 2u);
  const TfTensorInfo& a = signature.inputs[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.operation, "a");
  EXPECT_EQ(a.index, 0);
  EXPECT_TRUE(a.unknown_rank);
  EXPECT_FALSE(a.is_scalar());
  const TfTensorInfo& b = signature.inputs[1];
  EXPECT_EQ(b.operation, "scope/b");
  EXPECT_EQ(b.index, 12);
  EXPECT_EQ(b.datatype(), DataType::kBytes);
  EXPECT_TRUE(b.is_scalar());
  EXPECT_THAT(signature.outputs.at(0).dims, ElementsAre(-1, 224, 3));
}

TEST(MetaGraphs, AFileIsReadAndItsFailureNamesIt) {
  const atl::test::TemporaryDirectory folder;
  const auto file = folder.path() / "saved_model.pb";
  write_file(file, sum_model());
  auto graphs = read_meta_graphs(file.string());
  ASSERT_TRUE(graphs.ok()) << graphs.status().text();
  EXPECT_EQ(graphs->front().signatures.front().inputs.size(), 2u);
  write_file(file, sum_model().substr(0, 40));
  EXPECT_THAT(read_meta_graphs(file.string()).status().text(),
              HasSubstr("saved_model.pb': found bytes that are no message"));
  EXPECT_EQ(read_meta_graphs((folder.path() / "none").string()).status().code(), Code::kInternal);
}

TEST(MetaGraphs, WhatIsCutOffOrNoneIsRefused) {
  const std::string whole = sum_model();
  for (size_t size = 1; size < whole.size(); ++size) {
    auto graphs = parse_meta_graphs(std::string_view(whole).substr(0, size));
    // The first two bytes are a field of their own.
    if (size == 2) {
      EXPECT_THAT(graphs.status().text(), HasSubstr("found no graph"));
    } else {
      EXPECT_EQ(graphs.status().code(), Code::kInvalidArgument) << size;
    }
  }
  EXPECT_EQ(parse_meta_graphs("").status().code(), Code::kInvalidArgument);
}

TEST(MetaGraphs, MoreThanAModelHasIsRefused) {
  std::string tensors;
  for (int i = 0; i <= 20'000; ++i) tensors += bytes_field(1, "");
  EXPECT_THAT(parse_meta_graphs(saved_model(meta_graph({}, "", signature("s", tensors)))).status().text(),
              HasSubstr("more than 20000 tensors"));
  std::string graphs;
  for (int i = 0; i <= 100; ++i) graphs += meta_graph({}, "", "");
  EXPECT_THAT(parse_meta_graphs(saved_model(graphs)).status().text(), HasSubstr("more than 100 graphs"));
  EXPECT_THAT(parse_meta_graphs(saved_model(meta_graph(
                                    {}, "", signature("s", tensor(1, "x", "x:0", kFloat, Dims(255, 1))))))
                  .status()
                  .text(),
              HasSubstr("dimensions"));
}

TEST(MetaGraphs, TheGraphIsChosenByItsTag) {
  auto graphs = parse_meta_graphs(saved_model(meta_graph({"serve", "tpu"}, "", signature_with("s", "t")) +
                                              meta_graph({"serve"}, "", signature_with("s", "c")) +
                                              meta_graph({"train"}, "", signature_with("s", "x"))));
  ASSERT_TRUE(graphs.ok());
  const auto input = [&](const std::string& tag) {
    return choose_meta_graph(*graphs, tag).value()->signatures[0].inputs[0].name;
  };
  EXPECT_EQ(input(""), "c");
  EXPECT_EQ(input("serve"), "c");
  EXPECT_EQ(input("tpu"), "t");
  EXPECT_EQ(input("train"), "x");
  EXPECT_THAT(
      choose_meta_graph(*graphs, "other").status().text(),
      HasSubstr("found 'other', expected a tag of the model's graphs: 'serve'+'tpu', 'serve', 'train'"));
  graphs->erase(graphs->begin(), graphs->begin() + 2);
  EXPECT_EQ(input(""), "x");
}

TEST(MetaGraphs, TheSignatureIsChosenByItsName) {
  MetaGraph graph;
  graph.signatures = {{"__saved_model_init_op", {}, {}}, {"other", {}, {}}, {"serving_default", {}, {}}};
  EXPECT_EQ(choose_signature(graph, "").value()->name, "serving_default");
  EXPECT_EQ(choose_signature(graph, "other").value()->name, "other");
  EXPECT_THAT(choose_signature(graph, "none").status().text(),
              HasSubstr("'__saved_model_init_op', 'other', 'serving_default'"));
  graph.signatures.pop_back();
  EXPECT_EQ(choose_signature(graph, "").value()->name, "other");
  graph.signatures.pop_back();
  EXPECT_FALSE(choose_signature(graph, "").ok());
}

TEST(MetaGraphs, ATypeThatTheProtocolDoesNotHaveIsRefused) {
  auto graphs = parse_meta_graphs(saved_model(
      meta_graph({"serve"}, "", signature("serving_default", tensor(1, "x", "x:0", kComplex64, {})))));
  ASSERT_TRUE(graphs.ok());
  EXPECT_THAT(choose_signature(graphs->front(), "").status().text(), HasSubstr("tensor 'x' of signature"));
}

}  // namespace
}  // namespace atl::tensorflow::test
