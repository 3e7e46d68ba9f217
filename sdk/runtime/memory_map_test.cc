#include "atoll/runtime/memory_map.h"

#include <gtest/gtest.h>

namespace atl::runtime {
namespace {

TEST(MemoryMap, KnowsWhatIsMapped) {
  auto code = mapped_file_at(reinterpret_cast<const void*>(&mapped_file_at));
  ASSERT_TRUE(code.has_value());
  EXPECT_TRUE(is_mapped(*code));
  EXPECT_FALSE(is_mapped("00:00 1"));
  int on_the_stack = 0;
  EXPECT_FALSE(mapped_file_at(&on_the_stack).has_value());
}

}  // namespace
}  // namespace atl::runtime
