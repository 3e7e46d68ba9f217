#include "schedulers/dynamic/custom/custom_batching.h"

#include <dlfcn.h>

#include <fstream>
#include <thread>
#include <vector>

#include "schedulers/dynamic/custom/testing/strategy_bench.h"

namespace atl::schedulers {
namespace {

class CustomBatchingTest : public StrategyBench {
 protected:
  std::string strategy() const { return model() / "batchstrategy.so"; }
  /// Puts one of the built strategies where it is found, and says how it shall behave.
  void use(const std::string& name, const std::string& mode = "") {
    place(built(name), strategy());
    if (!mode.empty()) set_parameter("FIXTURE", mode);
  }
  size_t errors() const { return log.count(LogLevel::kError); }
};

TEST_F(CustomBatchingTest, AModelWithoutAStrategyHasNone) { EXPECT_EQ(opened(), nullptr); }

TEST_F(CustomBatchingTest, EveryFunctionIsCalledInItsTurn) {
  for (const char* name : {"linked", "unlinked"}) {
    log.clear();
    use(name);
    auto batching = opened();
    ASSERT_NE(batching, nullptr) << name;
    EXPECT_TRUE(log.contains(cat("batcher of m 3 ", model().string(), ": {\"name\":\"m\"")));
    EXPECT_TRUE(log.contains("\"max_batch_size\":8"));
    EXPECT_TRUE(log.contains(cat("model 'm' version 3: batching strategy ", strategy())));
    void* record = batching->begin();
    EXPECT_TRUE(include(*batching, record, "r1"));
    EXPECT_FALSE(include(*batching, record, "no"));
    void* next = batching->begin();
    EXPECT_TRUE(include(*batching, next, "r2"));
    batching->end(record);
    batching->end(next);
    EXPECT_TRUE(log.contains("no is asked about, number 2"));
    EXPECT_TRUE(log.contains("r2 is asked about, number 1"));
    EXPECT_EQ(log.count(LogLevel::kInfo, "batch ended"), 2u);
    EXPECT_FALSE(log.contains("batcher ended"));
    batching.reset();
    EXPECT_TRUE(log.contains("batcher ended"));
    EXPECT_EQ(errors(), 0u);
    std::filesystem::remove(strategy());
  }
}

TEST_F(CustomBatchingTest, ItsFileIsClosedInTheEnd) {
  use("linked");
  auto is_open = [&] {
    void* handle = ::dlopen(strategy().c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) ::dlclose(handle);
    return handle != nullptr;
  };
  auto batching = opened();
  EXPECT_TRUE(is_open());
  batching.reset();
  EXPECT_FALSE(is_open());
}

TEST_F(CustomBatchingTest, AReplacedFileServesTheNextLoad) {
  use("linked");
  auto old = opened();
  std::filesystem::rename(strategy(), model() / "old.so");
  place(ATOLL_VOLUME_BATCHING, strategy());
  EXPECT_NE(open_failure().find("MAX_BATCH_VOLUME_BYTES"), std::string::npos);
  void* record = old->begin();
  EXPECT_TRUE(include(*old, record, "r1"));
  old->end(record);
}

TEST_F(CustomBatchingTest, AStrategyMayDoWithoutARecord) {
  use("linked", "no record");
  auto batching = opened();
  void* record = batching->begin();
  EXPECT_NE(record, nullptr);
  EXPECT_TRUE(include(*batching, record, "r1"));
  EXPECT_TRUE(log.contains("r1 is asked about, number -1"));
  batching->end(record);
  EXPECT_TRUE(log.contains("batch ended"));
}

TEST_F(CustomBatchingTest, WithoutARecordNothingIsAsked) {
  use("linked", "begin fails");
  auto batching = opened();
  void* record = batching->begin();
  EXPECT_EQ(record, nullptr);
  EXPECT_EQ(log.count(LogLevel::kError, cat("model 'm': batching strategy ", strategy(),
                                            ": TRITONBACKEND_ModelBatchInitialize: no batch today")),
            1u);
  EXPECT_FALSE(include(*batching, record, "r1"));
  batching->end(record);
  EXPECT_FALSE(log.contains("asked"));
  EXPECT_FALSE(log.contains("batch ended"));
}

TEST_F(CustomBatchingTest, AFailureExcludesAndIsLoggedNowAndThen) {
  use("linked");
  auto batching = opened();
  void* record = batching->begin();
  EXPECT_FALSE(include(*batching, record, "fail1"));
  EXPECT_EQ(log.count(LogLevel::kError, "TRITONBACKEND_ModelBatchIncludeRequest: cannot tell"), 1u);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(include(*batching, record, "fail2"));
  clock.advance(9 * kNsPerSecond);
  EXPECT_FALSE(include(*batching, record, "fail3"));
  EXPECT_EQ(errors(), 1u);
  clock.advance(kNsPerSecond);
  EXPECT_FALSE(include(*batching, record, "throw"));
  EXPECT_EQ(errors(), 2u);
  EXPECT_EQ(log.count(LogLevel::kError, "it threw an exception (and 6 failures that were not logged)"), 1u);
  EXPECT_TRUE(include(*batching, record, "r1")) << "the strategy is asked again";
  batching->end(record);
}

TEST_F(CustomBatchingTest, AFailureAtItsEndIsLogged) {
  use("linked", "end fails");
  opened().reset();
  EXPECT_EQ(log.count(LogLevel::kError, "TRITONBACKEND_ModelBatcherFinalize: it will not end"), 1u);
}

TEST_F(CustomBatchingTest, AStrategyMayRefuseTheModel) {
  use("linked", "refuse");
  auto batching = open();
  EXPECT_EQ(batching.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(batching.status().text(),
            cat("batching strategy ", strategy(), ": TRITONBACKEND_ModelBatcherInitialize: not this model"));
  EXPECT_FALSE(log.contains("batcher ended"));
  set_parameter("FIXTURE", "throw");
  EXPECT_EQ(open_failure(),
            cat("batching strategy ", strategy(),
                ": TRITONBACKEND_ModelBatcherInitialize: it threw an exception: out of luck"));
}

TEST_F(CustomBatchingTest, SomeOfTheFunctionsAreNotEnough) {
  use("partial");
  auto batching = open();
  EXPECT_EQ(batching.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(batching.status().text(),
            cat(strategy(), " does not define all required custom batching functions for model m"));
  EXPECT_TRUE(log.contains("has no function TRITONBACKEND_ModelBatchFinalize"));
  EXPECT_FALSE(log.contains("batcher of")) << "no function of it is called";
}

TEST_F(CustomBatchingTest, NoneOfTheFunctionsIsNoStrategy) {
  use("empty");
  EXPECT_EQ(opened(), nullptr);
  EXPECT_EQ(log.count(LogLevel::kWarning, "defines no custom batching function"), 1u);
}

TEST_F(CustomBatchingTest, WhatCanNotBeLoadedIsRefused) {
  use("undefined");
  EXPECT_EQ(open_failure(), cat("unable to load batching strategy: ", strategy(),
                                ": undefined symbol: TRITONBACKEND_FunctionThatNobodyHas"));
  std::filesystem::remove(strategy());
  std::ofstream(strategy()) << std::string(4096, 'x');
  EXPECT_EQ(open_failure(), cat("unable to load batching strategy: ", strategy(), ": invalid ELF header"));
  use("linked");
  std::filesystem::resize_file(strategy(), std::filesystem::file_size(strategy()) / 2);
  EXPECT_NE(open_failure().find(": truncated: "), std::string::npos);
  std::filesystem::remove(strategy());
  std::filesystem::create_directory(strategy());
  EXPECT_EQ(open_failure(), cat("unable to load batching strategy: ", strategy(), ": not a regular file"));
}

TEST_F(CustomBatchingTest, SeveralThreadsFormBatches) {
  use("linked");
  auto batching = opened();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        void* record = batching->begin();
        EXPECT_TRUE(include(*batching, record, "r1"));
        EXPECT_FALSE(include(*batching, record, "fail"));
        batching->end(record);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log.count(LogLevel::kInfo, "batch ended"), 400u);
  EXPECT_EQ(errors(), 1u);
}

}  // namespace
}  // namespace atl::schedulers
