#include "atoll/lib/cpu_list.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(CpuList, HasCoresAndRangesInAnyOrder) {
  using Cores = std::vector<uint32_t>;
  EXPECT_EQ(parse_cpu_list("0"), Cores{0});
  EXPECT_EQ(parse_cpu_list("8,0-3,2-4"), (Cores{0, 1, 2, 3, 4, 8}));
  EXPECT_EQ(parse_cpu_list("8191"), Cores{8191});
}

TEST(CpuList, IsNothingElse) {
  for (const char* text :
       {"", ",", "1,", "-", "1-", "-1", "3-1", "8192", "0-99999999999", "a", "1 ", "0x1"}) {
    EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace atl
