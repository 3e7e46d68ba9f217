#include "backends/python/source_watch.h"

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

TEST_F(SourceWatchTest, WhatCanNotBeWatchedSaysSo) {
  stepped_.loop.call([&] {
    SourceWatch watch(stepped_.loop, stepped_.host.clock(), SourceFolders{model_, "/nowhere", "model.py"},
                      [] {});
    EXPECT_EQ(watch.start().text(), "'/nowhere': No such file or directory");
  });
}

}  // namespace
}  // namespace atl::python
