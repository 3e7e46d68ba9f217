#include "atoll/runtime/line_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace atl::runtime {
namespace {

class Pipe {
 public:
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_end_ = ends[0];
    file_ = std::make_shared<LineFile>(ends[1], true);
  }
  ~Pipe() { ::close(read_end_); }
  const std::shared_ptr<const LineFile>& file() const { return file_; }
  /// Waits until that many bytes have come.
  std::string read(size_t bytes) {
    std::string all(bytes, '\0');
    size_t have = 0;
    while (have < bytes) {
      ssize_t size = ::read(read_end_, all.data() + have, bytes - have);
      if (size <= 0) break;
      have += static_cast<size_t>(size);
    }
    all.resize(have);
    return all;
  }

 private:
  int read_end_ = -1;
  std::shared_ptr<const LineFile> file_;
};

TEST(LineWriter, WritesInOrder) {
  Pipe pipe;
  LineWriter writer;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    std::string line = std::to_string(i) + "\n";
    expected += line;
    writer.push(pipe.file(), line);
  }
  EXPECT_EQ(pipe.read(expected.size()), expected);
  EXPECT_TRUE(writer.flush(60'000));
  EXPECT_EQ(writer.pending().load(), 0u);
  EXPECT_EQ(writer.dropped(), 0u);
}

TEST(LineWriter, DropsWhatDoesNotFitAndGoesOnWhenHalfIsRead) {
  Pipe pipe;
  LineWriter writer(1000);
  const std::string filler(1 << 20, '.');  // more than a pipe holds: the writer is held up in it
  writer.push(pipe.file(), filler);
  EXPECT_FALSE(writer.flush(1));
  const std::string line(100, 'x');
  writer.push(pipe.file(), line);
  EXPECT_EQ(writer.dropped(), 1u);
  writer.push(pipe.file(), line);
  EXPECT_EQ(writer.dropped(), 2u);
  EXPECT_EQ(writer.take_overflow(), 0u) << "not while there is no room";
  EXPECT_EQ(pipe.read(filler.size()).size(), filler.size());
  EXPECT_TRUE(writer.flush(60'000));
  EXPECT_EQ(writer.take_overflow(), 2u);
  EXPECT_EQ(writer.take_overflow(), 0u);
  writer.push(pipe.file(), line);
  EXPECT_EQ(pipe.read(line.size()), line);
  EXPECT_EQ(writer.dropped(), 2u);
}

TEST(LineWriter, WhatCannotBeWrittenIsCounted) {
  LineWriter writer;
  Result<std::shared_ptr<LineFile>> full = LineFile::append_to("/dev/full");
  ASSERT_TRUE(full.ok());
  writer.push(full.value(), "lost\n");
  EXPECT_TRUE(writer.flush(60'000));
  EXPECT_EQ(writer.dropped(), 1u);
}

TEST(LineWriter, WhatWasLostIsKnownWhenItGoesOn) {
  const std::string path = testing::TempDir() + "atoll_torn_" + std::to_string(::getpid());
  ::unlink(path.c_str());
  Result<std::shared_ptr<LineFile>> file = LineFile::append_to(path);
  ASSERT_TRUE(file.ok()) << file.status().text();
  LineWriter writer;
  // A file that has reached its largest size takes part of a line, and then nothing.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (const char* line : {"first\n", "second\n", "third\n"}) writer.push(file.value(), line);
  EXPECT_TRUE(writer.flush(60'000));
  EXPECT_EQ(writer.take_overflow(), 0u) << "nothing can be said yet";
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  writer.push(file.value(), "fourth\n");
  EXPECT_TRUE(writer.flush(60'000));
  EXPECT_EQ(writer.take_overflow(), 2u);
  EXPECT_EQ(writer.dropped(), 2u);
  std::ifstream read(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(read), {}), "first\nseco\nfourth\n");
}

TEST(LineWriter, EndsThoughNobodyReads) {
  Pipe pipe;
  auto writer = std::make_unique<LineWriter>();
  writer->push(pipe.file(), std::string(1 << 20, '.'));
  EXPECT_FALSE(writer->flush(10));
  writer.reset();
}

TEST(LineWriter, AFileMakesItsFolders) {
  const std::string folder = testing::TempDir() + "atoll_lines_" + std::to_string(::getpid());
  Result<std::shared_ptr<LineFile>> file = LineFile::append_to(folder + "/a/b.log");
  ASSERT_TRUE(file.ok()) << file.status().text();
  LineWriter writer;
  writer.push(file.value(), "one\n");
  EXPECT_TRUE(writer.flush(60'000));
  EXPECT_FALSE(LineFile::append_to(folder).ok()) << "a folder is no file";
}

}  // namespace
}  // namespace atl::runtime
