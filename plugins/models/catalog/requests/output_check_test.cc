#include "models/catalog/requests/output_check.h"

#include <gtest/gtest.h>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

constexpr std::string_view kTwoOutputs = R"(
  backend: "fake" max_batch_size: 8
  input { name: "INPUT0" data_type: TYPE_FP32 dims: 4 }
  output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 }
  output { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ -1, 1 ] reshape { shape: [ -1 ] } })";

struct Given {
  std::string name;
  DataType datatype = DataType::kFp32;
  std::vector<int64_t> shape = {1, 4};
  uint64_t size_bytes = 16;
};

/// A model of a backend in C++, whose answer a test gives.
class OutputCheckTest : public ::testing::Test {
 protected:
  void load(std::string_view config = kTwoOutputs) {
    bench_.put("m", config);
    ASSERT_EQ(bench_.load_one("m").text(), "OK");
  }
  /// \returns what is logged of the answer
  std::vector<std::string> answer(std::vector<Given> outputs, const std::vector<std::string>& wanted = {}) {
    bench_.backend.behavior.respond = [outputs = std::move(outputs)](Request& request) {
      Response* response = request.sink->new_response();
      for (const Given& given : outputs) {
        OutputTensor& output = response->add_output(given.name, given.datatype, given.shape);
        EXPECT_EQ(response->allocate(output, given.size_bytes).text(), "OK");
      }
      response->send();
    };
    return ask(wanted);
  }
  std::vector<std::string> ask(const std::vector<std::string>& wanted = {}) {
    test::TestRequest request;
    fill_simple(request);
    for (const std::string& name : wanted) request.add_output(name);
    const size_t before = bench_.host.log().records().size();
    ModelRef model = bench_.catalog().acquire("m", 1).value();
    EXPECT_EQ(request.infer(*model.get()).text(), "OK");
    bench_.host.run_ready();
    std::vector<std::string> said;
    const auto records = bench_.host.log().records();
    for (size_t i = before; i < records.size(); ++i) {
      EXPECT_EQ(records[i].level, LogLevel::kWarning);
      said.push_back(records[i].message);
    }
    return said;
  }
  static std::vector<std::string> told(const std::string& what) {
    return {"model 'm' version 1, instance 'm_0': " + what};
  }
  const Given zero_{"OUTPUT0"};
  const Given one_{"OUTPUT1", DataType::kInt32, {1, 6}, 24};
  CatalogBench bench_;
};

TEST_F(OutputCheckTest, WhatIsAsConfiguredIsNotTold) {
  load();
  EXPECT_TRUE(answer({zero_, one_}).empty());
  EXPECT_TRUE(answer({one_, zero_}).empty());
  EXPECT_TRUE(answer({one_}, {"OUTPUT1"}).empty());
  EXPECT_TRUE(answer({one_, zero_}, {"OUTPUT1"}).empty());  // one was not asked for
}

TEST_F(OutputCheckTest, MissingOnesAreTold) {
  load();
  EXPECT_EQ(answer({one_}), told("a request was answered without output 'OUTPUT0' that was asked for"));
  EXPECT_EQ(answer({}, {"OUTPUT1"}),
            told("a request was answered without output 'OUTPUT1' that was asked for"));
}

TEST_F(OutputCheckTest, WrongOnesAreTold) {
  load();
  const std::string as_it_is = "; clients get it as it is";
  EXPECT_EQ(answer({{"OUTPUT0", DataType::kInt32, {1, 4}, 16}, one_}),
            told("output 'OUTPUT0' has type INT32, and its configuration says FP32" + as_it_is));
  EXPECT_EQ(answer({{"OUTPUT0", DataType::kFp32, {4}, 16}, one_}),
            told("output 'OUTPUT0' has the shape [4], which does not fit the [-1,4] of its configuration" +
                 as_it_is));
  EXPECT_EQ(answer({{"OUTPUT0", DataType::kFp32, {1, 4}, 12}, one_}),
            told("output 'OUTPUT0' of type FP32 and shape [1,4] has 12 bytes, its shape asks for 16"));
  EXPECT_EQ(answer({zero_, one_, {"OTHER"}}),
            told("a response has output 'OTHER', which is not in the model's configuration; nobody gets it"));
  EXPECT_EQ(answer({zero_, one_, zero_}),
            told("a response has output 'OUTPUT0' more than once; clients get an error"));
}

TEST_F(OutputCheckTest, WhatNoClientCanReadIsAFailure) {
  load();
  bench_.backend.behavior.respond = [](Request& request) {
    Response* response = request.sink->new_response();
    const std::vector<int64_t> shape = {1, 4};
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kFp32, shape);
    EXPECT_TRUE(response->allocate(output, 12).ok());
    response->send();
  };
  test::TestRequest request;
  fill_simple(request);
  ModelRef model = bench_.catalog().acquire("m", 1).value();
  EXPECT_EQ(request.infer(*model.get()).text(), "OK");
  bench_.host.run_ready();
  ASSERT_EQ(request.responses().size(), 1u);
  EXPECT_EQ(request.responses()[0].code, Code::kInternal);
  EXPECT_EQ(request.responses()[0].message,
            "output 'OUTPUT0' of type FP32 and shape [1,4] has 12 bytes, its shape asks for 16");
}

TEST_F(OutputCheckTest, TheSameIsToldOnceAMinute) {
  load();
  const std::string what = "a request was answered without output 'OUTPUT0' that was asked for";
  EXPECT_EQ(answer({one_}), told(what));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(answer({one_}).empty());
  EXPECT_EQ(answer({zero_}).size(), 1u);  // another one is another matter
  bench_.host.fake_clock().advance(60 * kNsPerSecond);
  EXPECT_EQ(answer({one_}), told(what + " (and 1000 times more that were not logged)"));
}

TEST_F(OutputCheckTest, ResponsesOfDecoupledModelsHaveWhatTheyLike) {
  load(std::string(kTwoOutputs) + "model_transaction_policy { decoupled: true }");
  EXPECT_TRUE(answer({one_}).empty());
  EXPECT_EQ(answer({{"OUTPUT0", DataType::kInt32, {1, 4}, 16}}).size(), 1u);
}

TEST_F(OutputCheckTest, OfFailuresTheBackendsOwnAreTold) {
  load();
  bench_.backend.behavior.respond = [](Request& request) {
    request.sink->new_response()->send_error(unavailable("not today"));
  };
  EXPECT_TRUE(ask().empty());
  bench_.backend.behavior.respond = [](Request& request) {
    request.sink->new_response()->send_error(internal_error("the backend threw: out of luck"));
  };
  EXPECT_EQ(ask(), told("a request failed: the backend threw: out of luck"));
  EXPECT_TRUE(ask().empty());  // the next one in a minute
}

/// Of an iterative sequence: however often it is executed, one looks at its responses.
TEST_F(OutputCheckTest, ARequestThatIsExecutedAgainIsWatchedOnce) {
  load();
  ModelInfo info;
  info.name = "m";
  OutputCheck check(info, "m_0", bench_.host.log(), bench_.host.clock());
  test::TestRequest request;
  ResponseSink* const own = request->sink;
  struct Iterative final : Rescheduler {
    Status reschedule(Request&) noexcept override { return {}; }
  } iterative;
  request->rescheduler = &iterative;
  check.watch(request.request());
  const ResponseSink* const first = request->sink;
  EXPECT_NE(first, own);
  check.watch(request.request());
  EXPECT_EQ(request->sink, first);
  // Nor is it watched twice where another part of the server has come before it meanwhile.
  struct Other final : SinkInterposer {
  } other;
  other.interpose(request.request());
  check.watch(request.request());
  EXPECT_EQ(request->sink, &other);
  other.withdraw(request.request());
  OutputCheck::unwatch(request.request());
  EXPECT_EQ(request->sink, own);
  OutputCheck::unwatch(request.request());
  EXPECT_EQ(request->sink, own);
}

}  // namespace
}  // namespace atl::models
