/// What the suites of "atoll.http_routes/1" and "atoll.grpc_calls/1" share: exchanges that a provider gets, and
/// each of which it ends once, whatever its client does.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/frontend/access.h"
#include "atoll/testing/conformance/conformance.h"

namespace atl::test {

/// \tparam UnderTest  a provider with real threads; its destructor stops it, and drain() does as the kernel does
/// \tparam Case  has `request`, `lasts` and `path()`, as the provider lists it
/// \tparam Exchange  a FakeExchange that is made of a case's request
template <class UnderTest, class Case, class Exchange>
struct ExchangeProvider {
  using UnderTestType = UnderTest;
  using CaseType = Case;
  using ExchangeType = Exchange;

  std::string name;
  /// A fresh one, which has begun; what it needs lives as long as the pointer.
  std::function<std::shared_ptr<UnderTest>()> make;
  std::vector<Case> cases;  ///< for everything that it lists one at least
  std::vector<ConformanceException> exceptions;
  std::chrono::milliseconds most_wait = std::chrono::minutes(1);  ///< for the end of one exchange
  /// The same in a check that is expected to fail, and might wait for what does not come.
  std::chrono::milliseconds most_vain_wait = most_wait;
  friend void PrintTo(const ExchangeProvider& provider, std::ostream* out) { *out << provider.name; }
};

/// The fixture under both suites, with the bodies of their common checks.
/// \tparam Provider  an ExchangeProvider
template <class Provider>
class ExchangeConformance : public Conformance<Provider> {
 protected:
  using Case = typename Provider::CaseType;
  using Exchange = typename Provider::ExchangeType;

  void SetUp() override {
    const Provider& provider = this->GetParam();
    under_test_ = provider.make();
    most_wait_ = provider.most_wait;
    const std::string_view check = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const ConformanceException& exception : provider.exceptions) {
      if (exception.kind != ConformanceException::Kind::kExpectedFailure) continue;
      if (check.starts_with(exception.check + "/")) most_wait_ = provider.most_vain_wait;
    }
  }

  // --- of the suite ---
  /// All that the provider lists, as text.
  virtual std::string listed() = 0;
  /// Gives the provider an exchange.
  virtual void give(Exchange& exchange, const Case& one) = 0;
  /// Expects that an exchange which has ended has the answer of its case.
  virtual void expect_right(const Exchange& exchange, const Case& one) = 0;
  /// Those of the provider, and what the suite makes of them.
  virtual std::vector<Case> all_cases() { return cases(); }
  virtual std::string text_of(const Case& one) { return std::string(one.path()); }

  // --- for checks ---
  typename Provider::UnderTestType& under_test() { return *under_test_; }
  const std::vector<Case>& cases() const { return this->GetParam().cases; }
  /// A check, and then the provider's end and a look at what all its exchanges have seen, before which it may
  /// still have touched them.
  void check_and_stop(const std::function<void()>& body) {
    this->check([&] {
      body();
      for (const auto& exchange : exchanges_) exchange->leave();
      under_test_.reset();
      for (const auto& exchange : exchanges_) {
        EXPECT_EQ(exchange->problems(), std::vector<std::string>());
      }
    });
  }
  /// An exchange that the provider does not have yet.
  Exchange& make(const Case& one) {
    auto exchange = std::make_unique<Exchange>(one.request);
    std::lock_guard lock(mutex_);
    return *exchanges_.emplace_back(std::move(exchange));
  }
  Exchange& send(const Case& one) {
    Exchange& exchange = make(one);
    give(exchange, one);
    return exchange;
  }
  void expect_end(const Exchange& exchange, const Case& one) {
    EXPECT_TRUE(exchange.wait_end(most_wait_)) << text_of(one) << " does not end";
  }
  void expect_answer(const Exchange& exchange, const Case& one) {
    expect_end(exchange, one);
    expect_right(exchange, one);
  }

  // --- parts of a check of what the provider lists ---
  static bool is_known_category(std::string_view name) {
    bool is_known = is_own_category(name);
    for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
      is_known = is_known || name == api_category_name(static_cast<ApiCategory>(i));
    }
    return is_known;
  }
  /// What holds for paths of any protocol. \param before  those that were listed before it; it is added
  /// \param methods  those of a path that may be listed once for each
  void expect_path(const std::string& path, std::vector<std::string>* before, uint32_t methods = 1) {
    EXPECT_TRUE(path.starts_with('/'));
    EXPECT_LE(path.size(), 1024u);
    EXPECT_TRUE(std::none_of(path.begin(), path.end(),
                             [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; }));
    for (uint32_t bit = 1; bit != 0 && bit <= methods; bit <<= 1) {
      if ((methods & bit) == 0) continue;
      const std::string method = cat(path, " ", bit);
      EXPECT_EQ(std::count(before->begin(), before->end(), method), 0) << "it is listed twice";
      before->push_back(method);
    }
    EXPECT_TRUE(std::any_of(cases().begin(), cases().end(), [&](const Case& one) {
      return one.path() == path;
    })) << "the test has no case for it";
  }

  // --- whole checks ---
  void check_that_the_list_stays() {
    check_and_stop([&] {
      const std::string first = listed();
      EXPECT_EQ(listed(), first);
      for (const Case& one : cases()) {
        if (!one.lasts) expect_end(send(one), one);
      }
      EXPECT_EQ(listed(), first);
    });
  }
  void check_answers() {
    check_and_stop([&] {
      for (const Case& one : all_cases()) {
        if (one.lasts) continue;
        for (int i = 0; i < 3; ++i) expect_answer(send(one), one);
      }
    });
  }
  void check_clients_that_have_gone() {
    check_and_stop([&] {
      for (const Case& one : all_cases()) {
        Exchange& exchange = make(one);
        exchange.leave();
        give(exchange, one);
        expect_end(exchange, one);
      }
    });
  }
  void check_clients_that_go() {
    check_and_stop([&] {
      for (const Case& one : all_cases()) {
        for (int i = 0; i < 10; ++i) {
          Exchange& exchange = make(one);
          // While it is taken, as soon as it was, and when its answer has begun, or is there.
          std::thread leaving;
          if (i % 3 == 0) leaving = std::thread([&] { exchange.leave(); });
          give(exchange, one);
          if (i % 3 == 2 && !one.lasts) {
            EXPECT_TRUE(exchange.wait_begin(most_wait_)) << text_of(one);
          }
          if (leaving.joinable()) leaving.join();
          exchange.leave();
          expect_end(exchange, one);
        }
      }
    });
  }
  void check_clients_that_take_nothing() {
    check_and_stop([&] {
      for (const Case& one : all_cases()) {
        Exchange& exchange = make(one);
        exchange.take_nothing(1);
        give(exchange, one);
        if (one.lasts) exchange.leave();
        expect_end(exchange, one);
      }
    });
  }
  void check_drain() {
    check_and_stop([&] {
      std::vector<std::pair<const Case*, Exchange*>> sent;
      for (const Case& one : cases()) sent.emplace_back(&one, &send(one));
      under_test_->drain();
      for (const auto& [one, exchange] : sent) expect_end(*exchange, *one);
    });
  }
  void check_many_clients() {
    check_and_stop([&] {
      constexpr int kThreads = 4, kRounds = 25;
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
          for (int i = 0; i < kRounds; ++i) {
            for (const Case& one : cases()) {
              Exchange& exchange = send(one);
              if (one.lasts) exchange.leave();
              expect_end(exchange, one);
            }
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    });
  }

 private:
  std::shared_ptr<typename Provider::UnderTestType> under_test_;
  std::chrono::milliseconds most_wait_{};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

}  // namespace atl::test
