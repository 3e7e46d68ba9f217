#include "pools/leases/book/definitions.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace atl::pools {
namespace {

PoolDefinition pool() {
  PoolDefinition pool;
  pool.name = "fraud";
  pool.min_instances = 1;
  pool.max_instances = 4;
  pool.quota = 8;
  return pool;
}

LeaseDefinition lease() {
  LeaseDefinition lease;
  lease.pool = "fraud";
  lease.quota = 2;
  lease.models = {{"a", "/models/a"}, {"b", "/models/b"}};
  return lease;
}

std::string refusal(const Status& status) {
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  return std::string(status.message());
}

int64_t duration_of(std::optional<int64_t> duration_ns, const LeaseLimits& limits) {
  Result<int64_t> checked = checked_duration(duration_ns, limits);
  return checked.ok() ? *checked : -1;
}

template <class Change>
std::string refused_pool(Change change) {
  PoolDefinition changed = pool();
  change(changed);
  return refusal(check(changed));
}
template <class Change>
std::string refused_lease(Change change) {
  LeaseDefinition changed = lease();
  change(changed);
  return refusal(check(changed, {}));
}

TEST(PoolDefinition, WhatIsRightIsTaken) {
  EXPECT_TRUE(check(pool()).ok());
  PoolDefinition least;
  least.name = "p";
  least.max_instances = least.quota = 1;
  EXPECT_TRUE(check(least).ok());
  least.quota = UINT64_MAX;
  least.min_instances = least.max_instances = kInstancesMax;
  least.instance = {"worker", 65'536, 1'024, UINT64_MAX};
  EXPECT_TRUE(check(least).ok());
}

TEST(PoolDefinition, EachFieldIsChecked) {
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.name = " "; }), "name is missing or empty");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.name = "a/b"; }),
            "name is 'a/b', expected a name without '/' that is not '.' or '..'");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.name = " .. "; }),
            "name is ' .. ', expected a name without '/' that is not '.' or '..'");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.name = "a\nb"; }),
            "name has control characters or is no UTF-8");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.name = "\xff"; }),
            "name has control characters or is no UTF-8");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.name = std::string(256, 'p'); }),
            "name has 256 bytes, expected at most 255");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.max_instances = 0; }),
            "max_instances is missing or 0, expected 1 to 10000");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.max_instances = 10'001; }),
            "max_instances is 10001, expected 1 to 10000");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.min_instances = 5; }),
            "min_instances is 5, expected at most max_instances, 4");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.quota = 0; }),
            "quota is missing or 0, expected 1 or more");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.instance.runtime = "../worker"; }),
            "instance.runtime is '../worker', expected a name without '/' that is not '.' or '..'");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.instance.cpus = 70'000; }),
            "instance.cpus is 70000, expected 0 to 65536");
  EXPECT_EQ(refused_pool([](PoolDefinition& p) { p.instance.gpus = 2'000; }),
            "instance.gpus is 2000, expected 0 to 1024");
}

TEST(PoolDefinition, AllMistakesAreToldAtOnce) {
  EXPECT_EQ(
      check(PoolDefinition{}).message(),
      "name is missing or empty; max_instances is missing or 0, expected 1 to 10000; quota is missing or 0, "
      "expected 1 or more");
  EXPECT_EQ(
      check(LeaseDefinition{}, {}).message(),
      "pool is missing or empty; quota is missing or 0, expected 1 or more; models is missing or empty, expected "
      "one model at least");
}

TEST(LeaseDefinition, WhatIsRightIsTaken) {
  EXPECT_TRUE(check(lease(), {}).ok());
  LeaseDefinition all = lease();
  all.duration_ns = kNsPerSecond;
  all.auto_renew = AutoRenew{2 * kNsPerSecond, 3 * kNsPerSecond};
  all.idempotency_key = "deploy-17";
  EXPECT_TRUE(check(all, {}).ok());
}

TEST(LeaseDefinition, EachFieldIsChecked) {
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.pool = ""; }), "pool is missing or empty");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.quota = 0; }),
            "quota is missing or 0, expected 1 or more");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.models.clear(); }),
            "models is missing or empty, expected one model at least");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.models.resize(1'025); }),
            "models has 1025 models, expected at most 1024");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.models[1].name = "a"; }),
            "models[1].name is 'a', which is in the lease already");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.models[1].name = "../b"; }),
            "models[1].name is '../b', expected a name without '/' that is not '.' or '..'");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.models[0].source = ""; }),
            "models[0].source is missing or empty");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.models[0].source = std::string(4'097, 's'); }),
            "models[0].source has 4097 bytes, expected at most 4096");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.models[0].source = std::string("/a\0", 3); }),
            "models[0].source has control characters or is no UTF-8");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) {
              l.auto_renew = AutoRenew{1, 0};
            }),
            "auto_renew.duration is 1ns, expected at least 1s");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) {
              l.auto_renew = AutoRenew{0, -1};
            }),
            "auto_renew.window is negative");
  EXPECT_EQ(refused_lease([](LeaseDefinition& l) { l.idempotency_key = "a/b"; }),
            "idempotency_key is 'a/b', expected a name without '/' that is not '.' or '..'");
}

TEST(LeaseDefinition, ModelsComeFromAllowedDirectories) {
  LeaseLimits limits;
  limits.sources = {"/srv/models", "/data"};
  const auto refused = [&](const char* source) {
    LeaseDefinition definition = lease();
    definition.models[0].source = "/data";
    definition.models[1].source = source;
    const Status status = check(definition, limits);
    if (!status.ok()) {
      EXPECT_EQ(status.message(), cat("models[1].source is '", source,
                                      "', expected a directory in one of the server's option 'sources'"));
    }
    return !status.ok();
  };
  EXPECT_TRUE(refused("/models"));
  LeaseDefinition allowed = lease();
  for (LeaseModel& model : allowed.models) model.source = "/srv/models/team/";
  EXPECT_TRUE(check(allowed, limits).ok());
  for (const char* source : {"/srv", "/srv/models2", "/srv/models/../other", "/srv/models/a/../../..",
                             "srv/models", "models", "/", ".", "/srv/models/.."})
    EXPECT_TRUE(refused(source)) << source;
}

TEST(LeaseDefinition, DurationsAreWithinTheLimits) {
  const LeaseLimits limits{.default_duration_ns = 5 * kNsPerSecond,
                           .min_duration_ns = 1500 * kNsPerMs,
                           .max_duration_ns = 10 * kNsPerSecond};
  EXPECT_EQ(duration_of(std::nullopt, limits), 5 * kNsPerSecond);
  EXPECT_EQ(duration_of(1500 * kNsPerMs, limits), 1500 * kNsPerMs);
  EXPECT_EQ(duration_of(10 * kNsPerSecond, limits), 10 * kNsPerSecond);
  EXPECT_EQ(refusal(checked_duration(1499 * kNsPerMs, limits).status()),
            "duration is 1499ms, expected at least 1500ms");
  EXPECT_EQ(refusal(checked_duration(10 * kNsPerSecond + 1, limits).status()),
            "duration is 10000000001ns, expected at most 10s");
  EXPECT_EQ(duration_of(INT64_MAX, LeaseLimits{}), INT64_MAX);
  EXPECT_EQ(refusal(checked_duration(-kNsPerSecond, LeaseLimits{}).status()),
            "duration is -1s, expected at least 1s");
}

}  // namespace
}  // namespace atl::pools
