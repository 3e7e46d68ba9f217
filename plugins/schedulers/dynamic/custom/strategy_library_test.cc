#include "schedulers/dynamic/custom/strategy_library.h"

#include <string>

#include "schedulers/dynamic/custom/testing/strategy_bench.h"

namespace atl::schedulers {
namespace {

class StrategyLibraryTest : public StrategyBench {
 protected:
  StrategyLibraryTest() { place(built("linked"), strategy()); }
  std::string strategy() const { return model() / "batchstrategy.so"; }
};

TEST_F(StrategyLibraryTest, RunsAStrategy) {
  StrategyLibrary library(ATOLL_STRATEGY_LIBRARY);
  auto opened = library.open(context(), strategy(), log);
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  ASSERT_NE(opened.value(), nullptr);
  void* record = opened.value()->begin();
  test::TestRequest yes("r1");
  test::TestRequest no("no");
  EXPECT_TRUE(opened.value()->include(*yes, record));
  EXPECT_FALSE(opened.value()->include(*no, record));
  opened.value()->end(record);
}

TEST_F(StrategyLibraryTest, AFileWithoutFunctionsIsNoStrategy) {
  StrategyLibrary library(ATOLL_STRATEGY_LIBRARY);
  auto opened = library.open(context(), built("empty"), log);
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  EXPECT_EQ(opened.value(), nullptr);
}

TEST_F(StrategyLibraryTest, TellsTheStrategysOwnFailure) {
  StrategyLibrary library(ATOLL_STRATEGY_LIBRARY);
  auto opened = library.open(context(), built("partial"), log);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), Code::kInvalidArgument) << opened.status().text();
}

TEST_F(StrategyLibraryTest, WithoutTheLibraryItSaysHowToGetIt) {
  StrategyLibrary library(folder.path() / "libatoll_batch_strategies.so");
  auto opened = library.open(context(), strategy(), log);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), Code::kFailedPrecondition);
  std::string text = opened.status().text();
  EXPECT_NE(text.find("etc/dev/build release schedulers/dynamic"), std::string::npos) << text;
  EXPECT_NE(text.find(strategy()), std::string::npos) << text;
}

TEST_F(StrategyLibraryTest, WhatCannotBeOpenedIsTriedAgain) {
  const std::string path = folder.path() / "libatoll_batch_strategies.so";
  place(built("empty"), path);
  StrategyLibrary library(path);
  EXPECT_EQ(library.open(context(), strategy(), log).status().code(), Code::kFailedPrecondition);
  std::filesystem::remove(path);
  place(ATOLL_STRATEGY_LIBRARY, path);
  auto opened = library.open(context(), strategy(), log);
  EXPECT_TRUE(opened.ok()) << opened.status().text();
}

}  // namespace
}  // namespace atl::schedulers
