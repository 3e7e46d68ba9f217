#include "models/catalog/states/memory_return.h"

#include <gtest/gtest.h>

#include "atoll/lib/resident_memory.h"
#include "atoll/testing/fake_host.h"

namespace atl::models {
namespace {

uint64_t resident = 0;
uint64_t returns = 0;

class MemoryReturnTest : public ::testing::Test {
 protected:
  MemoryReturnTest() {
    resident = uint64_t{100} << 20;
    returns = 0;
  }
  void TearDown() override {
    memory_.stop();
    EXPECT_EQ(host_.simulation().executors(), 0u);
  }
  void unload() {
    memory_.version_ends();
    memory_.version_ended();
  }
  test::FakeHost host_;
  MemoryReturn memory_{host_,
                       {[]() noexcept { return resident; },
                        []() noexcept {
                          ++returns;
                          resident -= uint64_t{10} << 20;
                        }}};
};

TEST_F(MemoryReturnTest, AnUnloadIsFollowedByOneReturnThatSaysHowMuch) {
  unload();
  EXPECT_EQ(returns, 0u) << "not on the thread that unloads";
  host_.run_for(kNsPerSecond);
  EXPECT_EQ(returns, 1u);
  EXPECT_TRUE(
      host_.log().contains("unloading 1 version gave back 10485760 bytes (10.0 MiB): the process had "
                           "100.0 MiB resident, and has 90.0 MiB"));
  host_.run_for(60 * kNsPerSecond);
  EXPECT_EQ(returns, 1u);
}

TEST_F(MemoryReturnTest, NothingAndFewBytesAreSaidOnce) {
  memory_.version_ends();
  resident += uint64_t{10} << 20;  // memory that was taken since balances what is given back
  memory_.version_ended();
  host_.run_for(kNsPerSecond);
  EXPECT_TRUE(host_.log().contains("unloading 1 version gave back no memory: the process had "));
  memory_.version_ends();
  resident += (uint64_t{10} << 20) - 512;
  memory_.version_ended();
  host_.run_for(kNsPerSecond);
  EXPECT_TRUE(host_.log().contains("unloading 1 version gave back 512 bytes: the process had "));
}

TEST_F(MemoryReturnTest, ABurstIsOne) {
  for (int i = 0; i < 30; ++i) {
    unload();
    host_.run_for(100 * kNsPerMs);
  }
  EXPECT_EQ(returns, 0u);
  host_.run_for(kNsPerSecond);
  EXPECT_EQ(returns, 1u);
  EXPECT_TRUE(host_.log().contains("unloading 30 versions gave back"));
}

TEST_F(MemoryReturnTest, OneThatTakesLongToEndIsNotForgotten) {
  memory_.version_ends();
  unload();
  host_.run_for(kNsPerSecond);
  EXPECT_EQ(returns, 1u);
  memory_.version_ended();
  host_.run_for(kNsPerSecond);
  EXPECT_EQ(returns, 2u);
}

TEST_F(MemoryReturnTest, AStormThatDoesNotEndIsCutNowAndThen) {
  for (int i = 0; i < 600; ++i) {
    unload();
    host_.run_for(100 * kNsPerMs);
  }
  EXPECT_GE(returns, 11u);
  EXPECT_LE(returns, 12u);
}

TEST_F(MemoryReturnTest, AnEndingServerDoesNotBother) {
  host_.gate().close();
  unload();
  host_.run_for(kNsPerSecond);
  EXPECT_EQ(returns, 0u);
  EXPECT_EQ(host_.simulation().executors(), 0u);
}

TEST(ResidentMemory, GrowsWithWhatIsTouched) {
  const uint64_t before = resident_bytes();
  EXPECT_GT(before, uint64_t{1} << 20);
  constexpr size_t kBytes = size_t{64} << 20;
  {
    std::string big(kBytes, 'x');
    EXPECT_GE(resident_bytes(), before + kBytes / 2) << big.size();
  }
}

TEST(ResidentMemory, SizesAreSaidShortly) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text((uint64_t{1} << 20) - 1), "1023.9 KiB");
  EXPECT_EQ(size_text(uint64_t{5} << 30), "5.0 GiB");
  EXPECT_EQ(size_text(UINT64_MAX), "15.9 EiB");
}

}  // namespace
}  // namespace atl::models
