#include "models/catalog/catalog_statistics.h"

#include <gtest/gtest.h>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using test::TestRequest;

TEST(CatalogStatistics, TheSumsOfRequestsFollowThoseOfEachModel) {
  CatalogBench bench;
  const auto waiting = [&] { return bench.catalog().requests_now().waiting; };
  EXPECT_EQ(waiting(), 0U);
  bench.put("m");
  bench.put("n");
  ASSERT_TRUE(bench.load_one("m").ok());
  ASSERT_TRUE(bench.load_one("n").ok());
  bench.scheduler.hold = true;
  TestRequest first, second, third;
  for (TestRequest* request : {&first, &second, &third}) fill_simple(*request);
  auto m = bench.catalog().acquire("m", 1);
  auto n = bench.catalog().acquire("n", 1);
  ASSERT_TRUE(first.infer(*m->get()).ok());
  ASSERT_TRUE(second.infer(*m->get()).ok());
  ASSERT_TRUE(third.infer(*n->get()).ok());
  EXPECT_EQ(waiting(), 3U);
  EXPECT_EQ(waiting(), 3U) << "a look takes nothing away";
  bench.backend.behavior.respond = [&](Request& request) {
    EXPECT_EQ(bench.catalog().requests_now().running, 1U);
    request.sink->new_response()->send();
  };
  while (bench.scheduler.run_held()) {
  }
  EXPECT_EQ(bench.catalog().requests_now().running, 0U);
  EXPECT_EQ(waiting(), 0U);
  // Idle models are forgotten, while they are held and when they are not, and come back with their next request.
  n = bench.catalog().acquire("m", 1);
  m = Result<ModelRef>(ModelRef());
  n = Result<ModelRef>(ModelRef());
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(waiting(), 0U);
  {
    auto again = bench.catalog().acquire("m", 1);
    TestRequest fourth;
    fill_simple(fourth);
    ASSERT_TRUE(fourth.infer(*again->get()).ok());
    EXPECT_EQ(waiting(), 1U);
    EXPECT_TRUE(bench.scheduler.run_held());
  }
  // One that ends while it is listed is not looked at any more.
  bench.unload({"m"});
  bench.host.run_ready();
  EXPECT_EQ(bench.backend.live_models(), 1);
  EXPECT_EQ(waiting(), 0U);
}

}  // namespace
}  // namespace atl::models
