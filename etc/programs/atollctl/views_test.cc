#include "views.h"

#include <gtest/gtest.h>

#include <sstream>

namespace atl::ctl {
namespace {

using nlohmann::json;

template <class Print>
std::string printed(Print print, const json& answer, Format format) {
  std::ostringstream out;
  print(out, answer, format);
  return out.str();
}

const json kPool =
    json::parse(R"({"name":"fraud","state":"ACTIVE","min_instances":1,"max_instances":4,"quota":8,
  "enforce_backends":true,"instances":[
   {"name":"i0","state":"READY","used":6,"free":2,"backends":["onnxruntime","python"],"leases":["a","b"],"address":"127.0.0.1:1"},
   {"name":"i1","state":"STARTING","used":0,"free":8,"backends":[],"leases":[],"address":""},
   {"name":"i2","state":"FAILED","used":1,"free":7,"backends":null,"leases":["c"],"address":"","reason":"no licence"}]})");

TEST(Views, APoolIsAPictureOfItsInstances) {
  EXPECT_EQ(printed(print_pool, kPool, Format::kTable),
            "fraud: ACTIVE, quota 8 each, instances: 3 of 1 to 4\n\n"
            "INSTANCE  STATE     QUOTA                        BACKENDS            LEASES  ADDRESS\n"
            "i0        READY     [###############.....]  6/8  onnxruntime,python  2       127.0.0.1:1\n"
            "i1        STARTING  [....................]  0/8  -                   0       \n"
            "i2        FAILED    [##..................]  1/8  unknown             1       \n"
            "i2: no licence\n");
  EXPECT_EQ(printed(print_pool, kPool, Format::kPorcelain),
            "i0\tREADY\t6\t8\tonnxruntime,python\t2\t127.0.0.1:1\n"
            "i1\tSTARTING\t0\t8\t-\t0\t\n"
            "i2\tFAILED\t1\t8\tunknown\t1\t\n");
  EXPECT_EQ(json::parse(printed(print_pool, kPool, Format::kJson)), kPool);
}

TEST(Views, PoolsAreSums) {
  EXPECT_EQ(printed(print_pools, {{"pools", json::array({kPool})}}, Format::kTable),
            "POOL   STATE   INSTANCES  MIN  MAX  QUOTA  USED  FREE\n"
            "fraud  ACTIVE  3          1    4    8      7     17\n");
}

TEST(Views, ALeaseHasItsModels) {
  const json lease =
      json::parse(R"({"id":"x-1","name":"prod","pool":"fraud","state":"FAILED","quota":2,"instance":"",
    "address":"","created_at":"T1","expires_at":"T2","reason":"bad","models":[{"name":"a","state":"FAILED","reason":"why"},
    {"name":"b","state":"UNLOADED","reason":""}],"use":{"requests":3,"compute_seconds":0.5,"busy":0.25}})");
  EXPECT_EQ(printed(print_lease, lease, Format::kTable),
            "LEASE    x-1\nname     prod\npool     fraud\nstate    FAILED\nreason   bad\nquota    2\n"
            "created  T1\nexpires  T2\nmodel    a FAILED: why\nmodel    b UNLOADED\n"
            "use      3 requests, 0.5 s of computation, busy 0.25\n");
  EXPECT_EQ(printed(print_lease, lease, Format::kPorcelain), "x-1\tprod\tfraud\tFAILED\t2\t\tT2\ta,b\n");
  EXPECT_EQ(progress_line(lease), "FAILED: a FAILED, b UNLOADED");
}

TEST(Views, APlanSaysWhereOrWhyNot) {
  json plan = json::parse(R"({"instance":"i1","starts_instance":false,"instances":[
    {"name":"i0","used":7,"free":1,"backends":["python"],"reason":"free 1"},{"name":"i1","used":1,"free":7,"backends":[],"reason":""}]})");
  EXPECT_EQ(printed(print_plan, plan, Format::kTable),
            "it would go to i1\n\nINSTANCE  USED  FREE  BACKENDS  WHY NOT\n"
            "i0        7     1     python    free 1\ni1        1     7     -         \n");
  plan = {{"instance", nullptr}, {"starts_instance", true}, {"instances", json::array()}};
  EXPECT_EQ(printed(print_plan, plan, Format::kTable).substr(0, 38),
            "an instance would be started for it\n\nI");
  plan["starts_instance"] = false;
  plan["reason"] = "no room";
  EXPECT_EQ(printed(print_plan, plan, Format::kTable).substr(0, 28), "it would be refused: no room");
}

TEST(Views, ColumnsAreAsWideAsTheirCharacters) {
  Table table({"A", "B"});
  table.add({"h\xc3\xa9", "1"});
  table.add({"line\nbreak", "2"});
  std::ostringstream out;
  table.print(out, Format::kTable);
  EXPECT_EQ(out.str(), "A            B\nh\xc3\xa9           1\nline\\nbreak  2\n");
}

TEST(Views, ABarIsNeverFullerThanWhatItShows) {
  EXPECT_EQ(bar(0, 8, 4), "[....]");
  EXPECT_EQ(bar(1, 1000, 4), "[#...]");
  EXPECT_EQ(bar(999, 1000, 4), "[###.]");
  EXPECT_EQ(bar(8, 8, 4), "[####]");
  EXPECT_EQ(bar(9, 8, 4), "[####]");
  EXPECT_EQ(bar(0, 0, 4), "[....]");
}

}  // namespace
}  // namespace atl::ctl
