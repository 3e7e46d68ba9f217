/// Conformance of "atoll.access/1".
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/frontend/access.h"
#include "atoll/testing/call_head.h"
#include "atoll/testing/conformance/conformance.h"

namespace atl::test {

/// Who asks for one call and waits for the answer. [any]
class AccessProbe final : public AccessWaiter {
 public:
  virtual ~AccessProbe() = default;
  /// The answer, however it comes. \returns nullopt: none within a minute; the provider has this object then.
  std::optional<Status> ask(Access& access, ApiCategory category, CallProtocol protocol,
                            TestCallHead::Headers headers) {
    std::string_view name;
    auto head = std::make_unique<TestCallHead>(std::move(headers));
    Result<AccessOutcome> outcome =
        access.ask({category, api_category_name(category), protocol, *head}, *this, &name);
    head.reset();  // what waits has copied what it needs
    if (!outcome.ok()) return std::move(outcome).status();
    if (*outcome == AccessOutcome::kAllowed) {
      caller = name;
      return Status();
    }
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(1), [&] { return answers_ != 0; })) return {};
    return std::move(answer_);
  }
  void on_access(Status outcome, std::string_view name) noexcept override {
    std::lock_guard lock(mutex_);
    if (outcome.ok()) caller = name;
    answer_ = std::move(outcome);
    ++answers_;
    changed_.notify_all();
  }
  /// Times that it was told.
  int answers() const {
    std::lock_guard lock(mutex_);
    return answers_;
  }

  std::string caller;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Status answer_;
  int answers_ = 0;
};

/// Real threads: a provider may answer on its own.
struct AccessProvider {
  std::string name;
  /// A fresh one that lets calls of category kInference be made by those only who present `right`, and all
  /// others be made freely; what it needs lives as long as the pointer.
  std::function<std::shared_ptr<Access>(CallProtocol protocol)> make;
  CallProtocol protocol;
  /// Names in lower case. The last value is the secret.
  TestCallHead::Headers right;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const AccessProvider& provider, std::ostream* out) { *out << provider.name; }
};

class AccessConformance : public Conformance<AccessProvider> {
 protected:
  using Headers = TestCallHead::Headers;
  void SetUp() override { access_ = GetParam().make(GetParam().protocol); }

  /// The answer to a call of this category. A null name: it is not looked at.
  Status ask(ApiCategory category, Headers headers, std::string* caller = nullptr) {
    auto probe = std::make_unique<AccessProbe>();
    std::optional<Status> answer = probe->ask(*access_, category, GetParam().protocol, std::move(headers));
    if (!answer) {
      (void)probe.release();  // the provider has it
      ADD_FAILURE() << "no answer in a minute";
      return internal_error("no answer");
    }
    if (caller != nullptr) *caller = probe->caller;
    EXPECT_LE(probe->answers(), 1);
    return std::move(*answer);
  }
  static bool is_refusal(const Status& status) {
    const Code code = status.code();
    return code == Code::kUnauthenticated || code == Code::kPermissionDenied || code == Code::kUnavailable ||
           code == Code::kDeadlineExceeded;
  }
  void expect_refused(Headers headers) {
    Status answer = ask(ApiCategory::kInference, headers);
    EXPECT_FALSE(answer.ok());
    EXPECT_TRUE(is_refusal(answer)) << answer.text();
    EXPECT_NE(answer.message(), "");
    EXPECT_EQ(answer.message().find(GetParam().right.back().second), std::string_view::npos)
        << "a refusal shows no secret";
  }

  std::shared_ptr<Access> access_;
};

TEST_P(AccessConformance, WhoPresentsWhatIsRightIsAllowed) {
  check([&] {
    std::string first, second;
    EXPECT_TRUE(is_ok(ask(ApiCategory::kInference, GetParam().right, &first)));
    Headers more = GetParam().right;
    more.insert(more.begin(), {"user-agent", "test"});
    EXPECT_TRUE(is_ok(ask(ApiCategory::kInference, more, &second)));
    EXPECT_EQ(first, second) << "the same caller";
  });
}

TEST_P(AccessConformance, WhoPresentsNothingOrSomethingElseIsRefused) {
  check([&] {
    expect_refused({});
    for (const std::string& wrong :
         {std::string(), std::string("wrong"), GetParam().right.back().second + "x",
          std::string(100'000, 'x'), std::string("\0\xFF", 2)}) {
      Headers headers = GetParam().right;
      headers.back().second = wrong;
      expect_refused(headers);
    }
  });
}

TEST_P(AccessConformance, TwoValuesAreNotTakenAsOne) {
  check([&] {
    for (const bool right_first : {true, false}) {
      Headers headers = GetParam().right;
      const auto wrong = std::make_pair(headers.back().first, std::string("wrong"));
      headers.insert(right_first ? headers.end() : headers.end() - 1, wrong);
      Status answer = ask(ApiCategory::kInference, headers);
      EXPECT_FALSE(answer.ok()) << "the right one came " << (right_first ? "first" : "last");
    }
  });
}

TEST_P(AccessConformance, OtherCallsAreFree) {
  check([&] {
    for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
      const auto category = static_cast<ApiCategory>(i);
      if (category == ApiCategory::kInference) continue;
      EXPECT_TRUE(is_ok(ask(category, {}))) << api_category_name(category);
    }
  });
}

TEST_P(AccessConformance, ManyAskAtATime) {
  check([&] {
    constexpr int kThreads = 4, kCalls = 200;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kCalls; ++i) {
          const bool right = (t + i) % 2 == 0;
          Status answer = ask(ApiCategory::kInference, right ? GetParam().right : Headers{});
          EXPECT_EQ(answer.ok(), right) << answer.text();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace atl::test
