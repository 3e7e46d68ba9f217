#include "memory/shared/regions.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/recorded_metrics.h"
#include "atoll/testing/shared_memory_object.h"

namespace atl::memory {
namespace {

using test::page;
using test::TestObject;

constexpr const char* kDisabled =
    "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";

RegionSettings allowed() {
  RegionSettings settings;
  settings.allow_client_shm = true;
  return settings;
}

class RegionsTest : public ::testing::Test {
 protected:
  RegionsTest() { EXPECT_TRUE(BusErrorGuard::install().ok()); }
  ~RegionsTest() override { BusErrorGuard::uninstall(); }

  void make(const RegionSettings& settings) { regions_.emplace(settings, clock_); }
  Status add(const std::string& name, const TestObject& object, uint64_t offset, uint64_t byte_size) {
    return regions_->register_system(name, object.key(), offset, byte_size);
  }
  void expect_failure(const Status& status, Code code, std::string_view text) {
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), text);
  }

  test::FakeClock clock_;
  std::optional<Regions> regions_{std::in_place, allowed(), clock_};
};

// --- registration ---

TEST_F(RegionsTest, WhileItIsOffNothingIsRegisteredAndStatusAnswers) {
  make(RegionSettings());
  TestObject object(page());
  expect_failure(add("r", object, 0, 1), Code::kUnimplemented, kDisabled);
  expect_failure(regions_->register_cuda("r", {}, 0, 1), Code::kUnimplemented, kDisabled);
  for (RegionKind kind : {RegionKind::kSystem, RegionKind::kCuda}) {
    expect_failure(regions_->unregister(kind, "r"), Code::kUnimplemented, kDisabled);
    expect_failure(regions_->unregister(kind, ""), Code::kUnimplemented, kDisabled);
    auto status = regions_->status(kind, "");
    ASSERT_TRUE(status.ok());
    EXPECT_TRUE(status->empty());
  }
  expect_failure(regions_->acquire("r", 0, 1).status(), Code::kNotFound,
                 "Unable to find shared memory region: 'r'");
}

TEST_F(RegionsTest, NamesAreLimitedAndMayBeEmpty) {
  TestObject object(page());
  EXPECT_TRUE(add("", object, 0, 1).ok());
  EXPECT_TRUE(add(std::string(255, 'n'), object, 0, 1).ok());
  expect_failure(add(std::string(256, 'n'), object, 0, 1), Code::kInvalidArgument,
                 cat("cannot register shared memory region '", std::string(255, 'n'),
                     "...': its name has 256 bytes, expected at most 255"));
}

TEST_F(RegionsTest, ANameIsTakenUntilItIsUnregistered) {
  TestObject object(page());
  TestObject other(page());
  ASSERT_TRUE(add("r", object, 0, 8).ok());
  expect_failure(add("r", other, 0, 8), Code::kAlreadyExists, "shared memory region 'r' already in manager");
  EXPECT_EQ(other.mappings(), 0);
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "r").ok());
  EXPECT_EQ(object.mappings(), 0);
  EXPECT_TRUE(add("r", other, 0, 8).ok());
}

TEST_F(RegionsTest, RefusesPartsThatAreNotInTheObject) {
  TestObject object(100);
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  for (auto [offset, byte_size] : std::vector<std::pair<uint64_t, uint64_t>>{{0, 101},
                                                                             {1, 100},
                                                                             {100, 1},
                                                                             {101, 1},
                                                                             {0, 0},
                                                                             {100, 0},
                                                                             {uint64_t{1} << 63, 1},
                                                                             {most, 1},
                                                                             {most, 2},
                                                                             {1, most},
                                                                             {most, most}}) {
    expect_failure(add("r", object, offset, byte_size), Code::kInvalidArgument,
                   "failed to register shared memory region 'r': invalid args");
  }
  EXPECT_EQ(object.mappings(), 0);
  EXPECT_TRUE(add("whole", object, 0, 100).ok());
  EXPECT_TRUE(add("last", object, 99, 1).ok());
}

TEST_F(RegionsTest, RefusesKeysAndObjectsWithTheProtocolsTexts) {
  expect_failure(regions_->register_system("r", "///", 0, 1), Code::kInvalidArgument,
                 "cannot register shared memory region 'r' - invalid shm key '///'");
  expect_failure(regions_->register_system("", "", 0, 1), Code::kInternal,
                 "Unable to open shared memory region: ''");
  expect_failure(regions_->register_system("r", "/atoll-test-none", 0, 1), Code::kInternal,
                 "Unable to open shared memory region: '/atoll-test-none'");
  expect_failure(
      regions_->register_system("r", "/triton_python_backend_shm_region_1", 0, 1), Code::kInvalidArgument,
      "cannot register shared memory region 'r' with key '/triton_python_backend_shm_region_1' as the key "
      "contains the reserved prefix 'triton_python_backend_shm_region_'");
}

TEST_F(RegionsTest, CudaRegionsNeedAGpu) {
  const std::vector<std::byte> handle(64);
  for (int64_t device : {int64_t{-1}, int64_t{0}, int64_t{99}}) {
    expect_failure(regions_->register_cuda("c", handle, device, 1), Code::kInvalidArgument,
                   "failed to register CUDA shared memory region: 'c', GPUs not supported");
  }
  expect_failure(regions_->register_cuda("", {}, 0, 1), Code::kInvalidArgument,
                 "failed to register CUDA shared memory region: '', GPUs not supported");
  EXPECT_TRUE(regions_->unregister(RegionKind::kCuda, "").ok());
  EXPECT_TRUE(regions_->unregister(RegionKind::kCuda, "c").ok());
}

TEST_F(RegionsTest, OnlyObjectsOfAllowedOwnersMayBeRegistered) {
  TestObject object(page());
  RegionSettings settings = allowed();
  settings.allowed_owners = {geteuid() + 1};
  make(settings);
  expect_failure(add("r", object, 0, 1), Code::kPermissionDenied,
                 cat("cannot register shared memory region 'r': the object with key '", object.key(),
                     "' belongs to user ", geteuid(), ", expected a user of the server's allowed_owners"));
  EXPECT_EQ(object.mappings(), 0);
  settings.allowed_owners.push_back(geteuid());
  make(settings);
  EXPECT_TRUE(add("r", object, 0, 1).ok());
}

// --- limits ---

TEST_F(RegionsTest, LimitsTheNumberOfRegions) {
  TestObject object(page());
  for (int i = 0; i < 1024; ++i) ASSERT_TRUE(add(cat("r", i), object, 0, 1).ok()) << i;
  for (int i = 1024; i < 10'000; ++i) {
    ASSERT_EQ(add(cat("r", i), object, 0, 1).code(), Code::kResourceExhausted);
  }
  expect_failure(add("more", object, 0, 1), Code::kResourceExhausted,
                 "cannot register shared memory region 'more': the limit of 1024 regions is reached");
  EXPECT_EQ(object.mappings(), 1024);
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "r7").ok());
  EXPECT_TRUE(add("more", object, 0, 1).ok());
  EXPECT_FALSE(add("too many", object, 0, 1).ok());
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "").ok());
  EXPECT_EQ(object.mappings(), 0);
}

TEST_F(RegionsTest, ARegionCountsUntilItsLastUserIsDone) {
  RegionSettings settings = allowed();
  settings.max_regions = 1;
  make(settings);
  TestObject object(page());
  ASSERT_TRUE(add("a", object, 0, 1).ok());
  auto lease = regions_->acquire("a", 0, 1);
  ASSERT_TRUE(lease.ok());
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "a").ok());
  EXPECT_EQ(add("b", object, 0, 1).code(), Code::kResourceExhausted);
  EXPECT_EQ(regions_->in_use(), 1u);
  regions_->release(lease.value());
  EXPECT_EQ(regions_->in_use(), 0u);
  EXPECT_TRUE(add("b", object, 0, 1).ok());
}

TEST_F(RegionsTest, LimitsTheBytesThatAreMapped) {
  RegionSettings settings = allowed();
  settings.max_bytes = 4 * page();
  make(settings);
  TestObject object(8 * page());
  ASSERT_TRUE(add("a", object, 0, 2 * page() + 1).ok());  // three pages
  expect_failure(add("b", object, 0, page() + 1), Code::kResourceExhausted,
                 cat("cannot register shared memory region 'b': ", 2 * page(), " bytes asked for, ",
                     3 * page(), " bytes of the limit of ", 4 * page(), " bytes are mapped"));
  EXPECT_TRUE(add("b", object, 0, page()).ok());
  EXPECT_EQ(add("c", object, 0, 1).code(), Code::kResourceExhausted);
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "b").ok());
  EXPECT_TRUE(add("c", object, 0, 1).ok());
  EXPECT_EQ(object.mappings(), 2);
}

TEST_F(RegionsTest, AddressSpaceIsLimitedWithoutALimitToo) {
  TestObject object(page());
  object.resize(RegionSettings::kMaxMappedBytes + page());
  EXPECT_EQ(add("over", object, 0, RegionSettings::kMaxMappedBytes + 1).code(), Code::kResourceExhausted);
  ASSERT_TRUE(add("a", object, 0, 1).ok());
  EXPECT_EQ(add("rest", object, 0, RegionSettings::kMaxMappedBytes).code(), Code::kResourceExhausted);
}

// --- status ---

TEST_F(RegionsTest, StatusListsRegionsByName) {
  TestObject object(2 * page());
  ASSERT_TRUE(add("b", object, 16, 32).ok());
  ASSERT_TRUE(add("a", object, 0, 8).ok());
  auto all = regions_->status(RegionKind::kSystem, "");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].name, "a");
  EXPECT_EQ((*all)[1].name, "b");
  EXPECT_EQ((*all)[1].key, object.key());
  EXPECT_EQ((*all)[1].offset, 16u);
  EXPECT_EQ((*all)[1].byte_size, 32u);
  auto one = regions_->status(RegionKind::kSystem, "a");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->size(), 1u);
  auto cuda = regions_->status(RegionKind::kCuda, "");
  ASSERT_TRUE(cuda.ok());
  EXPECT_TRUE(cuda->empty());
  expect_failure(regions_->status(RegionKind::kSystem, "x").status(), Code::kNotFound,
                 "Unable to find system shared memory region: 'x'");
  expect_failure(regions_->status(RegionKind::kCuda, "x").status(), Code::kNotFound,
                 "Unable to find cuda shared memory region: 'x'");
  expect_failure(regions_->status(RegionKind::kCuda, "a").status(), Code::kNotFound,
                 "The region named 'a' is registered as system shared memory, not CUDA shared memory");
}

TEST_F(RegionsTest, UnregisteringIsByKindAndUnknownNamesAreNoError) {
  TestObject object(page());
  ASSERT_TRUE(add("a", object, 0, 8).ok());
  EXPECT_TRUE(regions_->unregister(RegionKind::kSystem, "unknown").ok());
  EXPECT_TRUE(regions_->unregister(RegionKind::kCuda, "a").ok());
  EXPECT_TRUE(regions_->unregister(RegionKind::kCuda, "").ok());
  EXPECT_EQ(object.mappings(), 1);
}

// --- use in requests ---

TEST_F(RegionsTest, APartIsTheObjectsMemory) {
  TestObject object(2 * page());
  ASSERT_TRUE(add("r", object, page() - 4, 8).ok());
  auto lease = regions_->acquire("r", 2, 6);
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(lease->buffer.size_bytes, 6u);
  EXPECT_EQ(lease->buffer.kind, MemoryKind::kCpu);
  object.data()[page() - 2] = std::byte{42};
  auto* bytes = static_cast<std::byte*>(lease->buffer.data);
  EXPECT_EQ(bytes[0], std::byte{42});
  bytes[5] = std::byte{43};
  EXPECT_EQ(object.data()[page() + 3], std::byte{43});
  EXPECT_TRUE(regions_->check(lease.value()).ok());
  regions_->release(lease.value());
}

TEST_F(RegionsTest, RefusesPartsThatAreNotInTheRegion) {
  TestObject object(page());
  ASSERT_TRUE(add("r", object, 0, 64).ok());
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  auto refused = [&](uint64_t offset, uint64_t byte_size, std::string_view text) {
    expect_failure(regions_->acquire("r", offset, byte_size).status(), Code::kInvalidArgument, text);
  };
  refused(64, 0, "Invalid offset for shared memory region: 'r'");
  refused(64, 1, "Invalid offset for shared memory region: 'r'");
  refused(most, most, "Invalid offset for shared memory region: 'r'");
  refused(63, 2, "Invalid offset + byte size for shared memory region: 'r'");
  refused(0, 65, "Invalid offset + byte size for shared memory region: 'r'");
  refused(0, most, "Invalid offset + byte size for shared memory region: 'r'");
  refused(1, most,
          "Integer overflow detected: byte_size (18446744073709551615) + offset (1) exceeds maximum value "
          "(18446744073709551615) for region 'r'");
  for (auto [offset, byte_size] :
       std::vector<std::pair<uint64_t, uint64_t>>{{0, 64}, {63, 1}, {63, 0}, {0, 0}}) {
    auto lease = regions_->acquire("r", offset, byte_size);
    ASSERT_TRUE(lease.ok());
    regions_->release(lease.value());
  }
  expect_failure(regions_->acquire(std::string(300, 'u'), 0, 1).status(), Code::kNotFound,
                 cat("Unable to find shared memory region: '", std::string(255, 'u'), "...'"));
}

TEST_F(RegionsTest, ARegionInUseStaysUntilItsLastUserIsDone) {
  TestObject object(page());
  ASSERT_TRUE(add("r", object, 0, 8).ok());
  auto first = regions_->acquire("r", 0, 8);
  auto second = regions_->acquire("r", 0, 4);
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "r").ok());
  EXPECT_EQ(regions_->status(RegionKind::kSystem, "r")->size(), 1u);
  EXPECT_EQ(regions_->in_use(), 1u);
  auto third = regions_->acquire("r", 0, 8);
  ASSERT_TRUE(third.ok()) << "requests may follow for as long as it is there";
  regions_->release(third.value());
  ASSERT_TRUE(add("r", object, 0, 8).ok()) << "the name is free at once";
  EXPECT_EQ(object.mappings(), 2);
  object.data()[0] = std::byte{5};
  EXPECT_EQ(*static_cast<std::byte*>(first->buffer.data), std::byte{5});
  regions_->release(first.value());
  EXPECT_EQ(object.mappings(), 2);
  regions_->release(second.value());
  EXPECT_EQ(object.mappings(), 1);
  auto last = regions_->acquire("r", 0, 8);
  ASSERT_TRUE(last.ok());
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "").ok());
  EXPECT_EQ(regions_->status(RegionKind::kSystem, "")->size(), 1u);
  regions_->release(last.value());
  EXPECT_EQ(regions_->acquire("r", 0, 8).status().code(), Code::kNotFound);
  EXPECT_TRUE(regions_->status(RegionKind::kSystem, "")->empty());
  EXPECT_EQ(object.mappings(), 0);
}

// --- shrinking ---

TEST_F(RegionsTest, ReadingWhatHasGoneFailsTheRequest) {
  TestObject object(4 * page());
  ASSERT_TRUE(add("r", object, 0, 4 * page()).ok());
  ASSERT_TRUE(add("other", object, 0, page()).ok());
  auto lease = regions_->acquire("r", 0, 4 * page());
  ASSERT_TRUE(lease.ok());
  object.data()[0] = std::byte{1};
  object.resize(page());
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 4 * page(); ++i) {
    sum += static_cast<uint64_t>(static_cast<volatile std::byte*>(lease->buffer.data)[i]);
  }
  EXPECT_EQ(sum, 1u);
  const std::string text =
      cat("shared memory region 'r' has lost memory since it was registered: its object "
          "is smaller than 0 + ",
          4 * page(), " bytes");
  expect_failure(regions_->check(lease.value()), Code::kInvalidArgument, text);
  regions_->release(lease.value());
  expect_failure(regions_->acquire("r", 0, 1).status(), Code::kInvalidArgument, text);
  // What is registered from the rest serves on, and the name can be registered anew.
  auto other = regions_->acquire("other", 0, page());
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(regions_->check(other.value()).ok());
  regions_->release(other.value());
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "r").ok());
  ASSERT_TRUE(add("r", object, 0, page()).ok());
  auto again = regions_->acquire("r", 0, 1);
  ASSERT_TRUE(again.ok());
  regions_->release(again.value());
}

TEST_F(RegionsTest, WritingWhatHasGoneFailsTheRequest) {
  TestObject object(2 * page());
  ASSERT_TRUE(add("r", object, 0, 2 * page()).ok());
  auto lease = regions_->acquire("r", 0, 2 * page());
  ASSERT_TRUE(lease.ok());
  object.resize(0);
  static_cast<volatile std::byte*>(lease->buffer.data)[page() + 1] = std::byte{1};
  EXPECT_EQ(regions_->check(lease.value()).code(), Code::kInvalidArgument);
  object.resize(2 * page());
  EXPECT_EQ(regions_->check(lease.value()).code(), Code::kInvalidArgument) << "growing again mends nothing";
  EXPECT_EQ(object.data()[page() + 1], std::byte{0});
  regions_->release(lease.value());
}

// --- idle regions ---

TEST_F(RegionsTest, RegionsThatNobodyUsesGoAfterTheIdleTime) {
  RegionSettings settings = allowed();
  settings.idle_timeout_ns = 1000;
  make(settings);
  TestObject object(page());
  const int64_t start = clock_.now_ns();
  ASSERT_TRUE(add("unused", object, 0, 8).ok());
  ASSERT_TRUE(add("held", object, 0, 8).ok());
  ASSERT_TRUE(add("used", object, 0, 8).ok());
  auto held = regions_->acquire("held", 0, 8);
  ASSERT_TRUE(held.ok());
  clock_.advance(600);
  auto used = regions_->acquire("used", 0, 8);
  ASSERT_TRUE(used.ok());
  regions_->release(used.value());
  clock_.advance(399);
  std::vector<std::string> removed;
  EXPECT_EQ(regions_->sweep(&removed), start + 1000);
  EXPECT_TRUE(removed.empty());
  clock_.advance(1);
  EXPECT_EQ(regions_->sweep(&removed), start + 1600);
  EXPECT_EQ(removed, std::vector<std::string>{"unused"});
  clock_.advance(600);
  EXPECT_EQ(regions_->sweep(&removed), start + 2600);
  EXPECT_EQ(removed, (std::vector<std::string>{"unused", "used"}));
  clock_.advance(1000);
  regions_->release(held.value());
  regions_->sweep(&removed);
  EXPECT_EQ(removed.size(), 2u) << "it was in use until now";
  clock_.advance(1000);
  regions_->sweep(&removed);
  EXPECT_EQ(removed, (std::vector<std::string>{"unused", "used", "held"}));
  EXPECT_EQ(object.mappings(), 0);
}

// --- metrics ---

TEST_F(RegionsTest, CountsRegionsAndBytes) {
  using Values = std::map<std::string, double>;
  TestObject object(2 * page());
  ASSERT_TRUE(add("a", object, 0, 1).ok());
  ASSERT_TRUE(add("b", object, 0, page() + 1).ok());
  EXPECT_EQ(test::RecordedMetrics(*regions_).values(),
            (Values{{"atoll_shared_memory_regions", 2},
                    {"atoll_shared_memory_bytes", 3.0 * static_cast<double>(page())}}));
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "").ok());
  EXPECT_EQ(test::RecordedMetrics(*regions_).values(),
            (Values{{"atoll_shared_memory_regions", 0}, {"atoll_shared_memory_bytes", 0}}));
}

}  // namespace
}  // namespace atl::memory
