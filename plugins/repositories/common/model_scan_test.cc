#include "repositories/common/model_scan.h"

#include <gtest/gtest.h>

#include <string>

#include "repositories/common/testing/repository_folder.h"

namespace atl::filesystem {
namespace {

/// Scans the model 'm' of a repository.
Status scan(const RepositoryFolder& repository, bool follow_links = false, uint64_t files_max = 1000) {
  auto containment = Containment::open(repository.path(), {follow_links, {}});
  if (!containment.ok()) return std::move(containment).status();
  auto model = containment->find(containment->root(), "m", repository.at("m"));
  if (!model.ok()) return std::move(model).status();
  return scan_model_directory(*containment, *model, repository.at("m"), files_max);
}

TEST(ModelScan, AcceptsFilesDirectoriesAndLinksInside) {
  RepositoryFolder repository;
  repository.file("m/1/model.onnx", "x");
  repository.file("shared/weights", "w");
  repository.link("m/1/weights", "../../shared/weights");
  repository.link("m/latest", "1");
  repository.link("m/self", ".");
  repository.link("m/.#config.pbtxt", "user@host.17");
  EXPECT_TRUE(scan(repository).ok()) << scan(repository).text();
}

TEST(ModelScan, RefusesLinksThatLeadOut) {
  RepositoryFolder outside;
  outside.file("secret", "s");
  outside.directory("folder");
  RepositoryFolder repository;
  repository.file("m/1/model.onnx");
  for (std::string target : {outside.at("secret"), outside.at("folder"), std::string("/")}) {
    repository.link("m/1/link", target);
    Status status = scan(repository);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), repository.at("m/1/link") +
                                    ": is reached by a link that leads out of the repository, to " + target);
    EXPECT_TRUE(scan(repository, true).ok()) << scan(repository, true).text();
    repository.remove("m/1/link");
  }
}

TEST(ModelScan, RefusesLinksOutBehindLinksInside) {
  RepositoryFolder repository;
  repository.directory("m");
  repository.directory(".hidden");
  repository.link("m/1", "../.hidden");
  repository.link(".hidden/model.onnx", "/etc/passwd");
  EXPECT_EQ(scan(repository).code(), Code::kInvalidArgument);
}

TEST(ModelScan, RefusesSpecialFilesEvenThroughFollowedLinks) {
  RepositoryFolder repository;
  repository.directory("m/1");
  repository.fifo("m/1/pipe");
  Status status = scan(repository);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            repository.at("m/1/pipe") + ": is a FIFO, expected a regular file or a directory");
  repository.remove("m/1/pipe");

  repository.socket("m/1/s");
  EXPECT_EQ(scan(repository).message(),
            repository.at("m/1/s") + ": is a socket, expected a regular file or a directory");
  repository.remove("m/1/s");

  repository.link("m/1/zero", "/dev/zero");
  EXPECT_EQ(scan(repository, true).message(),
            repository.at("m/1/zero") + ": is a device, expected a regular file or a directory");
}

TEST(ModelScan, RefusesCirclesOfLinks) {
  RepositoryFolder repository;
  repository.directory("m");
  repository.link("m/a", "b");
  repository.link("m/b", "a");
  Status status = scan(repository);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(status.message().ends_with(": Too many levels of symbolic links")) << status.text();
}

TEST(ModelScan, BoundsDepthAndNumber) {
  RepositoryFolder repository;
  std::string path = "m";
  for (uint32_t depth = 1; depth < kScanDepthMax; ++depth) path += "/d";
  repository.directory(path);
  EXPECT_TRUE(scan(repository).ok());
  repository.directory(path + "/d");
  EXPECT_EQ(scan(repository).message(),
            repository.at(path + "/d") + ": is nested deeper than 32 directories");
  repository.remove("m");

  for (int i = 0; i < 10; ++i) repository.file("m/1/f" + std::to_string(i));
  EXPECT_TRUE(scan(repository, false, 11).ok());
  EXPECT_EQ(scan(repository, false, 10).message(),
            repository.at("m") + ": holds more than 10 files; the option 'files_max' sets the limit");
}

}  // namespace
}  // namespace atl::filesystem
