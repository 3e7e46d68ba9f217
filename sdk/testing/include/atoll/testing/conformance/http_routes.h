/// Conformance of "atoll.http_routes/1".
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/access.h"
#include "atoll/http_routes.h"
#include "atoll/testing/conformance/conformance.h"
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
};

struct HttpRoutesProvider {
  std::string name;
  /// A fresh one, which has begun; what it needs lives as long as the pointer.
  std::function<std::shared_ptr<HttpRoutesUnderTest>()> make;
  std::vector<HttpRoutesCase> cases;  ///< for every route one at least
  std::vector<ConformanceException> exceptions;
  std::chrono::milliseconds most_wait = std::chrono::minutes(1);  ///< for the end of one request
  friend void PrintTo(const HttpRoutesProvider& provider, std::ostream* out) { *out << provider.name; }
};

class HttpRoutesConformance : public Conformance<HttpRoutesProvider> {
 protected:
  void SetUp() override { under_test_ = GetParam().make(); }

  /// A check, and then the provider's end and a look at what all its exchanges have seen, before which it may
  /// still have touched them.
  void check_and_stop(const std::function<void()>& body) {
    check([&] {
      body();
      for (const auto& exchange : exchanges_) exchange->leave();
      under_test_.reset();
      for (const auto& exchange : exchanges_) {
        EXPECT_EQ(exchange->problems(), std::vector<std::string>());
      }
    });
  }

  HttpRoutes& routes() { return under_test_->routes(); }
  FakeHttpExchange& make(const FakeHttpRequest& request) {
    auto exchange = std::make_unique<FakeHttpExchange>(request);
    std::lock_guard lock(mutex_);
    return *exchanges_.emplace_back(std::move(exchange));
  }
  FakeHttpExchange& send(const HttpRoutesCase& one) {
    FakeHttpExchange& exchange = make(one.request);
    exchange.send_to(routes(), one.route);
    return exchange;
  }
  static std::string text_of(const HttpRoutesCase& one) { return one.request.method + " " + one.route; }
  void expect_end(const FakeHttpExchange& exchange, const HttpRoutesCase& one) {
    EXPECT_TRUE(exchange.wait_end(GetParam().most_wait)) << text_of(one) << " does not end";
  }
  void expect_answer(const FakeHttpExchange& exchange, const HttpRoutesCase& one) {
    expect_end(exchange, one);
    EXPECT_EQ(exchange.reply().status, one.status) << text_of(one);
  }
  /// Those of the provider, and those of GET as HEAD where a route takes that.
  std::vector<HttpRoutesCase> cases_with_head() {
    std::vector<HttpRoutesCase> cases = GetParam().cases;
    const std::vector<HttpRoute> listed = routes().routes();
    for (const HttpRoutesCase& one : GetParam().cases) {
      const bool takes_head = std::any_of(listed.begin(), listed.end(), [&](const HttpRoute& route) {
        return route.path == one.route && (route.methods & kHttpHead) != 0;
      });
      if (!takes_head || one.request.method != "GET") continue;
      cases.push_back(one);
      cases.back().request.method = "HEAD";
    }
    return cases;
  }

  std::shared_ptr<HttpRoutesUnderTest> under_test_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<FakeHttpExchange>> exchanges_;
};

TEST_P(HttpRoutesConformance, RoutesAreOnesThatAFrontendServes) {
  check_and_stop([&] {
    constexpr uint32_t kKnownMethods = 2 * kHttpOptions - 1;
    std::vector<std::string> paths;
    for (const HttpRoute& route : routes().routes()) {
      SCOPED_TRACE(route.path);
      EXPECT_TRUE(route.path.starts_with('/'));
      EXPECT_LE(route.path.size(), 1024u);
      EXPECT_GE(route.path.find('*'), route.path.size() - 1) << "a '*' is at the end";
      EXPECT_TRUE(std::none_of(route.path.begin(), route.path.end(), [](char c) {
        return (static_cast<unsigned char>(c) <= ' ') || c == 0x7F || c == '?';
      }));
      EXPECT_NE(route.methods, 0u);
      EXPECT_EQ(route.methods & ~kKnownMethods, 0u);
      bool is_known = is_own_category(route.category);
      for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
        is_known = is_known || route.category == api_category_name(static_cast<ApiCategory>(i));
      }
      EXPECT_TRUE(is_known) << "category '" << route.category << "'";
      EXPECT_EQ(std::count(paths.begin(), paths.end(), route.path), 0) << "it is listed twice";
      paths.push_back(route.path);
      EXPECT_TRUE(std::any_of(GetParam().cases.begin(), GetParam().cases.end(),
                              [&](const HttpRoutesCase& one) { return one.route == route.path; }))
          << "the test has no case for it";
    }
  });
}

TEST_P(HttpRoutesConformance, RoutesAreTheSameAtEachCall) {
  check_and_stop([&] {
    const auto text = [&] {
      std::string all;
      for (const HttpRoute& route : routes().routes()) {
        all += cat(route.path, " ", route.methods, " ", route.category, "\n");
      }
      return all;
    };
    const std::string first = text();
    EXPECT_EQ(text(), first);
    for (const HttpRoutesCase& one : GetParam().cases) {
      if (!one.lasts) expect_end(send(one), one);
    }
    EXPECT_EQ(text(), first);
  });
}

TEST_P(HttpRoutesConformance, EachRequestIsAnsweredOnce) {
  check_and_stop([&] {
    for (const HttpRoutesCase& one : cases_with_head()) {
      if (one.lasts) continue;
      for (int i = 0; i < 3; ++i) expect_answer(send(one), one);
    }
  });
}

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

TEST_P(HttpRoutesConformance, AClientMayHaveGoneBefore) {
  check_and_stop([&] {
    for (const HttpRoutesCase& one : cases_with_head()) {
      FakeHttpExchange& exchange = make(one.request);
      exchange.leave();
      exchange.send_to(routes(), one.route);
      expect_end(exchange, one);
    }
  });
}

TEST_P(HttpRoutesConformance, AClientMayGoAtAnyTime) {
  check_and_stop([&] {
    for (const HttpRoutesCase& one : cases_with_head()) {
      for (int i = 0; i < 10; ++i) {
        FakeHttpExchange& exchange = make(one.request);
        // While it is taken, as soon as it was, and when its answer has begun, or is there.
        std::thread leaving;
        if (i % 3 == 0) leaving = std::thread([&] { exchange.leave(); });
        exchange.send_to(routes(), one.route);
        if (i % 3 == 2 && !one.lasts) {
          EXPECT_TRUE(exchange.wait_begin(GetParam().most_wait)) << text_of(one);
        }
        if (leaving.joinable()) leaving.join();
        exchange.leave();
        expect_end(exchange, one);
      }
    }
  });
}

TEST_P(HttpRoutesConformance, AClientMayTakeNothing) {
  check_and_stop([&] {
    for (const HttpRoutesCase& one : cases_with_head()) {
      FakeHttpExchange& exchange = make(one.request);
      exchange.take_nothing(1);
      exchange.send_to(routes(), one.route);
      if (one.lasts) exchange.leave();
      expect_end(exchange, one);
    }
  });
}

TEST_P(HttpRoutesConformance, WhatLastsEndsInADrain) {
  check_and_stop([&] {
    std::vector<std::pair<const HttpRoutesCase*, FakeHttpExchange*>> sent;
    for (const HttpRoutesCase& one : GetParam().cases) sent.emplace_back(&one, &send(one));
    under_test_->drain();
    for (const auto& [one, exchange] : sent) expect_end(*exchange, *one);
  });
}

TEST_P(HttpRoutesConformance, ManyConnectionsAskAtATime) {
  check_and_stop([&] {
    constexpr int kThreads = 4, kRounds = 25;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kRounds; ++i) {
          for (const HttpRoutesCase& one : GetParam().cases) {
            FakeHttpExchange& exchange = send(one);
            if (one.lasts) exchange.leave();
            expect_end(exchange, one);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace atl::test
