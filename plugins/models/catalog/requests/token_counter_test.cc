// Tokens that responses take: who is told, of what, and what the client sees of it.
#include "models/catalog/requests/token_counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "models/catalog/testing/admission_bench.h"

namespace atl::models {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// One request at a backend that leaves answering to the test, and two providers, of which the second one counts.
struct CountedRequest : AdmissionBench {
  explicit CountedRequest(uint32_t minor = 1) {
    counts.counts = true;
    publish("other", other, 5);
    publish("counts", counts, 1, ServiceChanged::Kind::kPublished, minor);
    bench.put("words", R"(backend: "fake" model_transaction_policy { decoupled: true }
      input { name: "INPUT0" data_type: TYPE_FP32 dims: 1 }
      output { name: "num_input_tokens" data_type: TYPE_UINT32 dims: -1 }
      output { name: "num_output_tokens" data_type: TYPE_INT64 dims: -1 }
      output { name: "text" data_type: TYPE_FP32 dims: -1 })");
    EXPECT_EQ(bench.load_one("words").text(), "OK");
    bench.backend.behavior.answer_later = true;
  }
  void infer() {
    made.add_input<float>("INPUT0", DataType::kFp32, {1}, {1});
    held.push_back(bench.catalog().acquire("words", 1).value());
    ASSERT_EQ(made.infer(*held.back().get()).text(), "OK");
  }
  Response* response() { return made->sink->new_response(); }
  template <class Number>
  static void add_output(Response& to, std::string_view name, DataType type,
                         const std::vector<Number>& values) {
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    OutputTensor& output = to.add_output(name, type, shape);
    ASSERT_TRUE(to.allocate(output, values.size() * sizeof(Number)).ok());
    std::memcpy(output.buffer.data, values.data(), values.size() * sizeof(Number));
  }
  static void add_parameter(Response& to, std::string_view key, int64_t value) {
    Parameter& parameter = to.parameters.add(to.arena());
    parameter.key = key;
    parameter.type = ParameterType::kInt;
    parameter.int_value = value;
  }
  void end() {
    ResponseSink* const sink = made->sink;
    sink->send(nullptr, kFinal);
    (void)made->release();
    EXPECT_TRUE(made.done());
    EXPECT_THAT(made.problems(), IsEmpty());
  }

  FakeAdmission other, counts;
  TestRequest made;
};

TEST(CountedTokens, ParametersAreToldAndTakenOut) {
  CountedRequest bench;
  bench.infer();
  EXPECT_NE(bench.made->call_flags & kCountsTokens, 0U);
  for (const int64_t generated : {1, 3}) {
    Response* response = bench.response();
    CountedRequest::add_parameter(*response, "mine", 7);
    if (generated == 1) CountedRequest::add_parameter(*response, kPromptTokensUsed, 20);
    CountedRequest::add_parameter(*response, kGeneratedTokensUsed, generated);
    // What is said by parameters is not counted again.
    CountedRequest::add_output<uint32_t>(*response, "num_input_tokens", DataType::kUint32, {99});
    response->send(0);
  }
  EXPECT_THAT(bench.counts.uses, ElementsAre(ElementsAre(1, 20, 1), ElementsAre(1, 0, 3)));
  EXPECT_THAT(bench.other.uses, IsEmpty()) << "it does not count";
  bench.end();
  EXPECT_THAT(bench.counts.tickets_ended, ElementsAre(1));
}

TEST(CountedTokens, OutputsAreAddedUpAndThePromptCountsOnce) {
  CountedRequest bench;
  bench.infer();
  for (const uint32_t prompt : {5U, 5U, 7U}) {
    Response* response = bench.response();
    CountedRequest::add_output<uint32_t>(*response, "num_input_tokens", DataType::kUint32, {prompt, 1});
    CountedRequest::add_output<int64_t>(*response, "num_output_tokens", DataType::kInt64, {2, 1});
    response->send(0);
  }
  EXPECT_THAT(bench.counts.uses,
              ElementsAre(ElementsAre(1, 6, 3), ElementsAre(1, 0, 3), ElementsAre(1, 2, 3)));
  EXPECT_EQ(bench.made.responses().at(0).outputs.size(), 2U) << "outputs are the client's";
  bench.end();
}

TEST(CountedTokens, WhatIsNoNumberOfTokensCountsNothing) {
  CountedRequest bench;
  bench.infer();
  Response* response = bench.response();
  CountedRequest::add_output<int64_t>(*response, "num_output_tokens", DataType::kInt64,
                                      {-5, INT64_MAX, INT64_MIN});
  CountedRequest::add_output<float>(*response, "num_input_tokens", DataType::kFp32, {3});
  response->send(0);
  bench.response()->send_error(Status(Code::kUnavailable, "no"), 0);
  EXPECT_THAT(bench.counts.uses, IsEmpty());
  bench.end();
}

TEST(CountedTokens, AFailureMayHaveTakenSome) {
  CountedRequest bench;
  bench.infer();
  Response* response = bench.response();
  CountedRequest::add_parameter(*response, kPromptTokensUsed, 4);
  response->send_error(Status(Code::kCancelled, ""), 0);
  EXPECT_THAT(bench.counts.uses, ElementsAre(ElementsAre(1, 4, 0)));
  bench.end();
}

TEST(CountedTokens, ParametersAreTheClientsWhereNobodyCounts) {
  CountedRequest bench;
  bench.counts.counts = false;
  bench.infer();
  EXPECT_EQ(bench.made->call_flags & kCountsTokens, 0U);
  Response* response = bench.response();
  CountedRequest::add_output<uint32_t>(*response, "num_input_tokens", DataType::kUint32, {5});
  response->send(0);
  EXPECT_THAT(bench.counts.uses, IsEmpty());
  bench.end();
}

TEST(CountedTokens, AProviderOfMinor0IsNotAsked) {
  CountedRequest bench(0);
  bench.infer();
  EXPECT_EQ(bench.made->call_flags & kCountsTokens, 0U);
  bench.end();
}

TEST(TokenCounter, LeavesTheOtherParametersInTheirOrder) {
  Response response;
  for (const std::string_view key : {"a", "prompt_tokens_used", "b", "generated_tokens_used", "c"}) {
    Parameter& parameter = response.parameters.add(response.arena());
    parameter.key = key;
    parameter.type = ParameterType::kInt;
    parameter.int_value = 2;
  }
  TokenCounter counter;
  const TokenUse use = counter.take(response);
  EXPECT_EQ(use.prompt, 2U);
  EXPECT_EQ(use.generated, 2U);
  ASSERT_EQ(response.parameters.size(), 3U);
  EXPECT_EQ(response.parameters[0].key, "a");
  EXPECT_EQ(response.parameters[1].key, "b");
  EXPECT_EQ(response.parameters[2].key, "c");
}

}  // namespace
}  // namespace atl::models
