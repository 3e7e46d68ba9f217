#include <gtest/gtest.h>

#include <string>

#include "pools/leases/api/json_answers.h"
#include "pools/leases/api/json_requests.h"
#include "pools/leases/api/lease_caller.h"
#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

template <class T>
std::string refused(Result<T> result) {
  if (result.ok()) return "taken";
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
  return std::string(result.status().message());
}

// --- requests ---

TEST(JsonRequests, APoolHasAllOfItsFields) {
  Result<PoolDefinition> read = read_pool(
      R"({"name":"fraud","min_instances":1,"max_instances":4,"quota":18446744073709551615,"enforce_backends":false,
          "instance":{"runtime":"worker","cpus":2,"gpus":1,"memory":"4GiB"}})");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->name, "fraud");
  EXPECT_EQ(read->min_instances, 1u);
  EXPECT_EQ(read->max_instances, 4u);
  EXPECT_EQ(read->quota, UINT64_MAX);
  EXPECT_FALSE(read->enforce_backends);
  EXPECT_EQ(read->instance, (InstanceDefinition{"worker", 2, 1, uint64_t{4} << 30}));
  Result<PoolDefinition> least = read_pool(R"({"instance":{"memory":1024}})");
  ASSERT_TRUE(least.ok());
  EXPECT_TRUE(least->enforce_backends);
  EXPECT_EQ(least->instance.memory_bytes, 1024u);
}

TEST(JsonRequests, ALeaseHasAllOfItsFields) {
  Result<LeaseDefinition> read = read_lease(
      R"({"pool":"fraud","quota":2,"duration":"90s","idempotency_key":"k",
          "models":[{"name":"a","source":"/models"},{"source":"/more","name":"b"}],
          "auto_renew":{"duration":3600,"window":1.5}})");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->pool, "fraud");
  EXPECT_EQ(read->quota, 2u);
  EXPECT_EQ(read->duration_ns, 90 * kNsPerSecond);
  EXPECT_EQ(read->models, (std::vector<LeaseModel>{{"a", "/models"}, {"b", "/more"}}));
  EXPECT_EQ(read->auto_renew, (AutoRenew{3600 * kNsPerSecond, 1500 * kNsPerMs}));
  EXPECT_EQ(read->idempotency_key, "k");
  EXPECT_EQ(read_lease(R"({"auto_renew":true})")->auto_renew, AutoRenew{});
  EXPECT_EQ(read_lease(R"({"auto_renew":false})")->auto_renew, std::nullopt);
  EXPECT_EQ(read_lease(R"({"duration":9223372036})")->duration_ns, 9'223'372'036 * kNsPerSecond);
}

TEST(JsonRequests, WhatIsWrongIsNamed) {
  EXPECT_EQ(refused(read_pool("")), "the body is not valid JSON at byte 0: The document is empty.");
  EXPECT_EQ(refused(read_pool("[]")), "the body is an array, expected an object");
  EXPECT_EQ(refused(read_pool(R"({"name":"a"} x)")),
            "the body is not valid JSON at byte 13: The document root must not be followed by other values.");
  EXPECT_EQ(refused(read_pool("{\"name\":\"\xff\"}")),
            "the body is not valid JSON at byte 9: Invalid encoding in string.");
  EXPECT_EQ(refused(read_pool(R"({"quotas":1})")),
            "field 'quotas' is not known, expected one of name, min_instances, max_instances, quota, "
            "enforce_backends, instance, did you mean 'quota'?");
  EXPECT_EQ(refused(read_pool(R"({"quota":1,"quota":2})")), "field 'quota' is there twice");
  EXPECT_EQ(refused(read_pool(R"({"quota":"1"})")), "quota is a text, expected a whole number");
  EXPECT_EQ(refused(read_pool(R"({"quota":-1})")), "quota is no whole number from 0 to 18446744073709551615");
  EXPECT_EQ(refused(read_pool(R"({"quota":1.5})")),
            "quota is no whole number from 0 to 18446744073709551615");
  EXPECT_EQ(refused(read_pool(R"({"max_instances":4294967296})")),
            "max_instances is 4294967296, expected at most 4294967295");
  EXPECT_EQ(refused(read_pool(R"({"enforce_backends":1})")),
            "enforce_backends is a number, expected true or false");
  EXPECT_EQ(
      refused(read_pool(R"({"instance":{"cpu":1}})")),
      "field 'instance.cpu' is not known, expected one of runtime, cpus, gpus, memory, did you mean 'cpus'?");
  EXPECT_EQ(refused(read_pool(R"({"instance":{"memory":"4GB"}})")),
            "instance.memory is '4GB', expected a text such as '4GiB', or a number of bytes");
  EXPECT_EQ(
      refused(read_pool(R"({"name":1,"quota":"8","max_instnces":4,"instance":{"cpus":"x","memory":"4GB"}})")),
      "name is a number, expected a text; quota is a text, expected a whole number; field 'max_instnces' is not "
      "known, expected one of name, min_instances, max_instances, quota, "
      "enforce_backends, instance, did you mean 'max_instances'?; instance.cpus is a text, expected a whole number; instance.memory is '4GB', "
      "expected a text such as '4GiB', or a number of bytes");
  EXPECT_EQ(refused(read_lease(R"({"models":{}})")), "models is an object, expected an array");
  EXPECT_EQ(refused(read_lease(R"({"models":["a"]})")), "models[0] is a text, expected an object");
  EXPECT_EQ(refused(read_lease(R"({"models":[{},{"name":null}]})")),
            "models[1].name is null, expected a text");
  EXPECT_EQ(refused(read_lease(R"({"duration":"soon"})")),
            "duration is 'soon', expected a text such as '90s', or a number of seconds");
  EXPECT_EQ(
      refused(read_lease(R"({"duration":"99999999h"})")),
      "duration is '99999999h', expected a text such as '90s', or a number of seconds, at most 2562047h");
  EXPECT_EQ(refused(read_lease(R"({"duration":-1})")),
            "duration is -1, expected seconds from 0 to 9223372036");
  EXPECT_EQ(refused(read_lease(R"({"duration":1e300})")),
            "duration is 1e+300, expected seconds from 0 to 9223372036");
  EXPECT_EQ(refused(read_lease(R"({"auto_renew":"yes"})")),
            "auto_renew is a text, expected true, false or an object");
  EXPECT_EQ(refused(read_lease(R"({"auto_renew":{"by":1}})")),
            "field 'auto_renew.by' is not known, expected one of duration, window");
  EXPECT_EQ(refused(read_pool_update("{}")),
            "the body has no field, expected min_instances, max_instances or both");
  EXPECT_EQ(
      refused(read_pool_update(R"({"quota":1})")),
      "field 'quota' is not known, expected one of min_instances, max_instances; the others of a pool are as "
      "it was created with");
  EXPECT_EQ(refused(read_lease(std::string(1'000'000, '['))).substr(0, 25), "the body is not valid JSO")
      << "deep";
}

TEST(JsonRequests, ManyModelsAreReadAsFarAsIsNeededToRefuseThem) {
  std::string models;
  for (int i = 0; i < 3'000; ++i) models += cat(i == 0 ? "" : ",", R"({"name":"m)", i, R"(","source":"/m"})");
  Result<LeaseDefinition> read = read_lease(cat(R"({"pool":"p","quota":1,"models":[)", models, "]}"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->models.size(), kLeaseModelsMax + 1);
  EXPECT_FALSE(check(*read, {}).ok());
}

TEST(JsonRequests, ARenewalMayHaveNoBody) {
  EXPECT_EQ(read_renewal("").value(), std::nullopt);
  EXPECT_EQ(read_renewal("{}").value(), std::nullopt);
  EXPECT_EQ(read_renewal(R"({"duration":"5m"})").value(), 300 * kNsPerSecond);
  EXPECT_EQ(read_pool_update(R"({"max_instances":3})")->max_instances, 3u);
}

// --- answers ---

class JsonAnswersTest : public testing::Test, public PoolBench {};

TEST_F(JsonAnswersTest, PoolsAndLeasesAreWholeAtAnyTime) {
  (void)create_pool("p", 8, 2, 1);
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(
      pool_json(*manager->book().find_pool("p"), ""),
      R"({"name":"p","state":"ACTIVE","min_instances":1,"max_instances":2,"quota":8,"enforce_backends":true,)"
      R"("instance":{"runtime":"","cpus":0,"gpus":0,"memory":0},"instances":[{"name":"i0","id":"id-1",)"
      R"("state":"READY","address":"id-1:8000","grpc_address":"id-1:8001","used":0,"free":8,"backends":[],"leases":[]}]})");
  const LeaseCaller anybody(nullptr);
  const std::string id = acquire(lease(3, {"a", "b"}, 60 * kNsPerSecond));
  EXPECT_EQ(
      lease_json(manager->book(), *manager->book().leases.find(id)),
      R"({"id":"id-2","name":"","pool":"p","state":"DEPLOYING","quota":3,"instance":"i0","address":"id-1:8000","grpc_address":"id-1:8001",)"
      R"("created_at":"2001-09-09T01:46:44.000Z","expires_at":"2001-09-09T01:47:44.000Z","models":[)"
      R"({"name":"a","state":"LOADING","reason":""},{"name":"b","state":"PENDING","reason":""}]})");
  run_for(kNsPerSecond);
  run([&] { EXPECT_TRUE(manager->set_name("", "live", id).ok()); });
  EXPECT_EQ(
      leases_json(manager->book(), anybody.list(manager->book(), "p")),
      R"({"leases":[{"id":"id-2","name":"live","pool":"p","state":"ACTIVE","quota":3,"instance":"i0",)"
      R"("address":"id-1:8000","grpc_address":"id-1:8001","created_at":"2001-09-09T01:46:44.000Z","expires_at":"2001-09-09T01:47:44.000Z",)"
      R"("models":[{"name":"a","state":"READY","reason":""},{"name":"b","state":"READY","reason":""}]}]})");
  EXPECT_EQ(leases_json(manager->book(), anybody.list(manager->book(), "q")), R"({"leases":[]})");
  run([&] {
    EXPECT_EQ(
        plan_json(manager->book(), manager->plan(lease(6, {"c"})).value()),
        R"({"instance":null,"starts_instance":true,"reason":"","instances":[{"name":"i0","used":3,"free":5,)"
        R"("backends":["onnxruntime"],"reason":"free 5"}]})");
  });
  servers.engine_is_away = true;
  servers.find("p", 0)->hangs = true;
  run_for(20 * kNsPerSecond);
  EXPECT_NE(pools_json(manager->book(), "").find(R"("state":"FAILED")"), std::string::npos);
  EXPECT_NE(leases_json(manager->book(), anybody.list(manager->book(), "")).find(R"("state":"PENDING")"),
            std::string::npos);
}

TEST_F(JsonAnswersTest, AFailureHasItsReasonWhateverItIs) {
  (void)create_pool("p", 8, 2);
  servers.broken["a"] = "broken \"here\"\n\xff";
  const std::string id = deploy(lease(3, {"a"}));
  const std::string json = lease_json(manager->book(), *manager->book().leases.find(id));
  EXPECT_NE(json.find(R"("state":"FAILED")"), std::string::npos);
  EXPECT_NE(json.find("\"reason\":\"model 'a' failed to load: broken \\\"here\\\"\\n\xEF\xBF\xBD\""),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace atl::pools
