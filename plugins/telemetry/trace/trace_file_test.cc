#include "telemetry/trace/trace_file.h"

#include <sys/resource.h>

#include <csignal>

#include "telemetry/trace/testing/trace_bench.h"

namespace atl::tracing {
namespace {

class TraceFileTest : public ::testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) { std::ofstream(path) << text; }
  test::TemporaryDirectory folder_;
  const std::string path_ = (folder_.path() / "t.json").string();
};

TEST_F(TraceFileTest, EveryAppendLeavesAnArray) {
  TraceFile file(path_, false);
  ASSERT_TRUE(file.append("1").ok());
  EXPECT_EQ(read_text(path_), "[1]");
  ASSERT_TRUE(file.append("2,3").ok());
  EXPECT_EQ(read_text(path_), "[1,2,3]");
}

TEST_F(TraceFileTest, WhatAnEarlierRunHasLeftIsReplaced) {
  for (const char* left : {"[9]", "garbage", ""}) {
    write(path_, left);
    TraceFile file(path_, false);
    ASSERT_TRUE(file.append("1").ok());
    ASSERT_TRUE(file.append("2").ok());
    EXPECT_EQ(read_text(path_), "[1,2]");
  }
}

TEST_F(TraceFileTest, TwoGenerationsShareTheFile) {
  TraceFile before(path_, false);
  ASSERT_TRUE(before.append("1").ok());
  TraceFile next(path_, true);
  ASSERT_TRUE(next.append("2").ok());
  ASSERT_TRUE(before.append("3").ok());
  EXPECT_EQ(read_text(path_), "[1,2,3]");
  ASSERT_TRUE(before.write_numbered("4").ok());
  ASSERT_TRUE(next.write_numbered("5").ok());
  EXPECT_EQ(read_text(path_ + ".0"), "[4]");
  EXPECT_EQ(read_text(path_ + ".1"), "[5]");
}

TEST_F(TraceFileTest, AFileThatWasMovedAwayIsBegunAnew) {
  TraceFile file(path_, false);
  ASSERT_TRUE(file.append("1").ok());
  std::filesystem::rename(path_, path_ + ".old");
  ASSERT_TRUE(file.append("2").ok());
  EXPECT_EQ(read_text(path_), "[2]");
}

TEST_F(TraceFileTest, NumberedFilesCount) {
  write(path_ + ".0", "left by an earlier run");
  TraceFile file(path_, false);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(file.write_numbered(cat(i)).ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read_text(cat(path_, ".", i)), cat("[", i, "]"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path().string().find("partial"), std::string::npos);
  }
}

TEST_F(TraceFileTest, FailuresNameThePathAndTheReason) {
  std::string path = (folder_.path() / "missing/t.json").string();
  TraceFile file(path, false);
  EXPECT_EQ(file.append("1").message(),
            cat("trace file '", path, "' cannot be opened: No such file or directory"));
  EXPECT_EQ(file.write_numbered("1").message(),
            cat("trace file '", path, ".0.partial' cannot be opened: No such file or directory"));
  std::filesystem::create_directory(folder_.path() / "missing");
  EXPECT_TRUE(file.append("1").ok()) << "it goes on when the folder is there";
  TraceFile folder(folder_.path().string(), false);
  EXPECT_EQ(folder.append("1").code(), Code::kInternal);
}

TEST_F(TraceFileTest, AFileThatSomebodyElseWritesIsLeftAlone) {
  TraceFile file(path_, false);
  ASSERT_TRUE(file.append("1").ok());
  write(path_, "not ours");
  EXPECT_EQ(file.append("2").message(),
            cat("trace file '", path_, "' does not end in ']': somebody else writes to it"));
  EXPECT_EQ(read_text(path_), "not ours");
}

/// While one exists files cannot become larger, as on a full disk: a write that would fails in its middle.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : ignore_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit small = before_;
    small.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, ignore_);
  }

 private:
  rlimit before_{};
  void (*const ignore_)(int);
};

TEST_F(TraceFileTest, AFullDiskLeavesWhatWasThere) {
  TraceFile file(path_, false);
  ASSERT_TRUE(file.append("1").ok());
  {
    const FullDisk full(100);
    Status appended = file.append("\"" + std::string(500, 'x') + "\"");
    Status numbered = file.write_numbered(std::string(500, '1'));
    EXPECT_NE(appended.message().find("cannot be written: "), std::string::npos) << appended.message();
    EXPECT_NE(numbered.message().find("cannot be written: "), std::string::npos) << numbered.message();
  }
  EXPECT_EQ(read_text(path_), "[1]");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".0.partial"));
  EXPECT_TRUE(file.append("2").ok());
  EXPECT_EQ(read_text(path_), "[1,2]");
}

TEST_F(TraceFileTest, AFullDiskGetsNoEmptyFile) {
  TraceFile file(path_, false);
  for (const rlim_t bytes : {0, 100}) {
    const FullDisk full(bytes);
    EXPECT_NE(file.append(std::string(500, '1')).message().find("cannot be written: "), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path_)) << bytes;
  }
  EXPECT_TRUE(file.append("2").ok());
  EXPECT_EQ(read_text(path_), "[2]");
}

TEST_F(TraceFileTest, AnEmptyFileThatWasThereStays) {
  write(path_, "");
  TraceFile file(path_, false);
  {
    const FullDisk full(0);
    EXPECT_FALSE(file.append("1").ok());
  }
  EXPECT_TRUE(std::filesystem::exists(path_)) << "it may have been made for the server, with its permissions";
}

}  // namespace
}  // namespace atl::tracing
