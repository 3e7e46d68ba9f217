#include "repositories/common/filesystem_repository.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/fake_log.h"
#include "repositories/common/testing/repository_folder.h"

namespace atl::filesystem {
namespace {

FilesystemRepository repository_at(std::vector<std::string> paths) {
  return FilesystemRepository({.paths = std::move(paths)});
}

std::vector<std::string> names(Repository& repository) {
  auto entries = repository.list();
  if (!entries.ok()) return {entries.status().text()};
  std::vector<std::string> out;
  for (const RepositoryEntry& entry : *entries) out.push_back(entry.name);
  return out;
}

TEST(List, NamesDirectoriesInOrderAndLeavesTheRestOut) {
  RepositoryFolder disk;
  disk.directory("zebra");
  disk.directory("ant");
  disk.directory(".git");
  disk.directory("bad\xff");
  disk.file("README.md");
  disk.link("cat", "zebra");
  disk.link("text", "README.md");
  disk.link("loop", "loop");
  auto repository = repository_at({disk.path()});
  EXPECT_EQ(names(repository), (std::vector<std::string>{"ant", "cat", "loop", "zebra"}));
  EXPECT_EQ(repository.list()->front().path, disk.at("ant"));
  EXPECT_EQ(repository.list()->front().repository, disk.path());
}

TEST(List, ANameThatIsNoTextIsToldOnce) {
  RepositoryFolder disk;
  disk.directory("bad\xff");
  disk.file("also\xff");
  test::RecordingLog log;
  FilesystemRepository repository({.paths = {disk.path()}, .log = &log});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(names(repository), std::vector<std::string>());
  EXPECT_EQ(log.count(LogLevel::kWarning, cat("directory '", disk.path(),
                                              "/bad\xef\xbf\xbd' is no model: its name is not valid UTF-8")),
            1u);
  EXPECT_EQ(log.records().size(), 1u);
}

TEST(List, SeveralRepositoriesOneTwiceOneNameTwice) {
  RepositoryFolder a, b;
  a.directory("m");
  b.directory("m");
  b.directory("n");
  auto repository = repository_at({a.path(), b.path(), a.path() + "/"});
  EXPECT_EQ(names(repository), (std::vector<std::string>{"m", "m", "n"}));
  auto model = repository.open("m");
  EXPECT_EQ(model.status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(model.status().message(), "model appears in two or more repositories");
  EXPECT_TRUE(repository.open("n").ok());
}

TEST(List, NamespacesTellSameNamesApart) {
  RepositoryFolder a, b;
  a.directory("m/1");
  b.directory("m/2");
  b.directory("n");
  FilesystemRepository repository({.paths = {a.path(), b.path()}, .namespacing = true});
  ASSERT_TRUE(repository.check(nullptr).ok());
  const std::string of_a = a.path() + "::m";
  const std::string of_b = b.path() + "::m";
  std::vector<std::string> listed = names(repository);
  EXPECT_EQ(listed.size(), 3U);
  for (const std::string& name : {of_a, of_b, b.path() + "::n"}) {
    EXPECT_EQ(std::count(listed.begin(), listed.end(), name), 1) << name;
  }
  auto model = repository.open(of_b);
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_EQ(model->entry.name, "m");
  EXPECT_EQ(model->entry.path, b.at("m"));
  ASSERT_EQ(model->versions.size(), 1U);
  EXPECT_EQ(model->versions[0].version, 2);
  EXPECT_TRUE(repository.stamps(of_a).ok());
  EXPECT_TRUE(repository.open("n").ok()) << "the only one of its name";
  EXPECT_EQ(repository.open("m").status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(repository.open(a.path() + "::n").status().code(), Code::kNotFound);
  EXPECT_EQ(repository.open("/elsewhere::m").status().code(), Code::kNotFound);
  EXPECT_EQ(repository.open(a.path() + "::../m").status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(FilesystemRepository({.paths = {"/srv/a::b"}, .namespacing = true}).check(nullptr).ok());
}

TEST(List, RepositoryThatVanishedIsUnavailableAndComesBack) {
  RepositoryFolder disk;
  disk.directory("r/m");
  auto repository = repository_at({disk.at("r")});
  EXPECT_EQ(names(repository), std::vector<std::string>{"m"});
  std::filesystem::rename(disk.at("r"), disk.at("gone"));
  EXPECT_EQ(repository.list().status().code(), Code::kUnavailable);
  EXPECT_EQ(repository.list().status().message(), disk.at("r") + ": No such file or directory");
  EXPECT_EQ(repository.open("m").status().code(), Code::kUnavailable);
  disk.file("r");
  EXPECT_EQ(repository.list().status().code(), Code::kUnavailable);
  disk.remove("r");
  std::filesystem::rename(disk.at("gone"), disk.at("r"));
  EXPECT_EQ(names(repository), std::vector<std::string>{"m"});
}

TEST(List, PathsThatMayBeMissingAreLeftOutUntilTheyAreThere) {
  RepositoryFolder disk;
  disk.directory("r/m");
  disk.file("file");
  FilesystemRepository repository(
      {.paths = {disk.at("none"), disk.at("r"), disk.at("file")}, .allow_missing_paths = true});
  std::vector<Status> missing;
  ASSERT_TRUE(repository.check(&missing).ok());
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].message(), "failed to stat file " + disk.at("none") + ": No such file or directory");
  EXPECT_EQ(missing[1].message(), "repository path is not a valid directory: " + disk.at("file"));
  EXPECT_EQ(names(repository), std::vector<std::string>{"m"});
  EXPECT_TRUE(repository.open("m").ok());
  disk.directory("none/n");
  EXPECT_EQ(names(repository), (std::vector<std::string>{"m", "n"}));
  std::filesystem::rename(disk.at("none"), disk.at("gone"));
  EXPECT_EQ(repository.list().status().code(), Code::kUnavailable) << "it has been there";
}

TEST(List, AMissingPathFailsTheHealthWhereItShall) {
  RepositoryFolder disk;
  disk.directory("r/m");
  RepositorySettings settings{.paths = {disk.at("later"), disk.at("r")}, .allow_missing_paths = true};
  std::vector<Status> missing;
  FilesystemRepository lenient(settings);
  ASSERT_TRUE(lenient.check(&missing).ok());
  EXPECT_TRUE(lenient.is_complete());
  settings.missing_paths_fail_health = true;
  FilesystemRepository repository(settings);
  ASSERT_TRUE(repository.check(&missing).ok());
  EXPECT_FALSE(repository.is_complete());
  EXPECT_EQ(names(repository), std::vector<std::string>{"m"}) << "and yet it serves";
  EXPECT_FALSE(repository.is_complete());
  disk.directory("later/n");
  EXPECT_EQ(names(repository), (std::vector<std::string>{"m", "n"}));
  EXPECT_TRUE(repository.is_complete());
}

/// Puts temporary folders into memory, where there is such a place, while it lives.
class FoldersInMemory {
 public:
  FoldersInMemory() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
  }
  FoldersInMemory(const FoldersInMemory&) = delete;
  FoldersInMemory& operator=(const FoldersInMemory&) = delete;
  ~FoldersInMemory() { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(List, TenThousandModelsTakeLittleTime) {
  FoldersInMemory in_memory;
  RepositoryFolder disk;
  for (int i = 0; i < 10'000; ++i) std::filesystem::create_directory(disk.at("m" + std::to_string(i)));
  auto repository = repository_at({disk.path()});
  // Of the processor: what else the machine does is of no interest.
  const std::clock_t begin = std::clock();
  EXPECT_EQ(names(repository).size(), 10'000u);
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 2);
}

TEST(Open, ReadsConfigurationAndVersions) {
  RepositoryFolder disk;
  disk.file("m/config.pbtxt", "backend: \"x\"\n");
  for (const char* version : {"10", "2", "2147483648", "0", "-1", "01", "1a", "v3"}) {
    disk.directory("m/" + std::string(version));
  }
  // What Triton's layout has, what is hidden (a ConfigMap's "..data"), and what nobody takes for a version.
  for (const char* silent :
       {"warmup", "initial_state", "configs", ".1", "..data", "..2026_11_27_03.1", "venv", "python3.11"})
    disk.directory("m/" + std::string(silent));
  disk.file("m/7", "a file is no version");
  auto model = repository_at({disk.path() + "//"}).open("m");
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_EQ(model->entry.name, "m");
  EXPECT_EQ(model->entry.path, disk.at("m"));
  EXPECT_EQ(model->config_path, disk.at("m/config.pbtxt"));
  EXPECT_EQ(model->config_text, "backend: \"x\"\n");
  std::vector<int64_t> versions;
  for (const RepositoryVersion& version : model->versions) versions.push_back(version.version);
  EXPECT_EQ(versions, (std::vector<int64_t>{2, 10, 2147483648}));
  EXPECT_EQ(model->versions[1].path, disk.at("m/10"));
  EXPECT_EQ(model->ignored, (std::vector<std::string>{
                                "version directory '-1' of model 'm' is ignored: its name is not a number",
                                "version directory '0' of model 'm' is ignored: versions begin at 1",
                                "version directory '01' of model 'm' is ignored: its name has a leading zero",
                                "version directory '1a' of model 'm' is ignored: its name is not a number",
                                "version directory 'v3' of model 'm' is ignored: its name is not a number"}));
}

TEST(Open, WithoutVersionsEachDirectoryMayBeMeantAsOne) {
  RepositoryFolder disk;
  disk.directory("m/first");
  disk.directory("m/v2");
  auto model = repository_at({disk.path()}).open("m");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->ignored, (std::vector<std::string>{
                                "version directory 'first' of model 'm' is ignored: its name is not a number",
                                "version directory 'v2' of model 'm' is ignored: its name is not a number"}));
}

TEST(Open, WarningsAreBounded) {
  RepositoryFolder disk;
  for (int i = 0; i < 100; ++i) disk.directory("m/v" + std::to_string(i));
  auto model = repository_at({disk.path()}).open("m");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->ignored.size(), kIgnoredMax);
  EXPECT_EQ(model->ignored.back(), "37 more directories of model 'm' are ignored");
}

TEST(Open, WithoutConfigurationOrVersions) {
  RepositoryFolder disk;
  disk.directory("m");
  auto model = repository_at({disk.path()}).open("m");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->config_path, "");
  EXPECT_TRUE(model->versions.empty());
}

TEST(Open, UnknownAndForbiddenNames) {
  RepositoryFolder disk;
  disk.directory("r/m/1");
  disk.directory("r/.hidden");
  disk.file("r/file");
  disk.directory("outside");
  auto repository = repository_at({disk.at("r")});
  for (const char* name : {"x", "file", ".hidden"}) {
    EXPECT_EQ(repository.open(name).status().code(), Code::kNotFound) << name;
  }
  EXPECT_EQ(repository.open("x").status().message(), "model 'x' is not found in any model repository");
  for (const std::string& name :
       {std::string("../outside"), std::string(".."), std::string("m/1"), std::string(), disk.at("outside"),
        std::string(256, 'a'), std::string("m\0", 2)}) {
    EXPECT_EQ(repository.open(name).status().code(), Code::kInvalidArgument) << name;
  }
}

TEST(Open, PrefersTheNamedConfiguration) {
  RepositoryFolder disk;
  disk.file("m/config.pbtxt", "default");
  disk.file("m/configs/h100.pbtxt", "custom");
  disk.file("n/config.pbtxt", "default");
  FilesystemRepository repository({.paths = {disk.path()}, .config_name = "h100"});
  EXPECT_EQ(repository.open("m")->config_text, "custom");
  EXPECT_EQ(repository.open("m")->config_path, disk.at("m/configs/h100.pbtxt"));
  EXPECT_EQ(repository.open("n")->config_text, "default");
}

TEST(Open, ConfigurationThatIsNoRegularFile) {
  RepositoryFolder disk;
  auto refusal = [&] { return repository_at({disk.path()}).open("m").status().text(); };
  disk.directory("m/config.pbtxt");
  EXPECT_EQ(refusal(), disk.at("m/config.pbtxt") + ": is a directory, expected a regular file");
  disk.remove("m/config.pbtxt");
  disk.fifo("m/config.pbtxt");
  EXPECT_EQ(refusal(), disk.at("m/config.pbtxt") + ": is a FIFO, expected a regular file or a directory");
  disk.remove("m/config.pbtxt");
  disk.link("m/config.pbtxt", "/etc/passwd");
  EXPECT_EQ(refusal(),
            disk.at("m/config.pbtxt") +
                ": is reached by a link that leads out of the repository, to /etc/passwd; "
                "plugin.repository.linked_paths allows that for a directory, 'follow_links' for all");
  disk.remove("m/config.pbtxt");
  disk.link("m/config.pbtxt", "config.pbtxt");
  EXPECT_EQ(refusal(), disk.at("m/config.pbtxt") + ": Too many levels of symbolic links");
}

TEST(Open, ConfigurationUpToTheLimit) {
  RepositoryFolder disk;
  disk.file("m/config.pbtxt", std::string(kConfigBytesMax, ' '));
  auto repository = repository_at({disk.path()});
  auto model = repository.open("m");
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_EQ(model->config_text.size(), kConfigBytesMax);
  disk.file("m/config.pbtxt", std::string(kConfigBytesMax + 1, ' '));
  EXPECT_EQ(repository.open("m").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(repository.open("m").status().message(),
            disk.at("m/config.pbtxt") + ": is longer than the limit of 16777216 bytes");
}

TEST(Open, ConfigurationTakesNoMoreMemoryThanItHasBytes) {
  RepositoryFolder disk;
  disk.file("m/config.pbtxt", std::string(500, ' '));
  auto model = repository_at({disk.path()}).open("m");
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_EQ(model->config_text.size(), 500U);
  EXPECT_LE(model->config_text.capacity(), 600U);
}

TEST(Open, ModelAndVersionDirectoriesBehindLinks) {
  RepositoryFolder disk;
  disk.directory("outside/1");
  disk.directory("r/.store/1");
  disk.link("r/inside", ".store");
  disk.link("r/loop", "loop");
  disk.link("r/out", disk.at("outside"));
  disk.directory("r/m");
  disk.link("r/m/3", disk.at("outside/1"));
  auto strict = repository_at({disk.at("r")});
  FilesystemRepository lenient({.paths = {disk.at("r")}, .follow_links = true});
  EXPECT_EQ(strict.open("inside")->versions.size(), 1u);
  EXPECT_EQ(strict.open("loop").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(strict.open("out").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(strict.open("m").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(lenient.open("out")->versions.size(), 1u);
  EXPECT_EQ(lenient.open("m")->versions.at(0).version, 3);
}

TEST(Open, LinksMayLeadIntoCertainDirectories) {
  RepositoryFolder disk;
  disk.directory("models/good/1");
  disk.directory("models/bad/1");
  disk.directory("secret/1");
  disk.link("models/bad/2", disk.at("secret/1"));
  disk.link("alias", "models");
  disk.directory("r");
  for (const char* model : {"good", "bad"}) disk.link(cat("r/", model), disk.at(cat("models/", model)));
  disk.link("r/out", disk.at("secret"));
  FilesystemRepository linked({.paths = {disk.at("r")}, .linked_paths = {disk.at("alias"), disk.at("none")}});
  EXPECT_EQ(linked.open("good")->versions.size(), 1u);
  EXPECT_EQ(linked.open("bad").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(linked.open("out").status().code(), Code::kInvalidArgument);
  const std::vector<RepositoryStamp> before = linked.stamps("good").value();
  disk.directory("models/good/2");
  EXPECT_NE(linked.stamps("good").value(), before) << "what is behind the link is looked at";
}

TEST(OpenAt, TheConfigurationThatIsPreferredIsPreferredThere) {
  RepositoryFolder disk;
  disk.directory("r");
  disk.file("there/1/model", "x");
  disk.file("there/config.pbtxt", "usual");
  disk.file("there/configs/wide.pbtxt", "wide");
  FilesystemRepository repository({.paths = {disk.at("r")}, .config_name = "wide"});
  auto model = repository.open_at("m", disk.at("there/"));
  ASSERT_TRUE(model.ok()) << model.status().text();
  EXPECT_EQ(model->config_text, "wide");
  EXPECT_EQ(model->versions.at(0).path, disk.at("there/1"));
  EXPECT_EQ(repository.open_at("m", "there").status().message(), "there: expected an absolute path");
  EXPECT_EQ(repository.open_at("../m", disk.at("there")).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(repository.open_at("m", disk.at("there/config.pbtxt")).status().code(), Code::kInvalidArgument);
  disk.fifo("there/pipe");
  EXPECT_EQ(repository.open_at("m", disk.at("there")).status().code(), Code::kInvalidArgument);
}

TEST(Open, DirectoryThatMayNotBeReadNamesIt) {
  RepositoryFolder disk;
  disk.directory("m/1");
  std::filesystem::permissions(disk.at("m/1"), std::filesystem::perms(0));
  Status status;
  std::thread([&] {  // the file system user id belongs to the thread, so nobody else loses root's rights
    if (::geteuid() == 0) ::setfsuid(65534);
    status = repository_at({disk.path()}).open("m").status().clone();
  })
      .join();
  std::filesystem::permissions(disk.at("m/1"), std::filesystem::perms(0755));
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), disk.at("m/1") + ": Permission denied");
}

TEST(Open, KeepsWorkingWhileTheModelIsBeingReplaced) {
  RepositoryFolder disk;
  disk.file("m/config.pbtxt", "x");
  disk.file("m/1/f");
  auto repository = repository_at({disk.path()});
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i) {
      std::filesystem::rename(disk.at("m"), disk.at(".away"));
      std::filesystem::rename(disk.at(".away"), disk.at("m"));
    }
  });
  for (int i = 0; i < 300; ++i) {
    auto model = repository.open("m");
    if (model.ok()) {
      EXPECT_EQ(model->config_text, "x");
    } else {
      EXPECT_EQ(model.status().code(), Code::kNotFound) << model.status().text();
    }
  }
  writer.join();
  EXPECT_TRUE(repository.open("m").ok());
}

TEST(Check, NamesThePathThatCanNotServe) {
  RepositoryFolder disk;
  disk.file("file");
  auto text = [&](std::vector<std::string> paths) {
    return repository_at(std::move(paths)).check(nullptr).text();
  };
  EXPECT_EQ(text({disk.path()}), "OK");
  EXPECT_EQ(text({disk.path(), disk.at("none")}),
            "failed to stat file " + disk.at("none") + ": No such file or directory");
  EXPECT_EQ(text({disk.at("file")}), "repository path is not a valid directory: " + disk.at("file"));
  EXPECT_EQ(text({}), "option 'paths' is empty, expected at least one path");
  EXPECT_EQ(text({""}), "option 'paths' holds an empty path");
  EXPECT_EQ(text({"s3://b/m"}), "option 'paths' holds 's3://b/m', expected a directory of this machine");
  FilesystemRepository climbing({.paths = {disk.path()}, .config_name = "../x"});
  EXPECT_EQ(climbing.check(nullptr).code(), Code::kInvalidArgument);
}

TEST(FilesystemRepository, ALinkThatLeadsNowhereIsNamed) {
  RepositoryFolder disk;
  disk.file("first/a/1/model");
  disk.directory("second");
  disk.link("second/a", "gone");
  disk.link("second/b", "gone");
  FilesystemRepository repository({.paths = {disk.at("first"), disk.at("second")}});
  auto found = repository.open("b");
  EXPECT_EQ(found.status().code(), Code::kNotFound);
  EXPECT_EQ(found.status().message(), disk.at("second/b") + ": is a link to something that is not there");
  EXPECT_TRUE(repository.open("a").ok()) << "another repository has it";
}

}  // namespace
}  // namespace atl::filesystem
