#include "atoll/lib/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "atoll/abi/plugin.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::lib {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::MatchesRegex;
using testing::StartsWith;

TEST(VersionTest, NamesVersionCommitAndBuild) {
  const std::string text = version_text("atoll-thing");
  EXPECT_THAT(text, StartsWith("atoll-thing " ATOLL_VERSION "\ncommit "));
  EXPECT_THAT(text, MatchesRegex("[^\n]+\ncommit ([0-9a-f]+(\\+dirty)?|unknown)\n[^\n]+"));
  EXPECT_THAT(text, EndsWith("\nbuild " ATOLL_BUILD_TAG));
}

/// A repository that write_commit.cmake is asked about.
class WriteCommitTest : public testing::Test {
 protected:
  void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
  void git(const std::string& words) {
    run("git -C " + source() + " -c user.name=a -c user.email=a@b -c commit.gpgsign=false " + words +
        " >/dev/null");
  }
  std::string source() const { return (folder_.path() / "source").string(); }
  fs::path header() const { return folder_.path() / "commit.h"; }
  void make_checkout() {
    fs::create_directory(source());
    git("init -q");
    write("one");
    git("add file");
    git("commit -q -m one");
  }
  void write(const std::string& text) { std::ofstream(fs::path(source()) / "file") << text; }
  std::string commit(const std::string& of) {
    run("'" ATOLL_CMAKE "' -DSOURCE=" + of + " -DHEADER=" + header().string() +
        " -P '" ATOLL_WRITE_COMMIT "'");
    std::ifstream file(header());
    std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(text, MatchesRegex("#define ATOLL_COMMIT \"[^\"]*\"\n"));
    return text.substr(22, text.size() - 24);
  }

  test::TemporaryDirectory folder_;
};

TEST_F(WriteCommitTest, WhatDiffersFromTheCommitIsDirty) {
  make_checkout();
  const std::string clean = commit(source());
  EXPECT_THAT(clean, MatchesRegex("[0-9a-f]{12}|[0-9a-f]+"));
  EXPECT_EQ(clean.size(), 12U);
  write("two");
  EXPECT_EQ(commit(source()), clean + "+dirty");
  write("one");
  EXPECT_EQ(commit(source()), clean);
  std::ofstream(fs::path(source()) / "new") << "text";
  EXPECT_EQ(commit(source()), clean + "+dirty") << "a file that git does not know may be compiled, too";
}

TEST_F(WriteCommitTest, ANewCommitIsAnotherOne) {
  make_checkout();
  const std::string first = commit(source());
  git("commit -q --allow-empty -m two");
  EXPECT_NE(commit(source()), first);
}

TEST_F(WriteCommitTest, AFolderOfAnotherRepositoryIsNoCheckout) {
  make_checkout();
  fs::create_directory(fs::path(source()) / "archive");
  EXPECT_EQ(commit(source() + "/archive"), "unknown");
  fs::create_directory(folder_.path() / "plain");
  EXPECT_EQ(commit((folder_.path() / "plain").string()), "unknown");
}

TEST_F(WriteCommitTest, TheFileIsWrittenOnlyIfItChanges) {
  make_checkout();
  commit(source());
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(header(), old);
  const auto written = fs::last_write_time(header());
  commit(source());
  EXPECT_EQ(fs::last_write_time(header()), written);
  write("two");
  commit(source());
  EXPECT_NE(fs::last_write_time(header()), written);
}

}  // namespace
}  // namespace atl::lib
