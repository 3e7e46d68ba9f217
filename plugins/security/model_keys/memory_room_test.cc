#include "security/model_keys/memory_room.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "atoll/testing/print.h"

namespace atl::model_keys {
namespace {

TEST(MemoryRoom, IsWhatTheKernelSaysIsAvailable) {
  EXPECT_EQ(available_memory("MemTotal:  9 kB\nMemAvailable:    400 kB\nSwapFree: 1 kB\n"), 400u << 10);
  EXPECT_EQ(group_memory("1048576\n"), 1048576u);
}

TEST(MemoryRoom, HasNoBoundWhereNobodySaysOne) {
  for (const char* text :
       {"", "MemTotal: 9 kB\n", "MemAvailable:\n", "MemAvailable: kB\n",
        "MemAvailable: 18446744073709551615 kB\n", "MemAvailable: 99999999999999999999 kB\n"})
    EXPECT_EQ(available_memory(text), UINT64_MAX) << text;
  for (const char* text : {"", "max\n"}) EXPECT_EQ(group_memory(text), UINT64_MAX) << text;
}

TEST(MemoryRoom, RefusesWhatTheMachineDoesNotHave) {
  EXPECT_TRUE(check_memory_room(1).ok());
  const Status status = check_memory_room(UINT64_MAX - 1);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_TRUE(
      status.message().starts_with("needs 18446744073709551614 bytes of memory to be decrypted, found "))
      << status.message();
}

}  // namespace
}  // namespace atl::model_keys
