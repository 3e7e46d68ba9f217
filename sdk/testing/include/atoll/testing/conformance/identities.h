/// Conformance of "atoll.access/1" from minor 1 on: sources of identities.
#pragma once

#include <functional>
#include <memory>
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

struct IdentitySource {
  std::string name;
  /// A fresh one that knows a caller who presents `right`: one that may make calls of kInference about models whose names begin
  /// with "mine", and no other call. What it needs lives as long as the pointer.
  std::function<std::shared_ptr<Access>()> make;
  /// Names in lower case. The last value is the secret.
  TestCallHead::Headers right;
  std::vector<ConformanceException> exceptions;
  /// By which the same caller is known without headers, from minor 2 on. Nothing: it knows nobody by a certificate.
  std::optional<ClientCertificate> certificate{};
  friend void PrintTo(const IdentitySource& source, std::ostream* out) { *out << source.name; }
};

class IdentityConformance : public Conformance<IdentitySource> {
 protected:
  using Headers = TestCallHead::Headers;
  using Found = std::shared_ptr<const Identity>;
  void SetUp() override { access_ = GetParam().make(); }

  Result<IdentityOutcome> identify(const Headers& headers, Found* identity,
                                   ApiCategory category = ApiCategory::kInference, bool is_probe = false) {
    const TestCallHead head(headers);
    return access_->identify({category, api_category_name(category), CallProtocol::kHttp, head, is_probe},
                             identity);
  }
  /// As a frontend asks that can tell of certificates.
  Result<IdentityOutcome> identify_certified(const Headers& headers, const ClientCertificate* certificate,
                                             Found* identity, bool is_direct = false) {
    const TestCallHead head(headers, certificate,
                            is_direct ? "ipv4:198.51.100.1:50000" : "ipv4:192.0.2.1:50000");
    return access_->identify_certified(
        {ApiCategory::kInference, api_category_name(ApiCategory::kInference), CallProtocol::kHttp, head},
        identity);
  }
  static bool is_known(const Result<IdentityOutcome>& outcome) {
    return outcome.ok() && outcome.value() == IdentityOutcome::kKnown;
  }
  Found known() {
    Found identity;
    Result<IdentityOutcome> outcome = identify(GetParam().right, &identity);
    EXPECT_TRUE(outcome.ok()) << outcome.status().text();
    if (outcome.ok()) {
      EXPECT_EQ(*outcome, IdentityOutcome::kKnown);
    }
    return identity;
  }
  /// Whatever it says, it does not say that it knows the caller.
  void expect_unknown(const Headers& headers) {
    Found identity;
    Result<IdentityOutcome> outcome = identify(headers, &identity);
    if (outcome.ok()) {
      EXPECT_EQ(*outcome, IdentityOutcome::kNotMine);
      return;
    }
    EXPECT_TRUE(outcome.status().code() == Code::kUnauthenticated ||
                outcome.status().code() == Code::kUnavailable)
        << outcome.status().text();
    EXPECT_EQ(outcome.status().message().find(GetParam().right.back().second), std::string_view::npos)
        << "a refusal shows no secret";
  }

  std::shared_ptr<Access> access_;
};

TEST_P(IdentityConformance, SaysThatItKnowsCallers) {
  check([&] { EXPECT_NE(access_->roles() & kKnowsCallers, 0u); });
}

TEST_P(IdentityConformance, WhoPresentsWhatIsRightIsKnownAndMayWhatIsSaid) {
  check([&] {
    const Found identity = known();
    ASSERT_NE(identity, nullptr);
    EXPECT_NE(identity->name(), "");
    EXPECT_TRUE(identity->holds());
    EXPECT_TRUE(identity->may(ApiCategory::kInference, "inference", ""));
    EXPECT_TRUE(identity->may(ApiCategory::kInference, "inference", "mine"));
    EXPECT_TRUE(identity->may(ApiCategory::kInference, "inference", "mine-2"));
    EXPECT_FALSE(identity->may(ApiCategory::kInference, "inference", "other"));
    EXPECT_FALSE(identity->may(ApiCategory::kInference, "inference", "notmine"));
    EXPECT_FALSE(identity->may_all(ApiCategory::kInference, "inference"));
  });
}

TEST_P(IdentityConformance, WhatIsNotSaidIsDenied) {
  check([&] {
    const Found identity = known();
    ASSERT_NE(identity, nullptr);
    for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
      const auto category = static_cast<ApiCategory>(i);
      if (category == ApiCategory::kInference) continue;
      EXPECT_FALSE(identity->may(category, api_category_name(category), "")) << api_category_name(category);
      EXPECT_FALSE(identity->may(category, api_category_name(category), "mine"))
          << api_category_name(category);
      EXPECT_FALSE(identity->may_all(category, api_category_name(category))) << api_category_name(category);
    }
    EXPECT_FALSE(identity->may(ApiCategory::kModelRepository, kModelRepositoryFiles, "mine"));
    EXPECT_FALSE(identity->may(ApiCategory::kOther, "x.own", "mine"));
    EXPECT_FALSE(identity->may(ApiCategory::kOther, "inference.own", "mine"));
  });
}

TEST_P(IdentityConformance, WhoPresentsNothingOrSomethingElseIsNotKnown) {
  check([&] {
    expect_unknown({});
    for (const std::string& wrong :
         {std::string(), std::string("wrong"), std::string("Bearer "), std::string("Bearer x"),
          GetParam().right.back().second + "x", std::string(100'000, 'x'), std::string("\0\xFF", 2)}) {
      Headers headers = GetParam().right;
      headers.back().second = wrong;
      expect_unknown(headers);
    }
    Headers twice = GetParam().right;
    twice.push_back(twice.back());
    expect_unknown(twice);
  });
}

TEST_P(IdentityConformance, AFrontendThatCanTellOfCertificatesGetsTheSameAnswers) {
  check([&] {
    Found identity;
    EXPECT_TRUE(is_known(identify_certified(GetParam().right, nullptr, &identity)));
    ASSERT_NE(identity, nullptr);
    EXPECT_TRUE(identity->may(ApiCategory::kInference, "inference", "mine"));
    EXPECT_FALSE(identity->may(ApiCategory::kInference, "inference", "other"));
    EXPECT_FALSE(is_known(identify_certified({}, nullptr, &identity)));
    Headers wrong = GetParam().right;
    wrong.back().second += "x";
    EXPECT_FALSE(is_known(identify_certified(wrong, nullptr, &identity)) &&
                 identity->may(ApiCategory::kInference, "inference", "mine"));
  });
}

TEST_P(IdentityConformance, WhoShowsTheRightCertificateIsKnownAndMayWhatIsSaid) {
  check([&] {
    Found identity;
    if (!GetParam().certificate) {
      const ClientCertificate somebody{{}, {"right"}, int64_t{1} << 40};
      EXPECT_FALSE(is_known(identify_certified({}, &somebody, &identity, true))) << "it knows nobody by one";
      return;
    }
    ASSERT_TRUE(is_known(identify_certified({}, &*GetParam().certificate, &identity, true)));
    ASSERT_NE(identity, nullptr);
    EXPECT_TRUE(identity->holds());
    EXPECT_TRUE(identity->may(ApiCategory::kInference, "inference", "mine-2"));
    EXPECT_FALSE(identity->may(ApiCategory::kInference, "inference", "other"));
    EXPECT_FALSE(identity->may_all(ApiCategory::kInference, "inference"));
    EXPECT_FALSE(identity->may(ApiCategory::kMetadata, "metadata", "mine"));
  });
}

TEST_P(IdentityConformance, ACertificateThatNamesNobodyOrHasExpiredIsNotKnown) {
  check([&] {
    constexpr int64_t kLater = int64_t{1} << 40;
    Found identity;
    for (const ClientCertificate& wrong :
         std::initializer_list<ClientCertificate>{{{}, {}, kLater},
                                                  {{""}, {}, kLater},
                                                  {{}, {""}, kLater},
                                                  {{"a:b", "a:c"}, {}, kLater},
                                                  {{}, {"a", "b"}, kLater},
                                                  {{}, {std::string("a\0b", 3)}, kLater},
                                                  {{std::string(100'000, 'x')}, {}, kLater}})
      EXPECT_FALSE(is_known(identify_certified({}, &wrong, &identity, true)));
    if (!GetParam().certificate) return;
    ClientCertificate old = *GetParam().certificate;
    old.expires_s = 0;
    EXPECT_FALSE(is_known(identify_certified({}, &old, &identity, true)));
  });
}

TEST_P(IdentityConformance, AnIdentityIsUsedOnManyThreads) {
  check([&] {
    constexpr int kThreads = 4, kCalls = 500;
    const Found shared = known();
    ASSERT_NE(shared, nullptr);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kCalls; ++i) {
          EXPECT_TRUE(shared->may(ApiCategory::kInference, "inference", "mine"));
          EXPECT_FALSE(shared->may(ApiCategory::kInference, "inference", "other"));
          EXPECT_NE(known(), nullptr);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace atl::test
