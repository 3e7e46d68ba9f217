#include "frontends/common/json/index_json.h"

#include <gtest/gtest.h>

namespace atl::frontends {
namespace {

TEST(IndexJson, LeavesOutWhatThereIsNothingToSayOf) {
  inference::RepositoryIndexResponse index;
  EXPECT_EQ(index_json(index), "[]");
  auto* served = index.add_models();
  served->set_name("a");
  served->set_version("3");
  served->set_state("READY");
  index.add_models()->set_name("b");
  auto* failed = index.add_models();
  failed->set_name("c");
  failed->set_state("UNAVAILABLE");
  failed->set_reason("said \"no\"");
  EXPECT_EQ(index_json(index), R"([{"name":"a","version":"3","state":"READY"},{"name":"b"},)"
                               R"({"name":"c","state":"UNAVAILABLE","reason":"said \"no\""}])");
}

}  // namespace
}  // namespace atl::frontends
