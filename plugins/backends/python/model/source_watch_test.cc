#include "backends/python/model/source_watch.h"

#include <gtest/gtest.h>

#include <optional>

#include "atoll/testing/temporary_directory.h"
#include "backends/python/testing/stepped_loop.h"

namespace atl::python {
namespace {

namespace fs = std::filesystem;

class SourceWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(version_ / "helpers");
    fs::create_directories(model_ / "2");
    save(version_ / "model.py");
    stepped_.loop.call([&] {
      watch_.emplace(stepped_.loop, stepped_.host.clock(), SourceFolders{model_, version_, "program"},
                     [this] { ++changes_; });
      EXPECT_TRUE(watch_->start().ok());
    });
  }
  void TearDown() override {
    stepped_.loop.call([&] { watch_.reset(); });
  }
  /// Changes that are told when all is quiet.
  int changes() {
    stepped_.settle();
    stepped_.advance(SourceWatch::kQuietNs);
    return std::exchange(changes_, 0);
  }

  const test::TemporaryDirectory folder_;
  const fs::path model_ = folder_.path() / "m", version_ = model_ / "1";
  SteppedLoop stepped_;
  std::optional<SourceWatch> watch_;
  int changes_ = 0;
};

TEST_F(SourceWatchTest, SavedProgramsAreTold) {
  EXPECT_EQ(changes(), 0);
  for (const fs::path& file : {version_ / "model.py", version_ / "new.py", version_ / "helpers" / "part.py",
                               version_ / "program", model_ / "shared.py", model_ / "config.pbtxt"}) {
    save(file);
    EXPECT_EQ(changes(), 1) << file;
  }
}

TEST_F(SourceWatchTest, EditorsSaveByRename) {
  save(version_ / ".model.py.new");
  save(version_ / "model.py~");
  EXPECT_EQ(changes(), 0);
  fs::rename(version_ / ".model.py.new", version_ / "model.py");
  EXPECT_EQ(changes(), 1);
  fs::remove(version_ / "model.py");
  fs::create_symlink("helpers/part.py", version_ / "model.py");
  EXPECT_EQ(changes(), 1);
}

TEST_F(SourceWatchTest, OtherFilesAreNotTold) {
  fs::create_directory(version_ / "__pycache__");
  for (const fs::path& file :
       {version_ / "weights.bin", version_ / ".hidden.py", version_ / "__pycache__" / "a.py",
        model_ / "2" / "model.py", model_ / "labels.txt", version_ / "config.pbtxt"}) {
    save(file);
  }
  fs::create_directory(model_ / "3");
  EXPECT_EQ(changes(), 0);
}

TEST_F(SourceWatchTest, FilesThatAreSavedTogetherAreToldOnce) {
  for (int i = 0; i < 10; ++i) {
    save(version_ / cat("part", i, ".py"));
    stepped_.settle();
    stepped_.advance(SourceWatch::kQuietNs - 1);
  }
  EXPECT_EQ(changes_, 0);
  stepped_.advance(1);
  EXPECT_EQ(changes_, 1);
}

TEST_F(SourceWatchTest, WhatIsBeingWrittenIsNotTold) {
  std::ofstream file(version_ / "model.py");
  file << "x = " << std::flush;
  EXPECT_EQ(changes(), 0);
  file.close();
  EXPECT_EQ(changes(), 1);
}

TEST_F(SourceWatchTest, NewFoldersAreFollowed) {
  fs::create_directories(folder_.path() / "elsewhere" / "deep");
  fs::rename(folder_.path() / "elsewhere", version_ / "package");
  EXPECT_EQ(changes(), 1);
  save(version_ / "package" / "deep" / "a.py");
  EXPECT_EQ(changes(), 1);
}

TEST_F(SourceWatchTest, AVersionThatIsExchangedIsFollowed) {
  fs::create_directory(folder_.path() / "next");
  save(folder_.path() / "next" / "model.py");
  fs::rename(version_, folder_.path() / "last");
  fs::rename(folder_.path() / "next", version_);
  EXPECT_EQ(changes(), 1);
  save(version_ / "model.py");
  EXPECT_EQ(changes(), 1);
}

/// A link that takes the place of another at once.
void exchange_link(const fs::path& link, const fs::path& target) {
  const fs::path other = link.parent_path() / "other link";
  fs::create_symlink(target, other);
  fs::rename(other, link);
}

/// Programs that are links, and folders that lie behind links.
class LinkedSourcesTest : public SourceWatchTest {
 protected:
  /// Where the releases are, with a link to one of them.
  fs::path release(const std::string& name) const { return folder_.path() / "releases" / name; }
  void SetUp() override {
    for (const char* name : {"a", "b"}) {
      fs::create_directories(release(name) / "m" / "1");
      save(release(name) / "m" / "1" / "model.py");
    }
    fs::create_symlink(release("a"), current_);
  }
  void watch(const fs::path& model) {
    stepped_.loop.call([&] {
      watch_.emplace(stepped_.loop, stepped_.host.clock(), SourceFolders{model, model / "1", "program"},
                     [this] { ++changes_; });
      EXPECT_TRUE(watch_->start().ok());
    });
  }

  const fs::path current_ = folder_.path() / "current";
};

TEST_F(LinkedSourcesTest, ALinkAboveTheModelThatIsExchangedIsFollowed) {
  watch(current_ / "m");
  save(release("a") / "m" / "1" / "model.py");
  EXPECT_EQ(changes(), 1);
  exchange_link(current_, release("b"));
  EXPECT_EQ(changes(), 1);
  save(release("b") / "m" / "1" / "model.py");
  EXPECT_EQ(changes(), 1);
  save(release("a") / "m" / "1" / "model.py");
  EXPECT_EQ(changes(), 0);
  // Not at once: gone, and there again.
  fs::remove(current_);
  EXPECT_EQ(changes(), 0);
  fs::create_symlink("releases/a", current_);
  EXPECT_EQ(changes(), 1);
  save(release("a") / "m" / "1" / "model.py");
  EXPECT_EQ(changes(), 1);
}

TEST_F(LinkedSourcesTest, EveryLinkOnTheWayCounts) {
  const fs::path stable = folder_.path() / "stable";
  fs::create_symlink("current", stable);
  fs::create_directories(folder_.path() / "models" / "m");
  fs::create_symlink("../../stable/m/1", folder_.path() / "models" / "m" / "1");
  watch(folder_.path() / "models" / "m");
  exchange_link(current_, "releases/b");
  EXPECT_EQ(changes(), 1);
  save(release("b") / "m" / "1" / "helper.py");
  EXPECT_EQ(changes(), 1);
  exchange_link(folder_.path() / "models" / "m" / "1", release("a") / "m" / "1");
  EXPECT_EQ(changes(), 1);
  exchange_link(current_, "releases/a");  // leads nowhere any more
  EXPECT_EQ(changes(), 0);
}

TEST_F(LinkedSourcesTest, AMountedConfigMapIsFollowed) {
  const fs::path version = folder_.path() / "mounted" / "1";
  for (const char* name : {"..1", "..2"}) {
    fs::create_directories(version / name);
    save(version / name / "model.py");
  }
  fs::create_symlink("..1", version / "..data");
  fs::create_symlink("..data/model.py", version / "model.py");
  watch(version.parent_path());
  EXPECT_EQ(changes(), 0);
  exchange_link(version / "..data", "..2");
  fs::remove_all(version / "..1");
  EXPECT_EQ(changes(), 1);
}

TEST_F(LinkedSourcesTest, AProgramIsSavedWhereItIs) {
  fs::create_directories(version_);
  save(folder_.path() / "work.py");
  fs::create_symlink(folder_.path() / "work.py", version_ / "model.py");
  watch(model_);
  save(folder_.path() / "work.py");
  EXPECT_EQ(changes(), 1);
  save(folder_.path() / "other.py");
  EXPECT_EQ(changes(), 0);
  // A link that comes later, to a file that comes later still.
  fs::create_symlink(folder_.path() / "late" / "helper.py", version_ / "helper.py");
  EXPECT_EQ(changes(), 1);
  fs::create_directory(folder_.path() / "late");
  EXPECT_EQ(changes(), 1);
  save(folder_.path() / "late" / "helper.py");
  EXPECT_EQ(changes(), 1);
}

TEST_F(LinkedSourcesTest, LinkedPackagesAreFollowedAndCirclesEnd) {
  fs::create_directories(version_);
  fs::create_symlink(version_, version_ / "circle");
  watch(model_);
  fs::create_symlink(current_, version_ / "package");
  EXPECT_EQ(changes(), 1);
  save(release("a") / "m" / "part.py");
  EXPECT_EQ(changes(), 1);
  exchange_link(current_, release("b"));
  EXPECT_EQ(changes(), 1);
  save(release("b") / "m" / "part.py");
  EXPECT_EQ(changes(), 1);
  exchange_link(version_ / "circle", "circle");  // leads to itself
  EXPECT_EQ(changes(), 1);
  save(version_ / "model.py");
  EXPECT_EQ(changes(), 1);
}

TEST_F(LinkedSourcesTest, AModelThatIsExchangedAsAWholeIsFollowed) {
  watch(release("a") / "m");
  fs::rename(release("a") / "m", release("a") / "last");
  EXPECT_EQ(changes(), 0);
  fs::rename(release("b") / "m", release("a") / "m");
  EXPECT_EQ(changes(), 1);
  save(release("a") / "m" / "1" / "model.py");
  EXPECT_EQ(changes(), 1);
  save(release("a") / "last" / "1" / "model.py");
  EXPECT_EQ(changes(), 0);
}

TEST_F(SourceWatchTest, WhatCanNotBeWatchedSaysSo) {
  stepped_.loop.call([&] {
    SourceWatch watch(stepped_.loop, stepped_.host.clock(), SourceFolders{model_, "/nowhere", "model.py"},
                      [] {});
    EXPECT_EQ(watch.start().text(), "'/nowhere': No such file or directory");
  });
}

}  // namespace
}  // namespace atl::python
