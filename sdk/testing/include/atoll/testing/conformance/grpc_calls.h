/// Conformance of "atoll.grpc_calls/1".
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/frontend/grpc_calls.h"
#include "atoll/testing/conformance/exchanges.h"
#include "atoll/testing/fake_grpc_exchange.h"

namespace atl::test {

/// A provider with real threads.
class GrpcCallsUnderTest {
 public:
  /// Stops it.
  virtual ~GrpcCallsUnderTest() = default;
  virtual GrpcCalls& calls() = 0;
  /// As the kernel does: closes the gate of its host, and tells it.
  virtual void drain() = 0;
};

struct GrpcCallsCase {
  std::string method;  ///< as the provider lists it
  FakeGrpcRequest request{};
  Code code = Code::kOk;  ///< of the end, if its client waits for it
  /// It ends when its client goes, or takes too little of it, or the provider drains; not by itself.
  bool lasts = false;
  std::string_view path() const { return method; }
};

using GrpcCallsProvider = ExchangeProvider<GrpcCallsUnderTest, GrpcCallsCase, FakeGrpcExchange>;

class GrpcCallsConformance : public ExchangeConformance<GrpcCallsProvider> {
 protected:
  GrpcCalls& calls() { return under_test().calls(); }
  std::string listed() override {
    std::string all;
    for (const GrpcMethod& method : calls().methods()) all += cat(method.path, " ", method.category, "\n");
    return all;
  }
  void give(FakeGrpcExchange& exchange, const GrpcCallsCase& one) override {
    exchange.send_to(calls(), one.method);
  }
  void expect_right(const FakeGrpcExchange& exchange, const GrpcCallsCase& one) override {
    const ReceivedGrpcAnswer received = exchange.received();
    EXPECT_EQ(received.code, one.code) << text_of(one) << ": " << received.text;
  }
};

TEST_P(GrpcCallsConformance, MethodsAreOnesThatAFrontendServes) {
  check_and_stop([&] {
    std::vector<std::string> paths;
    for (const GrpcMethod& method : calls().methods()) {
      SCOPED_TRACE(method.path);
      expect_path(method.path, &paths);
      const size_t middle = method.path.rfind('/');
      EXPECT_TRUE(std::count(method.path.begin(), method.path.end(), '/') == 2 && middle > 1 &&
                  middle + 1 < method.path.size())
          << "it is not '/package.Service/Method'";
      EXPECT_FALSE(method.path.starts_with("/inference.GRPCInferenceService/") ||
                   method.path.starts_with("/grpc.health.v1.Health/"))
          << "the service is the frontend's own";
      EXPECT_TRUE(is_known_category(method.category) &&
                  method.category != api_category_name(ApiCategory::kMetrics))
          << "category '" << method.category << "'";
    }
  });
}

TEST_P(GrpcCallsConformance, MethodsAreTheSameAtEachCall) { check_that_the_list_stays(); }

TEST_P(GrpcCallsConformance, EachCallIsAnsweredOnce) { check_answers(); }

TEST_P(GrpcCallsConformance, AMethodOfAPredecessorsIsUnimplemented) {
  check_and_stop([&] {
    for (const std::string& message : {std::string(), std::string(5000, 'x')}) {
      const GrpcCallsCase unknown{
          "/nobody.has.This/Method", {message, {{"key", "value"}}, "somebody"}, Code::kUnimplemented};
      expect_answer(send(unknown), unknown);
    }
  });
}

TEST_P(GrpcCallsConformance, AClientMayHaveGoneBefore) { check_clients_that_have_gone(); }

TEST_P(GrpcCallsConformance, AClientMayGoAtAnyTime) { check_clients_that_go(); }

TEST_P(GrpcCallsConformance, AClientMayTakeNothing) { check_clients_that_take_nothing(); }

TEST_P(GrpcCallsConformance, WhatLastsEndsInADrain) { check_drain(); }

TEST_P(GrpcCallsConformance, ManyClientsCallAtATime) { check_many_clients(); }

}  // namespace atl::test
