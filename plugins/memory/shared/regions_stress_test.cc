// Clients that register, unregister and shrink while requests use what is there.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/random.h"
#include "atoll/testing/shared_memory_object.h"
#include "memory/shared/regions.h"

namespace atl::memory {
namespace {

using test::page;
using test::TestObject;

class RegionsStressTest : public ::testing::Test {
 protected:
  RegionsStressTest() {
    RegionSettings settings;
    settings.allow_client_shm = true;
    settings.max_regions = 6;
    settings.idle_timeout_ns = 1;
    regions_.emplace(settings, clock_);
    EXPECT_TRUE(BusErrorGuard::install().ok());
  }
  ~RegionsStressTest() override { BusErrorGuard::uninstall(); }

  test::FakeClock clock_;
  std::optional<Regions> regions_;
};

TEST_F(RegionsStressTest, RegisteringUnregisteringAndUsingAtTheSameTime) {
  constexpr uint64_t kBytes = 64;
  TestObject object(page());
  std::memset(object.data(), 7, page());
  std::atomic<uint64_t> registered{0};
  std::atomic<uint64_t> used{0};
  auto client = [&](uint64_t seed) {
    test::Random random(seed);
    for (int i = 0; i < 2000; ++i) {
      const std::string name = cat("r", random.below(4));
      switch (random.below(3)) {
        case 0: {
          Status status =
              regions_->register_system(name, object.key(), random.below(page() - kBytes), kBytes);
          if (status.ok()) {
            ++registered;
          } else if (status.code() != Code::kAlreadyExists) {
            EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.text();
          }
          break;
        }
        case 1:
          EXPECT_TRUE(regions_->unregister(RegionKind::kSystem, random.below(10) == 0 ? "" : name).ok());
          break;
        default: {
          std::vector<std::string> removed;
          regions_->sweep(&removed);
          auto all = regions_->status(RegionKind::kSystem, "");
          ASSERT_TRUE(all.ok());
          EXPECT_LE(all->size(), 4u);
        }
      }
    }
  };
  std::atomic<bool> ended{false};
  auto request = [&](uint64_t seed) {
    test::Random random(seed);
    while (!ended) {
      auto lease = regions_->acquire(cat("r", random.below(4)), random.below(kBytes), 1);
      if (!lease.ok()) {
        EXPECT_EQ(lease.status().code(), Code::kNotFound);
        continue;
      }
      EXPECT_EQ(+*static_cast<volatile uint8_t*>(lease->buffer.data), 7);
      EXPECT_TRUE(regions_->check(lease.value()).ok());
      regions_->release(lease.value());
      ++used;
    }
  };
  std::vector<std::thread> requests;
  std::vector<std::thread> clients;
  for (uint64_t i = 0; i < 2; ++i) requests.emplace_back(request, 100 + i);
  for (uint64_t i = 0; i < 3; ++i) clients.emplace_back(client, i);
  for (auto& thread : clients) thread.join();
  // At least one use, however the threads were run.
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "").ok());
  const uint64_t before = used;
  ASSERT_TRUE(regions_->register_system("r0", object.key(), 0, kBytes).ok());
  while (used == before) std::this_thread::yield();
  ended = true;
  for (auto& thread : requests) thread.join();
  EXPECT_GT(registered, 0u);
  regions_->unregister_all();
  EXPECT_EQ(object.mappings(), 0);
  EXPECT_EQ(regions_->in_use(), 0u);
}

/// One thread shrinks and grows the object for as long as others read or write all of it.
void shrink_under_use(Regions& regions, bool write) {
  constexpr int kRounds = 50;
  const uint64_t bytes = 16 * page();
  TestObject object(bytes);
  for (int round = 0; round < kRounds; ++round) {
    object.resize(bytes);
    std::memset(object.data(), 1, bytes);
    ASSERT_TRUE(regions.register_system("r", object.key(), 0, bytes).ok());
    auto use = [&] {
      auto lease = regions.acquire("r", 0, bytes);
      if (!lease.ok()) {
        EXPECT_EQ(lease.status().code(), Code::kInvalidArgument) << lease.status().text();
        return;
      }
      auto* data = static_cast<uint8_t*>(lease->buffer.data);
      uint64_t sum = 0;
      for (uint64_t i = 0; i < bytes; ++i) {
        std::atomic_ref byte(data[i]);  // both threads write it
        if (write) byte.store(1, std::memory_order_relaxed);
        sum += byte.load(std::memory_order_relaxed);
      }
      // Zeros are never taken for the client's bytes.
      EXPECT_TRUE(write || sum == bytes || !regions.check(lease.value()).ok());
      regions.release(lease.value());
    };
    std::thread first(use);
    std::thread second(use);
    object.resize(page() * static_cast<uint64_t>(round % 16));
    first.join();
    second.join();
    ASSERT_TRUE(regions.unregister(RegionKind::kSystem, "r").ok());
  }
  EXPECT_EQ(regions.in_use(), 0u);
}

TEST_F(RegionsStressTest, ShrinkingUnderReaders) { shrink_under_use(*regions_, false); }
TEST_F(RegionsStressTest, ShrinkingUnderWriters) { shrink_under_use(*regions_, true); }

}  // namespace
}  // namespace atl::memory
