/// What all conformance suites share. A suite is compiled once into a provider's unit test and run against
/// that provider; include each suite in one source file of a test only.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"

namespace atl::test {

/// A check that a provider does not pass, and why.
struct ConformanceException {
  enum class Kind { kUnsupported, kExpectedFailure };
  Kind kind;
  std::string check;
  std::string reason;
};

/// Never: what the check is about does not exist for this provider. The check is not run.
inline ConformanceException unsupported(std::string check, std::string reason) {
  return {ConformanceException::Kind::kUnsupported, std::move(check), std::move(reason)};
}
/// Not yet: the check runs and must fail. If it passes, that is a failure: take it off the list.
inline ConformanceException expected_failure(std::string check, std::string reason) {
  return {ConformanceException::Kind::kExpectedFailure, std::move(check), std::move(reason)};
}

/// The fixture under every suite. Provider has `name` and `exceptions`.
template <class Provider>
class Conformance : public ::testing::TestWithParam<Provider> {
 protected:
  /// Runs the body of a check as the provider's exceptions say.
  void check(const std::function<void()>& body) {
    std::string name = current_check();
    refuse_unknown_names();
    const ConformanceException* exception = nullptr;
    for (const ConformanceException& candidate : this->GetParam().exceptions) {
      if (candidate.check == name) exception = &candidate;
    }
    if (exception == nullptr) {
      body();
      return;
    }
    ASSERT_FALSE(exception->reason.empty()) << "an exception needs a reason";
    this->RecordProperty("exception", exception->reason);
    if (exception->kind == ConformanceException::Kind::kUnsupported) return;
    ::testing::TestPartResultArray results;
    {
      using Reporter = ::testing::ScopedFakeTestPartResultReporter;
      Reporter intercept(Reporter::INTERCEPT_ALL_THREADS, &results);
      body();
    }
    bool failed = false;
    for (int i = 0; i < results.size(); ++i) failed = failed || results.GetTestPartResult(i).failed();
    EXPECT_TRUE(failed) << this->GetParam().name << " passes '" << name
                        << "', which is listed as an expected failure (" << exception->reason
                        << "): take it off the list";
  }

 private:
  static std::string current_check() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    return name.substr(0, name.rfind('/'));
  }
  /// A name that is no check of the suite would silently except nothing.
  void refuse_unknown_names() {
    const auto* suite = ::testing::UnitTest::GetInstance()->current_test_suite();
    for (const ConformanceException& exception : this->GetParam().exceptions) {
      bool known = false;
      for (int i = 0; i < suite->total_test_count(); ++i) {
        std::string name = suite->GetTestInfo(i)->name();
        known = known || name.substr(0, name.rfind('/')) == exception.check;
      }
      EXPECT_TRUE(known) << "'" << exception.check << "' is no check of " << suite->name();
    }
  }
};

/// For EXPECT_TRUE(is_ok(status)): says the failure.
inline ::testing::AssertionResult is_ok(const Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << code_name(status.code()) << ": " << status.text();
}
template <class T>
::testing::AssertionResult is_ok(const Result<T>& result) {
  return is_ok(result.status());
}
/// For EXPECT_TRUE(is_failure(status, Code::kNotFound, "text in it")).
inline ::testing::AssertionResult is_failure(const Status& status, Code code, std::string_view text = {}) {
  bool holds = status.code() == code && status.text().find(text) != std::string::npos;
  if (holds) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "found " << code_name(status.code()) << ": " << status.text()
                                       << "; expected " << code_name(code) << " with '" << text << "'";
}
template <class T>
::testing::AssertionResult is_failure(const Result<T>& result, Code code, std::string_view text = {}) {
  return is_failure(result.status(), code, text);
}

}  // namespace atl::test
