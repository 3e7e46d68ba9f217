#include "repositories/common/stamps.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "atoll/core/clock.h"
#include "repositories/common/filesystem_repository.h"
#include "repositories/common/testing/repository_folder.h"

namespace atl::filesystem {
namespace {

using Part = RepositoryStamp::Part;

/// A wall clock so far ahead of the disk's that everything changed long ago.
class LaterClock final : public Clock {
 public:
  virtual ~LaterClock() = default;
  int64_t now_ns() const noexcept override { return 0; }
  int64_t wall_ns() const noexcept override { return int64_t{1} << 62; }
};

class StampsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    disk_.file("m/config.pbtxt", "name: 'm'");
    disk_.file("m/labels.txt", "cat");
    disk_.file("m/1/model.onnx", "weights");
    disk_.file("m/2/data/part", "x");
  }
  std::vector<RepositoryStamp> stamps(const std::string& config_name = {}) {
    FilesystemRepository repository({.paths = {disk_.path()}, .config_name = config_name, .clock = &clock_});
    auto stamps = repository.stamps("m");
    EXPECT_TRUE(stamps.ok()) << stamps.status().text();
    return stamps.ok() ? std::move(stamps).value() : std::vector<RepositoryStamp>();
  }
  /// Names of the entries whose stamps are not what they were at the call before.
  std::vector<std::string> changed() {
    std::map<std::string, uint64_t> now;
    for (const RepositoryStamp& stamp : stamps()) now[stamp.name] = stamp.value;
    std::vector<std::string> names;
    for (const auto& [name, value] : now) {
      if (before_ && (!before_->contains(name) || before_->at(name) != value)) names.push_back(name);
    }
    if (before_) {
      for (const auto& [name, value] : *before_) {
        if (!now.contains(name)) names.push_back("-" + name);
      }
    }
    before_ = now;
    return names;
  }
  /// Gives a file the times of another moment; the second one is the disk's own.
  void set_time(const std::string& name, int64_t seconds) {
    struct timespec times[2] = {{seconds, 5}, {seconds, 5}};
    ASSERT_EQ(::utimensat(AT_FDCWD, disk_.at(name).c_str(), times, 0), 0);
  }
  /// Until the disk's clock has moved on since the last change.
  void next_tick() {
    struct stat before, now;
    disk_.file("tick");
    ASSERT_EQ(::stat(disk_.at("tick").c_str(), &before), 0);
    do {
      disk_.file("tick");
      ASSERT_EQ(::stat(disk_.at("tick").c_str(), &now), 0);
    } while (now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
  }

  using Names = std::vector<std::string>;
  RepositoryFolder disk_;
  LaterClock clock_;
  std::optional<std::map<std::string, uint64_t>> before_;
};

TEST_F(StampsTest, OneForEachEntryWithItsPart) {
  auto all = stamps();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].name, "1");
  EXPECT_EQ(all[0].part, Part::kVersion);
  EXPECT_EQ(all[1].version, 2);
  EXPECT_EQ(all[2].name, "config.pbtxt");
  EXPECT_EQ(all[2].part, Part::kConfiguration);
  EXPECT_EQ(all[3].name, "labels.txt");
  EXPECT_EQ(all[3].part, Part::kOther);
}

TEST_F(StampsTest, TheConfigurationIsTheOneInUse) {
  auto part_of = [&](const std::string& config_name, const std::string& name) {
    for (const RepositoryStamp& stamp : stamps(config_name)) {
      if (stamp.name == name) return stamp.part;
    }
    return Part::kVersion;
  };
  disk_.file("m/configs/small.pbtxt");
  EXPECT_EQ(part_of("small", "configs"), Part::kConfiguration);
  EXPECT_EQ(part_of("small", "config.pbtxt"), Part::kOther);
  EXPECT_EQ(part_of("large", "configs"), Part::kOther);
  EXPECT_EQ(part_of("large", "config.pbtxt"), Part::kConfiguration);
}

TEST_F(StampsTest, OnlyDirectoriesOfCanonicalNumbersAreVersions) {
  disk_.file("m/7");
  disk_.directory("m/03");
  for (const RepositoryStamp& stamp : stamps()) {
    EXPECT_EQ(stamp.part == Part::kVersion, stamp.name == "1" || stamp.name == "2") << stamp.name;
  }
}

TEST_F(StampsTest, EveryKindOfChangeIsSeenWhereItHappened) {
  changed();
  EXPECT_EQ(changed(), Names{}) << "nothing happened";
  disk_.file("m/1/model.onnx", "longer weights");
  EXPECT_EQ(changed(), Names{"1"});
  disk_.file("m/2/data/more");
  EXPECT_EQ(changed(), Names{"2"});
  disk_.remove("m/2/data/more");
  EXPECT_EQ(changed(), Names{"2"});
  std::filesystem::rename(disk_.at("m/2/data"), disk_.at("m/2/moved"));
  EXPECT_EQ(changed(), Names{"2"});
  disk_.directory("m/3");
  EXPECT_EQ(changed(), Names{"3"});
  disk_.remove("m/1");
  EXPECT_EQ(changed(), Names{"-1"});
  disk_.file("m/config.pbtxt", "name: 'n'  ");
  disk_.remove("m/labels.txt");
  EXPECT_EQ(changed(), (Names{"config.pbtxt", "-labels.txt"}));
}

TEST_F(StampsTest, AFileOfTheSameSizeAndTimeIsSeen) {
  set_time("m/1/model.onnx", 1'000'000'000);
  changed();
  next_tick();
  disk_.file("m/1/model.onnx", "WEIGHTS");
  set_time("m/1/model.onnx", 1'000'000'000);
  EXPECT_EQ(changed(), Names{"1"});
}

TEST_F(StampsTest, AnEditorsSwapFileLeavesNoTrace) {
  changed();
  disk_.file("m/.config.pbtxt.swp");
  disk_.remove("m/.config.pbtxt.swp");
  disk_.file("m/1/scratch");
  disk_.remove("m/1/scratch");
  EXPECT_EQ(changed(), Names{});
}

TEST_F(StampsTest, WhatLinksInsideLeadToCounts) {
  disk_.file("shared/weights", "w");
  disk_.link("m/1/weights", "../../shared/weights");
  changed();
  disk_.file("shared/weights", "more");
  EXPECT_EQ(changed(), Names{"1"});
}

TEST_F(StampsTest, AChangeOfThisMomentIsUnlikeAnyOther) {
  FilesystemRepository repository({.paths = {disk_.path()}});
  disk_.file("m/1/model.onnx", "WEIGHTS");
  EXPECT_NE(repository.stamps("m").value()[0].value, repository.stamps("m").value()[0].value);
  // In a while it is settled. The disk's clock moves by itself.
  std::vector<RepositoryStamp> first, second;
  do {
    first = repository.stamps("m").value();
    second = repository.stamps("m").value();
  } while (first != second);
  EXPECT_EQ(second.size(), 4u);
}

TEST_F(StampsTest, AClockThatGoesAheadDoesNotHoldUp) {
  StampCollector collector(1'000 * kNsPerSecond);
  struct stat info = {};
  info.st_mode = S_IFREG;
  info.st_ctim = {2'000, 7};
  info.st_mtim = {1'000, 7};  // set by whoever wrote it: says nothing
  collector.add("1/model", info);
  EXPECT_EQ(collector.finish({}), collector.finish({}));
  info.st_ctim = {999, 999'999'999};
  collector.add("2/model", info);
  EXPECT_NE(collector.finish({})[1], collector.finish({})[1]);
  EXPECT_EQ(collector.finish({})[0], collector.finish({})[0]);
}

TEST_F(StampsTest, FailsAsOpenDoes) {
  FilesystemRepository repository({.paths = {disk_.path()}});
  EXPECT_EQ(repository.stamps("other").status().code(), Code::kNotFound);
  EXPECT_EQ(repository.stamps("../m").status().code(), Code::kInvalidArgument);
  disk_.fifo("m/1/pipe");
  EXPECT_EQ(repository.stamps("m").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::filesystem
