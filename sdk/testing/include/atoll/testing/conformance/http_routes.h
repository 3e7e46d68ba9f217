/// Conformance of "atoll.http_routes/1".
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/testing/conformance/exchanges.h"
#include "atoll/testing/fake_http_exchange.h"

namespace atl::test {

/// A provider with real threads.
class HttpRoutesUnderTest {
 public:
  /// Stops it.
  virtual ~HttpRoutesUnderTest() = default;
  virtual HttpRoutes& routes() = 0;
  /// As the kernel does: closes the gate of its host, and tells it.
  virtual void drain() = 0;
};

struct HttpRoutesCase {
  std::string route;  ///< as the provider lists it
  FakeHttpRequest request;
  int status = 200;  ///< of the answer, if its client waits for it
  /// It ends when its client goes, or takes too little of it, or the provider drains; not by itself.
  bool lasts = false;
  std::string_view path() const { return route; }
};

using HttpRoutesProvider = ExchangeProvider<HttpRoutesUnderTest, HttpRoutesCase, FakeHttpExchange>;

class HttpRoutesConformance : public ExchangeConformance<HttpRoutesProvider> {
 protected:
  HttpRoutes& routes() { return under_test().routes(); }
  std::string listed() override {
    std::string all;
    for (const HttpRoute& route : routes().routes()) {
      all += cat(route.path, " ", route.methods, " ", route.category, "\n");
    }
    return all;
  }
  void give(FakeHttpExchange& exchange, const HttpRoutesCase& one) override {
    exchange.send_to(routes(), one.route);
  }
  void expect_right(const FakeHttpExchange& exchange, const HttpRoutesCase& one) override {
    EXPECT_EQ(exchange.reply().status, one.status) << text_of(one);
  }
  std::string text_of(const HttpRoutesCase& one) override { return one.request.method + " " + one.route; }
  /// Those of the provider, and those of GET as HEAD where a route takes that.
  std::vector<HttpRoutesCase> all_cases() override {
    std::vector<HttpRoutesCase> all = cases();
    const std::vector<HttpRoute> listed = routes().routes();
    for (const HttpRoutesCase& one : cases()) {
      const bool takes_head = std::any_of(listed.begin(), listed.end(), [&](const HttpRoute& route) {
        return route.path == one.route && (route.methods & kHttpHead) != 0;
      });
      if (!takes_head || one.request.method != "GET") continue;
      all.push_back(one);
      all.back().request.method = "HEAD";
    }
    return all;
  }
};

TEST_P(HttpRoutesConformance, RoutesAreOnesThatAFrontendServes) {
  check_and_stop([&] {
    constexpr uint32_t kKnownMethods = 2 * kHttpOptions - 1;
    std::vector<std::string> paths;
    for (const HttpRoute& route : routes().routes()) {
      SCOPED_TRACE(route.path);
      expect_path(route.path, &paths, route.methods);
      EXPECT_LE(std::count(route.path.begin(), route.path.end(), '*'), 4);
      EXPECT_EQ(route.path.find("**"), std::string::npos) << "no two '*' stand side by side";
      EXPECT_EQ(route.path.find('?'), std::string::npos);
      EXPECT_NE(route.methods, 0u);
      EXPECT_EQ(route.methods & ~kKnownMethods, 0u);
      EXPECT_TRUE(is_known_category(route.category)) << "category '" << route.category << "'";
    }
  });
}

TEST_P(HttpRoutesConformance, RoutesAreTheSameAtEachCall) { check_that_the_list_stays(); }

TEST_P(HttpRoutesConformance, EachRequestIsAnsweredOnce) { check_answers(); }

TEST_P(HttpRoutesConformance, ARouteOfAPredecessorsIsNotFound) {
  check_and_stop([&] {
    const HttpRoutesCase unknown{
        "/nobody-has-this", {"GET", "/nobody-has-this", "a=b", {{"Host", "x"}}, {}}, 404};
    expect_answer(send(unknown), unknown);
    const HttpRoutesCase prefix{
        "/nobody-has-this/*", {"POST", "/nobody-has-this/b", {}, {}, std::string(5000, 'x')}, 404};
    expect_answer(send(prefix), prefix);
  });
}

TEST_P(HttpRoutesConformance, AClientMayHaveGoneBefore) { check_clients_that_have_gone(); }

TEST_P(HttpRoutesConformance, AClientMayGoAtAnyTime) { check_clients_that_go(); }

TEST_P(HttpRoutesConformance, AClientMayTakeNothing) { check_clients_that_take_nothing(); }

TEST_P(HttpRoutesConformance, WhatLastsEndsInADrain) { check_drain(); }

TEST_P(HttpRoutesConformance, ManyConnectionsAskAtATime) { check_many_clients(); }

}  // namespace atl::test
