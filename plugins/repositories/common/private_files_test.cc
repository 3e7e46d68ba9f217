#include "repositories/common/private_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "repositories/common/file_access.h"
#include "repositories/common/testing/repository_folder.h"

namespace atl::filesystem {
namespace {

namespace fs = std::filesystem;

class PrivateFilesTest : public ::testing::Test {
 protected:
  PrivateFilesTest() { disk_.directory("in"); }
  Status write(const std::vector<RepositoryFile>& files) {
    FileDescriptor directory(::open(disk_.at("in").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return write_private_files(directory.get(), files);
  }
  std::string refusal(const std::string& path) {
    Status status = write({{"1/good", "x"}, {path, "x"}});
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << path;
    return std::string(status.message());
  }
  std::string content(const std::string& name) const {
    std::ifstream in(disk_.at("in/" + name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  RepositoryFolder disk_;
};

TEST_F(PrivateFilesTest, WritesFilesWithTheirDirectories) {
  const std::string bytes("\0\1\2\xff", 4);
  ASSERT_TRUE(
      write({{"1/model.onnx", bytes}, {"./a//b/../c", "c"}, {"labels.txt", ""}, {"2/..x", "dots"}}).ok());
  EXPECT_EQ(content("1/model.onnx"), bytes);
  EXPECT_EQ(content("a/c"), "c");
  EXPECT_TRUE(fs::is_regular_file(disk_.at("in/labels.txt")));
  EXPECT_EQ(content("2/..x"), "dots");
  EXPECT_EQ(fs::status(disk_.at("in/1/model.onnx")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(PrivateFilesTest, NothingLeavesTheDirectory) {
  for (const std::string path : {"../../x", "/etc/x", "a/../../x", "..", "//x"}) {
    std::string normal = fs::path(path).lexically_normal();
    EXPECT_EQ(refusal(path), "Invalid file parameter 'file:" + path + "' with normalized path '" + normal +
                                 "' must stay within model directory.");
  }
  EXPECT_TRUE(fs::is_empty(disk_.at("in"))) << "all paths are checked before one is written";
}

TEST_F(PrivateFilesTest, ALinkThatSomebodyPutThereIsNotFollowed) {
  disk_.directory("out");
  disk_.link("in/1", "../out");
  disk_.file("out/target", "before");
  disk_.link("in/file", "../out/target");
  EXPECT_EQ(write({{"1/x", "x"}}).code(), Code::kUnavailable);
  EXPECT_EQ(write({{"file", "x"}}).code(), Code::kUnavailable);
  EXPECT_FALSE(fs::exists(disk_.at("out/x")));
  EXPECT_EQ(fs::file_size(disk_.at("out/target")), 6u);
}

TEST_F(PrivateFilesTest, RefusesWhatIsNoFile) {
  for (const std::string path : {"", ".", "1/", "./", "a/.."}) {
    EXPECT_EQ(refusal(path), "Invalid file parameter 'file:" + path + "', expected the path of a file");
  }
  EXPECT_EQ(refusal(std::string("a\0b", 3)), "Invalid file parameter: its path contains a NUL byte");
}

TEST_F(PrivateFilesTest, RefusesWhatNoDiskTakes) {
  EXPECT_NE(refusal(std::string(256, 'n')).find("has 256 bytes, expected at most 255"), std::string::npos);
  EXPECT_EQ(refusal(std::string(4096, 'n')),
            "Invalid file parameter: its path has 4096 bytes, expected at most 4095");
  std::string deep;
  for (int i = 0; i < 32; ++i) deep += "d/";
  EXPECT_NE(refusal(deep + "f").find("nested deeper than 32 directories"), std::string::npos);
  EXPECT_TRUE(write({{std::string(255, 'n'), ""}, {deep.substr(2) + "f", ""}}).ok());
  std::vector<RepositoryFile> many;
  for (size_t i = 0; i <= kPrivateFilesMax; ++i) many.push_back({"f" + std::to_string(i), ""});
  EXPECT_EQ(write(many).message(), "the model has 10001 files, expected at most 10000");
}

/// Files of this process cannot grow beyond a size while it lives: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    signal_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    struct rlimit low = {bytes, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &low);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  struct rlimit limit_;
  void (*signal_)(int);
};

TEST_F(PrivateFilesTest, ADiskThatIsFullIsToldWithTheFile) {
  FullDisk full(1000);
  Status status = write({{"1/small", std::string(1000, 's')}, {"1/weights", std::string(1001, 'w')}});
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "'file:1/weights': File too large");
}

TEST_F(PrivateFilesTest, RefusesFilesThatExcludeEachOther) {
  EXPECT_EQ(write({{"1/model", "a"}, {"1", "b"}}).message(),
            "Invalid file parameter 'file:1/model', directory has been created as a file");
  EXPECT_EQ(write({{"1", "a"}, {"1-a", "b"}, {"1/x/y", "c"}}).message(),
            "Invalid file parameter 'file:1/x/y', directory has been created as a file");
  EXPECT_EQ(write({{"1/a", "a"}, {"1/./a", "b"}}).message(),
            "Invalid file parameter 'file:1/./a', the file is given twice");
  EXPECT_TRUE(fs::is_empty(disk_.at("in")));
}

}  // namespace
}  // namespace atl::filesystem
